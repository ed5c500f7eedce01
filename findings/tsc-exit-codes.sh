#!/usr/bin/env bash
# typescript 7.0.2 and 5.9.3 (npm), Node 26.10.0.
#
# Expected: with a type error `tsc --noEmit` ends with 2 and `tsc --build` with 1, in both majors.
# Seen: so in 5.9; in 7.0 it is the other way round, 1 and 2. A plain `tsc` is 2 in both. The message is the same.
# Source: microsoft/typescript-go, issues 1493 and 4115 (the numbers were swapped on the way to 7); no documentation found.
# Why it matters: 2 is no "crash" and 1 no "found errors"; only 0 and not 0 hold over an upgrade.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 typescript@7.0.2 typescript-5@npm:typescript@5.9.3

echo 'export const total: number = "1";' >total.ts
echo '{ "compilerOptions": { "outDir": "out", "types": [] }, "files": ["total.ts"] }' >tsconfig.json

observe() {
  for package in typescript-5 typescript; do
    echo "$package"
    for options in "" --noEmit --build; do
      # shellcheck disable=SC2086 # no option is no argument
      ends_with node "$folder/node_modules/$package/bin/tsc" $options
    done
    cat "$folder/output"
    rm -rf out ./*.tsbuildinfo
  done
}

finding observe <<'RECORDED'
typescript-5
$ node FOLDER/node_modules/typescript-5/bin/tsc
exit 2
$ node FOLDER/node_modules/typescript-5/bin/tsc --noEmit
exit 2
$ node FOLDER/node_modules/typescript-5/bin/tsc --build
exit 1
total.ts(1,14): error TS2322: Type 'string' is not assignable to type 'number'.
typescript
$ node FOLDER/node_modules/typescript/bin/tsc
exit 2
$ node FOLDER/node_modules/typescript/bin/tsc --noEmit
exit 1
$ node FOLDER/node_modules/typescript/bin/tsc --build
exit 2
total.ts(1,14): error TS2322: Type 'string' is not assignable to type 'number'.
RECORDED
