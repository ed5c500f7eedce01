#!/usr/bin/env bash
# @japa/runner 5.3.0 (npm), Node 26.12.1.
#
# Expected: a failing setup of a group fails or skips its tests, in the summary and in the lines of the ndjson reporter; a
#   rejection that nobody handles fails the run in its summary.
# Seen: the group's tests are counted nowhere: no test, none failed. ndjson says "hasError" and has the error's text in no line.
#   With the rejection the summary is PASSED, two passed, and the status is 1. A missing file is "NO TESTS EXECUTED" and 0.
# Source: no documentation found.
# Why it matters: the one report that a program can read has a red run without a failure and without a reason.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @japa/runner@5.3.0

echo '{ "private": true, "type": "module" }' >package.json
cat >run.js <<'CODE'
import { configure, processCLIArgs, run } from "@japa/runner";
const [file, ...rest] = process.argv.slice(2);
processCLIArgs(rest);
configure({ files: [file] });
run();
CODE
cat >group.js <<'CODE'
import { test } from "@japa/runner";
test.group("cart", (group) => {
  group.setup(() => { throw new Error("no database"); });
  test("adds", () => {});
  test("removes", () => {});
});
CODE
cat >rejection.js <<'CODE'
import { test } from "@japa/runner";
test("adds", () => { Promise.reject(new Error("lost")); });
test("waits", () => new Promise((resolve) => setTimeout(resolve, 50)));
CODE

observe() {
  local name
  for name in group rejection missing; do
    ends_with node run.js "./$name.js"
    grep -E '^ *(PASSED|FAILED|NO TESTS|Tests )' "$folder/output" || true
    ends_with node run.js "./$name.js" --reporters=ndjson
    python3 - "$folder/output" <<'PYTHON'
import json, sys
for line in open(sys.argv[1]):
    event = json.loads(line) if line.startswith("{") else {}
    if "aggregates" in event:
        counts = " ".join(f"{key}={event['aggregates'][key]}" for key in ("total", "passed", "failed"))
        print(f"ndjson: {counts} hasError={event['hasError']}")
    elif event.get("errors"):
        print("ndjson:", [error["error"]["message"] for error in event["errors"]])
PYTHON
  done
}

finding observe <<'RECORDED'
$ node run.js ./group.js
exit 1
 FAILED 
Tests   (0)
$ node run.js ./group.js --reporters=ndjson
exit 1
ndjson: total=0 passed=0 failed=0 hasError=True
$ node run.js ./rejection.js
exit 1
 PASSED 
Tests  2 passed (2)
$ node run.js ./rejection.js --reporters=ndjson
exit 1
ndjson: total=2 passed=2 failed=0 hasError=False
$ node run.js ./missing.js
exit 0
 NO TESTS EXECUTED 
$ node run.js ./missing.js --reporters=ndjson
exit 0
ndjson: total=0 passed=0 failed=0 hasError=False
RECORDED
