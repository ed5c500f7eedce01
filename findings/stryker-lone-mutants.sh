#!/usr/bin/env bash
# @stryker-mutator/core and @stryker-mutator/mocha-runner 10.0.0, mocha 11.8.0 (npm), Node 26.12.1.
#
# Expected: a mutant has one status, whether its file or only its line is mutated; a threshold is not met by nothing.
# Seen: four mutants that no test reaches are "no coverage" in a run over the file, and "survived" in a run over their
#   line alone: where no mutant is reached, every test is taken to reach each. A pattern that matches no file ends with 0:
#   "Final mutation score of NaN is greater than or equal to break threshold 80".
# Source: `--mutate FILE:FIRST-LAST` is documented; of either no documentation found.
# Why it matters: a run over the changed lines of a pull request blames tests for what a run over the file calls untested;
#   a renamed file is a gate that is met.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @stryker-mutator/core@10.0.0 @stryker-mutator/mocha-runner@10.0.0 mocha@11.8.0

ln -s "$folder/node_modules" node_modules
cat >cart.js <<'CODE'
exports.total = (a, b) => a + b
exports.size = (a) => { if (a) { return 1 } return 2 }
CODE
mkdir test
echo "const { total } = require('../cart.js'); it('adds', () => require('assert').equal(total(1, 2), 3))" >test/cart.js
cat >stryker.conf.json <<'JSON'
{ "testRunner": "mocha", "reporters": ["json"], "concurrency": 1, "coverageAnalysis": "perTest", "allowConsoleColors": false, "timeoutMS": 60000,
  "plugins": ["@stryker-mutator/mocha-runner"], "thresholds": { "high": 90, "low": 85, "break": 80 } }
JSON

observe() {
  local mutate
  for mutate in cart.js cart.js:2-2 basket.js; do
    ends_with stryker run --mutate "$mutate"
    grep -oE 'Final mutation score.*' "$folder/output"
    python3 - <<'CODE'
import collections, json
files = json.load(open("reports/mutation/mutation.json"))["files"].values()
for (line, status), count in sorted(collections.Counter((m["location"]["start"]["line"], m["status"]) for f in files for m in f["mutants"]).items()):
    print(f"  line {line}: {count} {status}")
CODE
  done
}

finding observe <<'RECORDED'
$ stryker run --mutate cart.js
exit 1
Final mutation score 33.33 under breaking threshold 80, setting exit code to 1 (failure).
  line 1: 2 Killed
  line 2: 4 NoCoverage
$ stryker run --mutate cart.js:2-2
exit 1
Final mutation score 0.00 under breaking threshold 80, setting exit code to 1 (failure).
  line 2: 4 Survived
$ stryker run --mutate basket.js
exit 0
Final mutation score of NaN is greater than or equal to break threshold 80
RECORDED
