#!/usr/bin/env bash
# bandit 1.9.4 (PyPI).
#
# Expected: "_totals" in the metrics of the JSON report counts the results that the report has.
# Seen: it counts all that was found before the baseline and the wished severity took results away: no result, exit 0, and
#   one issue of severity HIGH.
# Source: no documentation found.
# Why it matters: a summary made of the metrics tells findings that were accepted, or not asked for, and contradicts
#   status and results. The results have to be counted.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages bandit==1.9.4

printf 'import subprocess\ndef call(command):\n    subprocess.call(command, shell=True)\n    assert command\n' >code.py

totals() {
  python3 - <<'PYTHON'
import json
report = json.load(open("report.json"))
totals = {name: report["metrics"]["_totals"]["SEVERITY." + name] for name in ("HIGH", "MEDIUM", "LOW")}
print("results:", sorted(result["issue_severity"] for result in report["results"]), "totals:", totals)
PYTHON
}

observe() {
  ends_with bandit --quiet --format=json --output=report.json code.py
  totals
  cp report.json baseline.json
  ends_with bandit --quiet --baseline=baseline.json --format=json --output=report.json code.py
  totals
  ends_with bandit --quiet --severity-level=high --format=json --output=report.json code.py
  totals
}

finding observe <<'RECORDED'
$ bandit --quiet --format=json --output=report.json code.py
exit 1
results: ['HIGH', 'LOW', 'LOW'] totals: {'HIGH': 1, 'MEDIUM': 0, 'LOW': 2}
$ bandit --quiet --baseline=baseline.json --format=json --output=report.json code.py
exit 0
results: [] totals: {'HIGH': 1, 'MEDIUM': 0, 'LOW': 2}
$ bandit --quiet --severity-level=high --format=json --output=report.json code.py
exit 1
results: ['HIGH'] totals: {'HIGH': 1, 'MEDIUM': 0, 'LOW': 2}
RECORDED
