#!/usr/bin/env bash
# behave 1.3.3 (PyPI).
#
# Expected: a before_all hook that raises leaves an error in the JUnit file.
# Seen: all scenarios are skipped, there is no failure and no error, and a scenario without steps has passed: "1
#   scenario passed" though nothing ran. The JSON is an empty list. behave ends with 1.
# Source: no documentation found.
# Why it matters: exit 1 with a report that is skipped and passed throughout. The cause ("HOOK-ERROR in before_all")
#   is on the console alone.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages behave==1.3.3

mkdir -p features/steps
cat >features/cart.feature <<'TEXT'
Feature: cart
  Scenario: is empty
    Given a cart
  Scenario: has no steps yet
TEXT
cat >features/steps/steps.py <<'STEPS'
from behave import given

@given("a cart")
def cart(context):
    pass
STEPS
cat >features/environment.py <<'HOOKS'
def before_all(context):
    raise RuntimeError("no database")
HOOKS

observe() {
  ends_with behave --no-color --junit --format json --outfile report.json
  grep -E 'HOOK-ERROR|scenario' "$folder/output"
  junit reports/TESTS-cart.xml
  echo "json: $(tr -d '\n' <report.json)"
}

finding observe <<'RECORDED'
$ behave --no-color --junit --format json --outfile report.json
exit 1
ABORTED: HOOK-ERROR in hook=before_all
HOOK-ERROR in before_all: RuntimeError: no database
1 scenario passed, 0 failed, 0 skipped, 1 untested
testsuite 'cart.cart': tests=2 failures=0 errors=0 skipped=1
  case 'is empty': skipped
  case 'has no steps yet': passed
json: []
RECORDED
