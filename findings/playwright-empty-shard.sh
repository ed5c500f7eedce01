#!/usr/bin/env bash
# @playwright/test 1.65.1 (npm), Node 26.10.0; no browser is needed.
#
# Expected: a shard that gets no test fails as a selection without tests does ("No tests found", exit 1).
# Seen: it ends with 0, prints an empty line with the list reporter, and its JSON has 0 tests and no error. A pattern
#   that matches no test ends with 1.
# Source: no documentation found.
# Why it matters: a job of a matrix with more shards than tests is green without any evidence; "0 tests, exit 0"
#   is right there, and wrong where the job has no shard. The JSON's config.shard tells them apart.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 @playwright/test@1.65.1

echo "const { test } = require('@playwright/test'); test('adds', () => {})" >sum.spec.js

observe() {
  ends_with shown playwright test --shard=9/9 --reporter=list
  PLAYWRIGHT_JSON_OUTPUT_NAME=report.json ends_with playwright test --shard=9/9 --reporter=json
  python3 - <<'PYTHON'
import json
report = json.load(open("report.json"))
print("expected:", report["stats"]["expected"], "errors:", report["errors"], "shard:", report["config"]["shard"])
PYTHON
  ends_with playwright test --grep=nothing --reporter=list
  grep Error "$folder/output"
}

finding observe <<'RECORDED'
$ playwright test --shard=9/9 --reporter=list

exit 0
$ playwright test --shard=9/9 --reporter=json
exit 0
expected: 0 errors: [] shard: {'current': 9, 'total': 9}
$ playwright test --grep=nothing --reporter=list
exit 1
Error: No tests found
RECORDED
