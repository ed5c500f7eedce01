#!/usr/bin/env bash
# vitest 5.1.2 (npm), Node 26.10.0.
#
# Expected: `vitest run --reporter=json` and `--reporter=junit` print the report on standard output if no
#   file is named, as earlier majors do.
# Seen: standard output has one line, "JSON report written to …". The report is in .vitest/json/output.json
#   and .vitest/junit/output.xml, in the working directory.
# Source: vitest.dev, guide "Reporters" (of major 5), and vitest-dev/vitest, issue 10619.
# Why it matters: a step "vitest run --reporter=junit > report.xml" leaves a file that is no report. A reader
#   has to look into .vitest, and must not take the line for a message of a test.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 vitest@5.1.2

cat >sum.test.mjs <<'TEST'
import { test } from 'vitest'
test('adds', () => {})
TEST

observe() {
  for reporter in json junit; do
    vitest run --reporter=$reporter 2>/dev/null
  done
  find .vitest -type f | sort
}

finding observe <<'RECORDED'
JSON report written to WORK/.vitest/json/output.json
JUNIT report written to WORK/.vitest/junit/output.xml
.vitest/json/output.json
.vitest/junit/output.xml
RECORDED
