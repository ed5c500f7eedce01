#!/usr/bin/env bash
# pytest 9.2.0 (PyPI).
#
# Expected: a test that calls `pytest.exit(…, returncode=0)` ends the run with 0, and the JUnit file has the tests up
#   to there.
# Seen: the file also has a case without name, class and result, which reads as passed. The total does not count it;
#   the tests behind it are nowhere.
# Source: no documentation found.
# Why it matters: a run that ended early is green in exit status, totals and cases. A case without a name is the
#   only trace, and must not become a test.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pytest==9.2.0

cat >test_sum.py <<'TEST'
import pytest

def test_adds():
    pass

def test_stops():
    pytest.exit("no more", returncode=0)

def test_never_runs():
    assert False
TEST

observe() {
  ends_with pytest -q --junitxml=report.xml
  junit report.xml
}

finding observe <<'RECORDED'
$ pytest -q --junitxml=report.xml
exit 0
testsuites 'pytest tests':
testsuite 'pytest': tests=1 failures=0 errors=0 skipped=0
  case 'test_adds': passed
  case None: passed
RECORDED
