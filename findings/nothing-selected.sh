#!/usr/bin/env bash
# jasmine 7.0.0, bats 1.13.0 (npm), meson 1.12.1, ninja 1.13.2 (PyPI), Node 26.10.0.
#
# Expected: a filter that selects no test makes the run fail: jasmine calls it incomplete (exit 2), bats and meson
#   end with 1.
# Seen: all three end with 0, meson only for a suite: a test's name that does not exist ends with 1 there.
# Source: no documentation found.
# Why it matters: a command to reproduce that selects nothing looks like a test that was mended. Only "how many ran"
#   tells; here it is "Ran 0 of 1 spec", "1..0" and "No suitable tests defined".
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 jasmine@7.0.0 bats@1.13.0
pip_packages meson==1.12.1 ninja==1.13.2
PATH="$folder/node_modules/bats/bin:$PATH"

echo "it('adds', () => { expect(2).toBe(2) })" >sum.spec.js
echo '@test "adds" { true; }' >sum.bats
cat >meson.build <<'CODE'
project('example')
test('adds', find_program('true'), suite: 'sum')
CODE

observe() {
  ends_with jasmine --filter=nothing sum.spec.js
  grep '^Ran ' "$folder/output"
  ends_with shown bats --formatter tap --filter nothing sum.bats
  meson setup build >/dev/null
  ends_with meson test -C build --suite nothing
  tail -1 "$folder/output"
  ends_with meson test -C build nothing
}

finding observe <<'RECORDED'
$ jasmine --filter=nothing sum.spec.js
exit 0
Ran 0 of 1 spec
$ bats --formatter tap --filter nothing sum.bats
1..0
exit 0
$ meson test -C build --suite nothing
exit 0
No suitable tests defined.
$ meson test -C build nothing
exit 1
RECORDED
