#!/usr/bin/env bash
# @playwright/test 1.65.1 (npm), Node 26.12.1; no browser is needed.
#
# Expected: the list reporter puts a cross before a test that makes the run fail, and a tick before one that does not.
# Seen: the mark tells how the code ended, not whether that was expected: a test with `test.fail()` that fails has a
#   cross and counts as passed; one that passes has a tick and is the failure of the run.
# Source: no documentation found.
# Why it matters: who takes failed tests from the marks of a log names the wrong one. The list at the end and JUnit
#   have it right.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @playwright/test@1.65.1

cat >sum.spec.js <<'TEST'
const { test, expect } = require('@playwright/test')
test('fails as expected', () => { test.fail(); expect(1 + 1).toBe(3) })
test('works by now', () => { test.fail(); expect(1 + 1).toBe(2) })
TEST

observe() {
  ends_with playwright test --reporter=list
  grep -E '^ +(.  +[0-9] sum|[0-9] (passed|failed)|sum)' "$folder/output" | sed -E 's/ \([0-9.]+m?s\)//; s/ *─+.*//'
  PLAYWRIGHT_JUNIT_OUTPUT_NAME=report.xml ends_with playwright test --reporter=junit
  junit report.xml
}

finding observe <<'RECORDED'
$ playwright test --reporter=list
exit 1
  ✘  1 sum.spec.js:2:1 › fails as expected
  ✓  2 sum.spec.js:3:1 › works by now
  1 failed
    sum.spec.js:3:1 › works by now
  1 passed
$ playwright test --reporter=junit
exit 1
testsuites '': tests=2 failures=1 errors=0 skipped=0
testsuite 'sum.spec.js': tests=2 failures=1 errors=0 skipped=0
  case 'fails as expected': passed
  case 'works by now': failure
RECORDED
