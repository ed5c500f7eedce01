#!/usr/bin/env bash
# nose2 0.16.0, green 4.0.2, unittest-xml-reporting 4.0.0 (PyPI), beside the standard library's unittest.
#
# Expected: a test that is marked `expectedFailure` and passes makes the run fail in all runners of unittest, and is
#   a failure in their JUnit.
# Seen: unittest, green and xmlrunner end with 1, nose2 with 0. In JUnit it is skipped (nose2), absent (green), an error
#   (xmlrunner).
# Source: docs.python.org, unittest, TestResult.wasSuccessful: an unexpected success is no success; of the JUnit forms no
#   documentation found.
# Why it matters: one event has three forms and two exit statuses. With green the run fails and the report has no
#   failure and no such test.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages nose2==0.16.0 green==4.0.2 unittest-xml-reporting==4.0.0

cat >test_sum.py <<'TEST'
import unittest

class Sum(unittest.TestCase):
    def test_adds(self):
        pass

    @unittest.expectedFailure
    def test_works_by_now(self):
        pass
TEST

observe() {
  ends_with python3 -m unittest test_sum
  ends_with nose2 --plugin nose2.plugins.junitxml --junit-xml test_sum
  junit nose2-junit.xml
  ends_with green --junit-report green.xml test_sum.py
  junit green.xml
  ends_with python3 -m xmlrunner --output-file xmlrunner.xml test_sum
  junit xmlrunner.xml | sed 's/-[0-9]*'\''/'\''/'
}

finding observe <<'RECORDED'
$ python3 -m unittest test_sum
exit 1
$ nose2 --plugin nose2.plugins.junitxml --junit-xml test_sum
exit 0
testsuite 'nose2-junit': tests=2 failures=0 errors=0 skipped=1
  case 'test_adds': passed
  case 'test_works_by_now': skipped
$ green --junit-report green.xml test_sum.py
exit 1
testsuites None:
testsuite 'test_sum.Sum': tests=1 failures=0 errors=0 skipped=0
  case 'test_adds': passed
$ python3 -m xmlrunner --output-file xmlrunner.xml test_sum
exit 1
testsuites None:
testsuite 'test_sum.Sum': tests=2 failures=0 errors=1 skipped=0
  case 'test_adds': passed
  case 'test_works_by_now': error
RECORDED
