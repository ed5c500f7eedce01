#!/usr/bin/env bash
# coverage 7.17.5 (PyPI); lcov-result-merger 6.0.0, merge-cobertura 1.0.9 (npm); Node 26.12.1.
#
# Expected: of two shards that cover all lines and all branches between them, a merger of LCOV and one of Cobertura make the
#   report that coverage.py's own `combine` makes: 10 of 10 lines, 4 of 4 branches.
# Seen: lcov-result-merger adds lines up. A branch is a text to coverage.py, as LCOV allows; the merger writes "NaN" for each
#   and lists each branch once for each shard: 8, of which 4 ran. merge-cobertura adds nothing up: each line is there twice, 15
#   of 20, also if both shards have one name.
# Source: geninfo(1), where a branch of BRDA is a number or an expression; of the mergers no documentation found.
# Why it matters: a run whose shards cover everything misses a threshold of 90 %, and a diff of coverage finds lines that are
#   not there.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 lcov-result-merger@6.0.0 merge-cobertura@1.0.9
pip_packages coverage==7.17.5

cat >cart.py <<'CODE'
def total(items, rate=None):
    result = sum(items)
    if rate:
        result *= rate
    return result

def names(items):
    found = []
    for item in items:
        found.append(str(item))
    return found
CODE
echo 'import cart; cart.total([1])' >one.py
echo 'import cart; cart.total([1], 2); cart.names([1])' >two.py

measure() {
  python3 -m coverage "$@" 2>/dev/null
}

sums() {
  echo "$1: $(sed -n 's/^\(LF\|LH\|BRF\|BRH\):/\1=/p' "$1" | xargs)"
}

rates() {
  echo "$1: $(grep -o '<coverage [^>]*' "$1" | grep -oE '(lines|branches)-(valid|covered)="[0-9]*"' | sort | xargs)"
}

observe() {
  local shard
  mkdir shards
  for shard in one two; do
    measure run --branch --include cart.py --data-file "data.$shard" "$shard.py"
    measure lcov --quiet --data-file "data.$shard" -o "shards/$shard.info"
    measure xml --quiet --data-file "data.$shard" -o "shards/$shard.xml"
    sums "shards/$shard.info"
    rates "shards/$shard.xml"
  done
  measure combine --quiet --keep --data-file data data.one data.two
  measure lcov --quiet --data-file data -o combined.info
  measure xml --quiet --data-file data -o combined.xml
  sums combined.info
  rates combined.xml
  grep ^BRDA combined.info
  lcov-result-merger 'shards/*.info' merged.info
  sums merged.info
  grep ^BRDA merged.info
  merge-cobertura -o merged.xml one=shards/one.xml two=shards/two.xml
  rates merged.xml
  merge-cobertura -o merged.xml all=shards/one.xml all=shards/two.xml
  rates merged.xml
}

finding observe <<'RECORDED'
shards/one.info: LF=10 LH=5 BRF=4 BRH=1
shards/one.xml: branches-covered=1 branches-valid=4 lines-covered=5 lines-valid=10
shards/two.info: LF=10 LH=10 BRF=4 BRH=3
shards/two.xml: branches-covered=3 branches-valid=4 lines-covered=10 lines-valid=10
combined.info: LF=10 LH=10 BRF=4 BRH=4
combined.xml: branches-covered=4 branches-valid=4 lines-covered=10 lines-valid=10
BRDA:3,0,jump to line 4,1
BRDA:3,0,jump to line 5,1
BRDA:9,0,jump to line 10,1
BRDA:9,0,jump to line 11,1
merged.info: LF=10 LH=10 BRF=8 BRH=4
BRDA:3,0,NaN,0
BRDA:3,0,NaN,1
BRDA:9,0,NaN,-
BRDA:9,0,NaN,-
BRDA:3,0,NaN,1
BRDA:3,0,NaN,0
BRDA:9,0,NaN,1
BRDA:9,0,NaN,1
merged.xml: branches-covered=4 branches-valid=8 lines-covered=15 lines-valid=20
merged.xml: branches-covered=4 branches-valid=8 lines-covered=15 lines-valid=20
RECORDED
