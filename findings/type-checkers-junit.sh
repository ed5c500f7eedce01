#!/usr/bin/env bash
# mypy 2.4.1, ty 0.0.108, pyrefly 1.5.0 (PyPI).
#
# Expected: three type checkers' JUnit reports have a failure if the checker ends with 1, and none if it ends with 0.
# Seen: mypy says "Success: no issues found" and ends with 0, with a failed test in its report, for a note; ty does the
#   same for its note. pyrefly has no test for it at all. Of three errors mypy makes one test, ty four (one is the note)
#   and pyrefly three. A run without an error is one passed test, one by the name "No errors found", and none.
# Source: mypy's documentation has `--junit-xml`, ty's `--output-format junit`; what a note becomes is in neither.
# Why it matters: a green job whose report has a failure; "1 test failed" for three errors.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages mypy==2.4.1 ty==0.0.108 pyrefly==1.5.0

printf '[tool.pyrefly]\n' >pyproject.toml
echo 'total: int = 1' >clean.py
printf 'from typing import reveal_type\nreveal_type(1)\n' >note.py
printf 'from typing import reveal_type\ntotal: int = "a"\nprice: int = "b"\ncount: int = "c"\nreveal_type(total)\n' >errors.py

said() {
  local name=$1 code=0
  "${@:2}" >"$folder/output" 2>/dev/null || code=$?
  echo "$name: exit $code"
  if [[ $name == mypy ]]; then
    grep -E '^(Found|Success)' "$folder/output"
  else
    mv "$folder/output" report.xml
  fi
  junit report.xml | sed "s#$PWD/##; s/mypy-[a-z0-9_]*-linux/mypy-VERSION-linux/"
}

observe() {
  local file
  for file in clean.py note.py errors.py; do
    echo "# $file"
    said mypy mypy --junit-xml report.xml "$file"
    said ty ty check --output-format junit "$file"
    said pyrefly pyrefly check --output-format junit-xml "$file"
  done
}

finding observe <<'RECORDED'
# clean.py
mypy: exit 0
Success: no issues found in 1 source file
testsuite 'mypy': tests=1 failures=0 errors=0
  case 'mypy-VERSION-linux': passed
ty: exit 0
testsuites 'ty': tests=1 failures=0 errors=0 skipped=0
testsuite 'ty': tests=1 failures=0 errors=0 skipped=0
  case 'No errors found': passed
pyrefly: exit 0
testsuites None:
testsuite 'pyrefly': tests=0 failures=0 errors=0
# note.py
mypy: exit 0
Success: no issues found in 1 source file
testsuite 'mypy': tests=1 failures=1 errors=0
  case 'mypy-VERSION-linux': failure
ty: exit 0
testsuites 'ty': tests=1 failures=1 errors=0 skipped=0
testsuite 'note.py': tests=1 failures=1 errors=0 skipped=0
  case 'org.ty.revealed-type': failure
pyrefly: exit 0
testsuites None:
testsuite 'pyrefly': tests=0 failures=0 errors=0
# errors.py
mypy: exit 1
Found 3 errors in 1 file (checked 1 source file)
testsuite 'mypy': tests=1 failures=1 errors=0
  case 'mypy-VERSION-linux': failure
ty: exit 1
testsuites 'ty': tests=4 failures=4 errors=0 skipped=0
testsuite 'errors.py': tests=4 failures=4 errors=0 skipped=0
  case 'org.ty.invalid-assignment': failure
  case 'org.ty.invalid-assignment': failure
  case 'org.ty.invalid-assignment': failure
  case 'org.ty.revealed-type': failure
pyrefly: exit 1
testsuites None:
testsuite 'pyrefly': tests=3 failures=3 errors=0
  case 'bad-assignment:L2': failure
  case 'bad-assignment:L3': failure
  case 'bad-assignment:L4': failure
RECORDED
