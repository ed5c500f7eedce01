#!/usr/bin/env bash
# pre-commit 4.7.0, prek 0.5.10 (PyPI).
#
# Expected: `validate-config` without a file name checks the configuration of this folder, as `run` reads it.
# Seen: it checks no file and ends with 0, pre-commit without a word. The same file is refused as soon as it is named.
# Source: `pre-commit validate-config --help` has "filenames" without a default; no other documentation found.
# Why it matters: a check of the configuration that is green for months may never have read one.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pre-commit==4.7.0 prek==0.5.10

cat >.pre-commit-config.yaml <<'YAML'
repos:
- repo: local
  hooks:
  - { id: first, name: first, language: sytem, entry: make }
YAML
export HOME=$folder

observe() {
  local tool
  for tool in pre-commit prek; do
    ends_with shown "$tool" validate-config
    ends_with "$tool" validate-config .pre-commit-config.yaml
    grep -o '^=====> Expected one of\|unknown variant' "$folder/output" | head -n 1
  done
}

finding observe <<'RECORDED'
$ pre-commit validate-config
exit 0
$ pre-commit validate-config .pre-commit-config.yaml
exit 1
=====> Expected one of
$ prek validate-config
warning: No configs to check
exit 0
$ prek validate-config .pre-commit-config.yaml
exit 1
unknown variant
RECORDED
