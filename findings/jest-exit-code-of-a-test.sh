#!/usr/bin/env bash
# jest 30.5.2 (npm), Node 26.10.0.
#
# Expected: a test that sets `process.exitCode` has no influence on jest, since tests get a `process` of their own.
# Seen: jest ends with the test's 3, while console and JSON say that all passed ("success": true).
# Source: no documentation found.
# Why it matters: the report has no failure and the step fails. Nothing in the report can be the cause; the
#   line to look for is in the code under test.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 jest@30.5.2

echo "test('sets a code', () => { process.exitCode = 3 })" >code.test.js

observe() {
  ends_with jest --json --outputFile=report.json
  grep -E '^(Tests|Test Suites):' "$folder/output"
  python3 - <<'PYTHON'
import json
report = json.load(open("report.json"))
print("success:", report["success"], "failed:", report["numFailedTests"])
PYTHON
}

finding observe <<'RECORDED'
$ jest --json --outputFile=report.json
exit 3
Test Suites: 1 passed, 1 total
Tests:       1 passed, 1 total
success: True failed: 0
RECORDED
