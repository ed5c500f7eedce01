#!/usr/bin/env bash
# vitest 5.1.2, jest 30.5.2 (npm), Node 26.12.1.
#
# Expected: a snapshot that no test uses any more is told, and fails no run; or it is a failure in the reports too.
# Seen: both end with 1 though each test passed. jest does so in CI or not, and says "passed" of test and file; only
#   "success" and snapshot.failure of its JSON are against it. vitest does so in CI alone, and fails the file: JUnit has
#   a failed case with the file's name, TAP a "not ok" for the file, and flat TAP nothing but "ok".
# Source: vitest.dev, "update", tells of vitest's exit; jest-html-reporters issue 246 of jest's. Of the reports no
#   documentation found.
# Why it matters: no test failed, and none is to be run again. A case that has the name of its file is no test, and
#   with jest the cause is in one line of the console.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 vitest@5.1.2 jest@30.5.2

mkdir vitest jest
echo "test('adds', () => { expect(1 + 1).toMatchSnapshot() })" >jest/sum.test.js
{ echo "import { expect, test } from 'vitest'" && cat jest/sum.test.js; } >vitest/sum.test.mjs
echo '{}' | tee jest/package.json >vitest/package.json
(cd vitest && vitest run --update && cd ../jest && jest --ci=false) >/dev/null 2>&1
sed -i 's/toMatchSnapshot()/toBe(2)/' jest/sum.test.js vitest/sum.test.mjs

observe() {
  cd "$folder/work/jest"
  ends_with jest --json --outputFile=report.json
  grep -E '^(Test|Snap)' "$folder/output"
  python3 - <<'PYTHON'
import json
report = json.load(open("report.json"))
print("success:", report["success"], "file:", report["testResults"][0]["status"], report["snapshot"]["failure"])
PYTHON
  CI='' ends_with jest --ci=false
  cd "$folder/work/vitest"
  ends_with vitest run --reporter=junit --outputFile=report.xml
  junit report.xml
  CI='' ends_with vitest run
  for reporter in tap tap-flat; do
    { vitest run --reporter=$reporter 2>/dev/null || echo "exit $?"; } | sed -E 's/ # time=[0-9.]+ms//'
  done
}

finding observe <<'RECORDED'
$ jest --json --outputFile=report.json
exit 1
Snapshot Summary
Test Suites: 1 passed, 1 total
Tests:       1 passed, 1 total
Snapshots:   1 obsolete, 0 total
Test results written to: report.json
success: False file: passed True
$ jest --ci=false
exit 1
$ vitest run --reporter=junit --outputFile=report.xml
exit 1
testsuites 'vitest tests': tests=2 failures=1 errors=0
testsuite 'sum.test.mjs': tests=2 failures=1 errors=0 skipped=0
  case 'adds': passed
  case 'sum.test.mjs': failure
$ vitest run
exit 0
TAP version 13
1..1
not ok 1 - sum.test.mjs {
    1..1
    ok 1 - adds
}
exit 1
TAP version 13
1..1
ok 1 - sum.test.mjs > adds
exit 1
RECORDED
