#!/usr/bin/env bash
# mocha 12.0.3 (npm), Node 26.12.1.
#
# Expected: the points of TAP are numbered one after the other, also where a hook has failed.
# Seen: a failing "before all" hook has a number that the next test takes again: "not ok 1" and "ok 1" in one report.
#   The plan counts one more than the highest number.
# Source: testanything.org, TAP 13: a point's number is optional, and tells its place. Of mocha no documentation found.
# Why it matters: a reader that keeps points by number replaces the failure with the test that passed, and then waits
#   for the last point of the plan.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 mocha@12.0.3

cat >cart.test.js <<'TEST'
describe('cart', () => {
  before(() => { throw new Error('no database') })
  it('is empty', () => {})
})
describe('price', () => {
  it('adds', () => {})
  it('subtracts', () => {})
})
TEST

observe() {
  ends_with mocha --reporter tap cart.test.js
  grep -E '^((not )?ok|#|1\.\.)' "$folder/output"
}

finding observe <<'RECORDED'
$ mocha --reporter tap cart.test.js
exit 1
not ok 1 cart "before all" hook for "is empty"
ok 1 price adds
ok 2 price subtracts
# tests 3
# pass 2
# fail 1
1..3
RECORDED
