#!/usr/bin/env bash
# minimatch 11.0.9, picomatch 4.0.7, micromatch 4.0.8 (npm); wcmatch 12.0.1 (PyPI); Node 26.12.1.
#
# Expected: four matchers of one syntax agree, but for `a/**` and the folder itself: `[!a]` is any other letter, `**` inside a
#   word is `*`, `{01..03}` counts with its zeros, brackets need a mark in front.
# Seen: to picomatch and micromatch `[!a]` does not match `b`, where `[^a]` does; `**.js` reaches into folders, `(a|b)` is a
#   choice, and a leading `./` or `#` is read otherwise. `{01..03}` matches `02` with two of four.
# Source: picomatch's README has regular-expression groups; no documentation of the rest found.
# Why it matters: a filter of paths that was tried with one of them takes other files with the next.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 minimatch@11.0.9 picomatch@4.0.7 micromatch@4.0.8
pip_packages wcmatch==12.0.1

cat >match.cjs <<'CODE'
const { minimatch } = require("minimatch");
const [pattern, path] = process.argv.slice(2);
const seen = {
  minimatch: minimatch(path, pattern),
  picomatch: require("picomatch")(pattern)(path),
  micromatch: require("micromatch").isMatch(path, pattern),
};
console.log(`${pattern}  ${path}:`, Object.keys(seen).filter((name) => seen[name]).join(" "));
CODE
cat >match.py <<'CODE'
import sys
from wcmatch import glob
flags = glob.GLOBSTAR | glob.BRACE | glob.EXTGLOB | glob.NEGATE
print("wcmatch" if glob.globmatch(sys.argv[2], sys.argv[1], flags=flags) else "")
CODE

# Names those that match.
matches() {
  echo "$(NODE_PATH="$folder/node_modules" node match.cjs "$1" "$2") $(python3 match.py "$1" "$2")" | sed 's/  *$//'
}

observe() {
  matches '[!a]' b
  matches '[^a]' b
  matches '**.js' src/cart.js
  matches '(a|b)' a
  matches '{01..03}' 02
  matches './a' a
  matches '#a' '#a'
  matches 'a/**' a
}

finding observe <<'RECORDED'
[!a]  b: minimatch wcmatch
[^a]  b: minimatch picomatch micromatch wcmatch
**.js  src/cart.js: picomatch micromatch
(a|b)  a: picomatch micromatch
{01..03}  02: minimatch wcmatch
./a  a: picomatch micromatch
#a  #a: picomatch micromatch wcmatch
a/**  a: picomatch micromatch
RECORDED
