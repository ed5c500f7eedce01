#!/usr/bin/env bash
# poku 4.5.0 (npm), Node 26.12.1.
#
# Expected: the closing totals of poku count one kind of thing: PASS, FAIL, SKIP and TODO add up to the tests.
# Seen: PASS and FAIL count files, SKIP and TODO count tests. Four tests of two files, two of them good, are PASS 1, FAIL 1,
#   SKIP 1; a file that skips itself as a whole is PASS 1 and SKIP 1; a file without any test is PASS 1; a pattern that no
#   name matches is PASS 1 and 0.
# Source: no documentation found.
# Why it matters: the counts cannot be compared with those of another run or runner, and "passed" says nothing of a test.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 poku@4.5.0

echo '{ "private": true, "type": "module" }' >package.json
cat >good.test.js <<'CODE'
import { assert, test } from "poku";
test("one", () => { assert(true); });
test.skip("two", () => {});
CODE
cat >bad.test.js <<'CODE'
import { assert, test } from "poku";
test("three", () => { assert(true); });
test("four", () => { assert(false); });
CODE
cat >whole.test.js <<'CODE'
import { skip } from "poku";
skip("not here");
CODE
echo 'console.log("no test");' >none.test.js

run() {
  ends_with poku "$@"
  sed 's/\x1b\[[0-9;]*m//g' "$folder/output" | grep -oE '(PASS|FAIL|SKIP|TODO) › [0-9]+' | paste -sd ' '
}

observe() {
  run good.test.js bad.test.js
  run whole.test.js
  run none.test.js
  run --testNamePattern=nothing good.test.js
}

finding observe <<'RECORDED'
$ poku good.test.js bad.test.js
exit 1
PASS › 1 FAIL › 1 SKIP › 1
$ poku whole.test.js
exit 0
PASS › 1 FAIL › 0 SKIP › 1
$ poku none.test.js
exit 0
PASS › 1 FAIL › 0
$ poku --testNamePattern=nothing good.test.js
exit 0
PASS › 1 FAIL › 0 SKIP › 1
RECORDED
