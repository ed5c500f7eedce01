#!/usr/bin/env bash
# codeowners 5.1.1, codeowners-utils 1.0.2, @snyk/github-codeowners 1.1.0 (npm), codeowners 0.9.0 (PyPI), Node 26.12.1.
#
# Expected: readers of CODEOWNERS agree on what GitHub's own description of the file shows: `docs/*` owns no file that lies
#   deeper, a comment may stand behind the owners, a space in a path is escaped.
# Seen: no two of the four agree on all of it; only the one of PyPI does what is described. For one the words of a comment
#   are owners, for one they make the whole file unreadable. Two let `docs/*` own everything below. A line that is indented
#   is no rule for one, and an error for one.
# Source: https://docs.github.com/en/repositories/managing-your-repositorys-settings-and-features/customizing-your-repository/about-code-owners
# Why it matters: who is asked for a review by a tool is not always who GitHub asks. That a library found an owner, or none,
#   does not show that there is one.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 codeowners@5.1.1 codeowners-utils@1.0.2 @snyk/github-codeowners@1.1.0
pip_packages codeowners==0.9.0

cat >cases.json <<'JSON'
[["*.js @cart", "src/a.js"],
 ["docs/* @cart", "docs/a.md"],
 ["docs/* @cart", "docs/deep/a.md"],
 ["*.js @cart # the shop", "a.js"],
 ["my\\ docs/ @cart", "my docs/a.md"],
 ["  *.js @cart", "a.js"],
 ["a?.js @cart", "ab.js"],
 ["DOCS/ @cart", "docs/a.md"]]
JSON
cat >read.cjs <<'CODE'
const fs = require('fs')
const Codeowners = require('codeowners')
const utils = require('codeowners-utils')
const { OwnershipEngine } = require('@snyk/github-codeowners/dist/lib/ownership/OwnershipEngine.js')
console.error = () => {}
const say = (read) => { try { return read() || [] } catch { return ['an error'] } }
for (const [text, path] of require('./cases.json')) {
  fs.writeFileSync('CODEOWNERS', text + '\n')
  console.log(JSON.stringify([
    say(() => new Codeowners(process.cwd()).getOwner(path)),
    say(() => utils.matchFile(path, utils.parse(text))?.owners),
    say(() => OwnershipEngine.FromCodeownersFile('CODEOWNERS').calcFileOwnership(path)),
  ]))
}
CODE
cat >read.py <<'CODE'
import json, sys
from codeowners import CodeOwners

for (text, path), line in zip(json.load(open("cases.json")), sys.stdin, strict=True):
    owners = [*json.loads(line), [name for _, name in CodeOwners(text).of(path)]]
    print(f"{text!r}, {path}:", " | ".join(" ".join(names) or "nobody" for names in owners))
CODE

observe() {
  node read.cjs | python3 read.py
}

finding observe <<'RECORDED'
'*.js @cart', src/a.js: @cart | @cart | @cart | @cart
'docs/* @cart', docs/a.md: @cart | @cart | @cart | @cart
'docs/* @cart', docs/deep/a.md: @cart | @cart | nobody | nobody
'*.js @cart # the shop', a.js: @cart # the shop | @cart | an error | @cart
'my\\ docs/ @cart', my docs/a.md: nobody | nobody | an error | @cart
'  *.js @cart', a.js: nobody | @cart | an error | @cart
'a?.js @cart', ab.js: nobody | @cart | @cart | @cart
'DOCS/ @cart', docs/a.md: @cart | @cart | @cart | nobody
RECORDED
