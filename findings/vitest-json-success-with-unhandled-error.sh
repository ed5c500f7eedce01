#!/usr/bin/env bash
# vitest 5.1.2 (npm), Node 26.10.0.
#
# Expected: where an error outside of any test makes the run fail, the JSON report says "success": false.
# Seen: vitest ends with 1, and its JSON says "success": true with no failed test and no failed file; TAP says
#   "ok" throughout. JUnit alone has the error, in a suite of its own that holds no test of the project.
# Source: no documentation found.
# Why it matters: "success" of the JSON is no verdict. Exit status and report disagree, and the cause is only on
#   the console or in JUnit.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 vitest@5.1.2

cat >late.test.mjs <<'TEST'
import { test } from 'vitest'
test('ends before its timer', () => {
  setTimeout(() => { throw new Error('late') }, 0)
  return new Promise(done => setTimeout(done, 100))
})
TEST

observe() {
  for reporter in json tap junit; do
    ends_with vitest run --reporter=$reporter --outputFile=report.$reporter
  done
  python3 - <<'PYTHON'
import json
report = json.load(open("report.json"))
print("success:", report["success"], "failed tests:", report["numFailedTests"])
print("files:", [file["status"] for file in report["testResults"]])
PYTHON
  vitest run --reporter=tap 2>/dev/null | grep -oE '(not )?ok [0-9] - [a-z. ]*[a-z]' || true
  junit report.junit
}

finding observe <<'RECORDED'
$ vitest run --reporter=json --outputFile=report.json
exit 1
$ vitest run --reporter=tap --outputFile=report.tap
exit 1
$ vitest run --reporter=junit --outputFile=report.junit
exit 1
success: True failed tests: 0
files: ['passed']
ok 1 - late.test.mjs
ok 1 - ends before its timer
testsuites 'vitest tests': tests=2 failures=0 errors=1
testsuite 'late.test.mjs': tests=1 failures=0 errors=0 skipped=0
  case 'ends before its timer': passed
testsuite 'vitest unhandled errors': tests=1 failures=0 errors=1 skipped=0
  case 'Uncaught Exception: late': error
RECORDED
