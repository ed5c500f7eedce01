#!/usr/bin/env bash
# CMake 4.4.5 (PyPI package cmake), ninja 1.13.2 (PyPI).
#
# Expected: what makes ctest fail is a failure of its JUnit file, and a disabled test is skipped there.
# Seen: a test whose program is missing is failed on the console (exit 8) and skipped in JUnit, with the same status and
#   element as a test that skips itself. A disabled test has no element, which reads as passed.
# Source: cmake.org, ctest(1), --output-junit, does not tell of these states.
# Why it matters: a program that was not built is a red step beside failures=0. Only the text of the skipped element
#   tells the two apart.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages cmake==4.4.5 ninja==1.13.2

cat >CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.20)
project(example NONE)
enable_testing()
add_test(NAME adds COMMAND ${CMAKE_COMMAND} -E true)
add_test(NAME missing COMMAND not_built)
add_test(NAME disabled COMMAND ${CMAKE_COMMAND} -E false)
set_tests_properties(disabled PROPERTIES DISABLED TRUE)
add_test(NAME skips COMMAND sh -c "exit 77")
set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
CODE

observe() {
  cmake -G Ninja -S . -B build >/dev/null
  ends_with ctest --test-dir build --output-junit report.xml
  grep -E 'tests passed|^	' "$folder/output"
  junit build/report.xml
  grep -oE 'status="[a-z]*"|<skipped.*>|disabled="[0-9]+"' build/report.xml
}

finding observe <<'RECORDED'
$ ctest --test-dir build --output-junit report.xml
exit 8
67% tests passed, 1 tests failed out of 3
	  3 - disabled (Disabled)
	  4 - skips (Skipped)
	  2 - missing (Not Run)
testsuite '(empty)': tests=4 failures=0 skipped=2
  case 'adds': passed
  case 'missing': skipped
  case 'disabled': passed
  case 'skips': skipped
disabled="1"
status="run"
status="notrun"
<skipped message="Unable to find executable"/>
status="disabled"
status="notrun"
<skipped message="SKIP_RETURN_CODE=77"/>
RECORDED
