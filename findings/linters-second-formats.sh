#!/usr/bin/env bash
# textlint 15.8.0 with textlint-rule-no-todo 2.0.1, @stoplight/spectral-cli 6.16.3 (npm); sqlfluff 4.5.0 (PyPI); Node 26.12.1.
#
# Expected: what is a warning to a linter's console is one in its other formats; what ends with 1 has an error in them; a line has
#   one number.
# Seen: textlint's warning ends with 0, is `not ok` in TAP, and in JUnit a failure that the totals have under errors. In spectral's
#   JUnit warnings are absent: a suite of 0 tests. Its Code Climate counts lines from 0 where all else counts from 1, and calls
#   the warning "major". sqlfluff ends with 1 and has warnings alone for GitHub, also for a file that does not parse; its
#   SARIF calls them errors.
# Source: sqlfluff's documentation has `--annotation-level`, "warning" as the default; of the rest none found.
# Why it matters: a green run with failures, a red run with warnings, and a remark at the line above.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 textlint@15.8.0 textlint-rule-no-todo@2.0.1 @stoplight/spectral-cli@6.16.3
pip_packages sqlfluff==4.5.0

printf '# Cart\n\nTODO: say more\n' >cart.md
echo '{ "rules": { "no-todo": { "severity": "warning" } } }' >.textlintrc.json
cat >cart.yaml <<'YAML'
openapi: 3.1.0
info: { title: cart, version: "1" }
paths:
  /cart:
    get: { operationId: cart, responses: { "200": { description: fine } } }
YAML
cat >rules.yaml <<'YAML'
rules:
  described:
    given: $.paths.*.get
    severity: warn
    then: { field: description, function: truthy }
YAML
printf 'SELECT FROM FROM (\n' >cart.sql
ln -s "$folder/node_modules" node_modules

observe() {
  ends_with textlint cart.md
  grep -oE '^ +[0-9]+:.*' "$folder/output"
  ends_with textlint --format tap cart.md
  grep -E '^(not )?ok' "$folder/output" | sed 's# /.*/# #'
  ends_with textlint --format junit cart.md
  grep -oE 'tests="[0-9]+" errors="[0-9]+"( failures="[0-9]+")?|<failure' "$folder/output"
  local format
  for format in stylish junit code-climate github-actions; do
    ends_with spectral lint cart.yaml --ruleset rules.yaml --format "$format"
    grep -oE '^ +[0-9]+:.*|<testsuite .*|<testcase|"line": [0-9]+|"severity": "[a-z]+"|^::.*' "$folder/output" | sed -E 's# name="[^"]*"##; s# +# #g'
  done
  for format in github-annotation-native sarif; do
    ends_with sqlfluff lint --dialect ansi --format "$format" cart.sql
    grep -oE '^::(warning|error)|"level": "[a-z]+"' "$folder/output" | sort | uniq -c | sed 's/^ *//'
  done
}

finding observe <<'RECORDED'
$ textlint cart.md
exit 0
  3:1  warning  Found TODO: 'TODO: say more'  no-todo
$ textlint --format tap cart.md
exit 0
not ok 1 - cart.md
$ textlint --format junit cart.md
exit 0
tests="1" errors="1"
<failure
$ spectral lint cart.yaml --ruleset rules.yaml --format stylish
exit 0
 5:9 warning described "get.description" property must be truthy paths./cart.get
$ spectral lint cart.yaml --ruleset rules.yaml --format junit
exit 0
<testsuite package="org.spectral" time="0" tests="0" errors="0" failures="0">
$ spectral lint cart.yaml --ruleset rules.yaml --format code-climate
exit 0
"line": 4
"line": 4
"severity": "major"
$ spectral lint cart.yaml --ruleset rules.yaml --format github-actions
exit 0
::warning title=described,file=cart.yaml,col=9,endColumn=70,line=5,endLine=5::"get.description" property must be truthy
$ sqlfluff lint --dialect ansi --format github-annotation-native cart.sql
exit 1
1 ::warning
$ sqlfluff lint --dialect ansi --format sarif cart.sql
exit 1
2 "level": "error"
RECORDED
