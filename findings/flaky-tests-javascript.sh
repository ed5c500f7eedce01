#!/usr/bin/env bash
# vitest 5.1.2, jest 30.5.2 with jest-junit 17.0.0, mocha 12.0.3, bun 1.4.5 (npm); Node 26.12.1.
#
# Expected: a test that passes at its second try is told from one that passed at once: by a mark in JUnit, and by the reason of
#   the first failure in JSON. Nothing of a green run is an error.
# Seen: none of the four JUnit reports has a mark. In JSON jest has the number of tries and an empty list of reasons, mocha the
#   number and an empty error, vitest no number and a passed test with failure messages. bun prints an `::error` annotation for
#   the try that failed, and ends with 0; vitest and jest print none.
# Source: jest documents `retryTimes` with `logErrorsBeforeRetry`; of the reports no documentation found.
# Why it matters: who counts failure messages, or annotations, finds a failure in a green run; who reads JUnit finds no flaky
#   test at all.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 vitest@5.1.2 jest@30.5.2 jest-junit@17.0.0 mocha@12.0.3
bun_package 1.4.5
export GITHUB_ACTIONS=true

ln -s "$folder/node_modules" node_modules
mkdir vitest jest mocha bun
for name in vitest jest mocha bun; do
  echo '{ "private": true }' >"$name/package.json"
done
cat >vitest/cart.test.js <<'TEST'
import { test, expect } from 'vitest'
let tries = 0
test('adds', { retry: 2 }, () => expect(++tries).toBe(2))
TEST
cat >jest/cart.test.js <<'TEST'
jest.retryTimes(2)
let tries = 0
test('adds', () => expect(++tries).toBe(2))
TEST
cat >mocha/cart.test.js <<'TEST'
const assert = require('node:assert')
let tries = 0
it('adds', function () {
  this.retries(2)
  assert.equal(++tries, 2)
})
TEST
cat >bun/cart.test.js <<'TEST'
import { test, expect } from 'bun:test'
let tries = 0
test('adds', () => expect(++tries).toBe(2), { retry: 2 })
TEST

run() {
  cd "$folder/work/$1"
  ends_with "${@:2}"
  echo "annotations: $(grep -c '^::error' "$folder/output" || true)"
  [[ ! -e report.xml ]] || junit report.xml | grep case
}

observe() {
  run vitest vitest run --reporter=github-actions --reporter=junit --outputFile.junit=report.xml --reporter=json \
    --outputFile.json=report.json
  node -p 'JSON.parse(fs.readFileSync("report.json")).testResults[0].assertionResults.map(
    ({ status, failureMessages }) => [status, failureMessages.map((message) => message.split(" //")[0])])'
  run jest env JEST_JUNIT_OUTPUT_NAME=report.xml jest --reporters=github-actions --reporters=jest-junit --json \
    --outputFile=report.json
  node -p 'JSON.parse(fs.readFileSync("report.json")).testResults[0].assertionResults.map(
    ({ status, failureMessages, invocations, retryReasons }) => ({ status, failureMessages, invocations, retryReasons }))'
  run mocha mocha --reporter xunit --reporter-option output=report.xml cart.test.js
  mocha --reporter json cart.test.js >report.json
  node -p 'JSON.parse(fs.readFileSync("report.json")).tests.map(({ currentRetry, err }) => ({ currentRetry, err }))'
  run bun bun test --reporter=junit --reporter-outfile=report.xml
}

finding observe <<'RECORDED'
$ vitest run --reporter=github-actions --reporter=junit --outputFile.junit=report.xml --reporter=json --outputFile.json=report.json
exit 0
annotations: 0
  case 'adds': passed
[ [ 'passed', [ 'AssertionError: expected 1 to be 2' ] ] ]
$ env JEST_JUNIT_OUTPUT_NAME=report.xml jest --reporters=github-actions --reporters=jest-junit --json --outputFile=report.json
exit 0
annotations: 0
  case ' adds': passed
[
  {
    status: 'passed',
    failureMessages: [],
    invocations: 2,
    retryReasons: []
  }
]
$ mocha --reporter xunit --reporter-option output=report.xml cart.test.js
exit 0
annotations: 0
  case 'adds': passed
[ { currentRetry: 1, err: {} } ]
$ bun test --reporter=junit --reporter-outfile=report.xml
exit 0
annotations: 1
  case 'adds': passed
RECORDED
