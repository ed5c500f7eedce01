#!/usr/bin/env bash
# @semantic-release/commit-analyzer 13.0.1 (npm, the analyzer of semantic-release 25), Node 26.12.1.
#
# Expected: a breaking change is what Conventional Commits has: a footer, BREAKING CHANGE in capitals, a colon, a text.
# Seen: the words at the beginning of any line of the body suffice, in any case, without a colon, without a text, or behind
#   `*`: a sentence that is wrapped before them is a major release. `feat:` without a word is a minor one.
# Source: no documentation found.
# Why it matters: the body of a squash merge is made of descriptions and commit messages of people and agents. What a line
#   break does to it decides the version.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 --legacy-peer-deps @semantic-release/commit-analyzer@13.0.1

cat >type.mjs <<'CODE'
import { analyzeCommits } from '@semantic-release/commit-analyzer'
const messages = [
  'docs: say how\n\nA footer with\nBREAKING CHANGE is what makes a release major.',
  'docs: say how\n\nA footer with BREAKING CHANGE is what makes\na release major.',
  'docs: say how\n\nThere is no\nbreaking change in this.',
  'docs: say how\n\nThere is no\nbreaking-change in this.',
  'docs: say how\n\nThere are no\nbreaking changes in this.',
  'docs: say how\n\n* breaking change: none',
  'docs: say how\n\n- breaking change: none',
  'docs: say how\n\nBREAKING CHANGE:',
  'feat: ',
]
for (const message of messages) {
  const context = { cwd: process.cwd(), logger: { log() {}, error() {} }, commits: [{ hash: '1', message }] }
  console.log(JSON.stringify(message), await analyzeCommits({}, context))
}
CODE

observe() {
  node type.mjs
}

finding observe <<'RECORDED'
"docs: say how\n\nA footer with\nBREAKING CHANGE is what makes a release major." major
"docs: say how\n\nA footer with BREAKING CHANGE is what makes\na release major." null
"docs: say how\n\nThere is no\nbreaking change in this." major
"docs: say how\n\nThere is no\nbreaking-change in this." null
"docs: say how\n\nThere are no\nbreaking changes in this." null
"docs: say how\n\n* breaking change: none" major
"docs: say how\n\n- breaking change: none" null
"docs: say how\n\nBREAKING CHANGE:" major
"feat: " minor
RECORDED
