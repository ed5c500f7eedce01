#!/usr/bin/env bash
# tap 21.8.0 (npm), Node 26.12.1.
#
# Expected: the totals of tap's JUnit file count its cases; a test that is skipped or todo is a skipped case.
# Seen: one check that failed in one test gives two failed cases, one for each, and failures=5 at the root, which says
#   10 tests above six cases. It says skipped=3 too, and no case has a skipped element: todo and skipped are properties.
# Source: no documentation found.
# Why it matters: the totals tell of five failures where there is one, and a test that did not run looks passed.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 tap@21.8.0

cat >sum.test.js <<'TEST'
const t = require('tap')
t.test('adds', t => { t.equal(1 + 1, 2, 'is 2'); t.end() })
t.test('subtracts', t => { t.equal(2 - 1, 2, 'is 1'); t.end() })
t.test('multiplies', { todo: 'later' }, t => { t.fail('no'); t.end() })
t.test('divides', { skip: 'no zero' }, t => { t.fail('no'); t.end() })
TEST

observe() {
  ends_with tap run --disable-coverage --reporter=junit sum.test.js
  sed -n '/^<?xml/,/^<.testsuites>/p' "$folder/output" >report.xml
  junit report.xml
}

finding observe <<'RECORDED'
$ tap run --disable-coverage --reporter=junit sum.test.js
exit 1
testsuites 'TAP Tests': tests=10 failures=5 skipped=3
testsuite 'sum.test.js': tests=9 failures=4 skipped=3
testsuite 'adds': tests=2 failures=0 skipped=0
  case 'is 2': passed
testsuite 'subtracts': tests=2 failures=2 skipped=0
  case 'is 1': failure
  case 'adds': passed
  case 'subtracts': failure
  case 'multiplies': passed
  case 'divides': passed
RECORDED
