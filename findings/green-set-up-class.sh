#!/usr/bin/env bash
# green 4.0.2 (PyPI), beside the standard library's unittest.
#
# Expected: a class whose setUpClass raises makes the run fail, as it does with `python -m unittest`.
# Seen: green says "OK", ends with 0, and its JUnit lists only the other class. The class that could not be set up
#   is named nowhere.
# Source: CleanCut/green, issue 121 (closed), tells of it for 2.4; no documentation found.
# Why it matters: a runner's green result can miss whole classes; only a number of tests that fell against the base
#   shows it.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages green==4.0.2

cat >test_cart.py <<'TEST'
import unittest

class Cart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no database")

    def test_total(self):
        self.fail()

class Price(unittest.TestCase):
    def test_adds(self):
        pass
TEST

observe() {
  ends_with python3 -m unittest test_cart
  ends_with green --junit-report report.xml test_cart.py
  grep -E '^(OK|FAILED)' "$folder/output"
  junit report.xml
}

finding observe <<'RECORDED'
$ python3 -m unittest test_cart
exit 1
$ green --junit-report report.xml test_cart.py
exit 0
OK (passes=1)
testsuites None:
testsuite 'test_cart.Price': tests=1 failures=0 errors=0 skipped=0
  case 'test_adds': passed
RECORDED
