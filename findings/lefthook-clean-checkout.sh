#!/usr/bin/env bash
# lefthook 2.2.2 (npm).
#
# Expected: `lefthook run pre-commit` in CI runs each job that takes no list of files, whatever is staged; without a
#   configuration it fails; a job whose glob matches nothing is left out, in each hook.
# Seen: on a clean checkout no job of pre-commit runs, also none without a list of files and without a glob, and it ends with 0;
#   `--force` runs them. Without a configuration it ends with 0. In a hook with a name of its own the same jobs run, and there
#   one whose glob matches nothing runs too. `run` writes hooks into .git, also with CI set.
# Source: `lefthook run --help` has --force, --all-files and --no-auto-install; of a clean checkout no documentation found.
# Why it matters: a check that calls the hook in CI is green and has checked nothing, and a configuration that was renamed stays
#   green.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
npm_packages lefthook@2.2.2

git init --quiet --initial-branch main
git -c user.name=a -c user.email=a@example.org commit --quiet --allow-empty --message first

run() {
  local code=0
  lefthook run --colors off "$@" </dev/null >"$folder/output" 2>&1 || code=$?
  echo "run $*: exit $code"
  sed -nE -e 's/^│  /  /p' -e 's/^(✓|✗) ([^(]*) \(.*/  \1 \2/p' "$folder/output"
}

observe() {
  echo 'no configuration'
  run pre-commit
  {
    for hook in pre-commit own; do
      echo "$hook:"
      echo '  jobs:'
      echo '    - { name: fails, run: exit 1 }'
      echo '    - { name: fails with glob, glob: "*.none", run: exit 1 }'
    done
  } >lefthook.yml
  git add lefthook.yml
  git -c user.name=a -c user.email=a@example.org commit --quiet --message second
  echo 'clean'
  run pre-commit
  run own
  run pre-commit --force
  run pre-commit --all-files
  echo "hooks in .git: $(cd .git/hooks && find . -type f ! -name '*.sample' -printf '%f\n')"
  echo 'a staged file'
  echo a >a.txt
  git add a.txt
  run pre-commit
}

finding observe <<'RECORDED'
no configuration
run pre-commit: exit 0
  No config files with names ["lefthook" ".lefthook" ".config/lefthook"] have been found in "WORK"
clean
run pre-commit: exit 0
  fails (skip) no matching staged files
  fails with glob (skip) no matching staged files
run own: exit 1
  ✗ fails
  ✗ fails with glob
run pre-commit --force: exit 1
  ✗ fails
  ✗ fails with glob
run pre-commit --all-files: exit 1
  fails with glob (skip) no matching staged files
  ✗ fails
hooks in .git: pre-commit
a staged file
run pre-commit: exit 1
  fails with glob (skip) no matching staged files
  ✗ fails
RECORDED
