#!/usr/bin/env bash
# issue-parser 7.0.2, conventional-commits-parser 7.1.4 (npm), Node 26.12.1.
#
# Expected: what a commit closes is the same to semantic-release's reader as to that of conventional-changelog, and the
#   forms that GitHub documents are found by both.
# Seen: they differ in 7 of 17. `close GH-1` and the address of an issue close nothing to the second; `Closes #1, #2`
#   closes both, `Fixes issue #1`, `Closes #1abc` and a comment of HTML close too. To the first the scope of `fix(#1):
#   cart` closes 1, to the second it is a reference. To both "does not fix #1", `hot-fix #1` and a quoted line close; a
#   colour is an issue.
# Source: https://docs.github.com/en/issues/tracking-your-work-with-issues/using-issues/linking-a-pull-request-to-an-issue
#   has the keywords; of the readers' edges no documentation found.
# Why it matters: the comment "released in 1.2.3" lands on issues that nobody closed, or is missing.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 issue-parser@7.0.2 conventional-commits-parser@7.1.4

ln -s "$folder/node_modules" node_modules
cat >read.mjs <<'CODE'
import issueParser from 'issue-parser'
import { CommitParser } from 'conventional-commits-parser'
const first = issueParser('github')
const second = new CommitParser()
const named = (list) => [...new Set(list.map((one) => one.issue))].join(' ') || '-'
const bodies = ['Closes #1', 'Closes #1, #2', 'Fixes: #1', 'close GH-1', 'Closes owner/repo#1', 'Closes https://github.com/o/r/issues/1',
  'Closes #1.', 'Fixes issue #1', 'prefix #1', 'hot-fix #1', 'This does not fix #1', '`Closes #1`', '<!-- Closes #1 -->', '> Closes #1',
  'Closes #1abc', 'colour #123456']
for (const message of [...bodies.map((body) => 'fix: cart\n\n' + body), 'fix(#1): cart']) {
  const { actions, refs } = first(message)
  const { references } = second.parse(message)
  const closes = references.filter((one) => one.action)
  const rest = references.filter((one) => !one.action)
  console.log(message.split('\n').at(-1))
  console.log(`  issue-parser: closes ${named(actions.close ?? [])}, refers to ${named(refs)}`)
  console.log(`  conventional-commits-parser: closes ${named(closes)}, refers to ${named(rest)}`)
}
CODE

observe() {
  node read.mjs
}

finding observe <<'RECORDED'
Closes #1
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes 1, refers to -
Closes #1, #2
  issue-parser: closes 1, refers to 2
  conventional-commits-parser: closes 1 2, refers to -
Fixes: #1
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes 1, refers to -
close GH-1
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes -, refers to -
Closes owner/repo#1
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes 1, refers to -
Closes https://github.com/o/r/issues/1
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes -, refers to -
Closes #1.
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes 1, refers to -
Fixes issue #1
  issue-parser: closes -, refers to 1
  conventional-commits-parser: closes 1, refers to -
prefix #1
  issue-parser: closes -, refers to 1
  conventional-commits-parser: closes -, refers to 1
hot-fix #1
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes 1, refers to -
This does not fix #1
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes 1, refers to -
`Closes #1`
  issue-parser: closes -, refers to -
  conventional-commits-parser: closes -, refers to -
<!-- Closes #1 -->
  issue-parser: closes -, refers to -
  conventional-commits-parser: closes 1, refers to -
> Closes #1
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes 1, refers to -
Closes #1abc
  issue-parser: closes -, refers to -
  conventional-commits-parser: closes 1abc, refers to -
colour #123456
  issue-parser: closes -, refers to 123456
  conventional-commits-parser: closes -, refers to 123456
fix(#1): cart
  issue-parser: closes 1, refers to -
  conventional-commits-parser: closes -, refers to 1
RECORDED
