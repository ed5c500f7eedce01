#!/usr/bin/env bash
# @playwright/test 1.65.1 with playwright-ctrf-json-reporter 0.0.29 (npm), Node 26.12.1; no browser is needed.
#
# Expected: a test with `test.fail()` that passes is failed in the CTRF report, since it makes the run fail.
# Seen: it is "passed" and the summary says 0 failed, while Playwright ends with 1. With retries it is also "flaky".
# Source: no documentation found.
# Why it matters: the report of a failed run has no failure. Its only hint is a test that is called flaky, though each
#   of its tries ended in the same way.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @playwright/test@1.65.1 playwright-ctrf-json-reporter@0.0.29

cat >sum.spec.js <<'TEST'
const { test, expect } = require('@playwright/test')
test('adds', () => { expect(1 + 1).toBe(2) })
test('works by now', () => { test.fail(); expect(1 + 1).toBe(2) })
TEST

observe() {
  for retries in 0 1; do
    ends_with playwright test --retries=$retries --reporter=playwright-ctrf-json-reporter
    python3 - <<'PYTHON'
import json
results = json.load(open("ctrf/ctrf-report.json"))["results"]
print("summary:", {key: results["summary"][key] for key in ("tests", "passed", "failed")})
for test in results["tests"]:
    print(f"{test['name']}: {test['status']}, flaky: {test['flaky']}")
PYTHON
  done
}

finding observe <<'RECORDED'
$ playwright test --retries=0 --reporter=playwright-ctrf-json-reporter
exit 1
summary: {'tests': 2, 'passed': 2, 'failed': 0}
adds: passed, flaky: False
works by now: passed, flaky: False
$ playwright test --retries=1 --reporter=playwright-ctrf-json-reporter
exit 1
summary: {'tests': 2, 'passed': 2, 'failed': 0}
adds: passed, flaky: False
works by now: passed, flaky: True
RECORDED
