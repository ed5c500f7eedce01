#!/usr/bin/env bash
# bun 1.4.4 (npm).
#
# Expected: "classname" of a test in nested groups names them as they are nested, outermost first, as bun's console, vitest and
#   jest-junit do.
# Seen: it names them innermost first: a test that the console calls "shop > cart > adds" has the class "cart > shop". Joined
#   with its name it is no test's name, and a pattern made of it matches nothing.
# Source: no documentation found.
# Why it matters: report and console of one run give one test two names; who makes a command to run it again from the report
#   gets "matched 0 tests".
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
bun_package 1.4.4

cat >shop.test.js <<'CODE'
import { describe, expect, test } from "bun:test";
describe("shop", () => {
  describe("cart", () => {
    test("adds", () => expect(1).toBe(2));
  });
});
CODE

observe() {
  ends_with bun test --reporter=junit --reporter-outfile=report.xml
  grep '(fail)' "$folder/output" | sed 's/ \[.*//'
  python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
for case in tree.parse("report.xml").iter("testcase"):
    print("class", repr(case.get("classname")), "name", repr(case.get("name")))
PYTHON
  local pattern
  for pattern in 'shop cart adds' 'cart shop adds'; do
    ends_with bun test -t "$pattern"
    grep -E '^Ran|matched' "$folder/output" | sed 's/ \[.*//'
  done
}

finding observe <<'RECORDED'
$ bun test --reporter=junit --reporter-outfile=report.xml
exit 1
(fail) shop > cart > adds
class 'cart > shop' name 'adds'
$ bun test -t shop cart adds
exit 1
Ran 1 test across 1 file.
$ bun test -t cart shop adds
exit 1
error: regex "cart shop adds" matched 0 tests. Searched 1 file (skipping 1 test)
RECORDED
