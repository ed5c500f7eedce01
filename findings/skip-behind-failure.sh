#!/usr/bin/env bash
# vitest 5.1.2, jasmine 7.0.0, @playwright/test 1.65.1 (npm); node:test of Node 26.12.1; pytest-check 3.0.3 with pytest 9.2.0
# (PyPI).
#
# Expected: a check that failed stays a failure when the test skips itself behind it, since the skip cannot know of it. With
#   Node, where a skip does not end the test, a check that fails behind the skip fails the test.
# Seen: with vitest and jasmine the failed check is nowhere: skipped, pending, exit 0. Node ends with 0 too, and its reports say
#   both: "not ok" with SKIP, a case that is skipped and failed, "failing tests:" on the console under a sum of no failure.
#   Playwright and pytest-check fail.
# Source: https://nodejs.org/api/test.html#contextskipmessage says that the call does not end the test; of the rest no
#   documentation found.
# Why it matters: a green run has checks that failed. Node's console and JUnit name a failure that is none to its exit status.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 vitest@5.1.2 jasmine@7.0.0 @playwright/test@1.65.1
pip_packages pytest-check==3.0.3 pytest==9.2.0

ln -s "$folder/node_modules" node_modules
cat >cart.vitest.js <<'TEST'
import { test, expect } from 'vitest'
test('adds', (context) => {
  expect.soft(1).toBe(2)
  context.skip('later')
})
TEST
echo "export default { test: { include: ['*.vitest.js'] } }" >vitest.config.mjs
cat >cart.jasmine.js <<'TEST'
it('adds', () => {
  expect(1).toBe(2)
  pending('later')
})
TEST
cat >cart.spec.js <<'TEST'
const { test, expect } = require('@playwright/test')
test('adds', () => {
  expect.soft(1).toBe(2)
  test.skip(true, 'later')
})
TEST
cat >cart.node.mjs <<'TEST'
import { test } from 'node:test'
import assert from 'node:assert'
test('adds', (context) => {
  context.skip('later')
  assert.equal(1, 2)
})
TEST
cat >test_cart.py <<'TEST'
import pytest
from pytest_check import check

def test_adds():
    check.equal(1, 2)
    pytest.skip("later")
TEST

observe() {
  ends_with vitest run --reporter=junit --outputFile=junit.xml
  junit junit.xml
  ends_with jasmine cart.jasmine.js
  grep -E '^[0-9]+ spec' "$folder/output"
  PLAYWRIGHT_JUNIT_OUTPUT_NAME=junit.xml ends_with playwright test --reporter=junit
  junit junit.xml
  ends_with pytest -p no:cacheprovider --junit-xml junit.xml
  junit junit.xml
  ends_with node --test --test-reporter=tap cart.node.mjs
  grep -E '^(not )?ok|^# (pass|fail|skipped)' "$folder/output"
  ends_with node --test --test-reporter=junit cart.node.mjs
  junit "$folder/output"
  ends_with node --test --test-reporter=spec cart.node.mjs
  grep -E 'fail|AssertionError' "$folder/output"
}

finding observe <<'RECORDED'
$ vitest run --reporter=junit --outputFile=junit.xml
exit 0
testsuites 'vitest tests': tests=1 failures=0 errors=0
testsuite 'cart.vitest.js': tests=1 failures=0 errors=0 skipped=1
  case 'adds': skipped
$ jasmine cart.jasmine.js
exit 0
1 spec, 0 failures, 1 pending spec
$ playwright test --reporter=junit
exit 1
testsuites '': tests=1 failures=1 errors=0 skipped=0
testsuite 'cart.spec.js': tests=1 failures=1 errors=0 skipped=0
  case 'adds': failure
$ pytest -p no:cacheprovider --junit-xml junit.xml
exit 1
testsuites 'pytest tests':
testsuite 'pytest': tests=1 failures=1 errors=0 skipped=0
  case 'test_adds': failure
$ node --test --test-reporter=tap cart.node.mjs
exit 0
not ok 1 - adds # SKIP later
# pass 0
# fail 0
# skipped 1
$ node --test --test-reporter=junit cart.node.mjs
exit 0
testsuites None:
  case 'adds': skipped, failure
$ node --test --test-reporter=spec cart.node.mjs
exit 0
ℹ fail 0
✖ failing tests:
  AssertionError [ERR_ASSERTION]: 1 == 2
RECORDED
