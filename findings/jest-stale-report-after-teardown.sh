#!/usr/bin/env bash
# jest 30.5.2 (npm), Node 26.10.0.
#
# Expected: `--json --outputFile` writes the report once tests have run, also if the global teardown throws.
# Seen: jest ends with 1 and writes nothing. A report of an earlier run stays where it is, with its old content.
# Source: no documentation found.
# Why it matters: a report that lies there may be of another run. It is evidence only if it is younger than the
#   start of the command, or if the place was emptied first.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 jest@30.5.2

echo "test('adds', () => {})" >sum.test.js
echo "module.exports = () => { throw new Error('the database does not stop') }" >teardown.js

observe() {
  ends_with jest --json --outputFile=report.json
  cp report.json first.json
  ends_with jest --json --outputFile=report.json --globalTeardown=./teardown.js
  cmp report.json first.json && echo "report.json: still that of the first run"
  rm report.json
  ends_with jest --json --outputFile=report.json --globalTeardown=./teardown.js
  [[ -e report.json ]] || echo "report.json: not written"
}

finding observe <<'RECORDED'
$ jest --json --outputFile=report.json
exit 0
$ jest --json --outputFile=report.json --globalTeardown=./teardown.js
exit 1
report.json: still that of the first run
$ jest --json --outputFile=report.json --globalTeardown=./teardown.js
exit 1
report.json: not written
RECORDED
