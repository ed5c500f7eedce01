#!/usr/bin/env bash
# junit-report-merger 9.0.4 (npm), Node 26.12.1.
#
# Expected: the suites of two files stay two suites, or their times are added up as their counts are.
# Seen: suites of one name become one, whatever file they came from: each test is there twice, once passed and once failed,
#   and nothing says which is which. Tests and failures are sums, the time is the
#   longest, the host that of the first file.
# Source: its README says that suites of one name are merged; on times no documentation found.
# Why it matters: the reports of two systems of a matrix, merged, look like one run with a test that was tried twice. A
#   reader that takes the second for a retry calls the failure flaky.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 junit-report-merger@9.0.4

cat >linux.xml <<'XML'
<testsuites tests="2" failures="1" time="3"><testsuite name="cart" tests="2" failures="1" time="3" hostname="linux">
  <testcase classname="cart" name="adds" time="1"><failure message="1 != 2">cart.py:3</failure></testcase>
  <testcase classname="cart" name="prints" time="2"/>
</testsuite></testsuites>
XML
cat >windows.xml <<'XML'
<testsuites tests="2" failures="1" time="5"><testsuite name="cart" tests="2" failures="1" time="5" hostname="windows">
  <testcase classname="cart" name="adds" time="2"/>
  <testcase classname="cart" name="prints" time="3"><failure message="no printer">cart.py:5</failure></testcase>
</testsuite></testsuites>
XML

observe() {
  ends_with jrm merged.xml linux.xml windows.xml
  junit merged.xml
  grep -o '<testsuites\? .*>' merged.xml
}

finding observe <<'RECORDED'
$ jrm merged.xml linux.xml windows.xml
exit 0
testsuites None: tests=4 failures=2
testsuite 'cart': tests=4 failures=2
  case 'adds': failure
  case 'prints': passed
  case 'adds': passed
  case 'prints': failure
<testsuites tests="4" failures="2" time="5">
<testsuite name="cart" tests="4" failures="2" time="5" hostname="linux">
RECORDED
