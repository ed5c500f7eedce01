#!/usr/bin/env bash
# nx 22.7.12, lerna 9.0.7, turbo 2.11.11, lage 2.17.0, @moonrepo/cli 2.5.5 (npm), Node 26.12.1.
#
# Expected: a task that fails is 1 or its own status; a task that no package has, and a package that is none, are errors.
# Seen: nx with `--nxBail`, and lerna without an option, end with 130, the status of a program that was interrupted, if
#   something was left to do; with nothing left it is 1. A script that no package has is 0 to nx and to lerna, and to
#   turbo if turbo.json has it; an unknown package is 0 to nx alone. turbo ends with the script's status, moon with the
#   command's in `run` and 1 in `check`. To moon a task that is not for CI is an error with 1, and one that may fail is "1
#   failed" with 0.
# Source: https://moonrepo.dev/docs/config/project has `allowFailure` and `runInCI`; of 130 no documentation found.
# Why it matters: 130 is taken for "cancelled", which is not the author's to mend. A misspelt script is a green job.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 nx@22.7.12 lerna@9.0.7 turbo@2.11.11 lage@2.17.0 @moonrepo/cli@2.5.5
export NX_DAEMON=false NX_NO_CLOUD=true TURBO_TELEMETRY_DISABLED=1 DO_NOT_TRACK=1

ln -s "$folder/node_modules" node_modules
echo '{ "name": "root", "version": "1.0.0", "private": true, "packageManager": "npm@11.0.0", "workspaces": ["packages/*"] }' >package.json
mkdir -p packages/cart packages/item packages/price .moon
echo '{ "name": "cart", "version": "1.0.0", "scripts": { "test": "exit 3" } }' >packages/cart/package.json
echo '{ "name": "item", "version": "1.0.0", "scripts": { "test": "exit 0" } }' >packages/item/package.json
echo '{ "name": "price", "version": "1.0.0", "scripts": { "test": "exit 0" } }' >packages/price/package.json
cat >package-lock.json <<'JSON'
{ "name": "root", "version": "1.0.0", "lockfileVersion": 3, "requires": true, "packages": {
  "": { "name": "root", "version": "1.0.0", "workspaces": ["packages/*"] },
  "node_modules/cart": { "resolved": "packages/cart", "link": true }, "node_modules/item": { "resolved": "packages/item", "link": true },
  "node_modules/price": { "resolved": "packages/price", "link": true }, "packages/cart": { "version": "1.0.0" },
  "packages/item": { "version": "1.0.0" }, "packages/price": { "version": "1.0.0" } } }
JSON
echo '{ "neverConnectToCloud": true, "analytics": false }' >nx.json
echo '{ "version": "independent", "packages": ["packages/*"] }' >lerna.json
echo '{ "tasks": { "test": { "cache": false }, "tset": {} } }' >turbo.json
echo "module.exports = { pipeline: { test: [] }, npmClient: 'npm', cache: false }" >lage.config.js
printf "projects: ['packages/*']\nvcs: { defaultBranch: main }\n" >.moon/workspace.yml
cat >packages/cart/moon.yml <<'YAML'
language: bash
tasks:
  test: { command: 'exit 3', options: { shell: true } }
  may: { command: 'exit 3', options: { shell: true, allowFailure: true } }
  local: { command: 'exit 3', options: { shell: true, runInCI: false } }
YAML
printf 'node_modules\n.nx\n.turbo\n.moon/cache\n' >.gitignore
git init --quiet --initial-branch main
git add .
git -c user.name=a -c user.email=a@example.org commit --quiet --message first

observe() {
  ends_with nx run-many -t test
  ends_with nx run-many -t test --nxBail --parallel=1
  ends_with nx run-many -t tset
  ends_with nx run-many -t test -p basket
  ends_with lerna run test --concurrency 1
  ends_with lerna run test --no-bail
  ends_with lerna run tset
  ends_with lerna run test --scope basket
  ends_with turbo run test
  ends_with turbo run tset
  ends_with turbo run ttes
  ends_with turbo run test --filter basket
  ends_with lage test
  ends_with lage tset
  ends_with lage test --to basket
  ends_with moon run cart:test
  ends_with moon check cart
  ends_with moon run cart:tset
  ends_with moon run cart:may
  ends_with moon run cart:local
}

finding observe <<'RECORDED'
$ nx run-many -t test
exit 1
$ nx run-many -t test --nxBail --parallel=1
exit 130
$ nx run-many -t tset
exit 0
$ nx run-many -t test -p basket
exit 0
$ lerna run test --concurrency 1
exit 130
$ lerna run test --no-bail
exit 1
$ lerna run tset
exit 0
$ lerna run test --scope basket
exit 1
$ turbo run test
exit 3
$ turbo run tset
exit 0
$ turbo run ttes
exit 1
$ turbo run test --filter basket
exit 1
$ lage test
exit 1
$ lage tset
exit 1
$ lage test --to basket
exit 1
$ moon run cart:test
exit 3
$ moon check cart
exit 1
$ moon run cart:tset
exit 1
$ moon run cart:may
exit 0
$ moon run cart:local
exit 1
RECORDED
