#!/usr/bin/env bash
# pre-commit 4.7.0, prek 0.5.10 (PyPI); needs git.
#
# Expected: prek takes the place of pre-commit also where the program of a hook is missing: that hook is "Failed", with its
#   reason, the others have their lines, the status is 1.
# Seen: prek prints no line of any hook, also of those before, which ran and failed, says which program is missing, runs
#   none behind it, and ends with 2.
# Source: no documentation found.
# Why it matters: a hook that failed and said why is nowhere in the log. Who mends the missing program sees the other
#   failure one run later.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pre-commit==4.7.0 prek==0.5.10

cat >.pre-commit-config.yaml <<'YAML'
repos:
- repo: local
  hooks:
  - { id: first, name: first, language: fail, entry: no configuration here }
  - { id: second, name: second, language: system, entry: no-such-program }
  - { id: third, name: third, language: system, entry: touch third.done, pass_filenames: false }
YAML
export HOME=$folder
git init --quiet
git add .

observe() {
  local tool
  for tool in pre-commit prek; do
    rm -f third.done
    ends_with shown "$tool" run --all-files
    [[ -e third.done ]] && echo "the third ran" || echo "the third did not run"
  done
}

finding observe <<'RECORDED'
$ pre-commit run --all-files
first....................................................................Failed
- hook id: first
- exit code: 1

no configuration here

.pre-commit-config.yaml
package.json

second...................................................................Failed
- hook id: second
- exit code: 1

Executable `no-such-program` not found

third....................................................................Passed
exit 1
the third ran
$ prek run --all-files
error: Failed to run hook `second`
  caused by: Failed to run `no-such-program`
  caused by: No such file or directory (os error 2)
exit 2
the third did not run
RECORDED
