#!/usr/bin/env bash
# tap-parser 18.3.4, tap-xunit 2.4.1, tap-junit 5.0.4, tap-mocha-reporter 5.0.4 (npm); python-subunit 1.4.6 (PyPI); Node
# 26.12.1.
#
# Expected: readers of TAP agree on whether a stream is good: a plan that is not kept and a bail-out are failures, `#
#   TODO` and `# SKIP` are none.
# Seen: with a point missing, and with all behind a bail-out missing, tap-xunit ends with 0 and has no failure; tap-junit
#   counts one for the first, which no case has, and none for the second; to subunit the bail-out is three failed tests.
#   mocha's reporter says "2 passing" and ends with 1. A todo that fails is skipped to one, failed to one, pending to one
#   and has passed to subunit; a point that is skipped with `not ok` is skipped and counted as failed by tap-junit. A plan
#   of nothing is a skipped test to subunit.
# Source: https://testanything.org/tap-version-14-specification.html has the rules; of the readers no documentation found.
# Why it matters: the converter in between decides what a run without its last test is.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 tap-parser@18.3.4 tap-xunit@2.4.1 tap-junit@5.0.4 tap-mocha-reporter@5.0.4
pip_packages python-subunit==1.4.6

ln -s "$folder/node_modules" node_modules
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import { Parser } from 'tap-parser'
const parser = new Parser((r) => console.log(`  tap-parser: ok ${r.ok}, pass ${r.pass}, fail ${r.fail}, skip ${r.skip}, todo ${r.todo}`))
parser.end(fs.readFileSync(process.argv[2], 'utf8'))
CODE
points() {
  printf 'TAP version 13\n' >"$1"
  printf '%s\n' "${@:2}" >>"$1"
}
points "kept" 1..2 'ok 1 - adds' 'ok 2 - opens'
points "one missing" 1..3 'ok 1 - adds' 'ok 2 - opens'
points "bail-out" 1..3 'ok 1 - adds' 'Bail out! no db'
points "todo fails" 1..2 'ok 1 - adds' 'not ok 2 - opens # TODO later'
points "todo passes" 1..2 'ok 1 - adds' 'ok 2 - opens # TODO later'
points "skipped, not ok" 1..2 'ok 1 - adds' 'not ok 2 - opens # SKIP no db'
points "one number twice" 1..2 'ok 1 - adds' 'ok 1 - opens'
points "none" '1..0 # SKIP no tests'

xml() {
  local code=0
  "$1" <"$2" >out.xml 2>/dev/null || code=$?
  echo "  $1: exit $code, $(grep -oE '<testsuite [^>]*' out.xml | grep -oE '(tests|failures|skipped)="[0-9]+"' | tr '\n' ' ')"\
"with $(grep -c '<failure' out.xml) failure and $(grep -c '<skipped' out.xml) skipped"
}

observe() {
  local name code
  for name in "kept" "one missing" "bail-out" "todo fails" "todo passes" "skipped, not ok" "one number twice" "none"; do
    echo "$name"
    node read.mjs "$name"
    xml tap-xunit "$name"
    xml tap-junit "$name"
    code=0
    tap-mocha-reporter spec <"$name" >out.txt 2>&1 || code=$?
    echo "  tap-mocha-reporter: exit $code, $(grep -oE '[0-9]+ (passing|failing|pending)' out.txt | tr '\n' ' ')"
    echo "  subunit: $(tap2subunit <"$name" | subunit-stats | sed -nE 's/^(Passed|Failed|Skipped) tests: +/\1 /p' | tr '\n' ' ')"
  done
}

finding observe <<'RECORDED'
kept
  tap-parser: ok true, pass 2, fail 0, skip 0, todo 0
  tap-xunit: exit 0, tests="2" failures="0" with 0 failure and 0 skipped
  tap-junit: exit 0, tests="2" skipped="0" failures="0" with 0 failure and 0 skipped
  tap-mocha-reporter: exit 0, 2 passing 
  subunit: Passed 2 Failed 0 Skipped 0 
one missing
  tap-parser: ok false, pass 2, fail 1, skip 0, todo 0
  tap-xunit: exit 0, tests="2" failures="0" with 0 failure and 0 skipped
  tap-junit: exit 0, tests="2" skipped="0" failures="1" with 0 failure and 0 skipped
  tap-mocha-reporter: exit 1, 2 passing 
  subunit: Passed 2 Failed 1 Skipped 0 
bail-out
  tap-parser: ok false, pass 1, fail 0, skip 0, todo 0
  tap-xunit: exit 0, tests="1" failures="0" with 0 failure and 0 skipped
  tap-junit: exit 0, tests="1" skipped="0" failures="0" with 0 failure and 0 skipped
  tap-mocha-reporter: exit 1, 1 passing 
  subunit: Passed 1 Failed 3 Skipped 0 
todo fails
  tap-parser: ok true, pass 1, fail 1, skip 0, todo 1
  tap-xunit: exit 0, tests="2" skipped="1" failures="0" with 0 failure and 1 skipped
  tap-junit: exit 0, tests="2" skipped="0" failures="1" with 1 failure and 0 skipped
  tap-mocha-reporter: exit 0, 1 passing 1 pending 
  subunit: Passed 2 Failed 0 Skipped 0 
todo passes
  tap-parser: ok true, pass 2, fail 0, skip 0, todo 1
  tap-xunit: exit 0, tests="2" skipped="1" failures="0" with 0 failure and 1 skipped
  tap-junit: exit 0, tests="2" skipped="0" failures="0" with 0 failure and 0 skipped
  tap-mocha-reporter: exit 0, 1 passing 1 pending 
  subunit: Passed 2 Failed 0 Skipped 0 
skipped, not ok
  tap-parser: ok true, pass 1, fail 1, skip 1, todo 0
  tap-xunit: exit 0, tests="2" skipped="1" failures="0" with 0 failure and 1 skipped
  tap-junit: exit 0, tests="2" skipped="1" failures="1" with 0 failure and 1 skipped
  tap-mocha-reporter: exit 0, 1 passing 1 pending 
  subunit: Passed 1 Failed 0 Skipped 1 
one number twice
  tap-parser: ok false, pass 2, fail 1, skip 0, todo 0
  tap-xunit: exit 0, tests="2" failures="0" with 0 failure and 0 skipped
  tap-junit: exit 0, tests="2" skipped="0" failures="1" with 0 failure and 0 skipped
  tap-mocha-reporter: exit 1, 2 passing 
  subunit: Passed 2 Failed 0 Skipped 0 
none
  tap-parser: ok true, pass 0, fail 0, skip 0, todo 0
  tap-xunit: exit 0, with 0 failure and 0 skipped
  tap-junit: exit 0, tests="0" skipped="0" failures="0" with 0 failure and 0 skipped
  tap-mocha-reporter: exit 0, 0 passing 
  subunit: Passed 0 Failed 0 Skipped 1 
RECORDED
