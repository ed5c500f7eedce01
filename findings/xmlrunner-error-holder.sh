#!/usr/bin/env bash
# unittest-xml-reporting 4.0.0 (PyPI).
#
# Expected: a setUpClass or tearDownClass that fails is an error in the suite of its class.
# Seen: it is a case without class name, in a suite "unittest.suite._ErrorHolder", with a time stamp of the year 1. A
#   tearDownClass has file and line of the test that ran before it. The class whose setUpClass failed has no suite.
# Source: no documentation found.
# Why it matters: by suite or by class, the failure belongs to nothing of the project, and its place is a test that
#   passed. The class is only in brackets in the case's name.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages unittest-xml-reporting==4.0.0

cat >test_cart.py <<'TEST'
import unittest

class Cart(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no database")

    def test_is_empty(self):
        pass

class Price(unittest.TestCase):
    @classmethod
    def tearDownClass(cls):
        raise RuntimeError("the database does not stop")

    def test_adds(self):
        pass
TEST

observe() {
  ends_with python3 -m xmlrunner --output-file report.xml test_cart
  junit report.xml | sed -E "s/-[0-9]+'/'/"
  python3 - <<'PYTHON'
import xml.etree.ElementTree as tree
for case in tree.parse("report.xml").iter("testcase"):
    print([case.get(key) for key in ("classname", "name", "file", "line")], case.get("timestamp")[:4] == "0001")
PYTHON
}

finding observe <<'RECORDED'
$ python3 -m xmlrunner --output-file report.xml test_cart
exit 1
testsuites None:
testsuite 'test_cart.Price': tests=1 failures=0 errors=0 skipped=0
  case 'test_adds': passed
testsuite 'unittest.suite._ErrorHolder': tests=2 failures=0 errors=2 skipped=0
  case 'setUpClass (test_cart.Cart)': error
  case 'tearDownClass (test_cart.Price)': error
['test_cart.Price', 'test_adds', 'test_cart.py', '16'] False
['', 'setUpClass (test_cart.Cart)', None, None] True
['', 'tearDownClass (test_cart.Price)', 'test_cart.py', '16'] True
RECORDED
