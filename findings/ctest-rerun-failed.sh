#!/usr/bin/env bash
# CMake 4.4.5 (PyPI package cmake), ninja 1.13.2 (PyPI).
#
# Expected: `ctest --rerun-failed` runs what failed in the last run, so nothing after a run that passed.
# Seen: a run of one test that passes does not clear the list; --rerun-failed then runs the failing test of the run
#   before. And the last line of a green run is "100% tests passed out of 1": "0 tests failed" is gone.
# Source: cmake.org, ctest(1), --rerun-failed. Which earlier run counts, and the last line, are not told there.
# Why it matters: the outcome of --rerun-failed depends on runs that the log does not show, and a pattern for the old
#   last line no longer sees green runs.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages cmake==4.4.5 ninja==1.13.2

cat >CMakeLists.txt <<'CODE'
cmake_minimum_required(VERSION 3.20)
project(example NONE)
enable_testing()
add_test(NAME adds COMMAND ${CMAKE_COMMAND} -E true)
add_test(NAME fails COMMAND ${CMAKE_COMMAND} -E false)
CODE

run() {
  ends_with ctest --test-dir build "$@"
  grep -E 'Test +#|tests passed' "$folder/output" | sed -E 's/ +[0-9.]+ sec//'
}

observe() {
  cmake -G Ninja -S . -B build >/dev/null
  run
  run -R adds
  run --rerun-failed
}

finding observe <<'RECORDED'
$ ctest --test-dir build
exit 8
1/2 Test #1: adds .............................   Passed
2/2 Test #2: fails ............................***Failed
50% tests passed, 1 tests failed out of 2
$ ctest --test-dir build -R adds
exit 0
1/1 Test #1: adds .............................   Passed
100% tests passed out of 1
$ ctest --test-dir build --rerun-failed
exit 8
1/1 Test #2: fails ............................***Failed
0% tests passed, 1 tests failed out of 1
RECORDED
