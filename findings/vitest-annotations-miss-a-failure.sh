#!/usr/bin/env bash
# vitest 5.1.2 (npm), Node 26.10.0.
#
# Expected: the reporter "github-actions" writes one annotation or more for each failed test.
# Seen: a test that is marked with `test.fails` and passes is a failure (exit 1, one of the two of the JSON), but gets no
#   "::error" line: its error has no place in the project. The other failed test has one.
# Source: no documentation found.
# Why it matters: annotations of a check run are not all of its failures; to count them is to miss one.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 vitest@5.1.2

cat >two.test.mjs <<'TEST'
import { expect, test } from 'vitest'
test('adds', () => { expect(1 + 1).toBe(3) })
test.fails('is expected to fail', () => {})
TEST

observe() {
  vitest run --reporter=json --outputFile=report.json >/dev/null 2>&1 || echo "exit $?"
  python3 -c 'import json; r = json.load(open("report.json")); print("json:", r["numFailedTests"], "failed")'
  { vitest run --reporter=github-actions 2>/dev/null || true; } | sed -n 's/^\(::error .*\)::.*/\1/p'
}

finding observe <<'RECORDED'
exit 1
json: 2 failed
::error file=WORK/two.test.mjs,title=two.test.mjs > adds,line=2,column=36
RECORDED
