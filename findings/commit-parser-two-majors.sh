#!/usr/bin/env bash
# @semantic-release/release-notes-generator 14.1.1, @commitlint/parse 21.2.3 (npm), Node 26.12.1.
#
# Expected: the linter that passed a commit message and the generator of the release's notes split it alike: a breaking change
#   ends before the trailers, and `Closes: #1` closes like `Closes #1`.
# Seen: commitlint has version 7 of the parser, semantic-release's plugins have 6. In the published notes the trailers, with the
#   names of the reviewers, are part of the breaking change; `Closes: #1` is a reference that closes nothing; trailers alone
#   are no footer but the body. Version 7 does all three as expected.
# Source: git-interpret-trailers(1) has the colon; no documentation of the difference found.
# Why it matters: who writes a commit for a loop, with trailers behind the breaking change, finds them in the release notes,
#   though the check of the message read it right.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @semantic-release/release-notes-generator@14.1.1 @commitlint/parse@21.2.3 \
  conventional-commits-parser@7.1.4 old-parser@npm:conventional-commits-parser@6.4.0
ln -s "$folder/node_modules" node_modules

cat >notes.mjs <<'CODE'
import { generateNotes } from "@semantic-release/release-notes-generator";
import commitlint from "@commitlint/parse";
import { CommitParser } from "old-parser";

const parse = commitlint.default ?? commitlint;
const show = (commit) => ({
  footer: commit.footer,
  notes: commit.notes.map((note) => note.text),
  references: commit.references.map(({ action, issue }) => `${action} ${issue}`),
});
const messages = [
  "feat: sum\n\nBREAKING CHANGE: no text\n\nReviewed-by: A\nTested-by: B",
  "fix: sum\n\nCloses: #1",
  "fix: sum\n\nReviewed-by: A",
];
for (const message of messages) {
  console.log(JSON.stringify(message));
  console.log("  commitlint", JSON.stringify(show(await parse(message))));
  console.log("  parser 6  ", JSON.stringify(show(new CommitParser({ noteKeywords: ["BREAKING CHANGE"] }).parse(message))));
}
const notes = await generateNotes({ preset: "angular" }, {
  commits: [{ hash: "1".repeat(40), message: messages[0] }],
  lastRelease: { gitTag: "v1.0.0" },
  nextRelease: { gitTag: "v2.0.0", version: "2.0.0" },
  options: { repositoryUrl: "https://example.com/a/b.git" },
  cwd: process.cwd(),
});
console.log(notes.slice(notes.indexOf("### BREAKING")).trim());
CODE

observe() {
  node notes.mjs
}

finding observe <<'RECORDED'
"feat: sum\n\nBREAKING CHANGE: no text\n\nReviewed-by: A\nTested-by: B"
  commitlint {"footer":"BREAKING CHANGE: no text\n\nReviewed-by: A\nTested-by: B","notes":["no text"],"references":[]}
  parser 6   {"footer":"BREAKING CHANGE: no text\n\nReviewed-by: A\nTested-by: B","notes":["no text\n\nReviewed-by: A\nTested-by: B"],"references":[]}
"fix: sum\n\nCloses: #1"
  commitlint {"footer":"Closes: #1","notes":[],"references":["Closes 1"]}
  parser 6   {"footer":"Closes: #1","notes":[],"references":["null 1"]}
"fix: sum\n\nReviewed-by: A"
  commitlint {"footer":"Reviewed-by: A","notes":[],"references":[]}
  parser 6   {"footer":null,"notes":[],"references":[]}
### BREAKING CHANGES

* no text

Reviewed-by: A
Tested-by: B
RECORDED
