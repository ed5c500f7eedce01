#!/usr/bin/env bash
# Twisted 26.10.0 (trial), zope.testrunner 8.3 (PyPI), unittest of Python 3.11 or newer.
#
# Expected: runners of unittest's classes run setUpModule and setUpClass; one that raises is an error.
# Seen: trial and zope.testrunner run neither, without a word, also in a plain unittest.TestCase. A class whose set-up raises
#   passes, and one that needs its set-up fails at the attribute that is missing. unittest itself ends with 1 and runs no test.
# Source: trial's basics name setUp and tearDown; zope.testrunner has layers; that the hooks are left out, none found.
# Why it matters: the same file is red by one runner and green by the other; a check that lies in a class hook is never made.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages Twisted==26.10.0 zope.testrunner==8.3

cat >test_hooks.py <<'CODE'
import unittest

def setUpModule():
    print("module hook ran")

class Refused(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        raise RuntimeError("no database")
    def test_reads(self):
        pass

class Prepared(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.cart = ["bread"]
    def test_counts(self):
        self.assertEqual(len(self.cart), 1)
CODE

# The hook's own line, what went wrong, and the last counts.
lines() {
  grep -hoE "^module hook ran|^[a-zA-Z.]*(RuntimeError|AttributeError): .*|^(Ran|PASSED|OK|FAILED).*|^ *Ran [0-9]+ tests with .*skipped" "$1" |
    sed -E 's/ in [0-9.]+s$//; s/^ +//' || true
}

observe() {
  local class
  for class in Refused Prepared; do
    ends_with python3 -m unittest "test_hooks.$class"
    lines "$folder/output"
    ends_with python3 -m twisted.trial --reporter=text "test_hooks.$class"
    lines "$folder/output"
    ends_with zope-testrunner --path . --tests-pattern '^test_hooks$' --test "$class"
    lines "$folder/output"
  done
}

finding observe <<'RECORDED'
$ python3 -m unittest test_hooks.Refused
exit 1
RuntimeError: no database
Ran 0 tests
FAILED (errors=1)
module hook ran
$ python3 -m twisted.trial --reporter=text test_hooks.Refused
exit 0
Ran 1 tests
PASSED (successes=1)
$ zope-testrunner --path . --tests-pattern ^test_hooks$ --test Refused
exit 0
Ran 1 tests with 0 failures, 0 errors and 0 skipped
$ python3 -m unittest test_hooks.Prepared
exit 0
Ran 1 test
OK
module hook ran
$ python3 -m twisted.trial --reporter=text test_hooks.Prepared
exit 1
builtins.AttributeError: 'Prepared' object has no attribute 'cart'
Ran 1 tests
FAILED (errors=1)
$ zope-testrunner --path . --tests-pattern ^test_hooks$ --test Prepared
exit 1
AttributeError: 'Prepared' object has no attribute 'cart'
Ran 1 tests with 0 failures, 1 errors and 0 skipped
RECORDED
