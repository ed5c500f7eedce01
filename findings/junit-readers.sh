#!/usr/bin/env bash
# junit2json 4.0.0, junitxml-to-javascript 1.1.4, junit-to-ctrf 0.0.14, xunit-viewer 10.6.1, junit-report-merger 9.0.4
# (npm); junitparser 5.0.3, xunitparser 1.3.4 (PyPI); Node 26.12.1.
#
# Expected: of one report seven readers find the same failures; a suite within a suite is read, and a suite that says of
#   itself that its file did not load is a failure.
# Seen: two do not read the suite within, and its red case is lost; junitparser lists its case with those of the outer
#   one, so that who walks down has it twice. xunit-viewer makes one of two cases that share a name (a test and its
#   teardown), and ends with 0. junitxml-to-javascript has no message for a case with two failures, and for one that was
#   tried again the older. "1,234.5" seconds are one second to junit-to-ctrf. The file that did not load is a failure to
#   none; the merger has it in the total of the root.
# Source: no documentation of the readers' edges found; https://github.com/testmoapp/junitxml has the elements in use.
# Why it matters: a comment on the pull request, written by such a reader, counts other failures than the run had.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 junit2json@4.0.0 junitxml-to-javascript@1.1.4 junit-to-ctrf@0.0.14 xunit-viewer@10.6.1 \
  junit-report-merger@9.0.4
pip_packages junitparser==5.0.3 xunitparser==1.3.4

ln -s "$folder/node_modules" node_modules
cat >cart.xml <<'XML'
<?xml version="1.0" encoding="UTF-8"?>
<testsuites>
  <testsuite name="outer" tests="9" failures="3" errors="2" skipped="1">
    <testcase classname="cart" name="adds" time="0.1"/>
    <testcase classname="cart" name="two checks" time="0.1"><failure message="first"/><failure message="second"/></testcase>
    <testcase classname="cart" name="check and end" time="0.1"><failure message="check"/><error message="end"/></testcase>
    <testcase classname="cart" name="flaky" time="0.1"><flakyFailure message="once"/></testcase>
    <testcase classname="cart" name="again" time="0.1"><failure message="last"/><rerunFailure message="before"/></testcase>
    <testcase classname="cart" name="left out" time="0"><skipped message="no db"/></testcase>
    <testcase classname="cart" name="opens" time="0.1"/>
    <testcase classname="cart" name="opens" time="0.1"><error message="no stop"/></testcase>
    <testsuite name="inner" tests="1" failures="1">
      <testcase classname="item" name="slow" time="1,234.5"><failure message="late"/></testcase>
    </testsuite>
  </testsuite>
  <testsuite name="absent" tests="0" errors="1"><error message="the file does not load"/></testsuite>
</testsuites>
XML
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import { parse } from 'junit2json'
import Parser from 'junitxml-to-javascript'
const told = (name, cases) => console.log(`${name}: ${cases.length} cases, failed:`, cases.filter(([, failed]) => failed).map(([name]) => name).join(', '))
const walk = (suites) => (suites ?? []).flatMap((suite) => [...(suite.testcase ?? []), ...walk(suite.testsuite)])
const report = await parse(fs.readFileSync('cart.xml', 'utf8'))
told('junit2json', walk(report.testsuite).map((test) => [test.name, test.failure || test.error]))
const suites = (await new Parser().parseXMLFile('cart.xml')).testsuites
const cases = suites.flatMap((suite) => suite.testCases)
told('junitxml-to-javascript', cases.map((test) => [`${test.name} (${test.message})`, test.result === 'failed']))
const ctrf = JSON.parse(fs.readFileSync('ctrf.json', 'utf8')).results.tests
told('junit-to-ctrf', ctrf.map((test) => [`${test.name.replace(/^.*: /, '')} (${test.message})`, test.status === 'failed']))
console.log('  the slow one takes', ctrf.find((test) => test.name.endsWith('slow')).duration, 'ms')
CODE
cat >read.py <<'CODE'
import junitparser, xunitparser

def cases(suite):
    for case in suite:
        yield case
    for inner in suite.testsuites():
        yield from cases(inner)

report = junitparser.JUnitXml.fromfile("cart.xml")
for name, found in (("junitparser, each suite", [case for suite in report for case in suite]),
                    ("junitparser, and the inner ones", [case for suite in report for case in cases(suite)])):
    failed = [case.name for case in found if any(type(result).__name__ in ("Failure", "Error") for result in case.result)]
    print(f"{name}: {len(found)} cases, failed:", ", ".join(failed))
with open("cart.xml") as file:
    suite, result = xunitparser.parse(file)
failed = [case.methodname for case in suite if case.result in ("failure", "error")]
print(f"xunitparser: {result.testsRun} cases, failed:", ", ".join(failed))
CODE

observe() {
  junit-to-ctrf cart.xml --output ctrf.json >/dev/null
  node read.mjs
  python3 read.py
  ends_with xunit-viewer --results cart.xml --output page.html --console
  grep -E '^ +[✗!] |failure,' "$folder/output" | sed -E 's/ time=.*//; s/^ +//'
  jrm merged.xml cart.xml >/dev/null
  echo "junit-report-merger: $(grep -oE '<testsuites?( [a-z]+="[^"]*")*' merged.xml | tr '\n' ' ')"
}

finding observe <<'RECORDED'
junit2json: 9 cases, failed: two checks, check and end, again, opens, slow
junitxml-to-javascript: 8 cases, failed: two checks (), check and end (check), again (before), opens (no stop)
junit-to-ctrf: 9 cases, failed: two checks (first), check and end (check), again (last), opens (no stop), slow (late)
  the slow one takes 1000 ms
junitparser, each suite: 9 cases, failed: two checks, check and end, again, opens, slow
junitparser, and the inner ones: 10 cases, failed: two checks, check and end, again, opens, slow, slow
xunitparser: 8 cases, failed: two checks, check and end, again, opens
$ xunit-viewer --results cart.xml --output page.html --console
exit 0
✗ slow
✗ again
✗ check and end
✗ two checks
! opens
4 failure, 1 skipped, 1 error, 1 passed, 1 flakyFailure
junit-report-merger: <testsuites tests="9" failures="3" errors="3" skipped="1" <testsuite name="outer" tests="9" failures="3" errors="2" skipped="1" <testsuite name="inner" tests="1" failures="1" <testsuite name="absent" tests="0" errors="1" 
RECORDED
