#!/usr/bin/env bash
# js-yaml 5.5.0 and 4.3.0, yaml 2.9.1 (npm), PyYAML 6.0.4 (PyPI), Node 26.10.0.
#
# Expected: js-yaml fills in merge keys ("<<: *base") and gives nothing for a file of comments, as its major 4 does.
# Seen: major 5 leaves "<<" as a key of that name, and throws for a file that holds no document. Of four readers two
#   fill in and two do not, without an error.
# Source: js-yaml, docs/migrate_v4_to_v5.md (new default schema, empty input throws).
# Why it matters: one workflow or configuration has two meanings, by the reader's major. Who checks such a file with
#   another reader than the tool's own sees other keys.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 js-yaml@5.5.0 js-yaml-4@npm:js-yaml@4.3.0 yaml@2.9.1
pip_packages PyYAML==6.0.4

cat >merge.yaml <<'YAML'
base: &base { retries: 3 }
job:
  <<: *base
  timeout: 5
YAML
echo '# nothing yet' >comment.yaml

cat >read.mjs <<'CODE'
import fs from 'node:fs'
import * as five from 'js-yaml'
import four from 'js-yaml-4'
import yaml from 'yaml'
const readers = { 'js-yaml 5': five.load, 'js-yaml 4': four.load, yaml: yaml.parse }
for (const [name, read] of Object.entries(readers)) {
  console.log(name + ':', JSON.stringify(read(fs.readFileSync('merge.yaml', 'utf8')).job))
  try {
    console.log('  comments:', read(fs.readFileSync('comment.yaml', 'utf8')))
  } catch (error) {
    console.log('  comments:', error.message)
  }
}
CODE

observe() {
  node read.mjs
  python3 - <<'PYTHON'
import json, yaml
print("PyYAML:", json.dumps(yaml.safe_load(open("merge.yaml"))["job"]))
print("  comments:", yaml.safe_load(open("comment.yaml")))
PYTHON
}

finding observe <<'RECORDED'
js-yaml 5: {"<<":{"retries":3},"timeout":5}
  comments: expected a document, but the input is empty
js-yaml 4: {"retries":3,"timeout":5}
  comments: null
yaml: {"<<":{"retries":3},"timeout":5}
  comments: null
PyYAML: {"retries": 3, "timeout": 5}
  comments: None
RECORDED
