#!/usr/bin/env bash
# @hapi/lab 26.0.1 (npm), Node 26.12.1.
#
# Expected: where lab ends with 1, a report has a failure; in its TAP a directive stands behind the description.
# Seen: a test that leaves a global behind passes in JUnit and TAP, and lab ends with 1; only console and JSON name the leak.
#   TAP has the directive in front of the description: `ok 1 # TODO (1) later`, so that the point has no name, and the name is
#   a reason. The root of the JUnit report has no count of the skipped.
# Source: TAP 14, "Test Points": the description comes before the directive.
# Why it matters: a red run whose two usual reports are all green; skipped tests share the empty name.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @hapi/lab@26.0.1

cat >leak.js <<'CODE'
const lab = (exports.lab = require("@hapi/lab").script());
lab.test("adds", () => { globalThis.cart = 1; });
lab.test("later");
lab.test("elsewhere", { skip: true }, () => {});
CODE

observe() {
  ends_with lab -r junit -o report.xml -r tap -o report.tap -r json -o report.json -r console -o stdout ./leak.js
  grep -i leak "$folder/output"
  junit report.xml
  grep -E '^(not )?ok|^1\.\.|^# ' report.tap
  python3 -c 'import json; r = json.load(open("report.json")); print("JSON leaks:", r["leaks"])'
}

finding observe <<'RECORDED'
$ lab -r junit -o report.xml -r tap -o report.tap -r json -o report.json -r console -o stdout ./leak.js
exit 1
The following leaks were detected: cart
testsuites None: tests=3 failures=0 errors=0
testsuite '': tests=3 errors=0 skipped=2
  case 'adds': passed
  case 'later': skipped
  case 'elsewhere': skipped
1..3
ok 1 (1) adds
ok 2 # TODO (2) later
ok 3 # SKIP (3) elsewhere
# tests 2
# pass 1
# fail 0
# skipped 1
# todo 1
JSON leaks: ['cart']
RECORDED
