#!/usr/bin/env bash
# pytest 9.2.0 (PyPI).
#
# Expected: a fixture of the whole session that fails at its end is an error of the run, whichever test is the last. A failure
#   that is expected is one of the test; `xfail` says nothing of what comes behind it.
# Seen: it is an error behind a plain test and an expected failure behind one with `xfail`, with exit 0. The test is xfailed
#   twice then, or xpassed and xfailed, and its case in JUnit has two `skipped`, or one where the test has passed; the suite
#   counts a test more than it has. With `raises=`, or with `pytest.xfail()` in the test, the error stays.
# Source: https://docs.pytest.org/en/stable/how-to/skipping.html tells of the test's own failure; of fixtures no documentation
#   found.
# Why it matters: a server that does not stop, or a database that is not clean, is green as long as the last test is one that is
#   expected to fail, and red when somebody adds a test behind it.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pytest==9.2.0

# A file whose last test is written as told, with a fixture that fails when the session ends.
tests() {
  cat <<TEST
import pytest

@pytest.fixture(scope="session")
def server():
    yield
    raise ValueError("the server does not stop")

def test_first(server): pass

$1
TEST
}

run() {
  local code=0
  tests "$1" >test_cart.py
  pytest -p no:cacheprovider --quiet --junit-xml junit.xml >"$folder/output" 2>&1 || code=$?
  echo "$1" | tr '\n' ' '
  echo "-> exit $code, $(sed -n 's/ in [0-9.]*s$//p' "$folder/output")"
  junit junit.xml | tail -n +2
}

observe() {
  run 'def test_last(server): pass'
  run $'@pytest.mark.xfail\ndef test_last(server): assert False'
  run $'@pytest.mark.xfail\ndef test_last(server): pass'
  run $'@pytest.mark.xfail(strict=True)\ndef test_last(server): pass'
  run $'@pytest.mark.xfail(raises=AssertionError)\ndef test_last(server): assert False'
  run 'def test_last(server): pytest.xfail()'
}

finding observe <<'RECORDED'
def test_last(server): pass -> exit 1, 2 passed, 1 error
testsuite 'pytest': tests=2 failures=0 errors=1 skipped=0
  case 'test_first': passed
  case 'test_last': error
@pytest.mark.xfail def test_last(server): assert False -> exit 0, 1 passed, 2 xfailed
testsuite 'pytest': tests=3 failures=0 errors=0 skipped=2
  case 'test_first': passed
  case 'test_last': skipped, skipped
@pytest.mark.xfail def test_last(server): pass -> exit 0, 1 passed, 1 xfailed, 1 xpassed
testsuite 'pytest': tests=3 failures=0 errors=0 skipped=1
  case 'test_first': passed
  case 'test_last': skipped
@pytest.mark.xfail(strict=True) def test_last(server): pass -> exit 1, 1 failed, 1 passed, 1 xfailed
testsuite 'pytest': tests=3 failures=1 errors=0 skipped=1
  case 'test_first': passed
  case 'test_last': failure, skipped
@pytest.mark.xfail(raises=AssertionError) def test_last(server): assert False -> exit 1, 1 passed, 1 xfailed, 1 error
testsuite 'pytest': tests=2 failures=0 errors=1 skipped=1
  case 'test_first': passed
  case 'test_last': skipped, error
def test_last(server): pytest.xfail() -> exit 1, 1 passed, 1 xfailed, 1 error
testsuite 'pytest': tests=2 failures=0 errors=1 skipped=1
  case 'test_first': passed
  case 'test_last': skipped, error
RECORDED
