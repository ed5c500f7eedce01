#!/usr/bin/env bash
# jest 30.5.2 (npm), Node 26.10.0.
#
# Expected: "success" of jest's JSON speaks of tests: a missed coverage threshold leaves it true. And it is false
#   where jest ends with 1 because no test was found.
# Seen: the other way round. A missed threshold makes it false, with all tests passed and no word of why in the
#   report; a shard without files ends with 1 and says true, with 0 tests.
# Source: no documentation found.
# Why it matters: neither value of "success" is a verdict on tests; only counts, exit status and console together
#   tell what happened.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 jest@30.5.2

echo "exports.used = () => 1; exports.unused = () => 2" >sum.js
echo "const sum = require('./sum'); test('adds', () => { expect(sum.used()).toBe(1) })" >sum.test.js

result() {
  python3 - <<'PYTHON'
import json
report = json.load(open("report.json"))
print("success:", report["success"], "tests:", report["numTotalTests"], "failed:", report["numFailedTests"])
PYTHON
}

observe() {
  ends_with jest --json --outputFile=report.json --coverage --coverageThreshold='{"global":{"functions":90}}'
  result
  ends_with jest --json --outputFile=report.json --shard=9/9
  result
}

finding observe <<'RECORDED'
$ jest --json --outputFile=report.json --coverage --coverageThreshold={"global":{"functions":90}}
exit 1
success: False tests: 1 failed: 0
$ jest --json --outputFile=report.json --shard=9/9
exit 1
success: True tests: 0 failed: 0
RECORDED
