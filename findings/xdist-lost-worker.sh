#!/usr/bin/env bash
# pytest-xdist 3.8.0, pytest-rerunfailures 16.7, pytest-reportlog 1.0.0, pytest-json-report 1.5.0 with pytest 9.2.0 (PyPI).
#
# Expected: a test that ends its worker is a failed case in every report, as on the console; what runs it again says so in the
#   report.
# Seen: pytest counts "1 failed"; JUnit has an error, of a setup, and failures=0. Its phase is called "???" in the log of
#   reports, and in the JSON report that is the name of a key, where each other test has "call". With `--reruns` each try is one
#   more case of JUnit without a name and without a class, which counts for nothing.
# Source: pytest-xdist's `pytest_handlecrashitem` tells that a lost test becomes a report; of what reports show no documentation
#   found.
# Why it matters: a reader that asks for failures or for the phase "call" misses the test that took a worker with it, and one
#   that needs a name for each case refuses the file.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pytest-xdist==3.8.0 pytest-rerunfailures==16.7 pytest-reportlog==1.0.0 pytest-json-report==1.5.0 pytest==9.2.0

cat >test_cart.py <<'TEST'
import os

def test_before(): pass
def test_exits(): os._exit(3)
def test_after(): pass
TEST

run() {
  ends_with pytest -p no:cacheprovider --quiet -n 1 --junit-xml junit.xml "$@"
  sed -n 's/ in [0-9.]*s$//p' "$folder/output"
  junit junit.xml
  grep -o 'failed on [a-z]*' junit.xml
}

observe() {
  run --report-log log --json-report --json-report-file report.json
  python3 - <<'CODE'
import json
for line in open("log"):
    report = json.loads(line)
    if report.get("nodeid", "").endswith("exits"):
        print(report["when"], report["outcome"])
for test in json.load(open("report.json"))["tests"]:
    print(test["nodeid"], test["outcome"], [key for key in test if isinstance(test[key], dict)])
CODE
  run --reruns 2
}

finding observe <<'RECORDED'
$ pytest -p no:cacheprovider --quiet -n 1 --junit-xml junit.xml --report-log log --json-report --json-report-file report.json
exit 1
1 failed, 2 passed
testsuites 'pytest tests':
testsuite 'pytest': tests=3 failures=0 errors=1 skipped=0
  case 'test_before': passed
  case 'test_exits': error
  case 'test_after': passed
failed on setup
setup passed
??? failed
test_cart.py::test_before passed ['setup', 'call', 'teardown']
test_cart.py::test_exits failed ['setup', '???']
test_cart.py::test_after passed ['setup', 'call', 'teardown']
$ pytest -p no:cacheprovider --quiet -n 1 --junit-xml junit.xml --reruns 2
exit 1
1 failed, 2 passed, 2 rerun
testsuites 'pytest tests':
testsuite 'pytest': tests=3 failures=0 errors=1 skipped=0
  case 'test_before': passed
  case None: passed
  case None: passed
  case 'test_exits': error
  case 'test_after': passed
failed on setup
RECORDED
