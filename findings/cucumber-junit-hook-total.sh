#!/usr/bin/env bash
# @cucumber/cucumber 13.3.0 (npm), Node 26.10.0.
#
# Expected: a failing AfterAll hook is either left out of the JUnit file or counted in its totals.
# Seen: it is a case with a failure, and the suite's totals do not count it: tests=1 failures=0 above two cases. The
#   case comes first and has a file and line for its name.
# Source: no documentation found.
# Why it matters: totals of a suite can say "no failure" while a failure stands in it; the worse of both is true, as
#   the exit status shows.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 @cucumber/cucumber@13.3.0

mkdir -p features/steps
cat >features/cart.feature <<'TEXT'
Feature: cart
  Scenario: is empty
    Given a cart
TEXT
cat >features/steps/steps.js <<'STEPS'
const { AfterAll, Given } = require('@cucumber/cucumber')
Given('a cart', () => {})
AfterAll(() => { throw new Error('the server does not stop') })
STEPS

observe() {
  ends_with cucumber-js --format junit:report.xml
  junit report.xml
}

finding observe <<'RECORDED'
$ cucumber-js --format junit:report.xml
exit 1
testsuite 'Cucumber': tests=1 failures=0 errors=0 skipped=0
  case 'features/steps/steps.js:3': failure
  case 'is empty': passed
RECORDED
