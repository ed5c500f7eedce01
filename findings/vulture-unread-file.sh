#!/usr/bin/env bash
# vulture 2.16 (PyPI).
#
# Expected: a file that cannot be parsed ends the run with 1, "invalid input", whatever else is found.
# Seen: beside dead code the status is 3, as with dead code alone. The broken file is a line of standard error only.
# Source: vulture's README, "Exit codes": 1 is invalid input, 3 dead code; both at once is not told.
# Why it matters: 3 does not say that all files were read, and a name that is used in the broken file alone is told as
#   unused.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages vulture==2.16

printf 'def used_in_broken():\n    return 1\n' >code.py
printf 'import code\ncode.used_in_broken()\ndef broken(:\n' >broken.py

observe() {
  ends_with shown vulture code.py
  ends_with vulture broken.py
  ends_with vulture code.py broken.py
  sort "$folder/output"
}

finding observe <<'RECORDED'
$ vulture code.py
code.py:1: unused function 'used_in_broken' (60% confidence)
exit 3
$ vulture broken.py
exit 1
$ vulture code.py broken.py
exit 3
broken.py:3: invalid syntax at "def broken(:"
code.py:1: unused function 'used_in_broken' (60% confidence)
RECORDED
