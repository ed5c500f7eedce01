#!/usr/bin/env bash
# deno 2.9.6 (npm).
#
# Expected: tests that a file writes with `describe` and `it` of node:test are cases of that file's suite in deno's JUnit
#   report, each once.
# Seen: the group is a case of the file, failed with "1 test step failed"; its tests are in a second suite by the name of a file
#   inside deno, with lines of that file. One failed test makes two failures, and the suite of its own file says nothing of it.
# Source: no documentation found.
# Why it matters: a failure is placed in a file that no repository has, and the counts by file are wrong.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
deno_package 2.9.6

cat >cart_test.js <<'CODE'
import { describe, it } from "node:test";
describe("cart", () => {
  it("adds", () => {});
  it("removes", () => { throw new Error("still there"); });
});
CODE

observe() {
  ends_with deno test --no-check --junit-path=report.xml cart_test.js
  grep -E '^FAILED \||\.\.\. removes =>' "$folder/output" | sed 's/ ([0-9]*ms)//; s/:[0-9]*:[0-9]*$/:LINE/' | sort -u
  junit report.xml
}

finding observe <<'RECORDED'
$ deno test --no-check --junit-path=report.xml cart_test.js
exit 1
FAILED | 0 passed (1 step) | 1 failed (1 step)
cart ... removes => ext:deno_node/testing.ts:LINE
testsuites 'deno test': tests=3 failures=2 errors=0
testsuite './cart_test.js': tests=1 failures=1 errors=0
  case 'cart': failure
testsuite 'ext:deno_node/testing.ts': tests=2 failures=1 errors=0
  case 'cart > adds': passed
  case 'cart > removes': failure
RECORDED
