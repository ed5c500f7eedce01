#!/usr/bin/env bash
# tape 5.10.2, zora 6.0.4, brittle 4.1.0 (npm), Node 26.12.1.
#
# Expected: a test that throws is a `not ok` with the error, and the tests behind it run.
# Seen: none of the three writes a point for it, nor a plan, and no test behind it runs. The error is on standard error only;
#   zora alone says "Bail out!". With brittle a teardown that throws takes with it the point of a test whose checks passed.
# Source: no documentation found.
# Why it matters: every point of the TAP is `ok`. That the run broke off shows in the missing plan and the status, why it did
#   only outside of the report.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 tape@5.10.2 zora@6.0.4 brittle@4.1.0

cat >tape.cjs <<'TEST'
const test = require('tape')
test('adds', (t) => { t.pass('one'); t.end() })
test('is empty', () => { throw new Error('no cart') })
test('is last', (t) => { t.fail('two'); t.end() })
TEST
cat >zora.mjs <<'TEST'
import { test } from 'zora'
test('adds', (t) => { t.ok(true, 'one') })
test('is empty', () => { throw new Error('no cart') })
test('is last', (t) => { t.ok(false, 'two') })
TEST
cat >brittle.cjs <<'TEST'
const test = require('brittle')
test('adds', (t) => { t.pass('one') })
test('is empty', () => { throw new Error('no cart') })
test('is last', (t) => { t.fail('two') })
TEST
cat >teardown.cjs <<'TEST'
const test = require('brittle')
test('adds', (t) => { t.teardown(() => { throw new Error('no cart') }); t.pass('one') })
test('is last', (t) => { t.fail('two') })
TEST

observe() {
  local file code
  for file in tape.cjs zora.mjs brittle.cjs teardown.cjs; do
    echo "# $file"
    code=0
    node "$file" >out 2>err || code=$?
    sed -E '/^$/d; s/ # time = .*//' out
    echo "exit $code, on standard error: $(grep -c '^Error: no cart' err)"
  done
}

finding observe <<'RECORDED'
# tape.cjs
TAP version 13
# adds
ok 1 one
# is empty
exit 1, on standard error: 1
# zora.mjs
TAP version 13
# adds
ok 1 - one
# is empty
Bail out! Unhandled error.
exit 1, on standard error: 1
# brittle.cjs
TAP version 13
# adds
    ok 1 - one
ok 1 - adds
# is empty
exit 1, on standard error: 1
# teardown.cjs
TAP version 13
# adds
    ok 1 - one
exit 1, on standard error: 1
RECORDED
