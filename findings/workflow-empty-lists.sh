#!/usr/bin/env bash
# @actions/workflow-parser 0.3.61 (npm, GitHub's own for editors; bundled by esbuild 0.28.2), Node 26.12.1.
#
# Expected: a workflow that nothing starts and a job without runner or steps are errors; minutes may stand in quotes; ids are
#   compared in one way, with or without regard to case.
# Seen: `on: []`, `runs-on: []`, `steps: []` and no steps at all pass. `timeout-minutes: "10"` is refused. Jobs `build` and
#   `Build` are one job defined twice, and yet `needs: build` does not find `Build`; steps `a` and `A` are two.
# Source: no documentation found.
# Why it matters: "no error in the editor" does not show that a workflow can run; one that never starts reports nothing, and
#   its check is waited for.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @actions/workflow-parser@0.3.61 esbuild@0.28.2

# Its modules import JSON as bundlers take it.
cat >read.mjs <<'CODE'
import { parseWorkflow, convertWorkflowTemplate, NoOperationTraceWriter } from '@actions/workflow-parser'
const end = 'runs-on: ubuntu-latest, steps: [{ run: make }]'
const workflows = [
  `{ on: [], jobs: { a: { ${end} } } }`,
  '{ on: push, jobs: { a: { runs-on: [], steps: [{ run: make }] } } }',
  '{ on: push, jobs: { a: { runs-on: ubuntu-latest, steps: [] } } }',
  '{ on: push, jobs: { a: { runs-on: ubuntu-latest } } }',
  '{ on: push, jobs: { a: { runs-on: ubuntu-latest, steps: [{ id: a, run: make }, { id: A, run: make }] } } }',
  `{ on: push, jobs: { a: { timeout-minutes: "10", ${end} } } }`,
  `{ on: push, jobs: { build: { ${end} }, Build: { ${end} } } }`,
  `{ on: push, jobs: { Build: { ${end} }, a: { needs: build, ${end} } } }`,
]
const read = async () => {
  for (const content of workflows) {
    const read = parseWorkflow({ name: 'ci.yml', content }, new NoOperationTraceWriter())
    if (read.value) await convertWorkflowTemplate(read.context, read.value)
    console.log(content)
    const errors = read.context.errors.getErrors().map((error) => error.message.replace(/^.*\): /, ''))
    console.log('  ' + (errors.join('; ') || 'no error'))
  }
}
read()
CODE

observe() {
  NODE_PATH="$folder/node_modules" node "$folder/node_modules/esbuild/bin/esbuild" read.mjs \
    --bundle --platform=node --outfile=read.cjs --log-level=error
  node read.cjs
}

finding observe <<'RECORDED'
{ on: [], jobs: { a: { runs-on: ubuntu-latest, steps: [{ run: make }] } } }
  no error
{ on: push, jobs: { a: { runs-on: [], steps: [{ run: make }] } } }
  no error
{ on: push, jobs: { a: { runs-on: ubuntu-latest, steps: [] } } }
  no error
{ on: push, jobs: { a: { runs-on: ubuntu-latest } } }
  no error
{ on: push, jobs: { a: { runs-on: ubuntu-latest, steps: [{ id: a, run: make }, { id: A, run: make }] } } }
  no error
{ on: push, jobs: { a: { timeout-minutes: "10", runs-on: ubuntu-latest, steps: [{ run: make }] } } }
  Unexpected value '10'
{ on: push, jobs: { build: { runs-on: ubuntu-latest, steps: [{ run: make }] }, Build: { runs-on: ubuntu-latest, steps: [{ run: make }] } } }
  'Build' is already defined
{ on: push, jobs: { Build: { runs-on: ubuntu-latest, steps: [{ run: make }] }, a: { needs: build, runs-on: ubuntu-latest, steps: [{ run: make }] } } }
  Job 'a' depends on unknown job 'build'.
RECORDED
