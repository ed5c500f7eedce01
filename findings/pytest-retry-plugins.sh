#!/usr/bin/env bash
# pytest-rerunfailures 16.7, pytest-retry 1.7.0, flaky 3.8.1, each with pytest-json-report 1.5.0, pytest-reportlog 1.0.0 and
# pytest 9.2.0 (PyPI).
#
# Expected: a test that fails and then passes has passed, in each report and with each of the three plugins; one that fails at
#   each try has failed, once.
# Seen: in the JSON report such a test is "rerun" to one and "retried" to the next, and `passed` of the summary leaves it out,
#   so that three green tests are one passed. With flaky that report is right and the log of reports has no try that failed, but
#   JUnit has a passed case for it, as with rerunfailures: a test that fails twice is a passed case and a failed one. With
#   pytest-retry JUnit alone is right.
# Source: https://pypi.org/project/flaky/ and https://pypi.org/project/pytest-json-report/ have nothing of it; no documentation
#   found.
# Why it matters: a count of `passed` falls by one for each retry of a green run, and the same name in JUnit has passed and
#   failed. Which of the reports is right depends on the plugin.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pytest-rerunfailures==16.7 pytest-retry==1.7.0 flaky==3.8.1 pytest-json-report==1.5.0 pytest-reportlog==1.0.0 pytest==9.2.0
export PYTEST_DISABLE_PLUGIN_AUTOLOAD=1

cat >test_green.py <<'TEST'
tries = {"one": 0, "two": 0}

def test_one():
    tries["one"] += 1
    assert tries["one"] == 2

def test_two():
    tries["two"] += 1
    assert tries["two"] == 2

def test_three(): pass
TEST
cat >test_red.py <<'TEST'
def test_never(): assert False
TEST

run() {
  echo "$2, $1"
  pytest -p no:cacheprovider -p pytest_jsonreport.plugin -p pytest_reportlog.plugin -p "$2" --quiet "${@:3}" "$1" \
    --junit-xml junit.xml --json-report --json-report-file report.json --report-log log >"$folder/output" 2>&1 || echo "  exit $?"
  python3 - <<'CODE'
import json, xml.etree.ElementTree as tree
report = json.load(open("report.json"))
print("  JSON: ", report["summary"], [test["outcome"] for test in report["tests"]])
reports = [json.loads(line) for line in open("log")]
print("  log:  ", [report["outcome"] for report in reports if report.get("when") == "call"])
cases = list(tree.parse("junit.xml").getroot().iter("testcase"))
print("  JUnit:", [case.get("name") + " " + (case[0].tag if len(case) else "passed") for case in cases])
CODE
}

observe() {
  local file
  for file in test_green.py test_red.py; do
    run "$file" pytest_rerunfailures --reruns 1
    run "$file" pytest_retry.retry_plugin --retries 1
    run "$file" flaky.flaky_pytest_plugin --force-flaky
  done
}

finding observe <<'RECORDED'
pytest_rerunfailures, test_green.py
  JSON:  {'rerun': 2, 'passed': 1, 'total': 3, 'collected': 3} ['rerun', 'rerun', 'passed']
  log:   ['rerun', 'passed', 'rerun', 'passed', 'passed']
  JUnit: ['test_one passed', 'test_one passed', 'test_two passed', 'test_two passed', 'test_three passed']
pytest_retry.retry_plugin, test_green.py
  JSON:  {'retried': 2, 'passed': 1, 'total': 3, 'collected': 3} ['retried', 'retried', 'passed']
  log:   ['retried', 'passed', 'retried', 'passed', 'passed']
  JUnit: ['test_one passed', 'test_two passed', 'test_three passed']
flaky.flaky_pytest_plugin, test_green.py
  JSON:  {'passed': 3, 'total': 3, 'collected': 3} ['passed', 'passed', 'passed']
  log:   ['passed', 'passed', 'passed']
  JUnit: ['test_one passed', 'test_one passed', 'test_two passed', 'test_two passed', 'test_three passed']
pytest_rerunfailures, test_red.py
  exit 1
  JSON:  {'failed': 1, 'total': 1, 'collected': 1} ['failed']
  log:   ['rerun', 'failed']
  JUnit: ['test_never passed', 'test_never failure']
pytest_retry.retry_plugin, test_red.py
  exit 1
  JSON:  {'failed': 1, 'total': 1, 'collected': 1} ['failed']
  log:   ['retried', 'failed']
  JUnit: ['test_never failure']
flaky.flaky_pytest_plugin, test_red.py
  exit 1
  JSON:  {'failed': 1, 'total': 1, 'collected': 1} ['failed']
  log:   ['failed']
  JUnit: ['test_never passed', 'test_never failure']
RECORDED
