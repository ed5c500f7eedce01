#!/usr/bin/env bash
# jest 30.5.2 with jest-junit 17.0.0, vitest 5.1.2, ava 8.0.1, bun 1.4.5 (npm); node:test of Node 26.12.1; pytest-split 0.11.0,
# pytest-test-groups 1.2.1 with pytest 9.2.0, lit 23.1.5, meson 1.12.1 (PyPI).
#
# Expected: two test files and three shards leave one without a test. It fails, as a run without tests fails, and with a report
#   that has no case.
# Seen: node:test, bun, ava and lit end with 0, jest, vitest and meson with 1, pytest-split with 5, pytest-test-groups, which
#   calls the third of three groups invalid, with 4. jest, Node and pytest write a report without a case, vitest a file of 0
#   bytes, bun, lit and meson none; ava has no such report.
# Source: `--passWithNoTests` of jest and vitest is documented; of an empty shard no documentation found.
# Why it matters: a file is deleted, and a shard of one tool fails for good while that of another is green for nothing. A reader
#   of its report meets no file, or one that no parser reads. One status is no sign of an empty shard.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 jest@30.5.2 jest-junit@17.0.0 vitest@5.1.2 ava@8.0.1
bun_package 1.4.5
pip_packages pytest-split==0.11.0 pytest-test-groups==1.2.1 pytest==9.2.0 lit==23.1.5 meson==1.12.1 ninja==1.13.2
export PYTEST_ADDOPTS='-p no:cacheprovider'

mkdir jest vitest node bun ava pytest lit meson
for name in a b; do
  echo "test('$name', () => {})" >"jest/$name.test.js"
  echo "import { test } from 'vitest'; test('$name', () => {})" >"vitest/$name.test.js"
  echo "import { test } from 'node:test'; test('$name', () => {})" >"node/$name.test.mjs"
  echo "import { test } from 'bun:test'; test('$name', () => {})" >"bun/$name.test.js"
  echo "import test from 'ava'; test('$name', t => t.pass())" >"ava/$name.test.mjs"
  echo "def test_$name(): pass" >"pytest/test_$name.py"
  echo 'RUN: true' >"lit/$name.t"
done
for name in jest vitest ava; do
  ln -s "$folder/node_modules" "$name/node_modules"
  echo '{ "private": true }' >"$name/package.json"
done
cat >lit/lit.cfg.py <<'CONFIGURATION'
import lit.formats
import os
config.name = "shards"
config.test_format = lit.formats.ShTest()
config.suffixes = [".t"]
config.test_source_root = os.path.dirname(__file__)
CONFIGURATION
cat >meson/meson.build <<'BUILD'
project('shards')
test('a', find_program('true'))
test('b', find_program('true'))
BUILD

# Runs a command in a folder, and tells what it ends with and what its report is.
shard() {
  local code=0 report='no report'
  (cd "$2" && "${@:3}") >"$folder/output" 2>&1 || code=$?
  if [[ -s $2/report.xml ]]; then
    report="a report of $(grep -c '<testcase' "$2/report.xml" || true) cases"
  elif [[ -e $2/report.xml ]]; then
    report='a report of 0 bytes'
  fi
  echo "$1: exit $code, $report"
  rm -f "$2/report.xml"
}

observe() {
  shard jest jest env JEST_JUNIT_OUTPUT_NAME=report.xml jest --shard=3/3 --reporters=jest-junit
  shard vitest vitest vitest run --shard=3/3 --reporter=junit --outputFile=report.xml
  shard node:test node node --test --test-shard=3/3 --test-reporter=junit --test-reporter-destination=report.xml
  shard bun bun bun test --shard=3/3 --reporter=junit --reporter-outfile=report.xml
  shard ava ava env GITLAB_CI=1 CI_NODE_INDEX=3 CI_NODE_TOTAL=3 ava
  shard pytest-split pytest pytest --splits 3 --group 3 --junit-xml report.xml
  shard pytest-test-groups pytest pytest --test-group-count 3 --test-group 3 --junit-xml report.xml
  shard lit lit lit --num-shards 3 --run-shard 3 --xunit-xml-output report.xml .
  (cd meson && meson setup build >/dev/null)
  ln -s build/meson-logs/testlog.junit.xml meson/report.xml
  shard meson meson meson test -C build --slice 3/3
}

finding observe <<'RECORDED'
jest: exit 1, a report of 0 cases
vitest: exit 1, a report of 0 bytes
node:test: exit 0, a report of 0 cases
bun: exit 0, no report
ava: exit 0, no report
pytest-split: exit 5, a report of 0 cases
pytest-test-groups: exit 4, a report of 0 cases
lit: exit 0, no report
meson: exit 1, no report
RECORDED
