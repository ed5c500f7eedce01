#!/usr/bin/env bash
# qunit 3.0.0, jest 30.5.2 (npm), Node 26.12.1.
#
# Expected: a module whose `before` hook fails has no test that passed, as with jest's `beforeAll`.
# Seen: the first test of the module fails, the others run and are "ok". Which one is the first depends on what is
#   selected: a test that passed in the whole run fails when it runs alone.
# Source: no documentation found; qunitjs.com, QUnit.module, says only that `before` runs before the first test.
# Why it matters: a command that runs one test alone contradicts the report of the whole run, though nothing is
#   flaky. The failed test is not the one at fault; the message names the hook.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 qunit@3.0.0 jest@30.5.2

cat >cart.js <<'TEST'
QUnit.module('cart', { before() { throw new Error('no database') } }, () => {
  QUnit.test('is empty', assert => { assert.ok(true) })
  QUnit.test('has a total', assert => { assert.ok(true) })
})
TEST
cat >cart.test.js <<'TEST'
beforeAll(() => { throw new Error('no database') })
test('is empty', () => {})
test('has a total', () => {})
TEST

observe() {
  ends_with qunit cart.js
  grep -E '^(not )?ok|message' "$folder/output"
  ends_with qunit --filter total cart.js
  grep -E '^(not )?ok|message' "$folder/output"
  ends_with jest
  grep '^Tests:' "$folder/output"
}

finding observe <<'RECORDED'
$ qunit cart.js
exit 1
not ok 1 cart > is empty
  message: "before failed on is empty: no database"
ok 2 cart > has a total
$ qunit --filter total cart.js
exit 1
not ok 1 cart > has a total
  message: "before failed on has a total: no database"
$ jest
exit 1
Tests:       2 failed, 2 total
RECORDED
