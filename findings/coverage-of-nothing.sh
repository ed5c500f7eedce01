#!/usr/bin/env bash
# c8 12.0.0, nyc 18.0.0 (npm), coverage 7.17.5 (PyPI), Node 26.12.1.
#
# Expected: where no file was measured, since a pattern of `--include` fits none, a threshold of 99 % is missed, or the tool
#   says that it has no data.
# Seen: c8 and nyc say "Unknown%" and end with 0: the threshold is met. Rates are NaN in Cobertura and "Unknown" in JSON,
#   and the LCOV file is empty. coverage.py says that it has no data, and ends with 1.
# Source: no documentation found.
# Why it matters: after a folder was renamed the gate stays green for good. NaN is no number to compare with the base: with
#   most languages it is neither below nor above a limit.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 c8@12.0.0 nyc@18.0.0
pip_packages coverage==7.17.5

echo 'console.log(1)' >cart.cjs
echo 'print(1)' >cart.py

observe() {
  local tool
  for tool in c8 nyc; do
    ends_with shown "$tool" --include 'src/**' --check-coverage --lines 99 --reporter text-summary --reporter lcovonly \
      --reporter cobertura --reporter json-summary node cart.cjs
    grep -o 'line-rate="[^"]*"' coverage/cobertura-coverage.xml
    python3 -c 'import json; print("json:", json.load(open("coverage/coverage-summary.json"))["total"]["lines"]["pct"])'
    echo "lcov: $(wc -c <coverage/lcov.info) bytes"
    rm -r coverage
  done
  ends_with coverage run --include 'src/*' cart.py
  ends_with shown coverage report --fail-under 99
}

finding observe <<'RECORDED'
$ c8 --include src/** --check-coverage --lines 99 --reporter text-summary --reporter lcovonly --reporter cobertura --reporter json-summary node cart.cjs
1

=============================== Coverage summary ===============================
Statements   : Unknown% ( 0/0 )
Branches     : Unknown% ( 0/0 )
Functions    : Unknown% ( 0/0 )
Lines        : Unknown% ( 0/0 )
================================================================================
exit 0
line-rate="NaN"
json: Unknown
lcov: 0 bytes
$ nyc --include src/** --check-coverage --lines 99 --reporter text-summary --reporter lcovonly --reporter cobertura --reporter json-summary node cart.cjs
1

=============================== Coverage summary ===============================
Statements   : Unknown% ( 0/0 )
Branches     : Unknown% ( 0/0 )
Functions    : Unknown% ( 0/0 )
Lines        : Unknown% ( 0/0 )
================================================================================
exit 0
line-rate="NaN"
json: Unknown
lcov: 0 bytes
$ coverage run --include src/* cart.py
exit 0
$ coverage report --fail-under 99
No data to report.
exit 1
RECORDED
