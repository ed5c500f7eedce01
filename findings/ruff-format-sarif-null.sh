#!/usr/bin/env bash
# ruff 0.17.6 (PyPI).
#
# Expected: `ruff format --check --output-format=sarif` writes SARIF 2.1.0 as `ruff check` does.
# Seen: the description of each fix has "text": null, where SARIF allows text only. A reader with typed fields refuses
#   the whole file; ruff check's files have no null there.
# Source: docs.astral.sh, "ruff format" (--output-format); SARIF 2.1.0, section on messages: text is a string.
# Why it matters: all findings are lost for one field that nobody shows. null has to be read as absent.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages ruff==0.17.6

printf 'x   =  1\n' >sum.py
printf 'import os\n' >unused.py

texts() {
  python3 - <<'PYTHON'
import json
for result in json.load(open("report.sarif"))["runs"][0]["results"]:
    print(result["ruleId"], "fixes:", [fix["description"] for fix in result["fixes"]])
PYTHON
}

observe() {
  ends_with ruff check --isolated --no-cache --output-format=sarif --output-file=report.sarif unused.py
  texts
  echo "\$ ruff format --check --output-format=sarif sum.py"
  ruff format --isolated --no-cache --check --output-format=sarif sum.py >report.sarif 2>/dev/null || echo "exit $?"
  texts
}

finding observe <<'RECORDED'
$ ruff check --isolated --no-cache --output-format=sarif --output-file=report.sarif unused.py
exit 1
F401 fixes: [{'text': 'Remove unused import: `os`'}]
$ ruff format --check --output-format=sarif sum.py
exit 1
unformatted fixes: [{'text': None}]
RECORDED
