#!/usr/bin/env bash
# parse-diff 0.12.0, gitdiff-parser 0.3.1, diff 9.0.0, what-the-diff 0.6.0, parse-git-patch 2.1.1 (npm); unidiff 1.0.1,
# whatthepatch 1.0.7 (PyPI); needs git.
#
# Expected: seven readers of what `git diff` prints find the same files: a name that git quotes is unquoted, the tab that git
#   puts behind a name with a blank is no part of it, a new empty file is new, a copy is no rename.
# Seen: one of seven unquotes (diff). parse-diff keeps the escapes without their quotes, gitdiff-parser cuts inside the prefix,
#   parse-git-patch leaves a quote and a blank. Two keep the tab. A new empty file is "modify", a copy is a rename.
# Source: git-config(1), core.quotePath, has the quoting; no documentation of the readers found.
# Why it matters: a path from such a reader is not that of the file. Owners, path filters and coverage of changed lines miss
#   each file whose name has a blank or an accent.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
npm_packages parse-diff@0.12.0 gitdiff-parser@0.3.1 diff@9.0.0 what-the-diff@0.6.0 parse-git-patch@2.1.1
pip_packages unidiff==1.0.1 whatthepatch==1.0.7

cat >read.js <<'CODE'
const fs = require("fs");
const load = (name) => { const found = require(name); return found.default ?? found; };
const text = fs.readFileSync(process.argv[2], "utf8");
const readers = {
  "parse-diff": () => load("parse-diff")(text).map((f) => [f.from, f.to, f.new ? "new" : ""]),
  "gitdiff-parser": () => load("gitdiff-parser").parse(text).map((f) => [f.oldPath, f.newPath, f.type]),
  "diff": () => require("diff").parsePatch(text).map((f) => [f.oldFileName, f.newFileName, f.isCreate ? "new" : f.isCopy ? "copy" : ""]),
  "what-the-diff": () => load("what-the-diff").parse(text).map((f) => [f.oldPath, f.newPath ?? f.filePath, f.status]),
  "parse-git-patch": () => load("parse-git-patch")(text).files.map((f) => [f.beforeName, f.afterName, f.added ? "new" : ""]),
};
for (const [name, read] of Object.entries(readers)) {
  console.log(`  ${name}:`, ...read().map(([from, to, kind]) => `[${String(from)}] [${String(to)}] ${kind}`.trim().replaceAll("\t", "<tab>")));
}
CODE
cat >read.py <<'CODE'
import sys, unidiff, whatthepatch

text = open(sys.argv[1]).read()
for file in unidiff.PatchSet(text):
    kind = "new" if file.is_added_file else "rename" if file.is_rename else ""
    print(f"  unidiff: [{file.source_file}] [{file.target_file}] {kind}".rstrip())
for file in whatthepatch.parse_patch(text):
    print(f"  whatthepatch: [{file.header.old_path}] [{file.header.new_path}]".replace("\t", "<tab>"))
CODE

export HOME=$folder GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
git init --quiet shop
printf 'one\n' >shop/café.txt
printf 'one\n' >'shop/to do.txt'
printf '1\n2\n3\n' >shop/list
git -C shop add .
git -C shop commit --quiet --message first
echo two >>shop/café.txt
echo two >>'shop/to do.txt'
: >shop/empty
cp shop/list shop/copy
git -C shop add .

observe() {
  show 'a name with an accent' café.txt
  show 'a name with a blank' 'to do.txt'
  show 'a new empty file' empty
  show 'a copy' --find-copies-harder copy list
}

show() {
  echo "$1"
  git -C shop diff --cached "${@:2}" >one.diff
  NODE_PATH="$folder/node_modules" node read.js one.diff
  python3 read.py one.diff
}

finding observe <<'RECORDED'
a name with an accent
  parse-diff: [caf\303\251.txt] [caf\303\251.txt]
  gitdiff-parser: [/caf\303\251.txt"] [/caf\303\251.txt"] modify
  diff: [a/café.txt] [b/café.txt]
  what-the-diff: ["b/caf\303\251.txt"] ["b/caf\303\251.txt"] modified
  parse-git-patch: [caf\303\251.txt" "] [caf\303\251.txt"]
  unidiff: ["a/caf\303\251.txt"] ["b/caf\303\251.txt"]
  whatthepatch: ["a/caf\303\251.txt"] ["b/caf\303\251.txt"]
a name with a blank
  parse-diff: [to do.txt] [to do.txt]
  gitdiff-parser: [to do.txt<tab>] [to do.txt<tab>] modify
  diff: [a/to do.txt] [b/to do.txt]
  what-the-diff: [b/to do.txt] [b/to do.txt] modified
  parse-git-patch: [to do.txt] [to do.txt]
  unidiff: [a/to do.txt] [b/to do.txt]
  whatthepatch: [to do.txt<tab>] [to do.txt<tab>]
a new empty file
  parse-diff: [/dev/null] [empty] new
  gitdiff-parser: [empty] [empty] modify
  diff: [a/empty] [b/empty] new
  what-the-diff: [null] [b/empty] added
  parse-git-patch: [empty] [empty] new
  unidiff: [/dev/null] [b/empty] new
  whatthepatch: [/dev/null] [empty]
a copy
  parse-diff: [list] [copy]
  gitdiff-parser: [list] [copy] copy
  diff: [a/list] [b/copy] copy
  what-the-diff: [list] [copy] copied
  parse-git-patch: [list] [copy]
  unidiff: [a/list] [b/copy] rename
  whatthepatch: [a/list] [b/copy]
RECORDED
