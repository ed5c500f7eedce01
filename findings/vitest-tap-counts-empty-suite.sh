#!/usr/bin/env bash
# vitest 5.1.2 (npm), Node 26.10.0.
#
# Expected: all reporters of one run count the same tests.
# Seen: a suite that is a todo and holds no test is a point of its own in TAP ("ok 2 - later # TODO", plan
#   1..2). JSON counts one test, JUnit lists one.
# Source: no documentation found.
# Why it matters: totals of two reports of one run differ without a fault; a reader that compares them must not
#   call the report cut off.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 vitest@5.1.2

cat >suite.test.mjs <<'TEST'
import { describe, test } from 'vitest'
test('adds', () => {})
describe.todo('later')
TEST

observe() {
  vitest run --reporter=tap-flat 2>/dev/null | sed 's/ # time=.*//'
  vitest run --reporter=json --outputFile=report.json >/dev/null 2>&1
  python3 -c 'import json; r = json.load(open("report.json")); print("json:", r["numTotalTests"], "tests")'
  vitest run --reporter=junit --outputFile=report.xml >/dev/null 2>&1
  junit report.xml
}

finding observe <<'RECORDED'
TAP version 13
1..2
ok 1 - suite.test.mjs > adds
ok 2 - suite.test.mjs > later # TODO
json: 1 tests
testsuites 'vitest tests': tests=1 failures=0 errors=0
testsuite 'suite.test.mjs': tests=1 failures=0 errors=0 skipped=0
  case 'adds': passed
RECORDED
