#!/usr/bin/env bash
# lcov-parse 1.0.0, @friedemannsommer/lcov-parser 5.0.2, @markusberg/lcov-parse 2.0.4 (npm); diff-cover 11.0.1,
# lcov_cobertura 2.1.1, pycobertura 4.1.0 (PyPI); Node 26.12.1.
#
# Expected: of one LCOV file six readers find the same lines covered. Two records of one file, as `cat` of two shards leaves them,
#   are added up; the sums LF and LH are what the lines come to.
# Seen: of two shards that cover a half each, diff-cover finds all, the others a half, and lcov_cobertura, which changes the
#   format, leaves the hits of the last shard: the same diff-cover then finds a half. pycobertura takes a line with a branch
#   not taken for a line not run. Without LF and LH the three of npm find 0 of 0 lines, which one of them calls 100 %.
# Source: geninfo(1) has the records; of what the readers do with them no documentation found.
# Why it matters: a threshold is met or missed by the reader. Shards have to be merged before anything else reads them.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 lcov-parse@1.0.0 @friedemannsommer/lcov-parser@5.0.2 @markusberg/lcov-parse@2.0.4
pip_packages diff-cover==11.0.1 lcov_cobertura==2.1.1 pycobertura==4.1.0

ln -s "$folder/node_modules" node_modules
mkdir src
seq 6 >src/cart.js
printf 'src\n' >.gitignore
git init --quiet --initial-branch main
git -c user.name=a -c user.email=a@example.org commit --quiet --allow-empty --message first
git switch --quiet --create topic
git add --force src
git -c user.name=a -c user.email=a@example.org commit --quiet --message second

# A record: the hits of lines 1, 2, 5 and 6, with the sums, and a branch in line 2 if one is named.
record() {
  printf 'TN:\nSF:src/cart.js\n'
  [[ -z ${5:-} ]] || printf 'BRDA:2,0,0,1\nBRDA:2,0,1,0\nBRF:2\nBRH:1\n'
  printf 'DA:1,%s\nDA:2,%s\nDA:5,%s\nDA:6,%s\n' "${@:1:4}"
  printf 'LF:4\nLH:2\nend_of_record\n'
}
record 1 1 0 0 >one.info
record 1 1 0 0 branch >branch.info
{ record 1 1 0 0; record 0 0 1 1; } >shards.info
grep -v '^L[FH]:' one.info >no-sums.info

cat >read.mjs <<'CODE'
import fs from 'node:fs'
import lcov from 'lcov-parse'
import { lcovParser } from '@friedemannsommer/lcov-parser'
import { parse, generateSummary } from '@markusberg/lcov-parse'
const text = fs.readFileSync(process.argv[2], 'utf8')
const sums = (files, total) => files.map(({ lines }) => `${lines.hit} of ${lines[total]}`).join(' and ')
console.log('  lcov-parse:', sums(await new Promise((done) => lcov(text, (error, files) => done(files))), 'found'))
console.log('  @friedemannsommer/lcov-parser:', sums(await lcovParser({ from: text }), 'instrumented'))
console.log('  @markusberg/lcov-parse:', generateSummary(parse(text)).total.lines.pct + ' %')
CODE

covered() {
  diff-cover "$1" --compare-branch main 2>/dev/null | sed -n 's/^Coverage: /  diff-cover, '"${1#*.}"': /p'
}

observe() {
  local name
  for name in one branch shards no-sums; do
    echo "$name"
    node read.mjs "$name.info"
    covered "$name.info"
    lcov_cobertura "$name.info" --output "$name.xml" >/dev/null
    grep -o 'line-rate="[0-9.]*"' "$name.xml" | head -n 1 | sed 's/^/  lcov_cobertura: /'
    covered "$name.xml"
    pycobertura show --format csv "$name.xml" | sed -n 's/^TOTAL[^0-9]*/  pycobertura, lines; not run; rate: /p'
  done
}

finding observe <<'RECORDED'
one
  lcov-parse: 2 of 4
  @friedemannsommer/lcov-parser: 2 of 4
  @markusberg/lcov-parse: 50 %
  diff-cover, info: 50%
  lcov_cobertura: line-rate="0.5"
  diff-cover, xml: 50%
  pycobertura, lines; not run; rate: 4;2;50.00%;
branch
  lcov-parse: 2 of 4
  @friedemannsommer/lcov-parser: 2 of 4
  @markusberg/lcov-parse: 50 %
  diff-cover, info: 50%
  lcov_cobertura: line-rate="0.5"
  diff-cover, xml: 50%
  pycobertura, lines; not run; rate: 4;3;25.00%;
shards
  lcov-parse: 2 of 4 and 2 of 4
  @friedemannsommer/lcov-parser: 2 of 4 and 2 of 4
  @markusberg/lcov-parse: 50 %
  diff-cover, info: 100%
  lcov_cobertura: line-rate="0.5"
  diff-cover, xml: 50%
  pycobertura, lines; not run; rate: 4;2;50.00%;
no-sums
  lcov-parse: 0 of 0
  @friedemannsommer/lcov-parser: 0 of 0
  @markusberg/lcov-parse: 100 %
  diff-cover, info: 50%
  lcov_cobertura: line-rate="0.5"
  diff-cover, xml: 50%
  pycobertura, lines; not run; rate: 4;2;50.00%;
RECORDED
