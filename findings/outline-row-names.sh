#!/usr/bin/env bash
# @cucumber/cucumber 13.3.0 (npm), Node 26.10.0; behave 1.3.3 (PyPI).
#
# Expected: a row of a scenario outline has one name in all reports of a run, with its values filled in.
# Seen: cucumber-js calls it "costs <n> - #1.1: costs 1" in JUnit, with the placeholder left, and "costs 1" in JSON.
#   behave calls it "costs 1 -- @1.1 " in both, with a blank at the end.
# Source: no documentation found.
# Why it matters: a failure of JUnit is not found again in JSON or on the console by its name, and a name that is
#   trimmed no longer selects the row.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 @cucumber/cucumber@13.3.0
pip_packages behave==1.3.3

mkdir -p features/steps
cat >features/cart.feature <<'TEXT'
Feature: cart
  Scenario Outline: costs <n>
    Given a price of <n>
    Examples:
      | n |
      | 1 |
TEXT
echo "const { Given } = require('@cucumber/cucumber'); Given('a price of {int}', n => {})" >features/steps/steps.js
cat >features/steps/steps.py <<'STEPS'
from behave import given

@given("a price of {n:d}")
def price(context, n):
    pass
STEPS

names() {
  python3 - "$1" <<'PYTHON'
import json, sys
print("json:", [scenario["name"] for feature in json.load(open(sys.argv[1])) for scenario in feature["elements"]])
PYTHON
}

observe() {
  ends_with cucumber-js --format junit:report.xml --format json:report.json
  junit report.xml
  names report.json
  ends_with behave --junit --format json --outfile behave.json
  junit reports/TESTS-cart.xml
  names behave.json
}

finding observe <<'RECORDED'
$ cucumber-js --format junit:report.xml --format json:report.json
exit 0
testsuite 'Cucumber': tests=1 failures=0 errors=0 skipped=0
  case 'costs <n> - #1.1: costs 1': passed
json: ['costs 1']
$ behave --junit --format json --outfile behave.json
exit 0
testsuite 'cart.cart': tests=1 failures=0 errors=0 skipped=0
  case 'costs 1 -- @1.1 ': passed
json: ['costs 1 -- @1.1 ']
RECORDED
