#!/usr/bin/env bash
# @npmcli/arborist 9.9.3 (npm's own reader), snyk-nodejs-lockfile-parser 2.10.4, lockfile-lint-api 5.9.2, @cyclonedx/cyclonedx-npm 6.0.1,
# npm 12.2.2 (npm); Node 26.12.1.
#
# Expected: four readers of one package-lock.json, npm's own among them, find the same packages by the same names.
# Seen: they find 10, 6, 8 and 8, the root among them or not. A package under an alias is called by the alias in one. A
#   workspace is there twice for npm (itself and its link), once more with the version "undefined" for lockfile-lint, and
#   not at all for snyk, which leaves out what only a workspace needs, though peers were asked for. Two copies of a
#   version are two to npm and one to the others.
# Source: docs.npmjs.com, package-lock.json, has the fields; of the readers no documentation found.
# Why it matters: "adds two dependencies" depends on the reader; a list of licences or weaknesses without the workspaces
#   looks complete.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @npmcli/arborist@9.9.3 snyk-nodejs-lockfile-parser@2.10.4 lockfile-lint-api@5.9.2 @cyclonedx/cyclonedx-npm@6.0.1 \
  npm@12.2.2

cat >make.py <<'CODE'
import json, os

def write(name, content):
    os.makedirs(os.path.dirname(name) or ".", exist_ok=True)
    with open(name, "w") as file:
        json.dump(content, file)

def locked(package, version, **more):
    return {"version": version, "resolved": f"https://registry.npmjs.org/{package}/-/{package}-{version}.tgz",
            "integrity": "sha512-" + "A" * 86 + "==", **more}

root = {"name": "shop", "version": "1.0.0", "workspaces": ["cart"], "dependencies": {"ms": "2.1.3", "old-ms": "npm:ms@2.0.0"},
        "devDependencies": {"debug": "4.3.4"}, "optionalDependencies": {"fsevents": "2.3.3"}}
cart = {"version": "1.0.0", "dependencies": {"ms": "2.1.2"}, "peerDependencies": {"is-number": "7.0.0"}}
write("package.json", root)
write("cart/package.json", {"name": "cart", **cart})
write("package-lock.json", {"name": "shop", "version": "1.0.0", "lockfileVersion": 3, "requires": True, "packages": {
    "": root, "cart": cart,
    "cart/node_modules/ms": locked("ms", "2.1.2"),
    "node_modules/cart": {"resolved": "cart", "link": True},
    "node_modules/debug": locked("debug", "4.3.4", dev=True, dependencies={"ms": "2.1.2"}),
    "node_modules/debug/node_modules/ms": locked("ms", "2.1.2", dev=True),
    "node_modules/fsevents": locked("fsevents", "2.3.3", optional=True, os=["darwin"]),
    "node_modules/is-number": locked("is-number", "7.0.0", peer=True),
    "node_modules/ms": locked("ms", "2.1.3"),
    "node_modules/old-ms": locked("ms", "2.0.0", name="ms"),
}})
CODE
python3 make.py
cat >read.cjs <<'CODE'
const fs = require('fs')
const { execFileSync } = require('child_process')
const Arborist = require('@npmcli/arborist')
const { parseNpmLockV2Project } = require('snyk-nodejs-lockfile-parser')
const { ParseLockfile } = require('lockfile-lint-api')
const folder = process.env.NODE_PATH
async function main() {
  const found = {}
  const tree = await new Arborist({ path: process.cwd() }).loadVirtual()
  found.arborist = [...tree.inventory.values()].map((node) => `${node.packageName}@${node.version}`)
  const options = { includeDevDeps: true, includeOptionalDeps: true, includePeerDeps: true, strictOutOfSync: true, pruneCycles: true, pruneNpmStrictOutOfSync: true }
  const graph = await parseNpmLockV2Project(fs.readFileSync('package.json', 'utf8'), fs.readFileSync('package-lock.json', 'utf8'), options)
  found.snyk = graph.getPkgs().map(({ name, version }) => `${name}@${version}`)
  const { object } = new ParseLockfile({ lockfilePath: 'package-lock.json' }).parseSync()
  found['lockfile-lint'] = Object.keys(object).map((name) => name.replace(/-[0-9a-f]{40}$/, ''))
  const text = execFileSync('node', [`${folder}/@cyclonedx/cyclonedx-npm/bin/cyclonedx-npm-cli.js`, '--package-lock-only', '--output-format', 'JSON'],
    { stdio: ['ignore', 'pipe', 'ignore'], maxBuffer: 1e9, env: { ...process.env, npm_execpath: `${folder}/npm/bin/npm-cli.js` } })
  const bom = JSON.parse(text)
  found.cyclonedx = [bom.metadata.component, ...bom.components].map(({ name, version }) => `${name}@${version}`)
  const all = [...new Set(Object.values(found).flat())].sort()
  for (const one of all) {
    const times = Object.entries(found).map(([name, list]) => [name, list.filter((other) => other === one).length])
    console.log(`${one}:`, times.filter(([, count]) => count).map(([name, count]) => count > 1 ? `${name} (${count} times)` : name).join(', '))
  }
  console.log('in all:', Object.entries(found).map(([name, list]) => `${name} ${list.length}`).join(', '))
}
main()
CODE

observe() {
  NODE_PATH="$folder/node_modules" node read.cjs
}

finding observe <<'RECORDED'
cart@1.0.0: arborist (2 times), lockfile-lint, cyclonedx
cart@undefined: lockfile-lint
debug@4.3.4: arborist, snyk, lockfile-lint, cyclonedx
fsevents@2.3.3: arborist, snyk, lockfile-lint, cyclonedx
is-number@7.0.0: arborist, lockfile-lint, cyclonedx
ms@2.0.0: arborist, snyk, cyclonedx
ms@2.1.2: arborist (2 times), snyk, lockfile-lint, cyclonedx
ms@2.1.3: arborist, snyk, lockfile-lint, cyclonedx
old-ms@2.0.0: lockfile-lint
shop@1.0.0: arborist, snyk, cyclonedx
in all: arborist 10, snyk 6, lockfile-lint 8, cyclonedx 8
RECORDED
