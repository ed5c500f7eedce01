#!/usr/bin/env bash
# bandit 1.9.4 with bandit-sarif-formatter 1.1.1 (PyPI).
#
# Expected: a file that bandit cannot read or parse makes "executionSuccessful" false in SARIF.
# Seen: bandit ends with 0, also if the only file it was given is absent. SARIF has "executionSuccessful": true beside
#   a notification of level error, among those on the configuration. The XML report is that of a clean run.
# Source: no documentation found.
# Why it matters: no file was scanned, and status, results and the XML file are green. The notification, not the flag of
#   the invocation, tells it.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages bandit==1.9.4 bandit-sarif-formatter==1.1.1

echo 'def broken(:' >broken.py

observe() {
  for file in broken.py absent.py; do
    ends_with bandit --quiet --format=sarif --output=report.sarif $file
    python3 - <<'PYTHON'
import json
run = json.load(open("report.sarif"))["runs"][0]
for call in run["invocations"]:
    notes = [(note["level"], note["message"]["text"]) for note in call["toolConfigurationNotifications"]]
    print("results:", len(run["results"]), "executionSuccessful:", call["executionSuccessful"], notes)
PYTHON
    ends_with bandit --quiet --format=xml --output=report.xml $file
    junit report.xml
  done
}

finding observe <<'RECORDED'
$ bandit --quiet --format=sarif --output=report.sarif broken.py
exit 0
results: 0 executionSuccessful: True [('error', 'syntax error while parsing AST from file')]
$ bandit --quiet --format=xml --output=report.xml broken.py
exit 0
testsuite 'bandit': tests=0
$ bandit --quiet --format=sarif --output=report.sarif absent.py
exit 0
results: 0 executionSuccessful: True [('error', 'No such file or directory')]
$ bandit --quiet --format=xml --output=report.xml absent.py
exit 0
testsuite 'bandit': tests=0
RECORDED
