#!/usr/bin/env bash
# pytest 9.2.0 (PyPI), whose subtests are built in.
#
# Expected: the JUnit file has a case for each subtest, or one for all of a test; its totals go with that.
# Seen: one case for all, with a failure element for each subtest that failed and one more for the test. The totals say
#   10 tests and 4 failures above three cases. A test that passed is "skipped" there if a part of it was skipped; one
#   of unittest has "PASSED" on the console and a failure in the file.
# Source: pytest issues 13876 (cases) and 13986 (double count on the console); of the totals no documentation found.
# Why it matters: totals that differ from the list are no sign of a report that was cut off, a case has several
#   failures, and "skipped" is not what pytest says of the test.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pytest==9.2.0

cat >test_sum.py <<'TEST'
import unittest
import pytest

def test_adds(subtests):
    for number in range(3):
        with subtests.test(number=number):
            assert number == 1

def test_skips_a_part(subtests):
    with subtests.test("one"):
        pytest.skip("no database")
    with subtests.test("two"):
        pass

class Sum(unittest.TestCase):
    def test_subtracts(self):
        for number in range(2):
            with self.subTest(number=number):
                self.assertEqual(number, 1)
TEST

observe() {
  ends_with pytest -rA -q --junitxml=report.xml
  grep -E '^(PASSED|FAILED|SUBFAILED|SUBSKIPPED|SKIPPED|SUBPASSED)' "$folder/output" | cut -d' ' -f1,2 | sort
  junit report.xml
}

finding observe <<'RECORDED'
$ pytest -rA -q --junitxml=report.xml
exit 1
FAILED test_sum.py::test_adds
PASSED test_sum.py::Sum::test_subtracts
PASSED test_sum.py::test_skips_a_part
SUBFAILED(number=0) test_sum.py::Sum::test_subtracts
SUBFAILED(number=0) test_sum.py::test_adds
SUBFAILED(number=2) test_sum.py::test_adds
SUBSKIPPED[one] [1]
testsuites 'pytest tests':
testsuite 'pytest': tests=10 failures=4 errors=0 skipped=1
  case 'test_adds': failure, failure, failure
  case 'test_skips_a_part': skipped
  case 'test_subtracts': failure
RECORDED
