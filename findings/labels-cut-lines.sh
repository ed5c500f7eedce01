#!/usr/bin/env bash
# concurrently 10.0.7, npm-run-all2 9.0.4 (npm), Node 26.10.0.
#
# Expected: a line that a program writes in two pieces, while another program writes in between, comes out as one
#   labelled line, as soon as it is whole.
# Seen: both print the first piece at once, end the line when the other one writes, and put the second piece behind a
#   label of its own: "[a] expected 1" and "[a] 2 apples" for "expected 12 apples".
# Source: no documentation found.
# Why it matters: taking the labels off and joining the lines of one label does not give back what the program wrote.
#   A value at such a place is cut, and looks whole.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 concurrently@10.0.7 npm-run-all2@9.0.4

cat >package.json <<'JSON'
{
  "private": true,
  "scripts": { "a": "node a.js", "b": "node b.js" }
}
JSON
echo "process.stdout.write('expected 1'); setTimeout(() => console.log('2 apples'), 1500)" >a.js
echo "setTimeout(() => console.log('of another program'), 700)" >b.js

observe() {
  concurrently --names a,b 'node a.js' 'node b.js' | grep -v exited
  run-p --silent --print-label a b | sort --stable --key=1,1
}

finding observe <<'RECORDED'
[a] expected 1
[b] of another program
[a] 2 apples
[a] expected 1
[a] 2 apples
[b] of another program
RECORDED
