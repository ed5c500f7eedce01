#!/usr/bin/env bash
# npm-run-all2 9.0.4 (npm), Node 26.12.1.
#
# Expected: with --continue-on-error the error at the end names each script that failed, or the first.
# Seen: it names the last one that failed; nothing in the output tells that the first failed too. The exit status is 1,
#   where the scripts end with 3 and 4.
# Source: no documentation found; the page of run-s says that the other tasks run.
# Why it matters: the name in the log is not the first cause, and the other script looks as if it had passed.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 npm-run-all2@9.0.4

cat >package.json <<'CONFIG'
{ "private": true, "scripts": { "unit": "exit 3", "types": "exit 4", "format": "exit 0" } }
CONFIG

observe() {
  ends_with run-s --continue-on-error unit types format
  grep -v '^$' "$folder/output"
}

finding observe <<'RECORDED'
$ run-s --continue-on-error unit types format
exit 1
> unit
> exit 3
> types
> exit 4
> format
> exit 0
ERROR: "types" exited with 4.
RECORDED
