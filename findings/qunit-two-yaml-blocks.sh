#!/usr/bin/env bash
# qunit 3.0.0 (npm), Node 26.12.1.
#
# Expected: a point of TAP has one YAML block, as TAP has it; a test with two failed assertions puts both in it.
# Seen: one block for each failed assertion, all behind one point.
# Source: testanything.org, TAP 13 and 14, speak of one block behind a point; of qunit no documentation found.
# Why it matters: a reader that takes the first block, or lets the last one win, shows one of the failures. One that
#   holds to the specification takes the second for text of no test.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 qunit@3.0.0

cat >sum.js <<'TEST'
QUnit.test('adds', assert => {
  assert.equal(1 + 1, 3, 'first')
  assert.equal(1 + 2, 4, 'second')
})
TEST

observe() {
  ends_with qunit sum.js
  grep -vE '^ +(stack|at)' "$folder/output"
}

finding observe <<'RECORDED'
$ qunit sum.js
exit 1
TAP version 13
not ok 1 adds
  ---
  message: first
  severity: failed
  actual  : 2
  expected: 3
  ...
  ---
  message: second
  severity: failed
  actual  : 3
  expected: 4
  ...
1..1
# pass 0
# skip 0
# todo 0
# fail 1
RECORDED
