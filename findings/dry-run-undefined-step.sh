#!/usr/bin/env bash
# @cucumber/cucumber 13.3.0 (npm), Node 26.10.0; behave 1.3.3 (PyPI).
#
# Expected: a dry run executes nothing, so its report has no failure and it ends with 0, in both tools.
# Seen: a step without definition is a failure in cucumber-js's JUnit, and cucumber-js ends with 0; behave writes an
#   error and ends with 1.
# Source: no documentation found.
# Why it matters: the same feature, the same flag and the same fault are green here and red there, and one of the
#   reports contradicts its exit status.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 @cucumber/cucumber@13.3.0
pip_packages behave==1.3.3

mkdir -p features/steps
cat >features/cart.feature <<'TEXT'
Feature: cart
  Scenario: is empty
    Given a step that nobody has defined
TEXT

observe() {
  ends_with cucumber-js --dry-run --format junit:report.xml
  junit report.xml
  touch features/steps/steps.py
  ends_with behave --dry-run --junit
  junit reports/TESTS-cart.xml
}

finding observe <<'RECORDED'
$ cucumber-js --dry-run --format junit:report.xml
exit 0
testsuite 'Cucumber': tests=1 failures=1 errors=0 skipped=0
  case 'is empty': failure
$ behave --dry-run --junit
exit 1
testsuite 'cart.cart': tests=1 failures=0 errors=1 skipped=0
  case 'is empty': error
RECORDED
