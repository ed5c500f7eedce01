#!/usr/bin/env bash
# @biomejs/biome 2.6.8, oxlint 1.94.0 (npm).
#
# Expected: in the JUnit files of linters a warning is no failure, since it does not fail the run, and failures
#   and errors add up to no more than the tests.
# Seen: both make each warning a failure. oxlint ends with 0 beside failures=1. biome's root says tests=2 failures=2
#   errors=1: "errors" are those of the failures that are of level error. SARIF of the same runs has the levels.
# Source: no documentation found.
# Why it matters: such a file has no severity, and its totals mean something else than a test runner's. Failures in
#   it are no failed tests, and decide nothing against an exit status of 0.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
npm_packages @biomejs/biome@2.6.8 oxlint@1.94.0

mkdir code && cd code
printf 'debugger;\nconst unused = 1;\n' >sum.js
echo '{}' >biome.json

levels() {
  python3 - "$1" <<'PYTHON'
import json, sys
print("sarif:", sorted(result["level"] for result in json.load(open(sys.argv[1]))["runs"][0]["results"]))
PYTHON
}

observe() {
  biome lint --colors=off --reporter=junit . >../biome.xml 2>/dev/null || echo "biome: exit $?"
  junit ../biome.xml
  biome lint --colors=off --reporter=sarif . >../biome.sarif 2>/dev/null || true
  levels ../biome.sarif
  oxlint --format=junit --allow=no-unused-vars sum.js >../oxlint.xml && echo "oxlint: exit 0"
  junit ../oxlint.xml
  oxlint --format=sarif --allow=no-unused-vars sum.js >../oxlint.sarif
  levels ../oxlint.sarif
}

finding observe <<'RECORDED'
biome: exit 1
testsuites 'Biome': tests=2 failures=2 errors=1
testsuite 'sum.js': tests=1 failures=1 errors=0
  case 'org.biome.lint.correctness.noUnusedVariables': failure
testsuite 'sum.js': tests=1 failures=1 errors=0
  case 'org.biome.lint.suspicious.noDebugger': failure
sarif: ['error', 'warning']
oxlint: exit 0
testsuites 'Oxlint': tests=1 failures=1 errors=0
testsuite 'sum.js': tests=1 failures=1 errors=0
  case 'eslint(no-debugger)': failure
sarif: ['warning']
RECORDED
