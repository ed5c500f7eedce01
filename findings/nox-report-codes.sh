#!/usr/bin/env bash
# nox 2026.10.20 (PyPI).
#
# Expected: "result" and "result_code" of the report are as exit statuses are, 0 for a success; a session has the name that
#   the log has, unit(size=3); a session whose list of parameters is empty is an error.
# Seen: 1 is a success, 0 a failure, 2 skipped. Each session made of one function has the function's name; what the
#   log calls it is the first of its "signatures". With an empty list nothing runs: skipped, exit 0, "result" 1.
# Source: no documentation found.
# Why it matters: read as a status, each red run is green and each green one red. Sessions by name are one session.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages nox==2026.10.20

cat >noxfile.py <<'CODE'
import nox

nox.options.default_venv_backend = "none"

@nox.session
def lint(session):
    session.run("true", external=True)

@nox.session
@nox.parametrize("size", [0, 3])
def unit(session, size):
    session.run("sh", "-c", f"exit {size}", external=True)

@nox.session
@nox.parametrize("size", [])
def load(session, size):
    session.run("false", external=True)
CODE

report() {
  python3 - <<'PYTHON'
import json
report = json.load(open("report.json"))
print("result:", report["result"])
for session in report["sessions"]:
    print(*[repr(session[key]) for key in ("name", "signatures", "result", "result_code", "args")])
PYTHON
}

observe() {
  local session
  for session in lint unit load; do
    ends_with nox --report report.json --session "$session"
    report
  done
}

finding observe <<'RECORDED'
$ nox --report report.json --session lint
exit 0
result: 1
'lint' ['lint'] 'success' 1 {}
$ nox --report report.json --session unit
exit 1
result: 0
'unit' ['unit(size=0)'] 'success' 1 {'size': 0}
'unit' ['unit(size=3)'] 'failed' 0 {'size': 3}
$ nox --report report.json --session load
exit 0
result: 1
'load' [] 'skipped' 2 {}
RECORDED
