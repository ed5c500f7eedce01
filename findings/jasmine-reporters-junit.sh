#!/usr/bin/env bash
# jasmine 7.0.0, jasmine-reporters 2.5.2 (npm); Node 26.12.1.
#
# Expected: JUnit and TAP have the failures that jasmine counts, the hooks among them.
# Seen: jasmine counts two failed tests and two failed hooks and says 4; JUnit says failures="4" too, of three tests: it
#   counts the checks of a test, and has no word of either hook. The hook behind the tests leaves no trace: its group has
#   passed in both. Each mark of the console stands in front of a point: `Fnot ok 1` is none to a parser. Tests outside of
#   a group are in a suite named "focused specs".
# Source: no documentation found.
# Why it matters: totals that are equal by chance hide that two causes are missing; with a hook alone the report is green
#   and jasmine ends with 3.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 jasmine@7.0.0 jasmine-reporters@2.5.2

ln -s "$folder/node_modules" node_modules
cat >cart.spec.cjs <<'CODE'
const { JUnitXmlReporter, TapReporter } = require('jasmine-reporters')
jasmine.getEnv().addReporter(new JUnitXmlReporter({ savePath: 'out' }))
jasmine.getEnv().addReporter(new TapReporter())
describe('before', () => {
  beforeAll(() => { throw new Error('no db') })
  it('opens', () => expect(1).toBe(1))
})
describe('after', () => {
  afterAll(() => { throw new Error('no stop') })
  it('closes', () => expect(1).toBe(1))
})
it('adds', () => {
  expect(1).toBe(2)
  expect(1).toBe(3)
  expect(1).toBe(4)
})
CODE

observe() {
  ends_with jasmine --random=false cart.spec.cjs
  echo "# console"
  grep -E '^(Suite error|[0-9]+ specs)' "$folder/output"
  echo "# TAP"
  grep -E 'ok [0-9]|^# .* specs' "$folder/output" | sed 's/ in [0-9.]*s.//'
  echo "# JUnit"
  junit out/junitresults.xml
  grep -c '<failure' out/junitresults.xml
  grep -cE 'no (db|stop)' out/junitresults.xml || true
}

finding observe <<'RECORDED'
$ jasmine --random=false cart.spec.cjs
exit 3
# console
Suite error: before
Suite error: after
3 specs, 4 failures
# TAP
Fnot ok 1 - before : opens
.ok 2 - after : closes
Fnot ok 3 - focused specs : adds
# 3 specs, 2 failures, 0 skipped, 0 disabled
# NOTE: disabled specs are usually a result of xdescribe.
# JUnit
testsuites None: tests=3 failures=4 errors=0
testsuite 'before': tests=1 failures=1 errors=0 skipped=0
  case 'opens': failure
testsuite 'after': tests=1 failures=0 errors=0 skipped=0
  case 'closes': passed
testsuite 'focused specs': tests=1 failures=3 errors=0 skipped=0
  case 'adds': failure, failure, failure
4
0
RECORDED
