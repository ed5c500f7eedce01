#!/usr/bin/env bash
# @changesets/cli 3.0.3 (npm), Node 26.12.1; needs git.
#
# Expected: `changeset status` ends with 1 if a changed package has no changeset: it says "some packages have been changed
#   but no changesets were found".
# Seen: one changeset for any package, also for one that did not change, or one for no package at all, makes it end with 0.
#   The package that changed is not released, and not named.
# Source: no documentation found; `changeset add --empty` is meant for a change without a release.
# Why it matters: that this check is green does not show that what a pull request changes will be released.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @changesets/cli@3.0.3

export HOME=$folder
mkdir -p .changeset cart shop
echo '{ "private": true, "workspaces": ["cart", "shop"] }' >package.json
echo '{ "lockfileVersion": 3 }' >package-lock.json
echo '{ "name": "cart", "version": "1.0.0" }' >cart/package.json
echo '{ "name": "shop", "version": "1.0.0" }' >shop/package.json
echo '{ "changelog": false, "commit": false, "access": "restricted", "baseBranch": "main" }' >.changeset/config.json
record() {
  git add .
  git -c user.name=example -c user.email=example@example.com commit --quiet --message "$1"
}
git init --quiet --initial-branch main
record one
git checkout --quiet -b change
echo 1 >cart/cart.js
record two

status() {
  ends_with changeset status
  grep '^Some\|^Packages\|^ *-' "$folder/output"
}

observe() {
  status
  printf '%s\n' --- '"shop": patch' --- '' 'shop: one' >.changeset/other.md
  record three
  status
  rm .changeset/other.md
  printf '%s\n' --- --- '' 'nothing' >.changeset/nothing.md
  record four
  status
}

finding observe <<'RECORDED'
$ changeset status
exit 1
Some packages have been changed but no changesets were found. Run changeset add to resolve this error.
$ changeset status
exit 0
Packages to be bumped:
- patch
  - shop
$ changeset status
exit 0
Packages to be bumped:
RECORDED
