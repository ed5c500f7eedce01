#!/usr/bin/env bash
# lint-staged 17.6.1 (npm), Node 26.12.1; needs git.
#
# Expected: of a program that ran and ended with 2 it says that, or its status; "failed to spawn" is for one that is not there.
# Seen: a program that fails without output, or by a signal, "failed to spawn", with the reason "undefined". Its status is
#   nowhere.
# Source: no documentation found.
# Why it matters: the log sends its reader, and a fixer, to look for a missing program, while a check has failed.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 lint-staged@17.6.1

export HOME=$folder
git init --quiet
echo 'process.exitCode = 2' >silent.cjs
echo 'console.log("a.js:1 no cart"); process.exitCode = 2' >speaks.cjs
echo 'process.kill(process.pid, "SIGTERM")' >killed.cjs
echo '1' >a.js
git add .

observe() {
  local task
  for task in 'node silent.cjs' 'node speaks.cjs' 'node killed.cjs' 'no-such-program'; do
    echo "export default { 'a.js': '$task' }" >lint-staged.config.mjs
    ends_with lint-staged
    sed -n '/^✔ Done staging/,$p' "$folder/output" | sed '1d; /^$/d'
  done
}

finding observe <<'RECORDED'
$ lint-staged
exit 1
✖ Task failed to spawn: node silent.cjs
undefined
$ lint-staged
exit 1
✖ node speaks.cjs:
a.js:1 no cart
$ lint-staged
exit 1
✖ Task failed to spawn: node killed.cjs
undefined
$ lint-staged
exit 1
✖ Task failed to spawn: no-such-program
ENOENT
RECORDED
