#!/usr/bin/env bash
# @rstest/core 0.12.0 (npm).
#
# Expected: `rstest run --reporter=junit >report.xml` leaves an XML document, and `--reporter=json` a JSON document, as with
#   Jest's and Vitest's reporters of these names.
# Seen: both are preceded on standard output by the program's name and version, so that neither file can be parsed: XML's
#   declaration is not at the start, and the JSON document begins on the fourth line.
# Source: rstest.rs, "Reporters" (junit, json); XML 1.0, section 2.8.
# Why it matters: a reader of the redirected file finds no report in a run whose tests fail.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
npm_packages @rstest/core@0.12.0

cat >cart.test.ts <<'TEST'
import { expect, test } from '@rstest/core';
test('adds', () => { expect(1 + 1).toBe(3); });
TEST

parses() {
  python3 - "$1" <<'PYTHON'
import json, sys, xml.dom.minidom
read = {"xml": xml.dom.minidom.parse, "json": lambda path: json.load(open(path))}
try:
    read[sys.argv[1]]("report")
    print("parsed")
except Exception as error:
    print(f"not parsed: {error}")
lines = open("report").read().splitlines()
print("begins with", lines[:3])
PYTHON
}

observe() {
  for reporter in junit json; do
    echo "\$ rstest run --reporter=$reporter >report"
    rstest run --reporter=$reporter >report 2>/dev/null || echo "exit $?"
    parses "$([[ $reporter == junit ]] && echo xml || echo json)"
  done
}

finding observe <<'RECORDED'
$ rstest run --reporter=junit >report
exit 1
not parsed: syntax error: line 2, column 2
begins with ['', '  Rstest v0.12.0', '']
$ rstest run --reporter=json >report
exit 1
not parsed: Expecting value: line 2 column 3 (char 3)
begins with ['', '  Rstest v0.12.0', '']
RECORDED
