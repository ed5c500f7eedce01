#!/usr/bin/env bash
# zope.testrunner 8.3 (PyPI).
#
# Expected: `--xml` writes a file per class with all its tests; a layer that could not be set up or torn down is an error in them;
#   a part of a test has the name of the test; the totals do not depend on `-j`.
# Seen: a layer that fails takes its tests out of the report, and one that fails afterwards leaves only passed tests, with
#   status 1. A skipped test is in no file. The class of a part is "unittest.case._SubTest", and as many letters are cut from
#   the name as that has: "rts (part=0)". With `-j2` the total of skipped tests is 0.
# Source: no documentation found.
# Why it matters: a red run whose report has no failure, and failures whose names say neither class nor test.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages zope.testrunner==8.3

cat >layers.py <<'CODE'
class Refused:
    @classmethod
    def setUp(cls):
        raise RuntimeError("no database")
    @classmethod
    def tearDown(cls):
        pass

class Stuck:
    @classmethod
    def setUp(cls):
        pass
    @classmethod
    def tearDown(cls):
        raise RuntimeError("did not stop")
CODE
cat >test_layers.py <<'CODE'
import unittest, layers

class Orders(unittest.TestCase):
    layer = layers.Refused
    def test_reads(self):
        pass
    def test_writes(self):
        pass

class Mail(unittest.TestCase):
    layer = layers.Stuck
    def test_sends(self):
        pass
CODE
cat >test_plain.py <<'CODE'
import unittest

class Plan(unittest.TestCase):
    def test_parts(self):
        for part in range(3):
            with self.subTest(part=part):
                self.assertEqual(part, 5)

class Later(unittest.TestCase):
    @unittest.skip("later")
    def test_later(self):
        pass
    def test_now(self):
        pass
CODE

run() {
  rm -rf xml
  ends_with zope-testrunner --path . --tests-pattern "^$1\$" --xml xml "${@:2}"
  grep -oE '^Total: .*skipped|^  Ran .*skipped' "$folder/output" | sed 's/^ *//'
  for file in xml/testreports/*.xml; do
    junit "$file"
  done
}

observe() {
  run test_layers
  run test_plain
  run test_plain -j2 | grep -v '^ *case\|^testsuite'
}

finding observe <<'RECORDED'
$ zope-testrunner --path . --tests-pattern ^test_layers$ --xml xml
exit 1
Ran 1 tests with 0 failures, 0 errors and 0 skipped
Total: 1 tests, 0 failures, 2 errors and 0 skipped
testsuite 'test_layers.Mail': tests=1 failures=0 errors=0
  case 'test_sends': passed
$ zope-testrunner --path . --tests-pattern ^test_plain$ --xml xml
exit 1
Ran 3 tests with 3 failures, 0 errors and 1 skipped
testsuite 'test_plain.Later': tests=1 failures=0 errors=0
  case 'test_now': passed
testsuite 'unittest.case._SubTest': tests=3 failures=3 errors=0
  case 'rts (part=0)': failure
  case 'rts (part=1)': failure
  case 'rts (part=2)': failure
$ zope-testrunner --path . --tests-pattern ^test_plain$ --xml xml -j2
exit 1
Ran 3 tests with 3 failures, 0 errors and 1 skipped
Ran 0 tests with 0 failures, 0 errors and 0 skipped
Total: 3 tests, 3 failures, 0 errors and 0 skipped
RECORDED
