#!/usr/bin/env bash
# concurrently 10.0.7, npm-run-all2 9.0.4 (npm), Node 26.12.1.
#
# Expected: a pattern of script names that matches none is an error, as a name that does not exist is.
# Seen: concurrently and run-p print nothing and end with 0; for a name without a pattern both end with 1.
# Source: concurrently, docs/cli/shortcuts.md, speaks of matches only; of both no documentation found.
# Why it matters: a step that runs `test:*` stays green when its scripts are renamed or removed, and its log is empty. A
#   step without output has shown nothing.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 concurrently@10.0.7 npm-run-all2@9.0.4

echo '{ "private": true, "scripts": { "unit": "exit 3" } }' >package.json

observe() {
  ends_with shown concurrently 'npm:test:*'
  ends_with shown run-p 'test:*'
  ends_with concurrently npm:test
  ends_with run-p test
}

finding observe <<'RECORDED'
$ concurrently npm:test:*
exit 0
$ run-p test:*
exit 0
$ concurrently npm:test
exit 1
$ run-p test
exit 1
RECORDED
