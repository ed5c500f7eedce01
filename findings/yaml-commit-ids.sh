#!/usr/bin/env bash
# js-yaml 5.5.0, yaml 2.9.1 (npm), PyYAML 6.0.4, ruamel.yaml 0.19.1 (PyPI), Node 26.10.0.
#
# Expected: readers of YAML 1.2 agree on unquoted short commit ids, and those of digits with one "e" become infinite.
# Seen: 123e4567 is text in js-yaml and PyYAML, infinite in yaml and ruamel.yaml; 0012345 is 12345 in three of them
#   and 5349, read as octal, in PyYAML; 12345e2 is text in PyYAML alone.
# Source: yaml.org, YAML 1.2.2, core schema (numbers with an exponent, leading zeros are decimal); no documentation
#   found on what is too large for a number.
# Why it matters: a pinned commit that is not quoted changes its value, or its type, with the reader. Ids have to be
#   written with quotes, and a number where an id is due has to be refused.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 js-yaml@5.5.0 yaml@2.9.1
pip_packages PyYAML==6.0.4 ruamel.yaml==0.19.1

cat >ids.yaml <<'YAML'
- 123e4567
- 0012345
- 12345e2
- 1234567
YAML

cat >read.mjs <<'CODE'
import fs from 'node:fs'
import { load } from 'js-yaml'
import yaml from 'yaml'
const text = fs.readFileSync('ids.yaml', 'utf8')
console.log('js-yaml:', load(text))
console.log('yaml:', yaml.parse(text))
CODE

observe() {
  node read.mjs
  python3 - <<'PYTHON'
import ruamel.yaml, yaml
text = open("ids.yaml").read()
print("PyYAML:", yaml.safe_load(text))
print("ruamel.yaml:", ruamel.yaml.YAML(typ="safe", pure=True).load(text))
PYTHON
}

finding observe <<'RECORDED'
js-yaml: [ '123e4567', 12345, 1234500, 1234567 ]
yaml: [ Infinity, 12345, 1234500, 1234567 ]
PyYAML: ['123e4567', 5349, '12345e2', 1234567]
ruamel.yaml: [inf, 12345, 1234500.0, 1234567]
RECORDED
