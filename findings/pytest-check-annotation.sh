#!/usr/bin/env bash
# pytest-check 3.0.3, pytest-github-actions-annotate-failures 0.4.2, pytest-json-report 1.5.0 with pytest 9.2.0 (PyPI).
#
# Expected: a test with two failed checks is one failure, and the message names both. The annotation stands at the first check's
#   line.
# Seen: the message of the JUnit case has the first check alone. The annotation names a file "test_cart.py::test_checks", which
#   does not exist, and line 0; the one of a plain assertion beside it is right. The crash of the JSON report has that file too.
# Source: https://github.com/okken/pytest-check says that all failed checks are reported, which the text of the failure does; of
#   the place no documentation found.
# Why it matters: GitHub shows no annotation at a file that the pull request does not have, and an agent that opens the named
#   file finds none.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pytest-check==3.0.3 pytest-github-actions-annotate-failures==0.4.2 pytest-json-report==1.5.0 pytest==9.2.0

cat >test_cart.py <<'TEST'
from pytest_check import check

def test_assert():
    assert 1 == 2

def test_checks():
    check.equal(1, 2)
    check.equal(3, 4)
TEST

observe() {
  GITHUB_ACTIONS=true ends_with pytest -p no:cacheprovider --quiet --junit-xml junit.xml --json-report --json-report-file report.json
  grep -o '::error.*' "$folder/output"
  python3 - <<'CODE'
import json, xml.etree.ElementTree as tree
for case in tree.parse("junit.xml").getroot().iter("testcase"):
    failure = case.find("failure")
    print(case.get("name"), repr(failure.get("message")), "3 == 4" in failure.text)
for test in json.load(open("report.json"))["tests"]:
    print(test["call"]["crash"]["path"], test["call"]["crash"]["lineno"])
CODE
}

finding observe <<'RECORDED'
$ pytest -p no:cacheprovider --quiet --junit-xml junit.xml --json-report --json-report-file report.json
exit 1
::error file=test_cart.py,line=4::test_assert%0A%0Aassert 1 == 2
::error file=test_cart.py::test_checks,line=0::test_checks%0A%0Acheck 1 == 2%0Atest_cart.py:7 in test_checks() -> check.equal(1, 2)%0A%0A
test_assert 'assert 1 == 2' False
test_checks 'check 1 == 2\ntest_cart.py:7 in test_checks() -> check.equal(1, 2)\n\n' True
WORK/test_cart.py 4
test_cart.py::test_checks 0
RECORDED
