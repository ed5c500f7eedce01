#!/usr/bin/env bash
# bun 1.4.4 (npm).
#
# Expected: in the JUnit report of `bun test` a failing `beforeAll` fails or skips the tests of its group, and a file that does
#   not load is a failure; the counts are those of the console.
# Seen: the group's two tests are gone, and one failed case "(unnamed)" stands for them. The file that does not load is in no
#   report, though the console counts "1 fail" and a test that ran; where no file loads no report is written, and that of the
#   run before stays.
# Source: no documentation found.
# Why it matters: the number of tests falls where a hook fails, a report without failure belongs to a red run, and a report
#   that is found can be an older one's.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
bun_package 1.4.4

cat >hook.test.js <<'CODE'
import { beforeAll, describe, test } from "bun:test";
describe("cart", () => {
  beforeAll(() => { throw new Error("no database"); });
  test("adds", () => {});
  test("removes", () => {});
});
CODE
cat >good.test.js <<'CODE'
import { test } from "bun:test";
test("good", () => {});
CODE
cat >broken.test.js <<'CODE'
import { test } from "bun:test";
test("never", () => {});
throw new Error("no configuration");
CODE

run() {
  ends_with bun test --reporter=junit --reporter-outfile=report.xml "$@"
  grep -E '^ [0-9]+ (pass|fail|error)|^Ran' "$folder/output" | sed 's/ \[.*//'
  junit report.xml
}

observe() {
  run ./hook.test.js
  run ./good.test.js ./broken.test.js
  echo 'again, with the file alone that does not load'
  run ./broken.test.js
}

finding observe <<'RECORDED'
$ bun test --reporter=junit --reporter-outfile=report.xml ./hook.test.js
exit 1
 0 pass
 1 fail
Ran 1 test across 1 file.
testsuites 'bun test': tests=1 failures=1 skipped=0
testsuite 'hook.test.js': tests=1 failures=1 skipped=0
testsuite 'cart': tests=1 failures=1 skipped=0
  case '(unnamed)': failure
$ bun test --reporter=junit --reporter-outfile=report.xml ./good.test.js ./broken.test.js
exit 1
 1 pass
 1 fail
 1 error
Ran 2 tests across 2 files.
testsuites 'bun test': tests=1 failures=0 skipped=0
testsuite 'good.test.js': tests=1 failures=0 skipped=0
  case 'good': passed
again, with the file alone that does not load
$ bun test --reporter=junit --reporter-outfile=report.xml ./broken.test.js
exit 1
 0 pass
 1 fail
 1 error
Ran 1 test across 1 file.
testsuites 'bun test': tests=1 failures=0 skipped=0
testsuite 'good.test.js': tests=1 failures=0 skipped=0
  case 'good': passed
RECORDED
