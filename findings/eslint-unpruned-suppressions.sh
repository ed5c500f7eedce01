#!/usr/bin/env bash
# eslint 10.15.0 (npm), Node 26.10.0.
#
# Expected: mending an error that eslint-suppressions.json holds back leaves a run that is still green.
# Seen: eslint ends with 2, the status of a crash or a wrong configuration, with 0 errors in its JSON. The reason is a
#   sentence on standard error.
# Source: eslint.org, "Bulk Suppressions": unused suppressions are an error with a status other than 0. Which status, and
#   that the report stays clean, is not told.
# Why it matters: an agent that mends a finding turns the check red, and the report has no finding. The next step is
#   "eslint --prune-suppressions", which is a change of a file, not of code.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 eslint@10.15.0

echo "export default [{ rules: { 'no-debugger': 'error' } }]" >eslint.config.mjs
printf 'debugger\n' >sum.js

observe() {
  ends_with eslint sum.js --suppress-all
  ends_with eslint sum.js
  printf 'export {}\n' >sum.js
  ends_with eslint sum.js --format json --output-file report.json
  cat "$folder/output"
  python3 -c 'import json; print("json:", [(f["errorCount"], f["messages"]) for f in json.load(open("report.json"))])'
}

finding observe <<'RECORDED'
$ eslint sum.js --suppress-all
exit 0
$ eslint sum.js
exit 0
$ eslint sum.js --format json --output-file report.json
exit 2
There are suppressions left that do not occur anymore. To resolve this, re-run the command with `--prune-suppressions` to remove unused suppressions. To ignore unused suppressions, use `--pass-on-unpruned-suppressions`.
json: [(0, [])]
RECORDED
