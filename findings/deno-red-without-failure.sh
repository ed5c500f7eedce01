#!/usr/bin/env bash
# deno 2.9.6 (npm).
#
# Expected: where `deno test` ends with 1, its JUnit report, its TAP and its closing line show what failed.
# Seen: a failing `beforeAll` is two skipped tests in JUnit and a plan without a point in TAP. `only` left in the
#   code: the closing line is "ok | 1 passed | 0 failed", both reports are green, and the status is 1. A file that does not
#   load: TAP is `1..0`, which says that all was skipped, JUnit has no test.
# Source: no documentation found.
# Why it matters: none of the three can be read alone. Only the status says that the run is red, and only the text beside the
#   closing line says why.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
deno_package 2.9.6

cat >hook_test.js <<'CODE'
Deno.test.beforeAll(() => { throw new Error("no database"); });
Deno.test("adds", () => {});
Deno.test("removes", () => {});
CODE
cat >only_test.js <<'CODE'
Deno.test.only("adds", () => {});
Deno.test("removes", () => {});
CODE
cat >load_test.js <<'CODE'
Deno.test("adds", () => {});
throw new Error("no configuration");
CODE

observe() {
  local name
  for name in hook only load; do
    ends_with deno test --no-check --junit-path=report.xml "${name}_test.js"
    grep -E '^(ok|FAILED) \|' "$folder/output" | sed 's/ ([^)]*)//'
    junit report.xml
    deno test --no-check --reporter=tap "${name}_test.js" 2>/dev/null | grep -E '^(not )?ok|^1\.\.' || true
  done
}

finding observe <<'RECORDED'
$ deno test --no-check --junit-path=report.xml hook_test.js
exit 1
FAILED | 0 passed | 1 failed
testsuites 'deno test': tests=2 failures=0 errors=0
testsuite './hook_test.js': tests=2 failures=0 errors=0
  case 'adds': skipped
  case 'removes': skipped
1..2
$ deno test --no-check --junit-path=report.xml only_test.js
exit 1
ok | 1 passed | 0 failed | 1 filtered out
testsuites 'deno test': tests=2 failures=0 errors=0
testsuite './only_test.js': tests=2 failures=0 errors=0
  case 'adds': passed
  case 'removes': skipped
ok 1 - adds
1..1
$ deno test --no-check --junit-path=report.xml load_test.js
exit 1
FAILED | 0 passed | 1 failed
testsuites 'deno test': tests=0 failures=0 errors=0
1..0
RECORDED
