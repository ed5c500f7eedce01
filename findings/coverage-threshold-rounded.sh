#!/usr/bin/env bash
# coverage 7.17.5 (PyPI).
#
# Expected: a total of 66.67 % misses a threshold of 66.9 %, and so also one of 67 %.
# Seen: it misses 66.9 and meets 67. The total is rounded to as many decimals as the threshold has (or the report's
#   precision, if that is more) before they are compared.
# Source: coverage.readthedocs.io, [report] fail_under and precision; of the decimals of a threshold no documentation found.
# Why it matters: to raise a threshold can turn a red check green. Who compares the exact rate of the XML with the
#   threshold finds another verdict than the tool's own, so the tool's exit status decides.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages coverage==7.17.5

cat >two_of_three.py <<'CODE'
import sys
if len(sys.argv) > 5:
    print("many")
CODE

observe() {
  coverage run two_of_three.py
  for threshold in 66.67 66.7 66.9 67; do
    ends_with coverage report --fail-under=$threshold
  done
  ends_with coverage report --fail-under=67 --precision=2
  coverage xml -q
  grep -oE 'line-rate="[^"]*"' coverage.xml | head -1
}

finding observe <<'RECORDED'
$ coverage report --fail-under=66.67
exit 0
$ coverage report --fail-under=66.7
exit 0
$ coverage report --fail-under=66.9
exit 2
$ coverage report --fail-under=67
exit 0
$ coverage report --fail-under=67 --precision=2
exit 2
line-rate="0.6667"
RECORDED
