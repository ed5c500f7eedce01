#!/usr/bin/env bash
# pyrefly 1.5.0 (PyPI).
#
# Expected: a type checker in a project without its configuration checks types by its defaults, as mypy, pyright and ty do.
# Seen: without a pyrefly.toml or [tool.pyrefly], the preset `basic` is used: a function that returns a string for an int is
#   no error, and the program ends with 0. An empty [tool.pyrefly] is enough to have it reported.
# Source: pyrefly.org, "Configuration" (preset).
# Why it matters: a check that is green without a configuration shows no more than that the imports can be found.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pyrefly==1.5.0

printf 'def total(items: list[int]) -> int:\n    return "none"\n' >cart.py

# It would warn that this variable is set.
unset PYTHONPATH

observe() {
  ends_with pyrefly check --output-format=min-text --summary=none cart.py
  printf '[tool.pyrefly]\n' >pyproject.toml
  ends_with shown pyrefly check --output-format=min-text --summary=none cart.py
}

finding observe <<'RECORDED'
$ pyrefly check --output-format=min-text --summary=none cart.py
exit 0
$ pyrefly check --output-format=min-text --summary=none cart.py
ERROR cart.py:2:12-18: Returned type `Literal['none']` is not assignable to declared return type `int` [bad-return]
exit 1
RECORDED
