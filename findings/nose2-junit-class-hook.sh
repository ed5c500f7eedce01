#!/usr/bin/env bash
# nose2 0.16.0 (PyPI).
#
# Expected: in the JUnit report of nose2 a class that could not be set up is an error under the name of that class, and the totals
#   count the cases.
# Seen: the name is cut at its last dot: class "setUpClass (test_cart", name "Cart)". The suite says tests=1 failures=3
#   errors=1 and holds four cases: each failed part of a test is one, the class is another.
# Source: no documentation found.
# Why it matters: a failure whose name has half a pair of brackets; the share of tests that passed, taken from the totals, is
#   negative.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages nose2==0.16.0

cat >test_cart.py <<'CODE'
import unittest

class Cart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no database")
    def test_adds(self):
        pass
    def test_removes(self):
        pass

class Plan(unittest.TestCase):
    def test_parts(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertEqual(part, 5)
CODE
printf '[unittest]\nplugins = nose2.plugins.junitxml\n[junit-xml]\nalways-on = True\npath = report.xml\n' >unittest.cfg

observe() {
  ends_with python3 -m nose2
  grep -E '^(Ran|FAILED)' "$folder/output" | sed 's/ in .*//'
  junit report.xml
  python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
print("classes:", sorted({case.get("classname") for case in tree.parse("report.xml").iter("testcase")}))
PYTHON
}

finding observe <<'RECORDED'
$ python3 -m nose2
exit 1
Ran 1 test
FAILED (failures=3, errors=1)
testsuite 'nose2-junit': tests=1 failures=3 errors=1 skipped=0
  case 'Cart)': error
  case 'test_parts (part=0)': failure
  case 'test_parts (part=1)': failure
  case 'test_parts (part=2)': failure
classes: ['setUpClass (test_cart', 'test_cart.Plan']
RECORDED
