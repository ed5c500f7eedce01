#!/usr/bin/env bash
# pytest 9.2.0, pytest-rerunfailures 16.7 (PyPI).
#
# Expected: a test that is tried again is one case of the JUnit file, with the result of its last try.
# Seen: each try is a case of the same name, and a try that failed is empty, which reads as passed. A test that failed
#   three times has two passed cases and one failure; the suite says 2 tests and lists 6.
# Source: pytest-rerunfailures issue 170 (open) tells of such files; up to 16.6 only the last try was written, as
#   ProgramBench issue 64 tells. No documentation found.
# Why it matters: "passed and failed in one report" looks like a test that is flaky, but this one never passed. And
#   a test that did pass at last has no failure that would show it as flaky.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pytest==9.2.0 pytest-rerunfailures==16.7

cat >test_sum.py <<'TEST'
tries = []

def test_passes_the_third_time():
    tries.append(1)
    assert len(tries) == 3

def test_never_passes():
    assert False
TEST

observe() {
  ends_with pytest -q --reruns=2 --junitxml=report.xml
  sed -nE 's/ in [0-9.]+s$//; s/^([0-9]+ failed)/\1/p' "$folder/output"
  junit report.xml
}

finding observe <<'RECORDED'
$ pytest -q --reruns=2 --junitxml=report.xml
exit 1
1 failed, 1 passed, 4 rerun
testsuites 'pytest tests':
testsuite 'pytest': tests=2 failures=1 errors=0 skipped=0
  case 'test_passes_the_third_time': passed
  case 'test_passes_the_third_time': passed
  case 'test_passes_the_third_time': passed
  case 'test_never_passes': passed
  case 'test_never_passes': passed
  case 'test_never_passes': failure
RECORDED
