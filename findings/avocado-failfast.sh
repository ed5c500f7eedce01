#!/usr/bin/env bash
# avocado-framework 113.0 (PyPI).
#
# Expected: with `--failfast` the tests that were not run are skipped cases in the XML report and named points in TAP, and the
#   status is that of a failed test, 1.
# Seen: the XML suite says tests=4 skipped=3 and holds one case; TAP has points without a name; the JSON lists one test of
#   four. The status is 9, as if the job itself had been interrupted.
# Source: avocado's documentation has the bits of the status: 1 for tests, 8 for a job that was interrupted.
# Why it matters: the totals of the report are not those of its cases, and which tests did not run is nowhere.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages avocado-framework==113.0

cat >cart.py <<'CODE'
from avocado import Test

class Cart(Test):
    def test_adds(self):
        self.fail("the cart is empty")
    def test_removes(self):
        pass
    def test_sums(self):
        pass
    def test_cancels(self):
        self.cancel("no plan")
CODE
export HOME=$folder

run() {
  ends_with python3 -m avocado run --disable-sysinfo --max-parallel-tasks 1 --xunit report.xml --json report.json \
    --tap report.tap "$@" cart.py
  junit report.xml | sed 's/job-[^'"'"']*/JOB/'
  grep -E '^(not )?ok|^1\.\.' report.tap
  python3 -c 'import json; r = json.load(open("report.json")); print("JSON:", *(f"{k}={r[k]}" for k in ("total", "pass", "failures", "skip", "cancel")), "tests:", len(r["tests"]))'
}

observe() {
  run
  run --failfast
}

finding observe <<'RECORDED'
$ python3 -m avocado run --disable-sysinfo --max-parallel-tasks 1 --xunit report.xml --json report.json --tap report.tap cart.py
exit 1
testsuite 'JOB': tests=4 failures=1 errors=0 skipped=1
  case 'cart.py:Cart.test_adds': failure
  case 'cart.py:Cart.test_removes': passed
  case 'cart.py:Cart.test_sums': passed
  case 'cart.py:Cart.test_cancels': skipped
1..4
not ok 1 cart.py:Cart.test_adds
ok 2 cart.py:Cart.test_removes
ok 3 cart.py:Cart.test_sums
ok 4 cart.py:Cart.test_cancels  # SKIP no plan
JSON: total=4 pass=2 failures=1 skip=0 cancel=1 tests: 4
$ python3 -m avocado run --disable-sysinfo --max-parallel-tasks 1 --xunit report.xml --json report.json --tap report.tap --failfast cart.py
exit 9
testsuite 'JOB': tests=4 failures=1 errors=0 skipped=3
  case 'cart.py:Cart.test_adds': failure
1..4
not ok 1 cart.py:Cart.test_adds
ok 2 # SKIP Interrupting job (failfast).
ok 3 # SKIP Interrupting job (failfast).
ok 4 # SKIP Interrupting job (failfast).
JSON: total=4 pass=0 failures=1 skip=3 cancel=0 tests: 1
RECORDED
