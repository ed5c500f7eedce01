#!/usr/bin/env bash
# @actions/workflow-parser 0.3.61 (npm, GitHub's own for editors; bundled by esbuild 0.28.2), PyYAML 6.0.4 (PyPI), Node 26.10.0.
#
# Expected: a job is called as its `name:` is written, `1.20` or `010`, and a name that says nothing is refused.
# Seen: GitHub's parser reads the name as YAML's core schema does and writes the value anew: 1.20 is "1.2", 010 is "10",
#   0x1F is "31", .5 is "0.5", 1e3 is "1000", and an integer of 21 digits loses its last ones. An empty name is the
#   job's key. Blanks around a quoted name stay. PyYAML reads 010 as 8, 1_000 as 1000, `yes` as true, 1e3 as a text.
# Source: no documentation found; jobs.<job_id>.name in GitHub's workflow syntax says that it is a name.
# Why it matters: required checks and followed checks are found by the name of the check run. Who takes it from the text
#   of the file waits for one that never comes.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 @actions/workflow-parser@0.3.61 esbuild@0.28.2
pip_packages PyYAML==6.0.4

names=(1.20 010 0x1F 0o17 .5 1e3 123456789012345678901 1_000 true yes 2026-11-29 null "''" '" a "')
{
  printf 'on: pull_request\njobs:\n'
  for at in "${!names[@]}"; do
    printf '  job%s: { name: %s, runs-on: ubuntu-latest, steps: [{ run: make }] }\n' "$at" "${names[$at]}"
  done
} >ci.yml

# Its modules import JSON as bundlers take it.
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import { parseWorkflow, convertWorkflowTemplate, NoOperationTraceWriter } from '@actions/workflow-parser'
const file = { name: 'ci.yml', content: fs.readFileSync('ci.yml', 'utf8') }
const read = parseWorkflow(file, new NoOperationTraceWriter())
convertWorkflowTemplate(read.context, read.value).then((workflow) => {
  for (const job of workflow.jobs) console.log(job.id.value + ': ' + JSON.stringify(job.name.toString()))
  console.log('errors:', read.context.errors.getErrors().length)
})
CODE

observe() {
  NODE_PATH="$folder/node_modules" node "$folder/node_modules/esbuild/bin/esbuild" read.mjs \
    --bundle --platform=node --outfile=read.cjs --log-level=error
  node read.cjs
  python3 - <<'PYTHON'
import yaml
jobs = yaml.safe_load(open("ci.yml"))["jobs"].values()
print("PyYAML:", *[repr(job["name"]) for job in jobs])
PYTHON
}

finding observe <<'RECORDED'
job0: "1.2"
job1: "10"
job2: "31"
job3: "15"
job4: "0.5"
job5: "1000"
job6: "123456789012345680000"
job7: "1_000"
job8: "true"
job9: "yes"
job10: "2026-11-29"
job11: "job11"
job12: "job12"
job13: " a "
errors: 0
PyYAML: 1.2 8 31 '0o17' 0.5 '1e3' 123456789012345678901 1000 True True datetime.date(2026, 11, 29) None '' ' a '
RECORDED
