#!/usr/bin/env bash
# jest 30.5.2, vitest 5.1.2, mocha 12.0.3 (npm), node:test of Node 26.10.0.
#
# Expected: the duration of a test is that of its own body, and of a test that is tried again that of the try that
#   counts, with each runner.
# Seen: jest, vitest and node:test add the hooks that run before and after each test (an empty test between hooks of
#   100 and 200 ms takes 300 ms); mocha does not (0 ms). Of a test of 300 ms that passes when it is tried again, vitest
#   tells 600 ms, both tries; jest and mocha tell 300 ms, the last. A hook that runs once before all counts for no
#   test, but with node:test, where that of a file (not that of a suite) is added to the first test.
# Source: no documentation found that says what a duration covers.
# Why it matters: the slowest tests of two runners cannot be compared. With mocha, a slow beforeEach is in no test's
#   duration; with vitest, a flaky test looks twice as slow.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 jest@30.5.2 vitest@5.1.2 mocha@12.0.3

hooks='beforeEach(() => sleep(100)); afterEach(() => sleep(200)); it("is empty", () => {})'
pause='const sleep = ms => new Promise(done => setTimeout(done, ms))'
cat >hooks.test.js <<TEST
$pause
beforeAll(() => sleep(500)); $hooks
TEST
cat >hooks.mocha.js <<TEST
$pause
before(() => sleep(500)); $hooks
TEST
cat >file.node.mjs <<TEST
import { before, beforeEach, afterEach, it } from 'node:test'
$pause
before(() => sleep(500)); $hooks; it('is second', () => {})
TEST
cat >suite.node.mjs <<TEST
import { before, beforeEach, afterEach, describe, it } from 'node:test'
$pause
describe('suite', () => { before(() => sleep(500)); $hooks })
TEST
cat >again.jest.test.js <<TEST
$pause
let tries = 0
jest.retryTimes(1)
it('passes again', async () => { await sleep(300); if (tries++ === 0) throw new Error('first') })
TEST
cat >again.vitest.test.js <<TEST
$pause
let tries = 0
it('passes again', { retry: 1 }, async () => { await sleep(300); if (tries++ === 0) throw new Error('first') })
TEST
cat >again.mocha.js <<TEST
$pause
let tries = 0
it('passes again', async function () { this.retries(1); await sleep(300); if (tries++ === 0) throw new Error('first') })
TEST

# Durations of a JSON report or of TAP, without what depends on the machine.
durations() {
  python3 -c '
import json, re, sys
def roughly(ms):
    return "under 100 ms" if ms < 100 else "about 300 ms" if 250 < ms < 450 else "500 ms and more"
text = sys.stdin.read()
if text.startswith("{"):
    report = json.loads(text)
    files = report.get("testResults", [{"assertionResults": report.get("tests")}])
    tests = [(test["title"], test["duration"]) for file in files for test in file["assertionResults"]]
else:
    tests = re.findall(r"ok \d+ - (is \w+)\s+---\s+duration_ms: ([\d.]+)", text)
for title, duration in tests:
    print(f"{sys.argv[1]}: {title}: {roughly(float(duration))}")
' "$1"
}

observe() {
  jest --json hooks.test.js 2>/dev/null | durations jest
  jest --json again.jest.test.js 2>/dev/null | durations jest
  for file in hooks.test.js again.vitest.test.js; do
    vitest run --globals --reporter=json --outputFile=report.json $file >&2
    durations vitest <report.json
  done
  mocha --reporter json hooks.mocha.js | durations mocha
  mocha --reporter json again.mocha.js | durations mocha
  node --test --test-reporter=tap file.node.mjs | durations 'node:test, before in the file'
  node --test --test-reporter=tap suite.node.mjs | durations 'node:test, before in a suite'
}

finding observe <<'RECORDED'
jest: is empty: about 300 ms
jest: passes again: about 300 ms
vitest: is empty: about 300 ms
vitest: passes again: 500 ms and more
mocha: is empty: under 100 ms
mocha: passes again: about 300 ms
node:test, before in the file: is empty: 500 ms and more
node:test, before in the file: is second: about 300 ms
node:test, before in a suite: is empty: about 300 ms
RECORDED
