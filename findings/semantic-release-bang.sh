#!/usr/bin/env bash
# @semantic-release/commit-analyzer 13.0.1 (the analyzer of semantic-release 25), @commitlint/cli and
# @commitlint/config-conventional 21.2.4 (npm), Node 26.12.1.
#
# Expected: a breaking change marked as Conventional Commits has it, by `!` or by a footer BREAKING-CHANGE, is a major
#   release with semantic-release as it comes.
# Seen: its default preset does not know `!`: such a commit is no release at all, not even the minor one of `feat:`. With
#   the footer BREAKING-CHANGE it is a minor one. commitlint passes both.
# Source: no documentation found; its README says that the default is the preset "angular".
# Why it matters: a title that a check of titles lets through, and that a squash merge makes the only commit, releases
#   nothing. That the step ended with 0 and that titles were checked does not show that a release was made.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 --legacy-peer-deps @semantic-release/commit-analyzer@13.0.1 \
  @commitlint/cli@21.2.4 @commitlint/config-conventional@21.2.4

cat >type.mjs <<'CODE'
import { readFileSync } from 'node:fs'
import { analyzeCommits } from '@semantic-release/commit-analyzer'
const context = {
  cwd: process.cwd(),
  logger: { log() {}, error() {} },
  commits: [{ hash: '1', message: readFileSync(0, 'utf8') }],
}
console.log('release:', await analyzeCommits({}, context))
CODE

observe() {
  local message
  for message in 'feat: one' 'feat!: one' 'feat(cart)!: one' 'fix!: one' \
    $'feat: one\n\nBREAKING-CHANGE: two' $'feat: one\n\nBREAKING CHANGE: two' $'feat!: one\n\nBREAKING CHANGE: two'; do
    printf '%q\n' "$message"
    node type.mjs <<<"$message"
    commitlint --extends @commitlint/config-conventional <<<"$message" || echo "refused by commitlint"
  done
}

finding observe <<'RECORDED'
feat:\ one
release: minor
feat\!:\ one
release: null
feat\(cart\)\!:\ one
release: null
fix\!:\ one
release: null
$'feat: one\n\nBREAKING-CHANGE: two'
release: minor
$'feat: one\n\nBREAKING CHANGE: two'
release: major
$'feat!: one\n\nBREAKING CHANGE: two'
release: major
RECORDED
