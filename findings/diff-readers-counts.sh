#!/usr/bin/env bash
# parse-diff 0.12.0, gitdiff-parser 0.3.1, diff 9.0.0, what-the-diff 0.6.0, parse-git-patch 2.1.1 (npm); unidiff 1.0.1,
# whatthepatch 1.0.7 (PyPI); needs git.
#
# Expected: each reader counts what `git diff --numstat` counts: in a patch as git mails it, one line added and one removed;
#   in a merge's combined diff an error or the lines; in a binary patch none.
# Seen: the mail's signature, `-- `, is a removed line to gitdiff-parser; diff and what-the-diff raise an error. Of a merge, four
#   list its file with no line, two list no file. whatthepatch counts lines of the binary patch; what-the-diff raises.
# Source: no documentation found.
# Why it matters: the size of a change, and what a policy for small changes lets through, depends on how its diff was asked
#   for and on who counts.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
npm_packages parse-diff@0.12.0 gitdiff-parser@0.3.1 diff@9.0.0 what-the-diff@0.6.0 parse-git-patch@2.1.1
pip_packages unidiff==1.0.1 whatthepatch==1.0.7

cat >read.js <<'CODE'
const fs = require("fs");
const load = (name) => { const found = require(name); return found.default ?? found; };
const text = fs.readFileSync(process.argv[2], "utf8");
const lines = (file) => (file.hunks ?? []).flatMap((hunk) => hunk.lines);
const count = (list, added, removed) => `+${list.filter(added).length} -${list.filter(removed).length}`;
const signs = (file) => count(lines(file), (line) => line[0] === "+", (line) => line[0] === "-");
const readers = {
  "parse-diff": () => load("parse-diff")(text).map((f) => `+${f.additions} -${f.deletions}`),
  "gitdiff-parser": () => load("gitdiff-parser").parse(text).map((f) => {
    const changes = f.hunks.flatMap((hunk) => hunk.changes);
    return count(changes, (c) => c.type === "insert", (c) => c.type === "delete");
  }),
  "diff": () => require("diff").parsePatch(text).map(signs),
  "what-the-diff": () => load("what-the-diff").parse(text).map(signs),
  "parse-git-patch": () => load("parse-git-patch")(text).files.map((f) => count(f.modifiedLines, (l) => l.added, (l) => !l.added)),
};
for (const [name, read] of Object.entries(readers)) {
  let seen;
  try { seen = read().join(", ") || "no file"; } catch { seen = "an error"; }
  console.log(`  ${name}: ${seen}`);
}
CODE
cat >read.py <<'CODE'
import sys, unidiff, whatthepatch

text = open(sys.argv[1]).read()
print("  unidiff:", ", ".join(f"+{file.added} -{file.removed}" for file in unidiff.PatchSet(text)) or "no file")
seen = []
for file in whatthepatch.parse_patch(text):
    changes = file.changes or []
    seen.append(f"+{sum(c.old is None for c in changes)} -{sum(c.new is None for c in changes)}")
print("  whatthepatch:", ", ".join(seen) or "no file")
CODE

export HOME=$folder GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.com GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.com
git init --quiet --initial-branch=main shop
cd shop
commit() { # message, second line
  printf '1\n%s\n3\n' "$2" >cart
  git add cart
  git commit --quiet --message "$1"
}
commit first 2
git switch --quiet --create other
commit other x
git switch --quiet main
commit second y
git format-patch -1 --stdout >../mail.diff
git merge --quiet other >/dev/null || true
commit merge xy
git show --format= >../merge.diff
head -c 40 /dev/zero >picture
git add picture
git diff --cached --binary >../binary.diff
cd ..

observe() {
  local name
  for name in mail merge binary; do
    echo "$name"
    NODE_PATH="$folder/node_modules" node read.js "$name.diff"
    python3 read.py "$name.diff"
  done
}

finding observe <<'RECORDED'
mail
  parse-diff: +1 -1
  gitdiff-parser: +1 -2
  diff: an error
  what-the-diff: an error
  parse-git-patch: +1 -1
  unidiff: +1 -1
  whatthepatch: +1 -1
merge
  parse-diff: +0 -0
  gitdiff-parser: no file
  diff: +0 -0
  what-the-diff: +1 -1
  parse-git-patch: no file
  unidiff: +0 -0
  whatthepatch: +0 -0
binary
  parse-diff: +0 -0
  gitdiff-parser: +0 -0
  diff: +0 -0
  what-the-diff: an error
  parse-git-patch: +0 -0
  unidiff: +0 -0
  whatthepatch: +1 -0
RECORDED
