#!/usr/bin/env bash
# c8 12.0.0, vitest 5.1.2 with @vitest/coverage-v8 and @vitest/coverage-istanbul 5.1.2, deno 2.9.6, bun 1.4.5 (npm); node:test
# of Node 26.12.1.
#
# Expected: how many lines and branches a file has does not depend on the tests, so that one more test never lowers a
#   percentage; a file of which nothing was called has none of its branches covered.
# Seen: to c8 and Node the branches are those that V8 saw. A file that is loaded alone has 1 of 1, which is 100 %; a test that
#   calls a function makes that 2 of 3, and the last 6 of 6. Deno has 0, 2 and 4 in all. Only vitest's two providers say 4 each
#   time; bun has none. Of lines that file has 6, 9, 12 or 13.
# Source: https://github.com/bcoe/c8/issues/541 tells of the wrong count; of percentages no documentation found.
# Why it matters: a threshold on branches is met by tests that call nothing and missed by a change that adds one. Percentages of
#   two runs, or of two tools, are no comparison.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 c8@12.0.0 vitest@5.1.2 @vitest/coverage-v8@5.1.2 @vitest/coverage-istanbul@5.1.2
deno_package 2.9.6
bun_package 1.4.5

echo '{ "private": true, "type": "module" }' >package.json
ln -s "$folder/node_modules" node_modules
cat >cart.js <<'CODE'
export function total(items, rate) {
  let result = items.length
  if (rate) {
    result *= rate
  } else {
    result += 1
  }
  return result
}
export function label(item) {
  return item ? item : 'none'
}
CODE
echo "import './cart.js'" >load.js
echo "import { total } from './cart.js'; total([])" >once.js
echo "import { total, label } from './cart.js'; total([]); total([], 2); label(1); label(0)" >all.js
for name in load once all; do
  echo "import { test } from 'node:test'; test('one', () => import('./$name.js'))" >"$name.node.mjs"
  echo "import { test } from 'vitest'; test('one', () => import('./$name.js'))" >"$name.vitest.js"
  echo "import { test } from 'bun:test'; test('one', async () => { await import('./$name.js') })" >"$name.bun.test.js"
  echo "Deno.test('one', async () => { await import('./$name.js') })" >"$name.deno_test.js"
done
echo "export default { test: { include: ['*.vitest.js'] } }" >vitest.config.js

sums() {
  python3 - "$1" "$2" <<'CODE'
import sys
found, here = {}, False
for line in open(sys.argv[2]):
    key, _, value = line.strip().partition(":")
    if key == "SF":
        here = value.endswith("cart.js")
    elif here:
        found[key] = value
show = lambda hit, of: f"{found[hit]} of {found[of]}" if of in found else "none"
print(f"  {sys.argv[1]}: lines {show('LH', 'LF')}, branches {show('BRH', 'BRF')}")
CODE
}

quiet() {
  "$@" >"$folder/output" 2>&1 || cat "$folder/output"
}

observe() {
  local name provider
  for name in load once all; do
    echo "$name"
    quiet c8 --reporter lcovonly --reports-dir c8 --include cart.js node "$name.js"
    sums c8 c8/lcov.info
    quiet node --test --experimental-test-coverage --test-coverage-include=cart.js --test-reporter=lcov \
      --test-reporter-destination=node.info "$name.node.mjs"
    sums node:test node.info
    for provider in v8 istanbul; do
      quiet vitest run --coverage.enabled --coverage.provider "$provider" --coverage.reporter lcovonly --coverage.include cart.js \
        --coverage.reportsDirectory vitest "$name.vitest.js"
      sums "vitest, $provider" vitest/lcov.info
    done
    rm -rf deno
    quiet deno test --allow-all --no-check --coverage=deno "$name.deno_test.js"
    quiet deno coverage --lcov --output=deno.info deno
    sums deno deno.info
    quiet bun test --coverage --coverage-reporter=lcov --coverage-dir=bun "./$name.bun.test.js"
    sums bun bun/lcov.info
  done
}

finding observe <<'RECORDED'
load
  c8: lines 2 of 12, branches 1 of 1
  node:test: lines 2 of 12, branches 1 of 1
  vitest, v8: lines 0 of 6, branches 0 of 4
  vitest, istanbul: lines 0 of 6, branches 0 of 4
  deno: lines 1 of 13, branches 0 of 0
  bun: lines 0 of 9, branches none
once
  c8: lines 9 of 12, branches 2 of 3
  node:test: lines 9 of 12, branches 2 of 3
  vitest, v8: lines 4 of 6, branches 1 of 4
  vitest, istanbul: lines 4 of 6, branches 1 of 4
  deno: lines 9 of 13, branches 1 of 2
  bun: lines 6 of 9, branches none
all
  c8: lines 12 of 12, branches 6 of 6
  node:test: lines 12 of 12, branches 6 of 6
  vitest, v8: lines 6 of 6, branches 4 of 4
  vitest, istanbul: lines 6 of 6, branches 4 of 4
  deno: lines 13 of 13, branches 4 of 4
  bun: lines 9 of 9, branches none
RECORDED
