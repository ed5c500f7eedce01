#!/usr/bin/env bash
# jest 30.5.2 (npm), Node 26.12.1.
#
# Expected: with several projects all paths of the console begin at the folder where jest was started.
# Seen: that of the FAIL line does, that of the stack frame begins at the project's folder. Two projects print the same
#   place for two files. An annotation has the absolute path for its file, and the short one in its text.
# Source: no documentation found.
# Why it matters: the place in the frame is a file that does not exist, or another one. The project's folder has to be
#   found from the FAIL line above it.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 jest@30.5.2

echo "module.exports = { projects: ['packages/cart', 'packages/price'] }" >jest.config.js
for project in cart price; do
  mkdir -p packages/$project/src
  echo "module.exports = { displayName: '$project' }" >packages/$project/jest.config.js
  echo "test('adds', () => { expect(1 + 1).toBe(3) })" >packages/$project/src/sum.test.js
done

observe() {
  ends_with jest
  grep -E 'FAIL|^ +at ' "$folder/output" | sort
  GITHUB_ACTIONS=true jest --reporters=github-actions >annotations 2>&1 || true
  sed -nE 's/^::error file=([^,]*),.* at Object.toBe \(([^:]*):.*/annotation: \1, text: \2/p' annotations | sort
}

finding observe <<'RECORDED'
$ jest
exit 1
      at Object.toBe (src/sum.test.js:1:36)
      at Object.toBe (src/sum.test.js:1:36)
FAIL cart packages/cart/src/sum.test.js
FAIL price packages/price/src/sum.test.js
annotation: WORK/packages/cart/src/sum.test.js, text: src/sum.test.js
annotation: WORK/packages/price/src/sum.test.js, text: src/sum.test.js
RECORDED
