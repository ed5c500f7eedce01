#!/usr/bin/env bash
# jest 30.5.2 with jest-ctrf-json-reporter 0.0.11 (npm), Node 26.12.1.
#
# Expected: a test file that does not load is a failed test of the CTRF report, under the file's name.
# Seen: the report has the other file only: 1 test, 1 passed, 0 failed. jest ends with 1, and its own JSON counts one
#   failed suite.
# Source: no documentation found.
# Why it matters: a summary with "failed": 0 is no green run. The cause of the red step is only on the console.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 jest@30.5.2 jest-ctrf-json-reporter@0.0.11

echo "test('adds', () => {})" >sum.test.js
echo "require('./missing'); test('is empty', () => {})" >cart.test.js

observe() {
  ends_with jest --reporters=jest-ctrf-json-reporter
  ends_with jest --json --outputFile=jest.json
  python3 - <<'PYTHON'
import json
results = json.load(open("ctrf/ctrf-report.json"))["results"]
print("ctrf:", {key: results["summary"][key] for key in ("tests", "passed", "failed", "other")})
print("ctrf:", [test["name"] for test in results["tests"]])
report = json.load(open("jest.json"))
print("jest:", report["numFailedTests"], "failed tests,", report["numFailedTestSuites"], "failed suites")
PYTHON
}

finding observe <<'RECORDED'
$ jest --reporters=jest-ctrf-json-reporter
exit 1
$ jest --json --outputFile=jest.json
exit 1
ctrf: {'tests': 1, 'passed': 1, 'failed': 0, 'other': 0}
ctrf: ['adds']
jest: 0 failed tests, 1 failed suites
RECORDED
