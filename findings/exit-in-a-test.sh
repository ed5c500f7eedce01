#!/usr/bin/env bash
# jest 30.5.2, mocha 12.0.3, qunit 3.0.0 (npm), Node 26.12.1.
#
# Expected: a test that calls `process.exit(0)` makes the run fail, as it does in vitest, Playwright, tape and tap:
#   tests behind it have no result.
# Seen: all three end with 0. jest and mocha write no report; qunit's TAP has no plan. jest and qunit say on the
#   console what happened, mocha says nothing.
# Source: no documentation found.
# Why it matters: exit 0 without a report, or TAP without a plan, is no green run. The last test here fails whenever
#   it runs.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 jest@30.5.2 mocha@12.0.3 qunit@3.0.0

for test in test it QUnit.test; do
  cat >"$test.js" <<TEST
$test('runs the program', () => { process.exit(0) })
$test('subtracts', () => { throw new Error('is 0') })
TEST
done

observe() {
  ends_with jest --json --outputFile=jest.json --testMatch='**/test.js'
  grep 'process.exit called' "$folder/output"
  ends_with shown mocha --reporter json --reporter-option output=mocha.json it.js
  [[ -e jest.json || -e mocha.json ]] || echo "no report"
  ends_with shown qunit QUnit.test.js
}

finding observe <<'RECORDED'
$ jest --json --outputFile=jest.json --testMatch=**/test.js
exit 0
  ●  process.exit called with "0"
$ mocha --reporter json --reporter-option output=mocha.json it.js
exit 0
no report
$ qunit QUnit.test.js
TAP version 13
Error: Process exited before tests finished running
exit 0
RECORDED
