#!/usr/bin/env bash
# junit2html 31.1.4 (PyPI).
#
# Expected: `--max-failures 1` makes a page and ends with an error if a test of the file failed, also one in a suite within
#   a suite, as PHPUnit and meson write them; a case with a failure and a skip has failed.
# Seen: for a page the option has no effect; for a matrix the status is the number of failures. An inner suite is left out
#   with all of its tests: "Tests 0 Failures 0". A failed case that also has `<skipped>` is "Skipped" in the page and in
#   the matrix, whose status counts it as a failure.
# Source: `junit2html --help` restricts the option only for `--merge`; no other documentation found.
# Why it matters: the gate is green and so is the page that people look at, while the file beside them has a failure.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages junit2html==31.1.4

cat >flat.xml <<'XML'
<testsuites><testsuite name="cart">
  <testcase classname="cart" name="adds"><failure message="1 != 2">cart.py:3</failure></testcase>
  <testcase classname="cart" name="prints"><failure message="1 != 3">cart.py:5</failure><skipped/></testcase>
</testsuite></testsuites>
XML
cat >inner.xml <<'XML'
<testsuites><testsuite name="shop" tests="1" failures="1"><testsuite name="cart" tests="1" failures="1">
  <testcase classname="cart" name="adds"><failure message="1 != 2">cart.py:3</failure></testcase>
</testsuite></testsuite></testsuites>
XML

observe() {
  local file
  for file in flat inner; do
    ends_with junit2html "$file.xml" "$file.html" --max-failures 1
    python3 - "$file.html" <<'PYTHON'
import re, sys
text = " ".join(re.sub(r"<style.*?</style>|<[^>]+>", " ", open(sys.argv[1]).read(), flags=re.S).split())
print(*re.findall(r"Tests \d+ Failures \d+|Test case: \w+ Outcome: \w+", text), sep="\n")
PYTHON
    ends_with junit2html "$file.xml" --summary-matrix --max-failures 1
    sed -n '/^Test Results/,$p' "$folder/output" | sed '/^$/d; s/ *: */: /; s/ $//'
  done
}

finding observe <<'RECORDED'
$ junit2html flat.xml flat.html --max-failures 1
exit 0
Tests 2 Failures 2
Test case: adds Outcome: Failed
Test case: prints Outcome: Skipped
$ junit2html flat.xml --summary-matrix --max-failures 1
exit 2
Test Results:
  Failed: 1
  Skipped: 1
$ junit2html inner.xml inner.html --max-failures 1
exit 0
Tests 0 Failures 0
$ junit2html inner.xml --summary-matrix --max-failures 1
exit 0
Test Results:
RECORDED
