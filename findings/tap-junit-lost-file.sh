#!/usr/bin/env bash
# tap 21.8.0 (npm), Node 26.12.1.
#
# Expected: a file of tests that throws, or ends with a status of its own, is a case that failed in tap's JUnit report, and the
#   file is named beside the failure.
# Seen: it is a suite whose failures are 0 and whose property "ok" is true: without a case and with one skipped if nothing ran in
#   it, else with all its cases passed. Only the outermost element counts a failure. An empty file is such a suite too, and
#   ends with 0 where coverage is off.
# Source: no documentation found.
# Why it matters: nothing in the report says which file failed; a reader of cases sees a green run, or one without tests.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 tap@21.8.0

ln -s "$folder/node_modules" node_modules
echo 'throw new Error("no database")' >throws.test.cjs
echo 'require("tap").test("adds", (t) => { t.ok(1); t.end() }); process.exitCode = 3' >status.test.cjs
echo '// later' >empty.test.cjs

observe() {
  local name code
  for name in throws status empty; do
    code=0
    tap run --disable-coverage --reporter=junit "$name.test.cjs" >report.xml 2>"$folder/errors" || code=$?
    echo "$name.test.cjs: exit $code"
    junit report.xml
    python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
for suite in tree.parse("report.xml").getroot().findall("testsuite"):
    print("  ok:", [item.get("value") for item in suite.findall("properties/property[@name='ok']")])
PYTHON
  done
}

finding observe <<'RECORDED'
throws.test.cjs: exit 1
testsuites 'TAP Tests': tests=2 failures=1 skipped=1
testsuite 'throws.test.cjs': tests=1 failures=0 skipped=1
  ok: ['true']
status.test.cjs: exit 1
testsuites 'TAP Tests': tests=5 failures=1 skipped=0
testsuite 'status.test.cjs': tests=4 failures=0 skipped=0
testsuite 'adds': tests=2 failures=0 skipped=0
  case 'should be equal': passed
  case 'adds': passed
  ok: ['true']
empty.test.cjs: exit 0
testsuites 'TAP Tests': tests=2 failures=0 skipped=2
testsuite 'empty.test.cjs': tests=1 failures=0 skipped=1
  ok: ['true']
RECORDED
