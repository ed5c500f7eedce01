#!/usr/bin/env bash
# junit-to-ctrf 0.0.14 (npm), Node 26.12.1.
#
# Expected: each case of a JUnit report becomes a test of the CTRF report with its state, its text, its class and its suites. A
#   report without a case, or a pattern without a file, makes an empty report or an error.
# Seen: a failure that has a text and no attribute `message` loses the text. A test that googletest did not run
#   (`status="notrun"`) has passed. The class of a case is nowhere: two cases of two classes are the same test twice. Of an
#   inner suite the outer one is lost. A second and more with a comma, as Surefire writes it, is one second. Without a case no
#   file is written, the one of the run before stays, and the exit status is 0.
# Source: https://github.com/ctrf-io/junit-to-ctrf names Standard JUnit and Surefire; of these cases no documentation found.
# Why it matters: a failed test without its cause, a disabled one among the passed, and a stale report that looks like a new
#   one.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 junit-to-ctrf@0.0.14

cat >junit.xml <<'REPORT'
<testsuites>
  <testsuite name="shop" tests="6" failures="2">
    <testcase classname="Cart" name="adds" time="0.25"/>
    <testcase classname="Order" name="adds" time="0.25"/>
    <testcase classname="Cart" name="has an attribute" time="0"><failure message="expected 1">at cart.js:3</failure></testcase>
    <testcase classname="Cart" name="has a text" time="0"><failure>expected 1, at cart.js:3</failure></testcase>
    <testcase classname="Cart" name="DISABLED_adds" status="notrun" result="suppressed" time="0"/>
    <testsuite name="inner"><testcase classname="Cart" name="is slow" time="1,200.5"/></testsuite>
  </testsuite>
</testsuites>
REPORT
echo '<testsuites/>' >empty.xml

convert() {
  local code=0
  junit-to-ctrf "$1" --output report.json >"$folder/output" 2>&1 || code=$?
  echo "$1: exit $code"
}

observe() {
  convert junit.xml
  python3 - <<'CODE'
import json
results = json.load(open("report.json"))["results"]
print({key: value for key, value in results["summary"].items() if key not in ("start", "stop")})
for test in results["tests"]:
    print(test)
CODE
  convert empty.xml
  convert 'no-such/*.xml'
  grep -c 'has a text' report.json
}

finding observe <<'RECORDED'
junit.xml: exit 0
{'tests': 6, 'passed': 4, 'failed': 2, 'skipped': 0, 'pending': 0, 'other': 0}
{'name': 'shop: adds', 'status': 'passed', 'duration': 250, 'suite': ['shop']}
{'name': 'shop: adds', 'status': 'passed', 'duration': 250, 'suite': ['shop']}
{'name': 'shop: has an attribute', 'status': 'failed', 'duration': 0, 'message': 'expected 1', 'trace': 'at cart.js:3', 'suite': ['shop']}
{'name': 'shop: has a text', 'status': 'failed', 'duration': 0, 'suite': ['shop']}
{'name': 'shop: DISABLED_adds', 'status': 'passed', 'duration': 0, 'suite': ['shop']}
{'name': 'inner: is slow', 'status': 'passed', 'duration': 1000, 'suite': ['inner']}
empty.xml: exit 0
no-such/*.xml: exit 0
1
RECORDED
