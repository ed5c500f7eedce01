#!/usr/bin/env bash
# mocha 12.0.3 (npm), Node 26.12.1.
#
# Expected: "skipped" of mocha's xUnit report is the number of skipped tests, and a failed test is a failure.
# Seen: "skipped" is -1 where a hook has failed, and 0 beside a test that was skipped: each failed hook takes one away.
#   "tests" is 0 above one case, and a failure element is counted in "errors".
# Source: mocha pull request 2475 tells of errors and failures; of "skipped" no documentation found.
# Why it matters: a negative number breaks a reader that takes totals for unsigned numbers, and a sum over suites is
#   wrong by one for each failed hook.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 mocha@12.0.3

cat >hook.test.js <<'TEST'
beforeEach(() => { throw new Error('no database') })
it('adds', () => {})
TEST
cat >skip.test.js <<'TEST'
describe('cart', () => {
  before(() => { throw new Error('no database') })
  it('is empty', () => {})
})
it.skip('subtracts', () => {})
TEST

observe() {
  for file in hook skip; do
    ends_with mocha --reporter xunit --reporter-option output=report.xml $file.test.js
    junit report.xml
  done
}

finding observe <<'RECORDED'
$ mocha --reporter xunit --reporter-option output=report.xml hook.test.js
exit 1
testsuite 'Mocha Tests': tests=0 failures=0 errors=1 skipped=-1
  case '"before each" hook for "adds"': failure
$ mocha --reporter xunit --reporter-option output=report.xml skip.test.js
exit 1
testsuite 'Mocha Tests': tests=1 failures=0 errors=1 skipped=0
  case 'subtracts': skipped
  case '"before all" hook for "is empty"': failure
RECORDED
