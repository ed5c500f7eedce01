#!/usr/bin/env bash
# sarif-tools 3.0.5 (PyPI).
#
# Expected: `sarif --check error` ends with 1 if there is an error that holds: not one that is suppressed, or that the
#   comparison with the run before marks as gone; a tool that says of itself that it failed is no clean run.
# Seen: a suppression that was accepted and a result that is "absent" are errors like any other; the text of a message given
#   by its id is that id; a run that failed is clean. The status is the number of results.
# Source: SARIF 2.1.0, 3.27.23 and 3.27.24 have the meaning of both marks; no documentation of the tool found.
# Why it matters: the numbers of a SARIF file differ by reader. A check by this one fails for what the tool itself, and
#   GitHub, call settled.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages sarif-tools==3.0.5

cat >check.py <<'CODE'
import contextlib, io, json, sys
from sarif.cmdline.main import main

def check(name, *results, **run):
    rules = [{"id": "E1", "messageStrings": {"default": {"text": "the cart is empty"}}}]
    run = {"tool": {"driver": {"name": "example", "rules": rules}}, "results": list(results), **run}
    with open("a.sarif", "w") as file:
        json.dump({"version": "2.1.0", "runs": [run]}, file)
    sys.argv = ["sarif", "--check", "error", "summary", "a.sarif"]
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        code = main()
    print(f"{name}: status {code};", " ".join(output.getvalue().split()).split(" warning:")[0])

def result(**more):
    place = {"artifactLocation": {"uri": "a.js"}, "region": {"startLine": 3}}
    parts = {"ruleId": "E1", "level": "error", "message": {"text": "no cart"}, "locations": [{"physicalLocation": place}]}
    return {**parts, **more}

check("one", result())
check("three", result(), result(), result())
check("suppressed", result(suppressions=[{"kind": "external", "status": "accepted"}]))
check("gone", result(baselineState="absent"))
check("text by id", result(ruleIndex=0, message={"id": "default"}))
check("kind pass", result(kind="pass", level="none"))
check("tool failed", invocations=[{"executionSuccessful": False, "exitCode": 2}])
CODE

observe() {
  MPLCONFIGDIR="$folder" python3 check.py 2>/dev/null
}

finding observe <<'RECORDED'
one: status 1; error: 1 - E1 no cart: 1
three: status 3; error: 3 - E1 no cart: 3
suppressed: status 1; error: 1 - E1 no cart: 1
gone: status 1; error: 1 - E1 no cart: 1
text by id: status 1; error: 1 - E1 default: 1
kind pass: status 0; error: 0
tool failed: status 0; error: 0
RECORDED
