#!/usr/bin/env bash
# @cucumber/cucumber 13.3.0 (npm), Node 26.10.0.
#
# Expected: the rerun file names the scenarios that made the run fail.
# Seen: in a run that ends with 0 it names one that a step has skipped, and one without steps, which the summary counts as
#   passed.
# Source: cucumber-js, docs/rerun.md, which says that the file is empty once everything has passed.
# Why it matters: a rerun file that is not empty is no sign of failure, and a loop that runs until it is empty
#   does not end.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 @cucumber/cucumber@13.3.0

mkdir -p features/steps
cat >features/cart.feature <<'TEXT'
Feature: cart
  Scenario: passes
    Given a cart
  Scenario: is skipped by its step
    Given no database
  Scenario: has no steps
TEXT
cat >features/steps/steps.js <<'STEPS'
const { Given } = require('@cucumber/cucumber')
Given('a cart', () => {})
Given('no database', () => 'skipped')
STEPS

observe() {
  ends_with cucumber-js --format rerun:rerun.txt --format summary
  grep scenarios "$folder/output"
  cat rerun.txt && echo
}

finding observe <<'RECORDED'
$ cucumber-js --format rerun:rerun.txt --format summary
exit 0
3 scenarios (2 passed, 1 skipped)
features/cart.feature:4:6
RECORDED
