#!/usr/bin/env bash
# mocha 12.0.3, tape 5.10.2, zora 6.0.4, qunit 3.0.0, @hapi/lab 26.0.1, brittle 4.1.0, vitest 4.1.12, tap 21.8.0, deno 2.9.6,
# tap-parser 18.3.4 (npm); Node 26.12.1.
#
# Expected: the name in a point of TAP is that of the test: `#` and `\` are escaped, and a line break is not written.
# Seen: four of ten escape. mocha and lab take each `#` out, so that "reads C# 8" and "reads C 8" are one name; qunit,
#   tape, zora and brittle leave it, and what follows may be a directive. A line break is a blank, a second line that
#   belongs to no point, or `\\n`, which is read as a backslash and an n. The time that brittle adds is no directive to
#   the parser of tap, but a part of each name. lab's names begin with a number (taken away here).
# Source: https://testanything.org/tap-version-14-specification.html, "Escaping"; of the writers no documentation found.
# Why it matters: a test that is asked for again by such a name is not found, or is another one; and where nothing is
#   found, some runners end with 0.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 mocha@12.0.3 tape@5.10.2 zora@6.0.4 qunit@3.0.0 @hapi/lab@26.0.1 brittle@4.1.0 vitest@4.1.12 tap@21.8.0 \
  tap-parser@18.3.4
deno_package 2.9.6

ln -s "$folder/node_modules" node_modules
cat >names.json <<'FILE'
["closes #12", "reads C# 8", "splits at \\", "one\ntwo", "takes # time=5ms"]
FILE
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import { Parser } from 'tap-parser'
const names = []
const parser = new Parser()
parser.on('assert', (point) => names.push(point.name))
parser.end(fs.readFileSync(0, 'utf8'))
const wanted = JSON.parse(fs.readFileSync('names.json'))
console.log(names.map((name, at) => name === wanted[at] ? 'whole' : JSON.stringify(name)).join(' | '))
CODE
each="for (const name of JSON.parse(require('fs').readFileSync('names.json')))"
fails="() => { throw new Error('no') }"
echo "const test = require('node:test'); $each test(name, $fails)" >node.cjs
echo "$each it(name, $fails)" >mocha.cjs
echo "const lab = exports.lab = require('@hapi/lab').script(); $each lab.test(name, $fails)" >lab.cjs
echo "$each QUnit.test(name, (check) => check.ok(false))" >qunit.cjs
echo "const test = require('tape'); $each test('a', (t) => { t.ok(false, name); t.end() })" >tape.cjs
echo "const t = require('tap'); $each t.ok(false, name)" >tap.cjs
module="import { createRequire } from 'node:module'; const require = createRequire(import.meta.url)"
echo "import { test } from 'zora'; $module; test('a', (t) => { $each t.ok(false, name) })" >zora.mjs
echo "import test from 'brittle'; $module; $each test(name, (t) => t.fail())" >brittle.mjs
echo "import { test } from 'vitest'; $module; $each test(name, $fails)" >vitest.test.mjs
echo "for (const name of JSON.parse(Deno.readTextFileSync('names.json'))) Deno.test(name, $fails)" >deno.js

observe() {
  shown node node --test --test-reporter=tap node.cjs
  shown deno deno test --allow-read --reporter=tap deno.js
  shown tap node tap.cjs
  shown vitest vitest run --reporter=tap-flat
  shown mocha mocha --reporter tap mocha.cjs
  shown lab lab --reporter tap --leaks lab.cjs
  shown qunit qunit --reporter tap qunit.cjs
  shown tape node tape.cjs
  shown zora node zora.mjs
  shown brittle node brittle.mjs
}

shown() {
  echo "$1: $({ "${@:2}" 2>/dev/null || true; } | sed 's/vitest.test.mjs > //; s/([1-9]) //; s/time = [0-9.]*ms/time = 1ms/' | node read.mjs)"
}

finding observe <<'RECORDED'
node: whole | whole | whole | "one\\ntwo" | whole
deno: whole | whole | whole | "one\\ntwo" | whole
tap: whole | whole | whole | "one two" | whole
vitest: whole | whole | whole | "one two" | whole
mocha: "closes 12" | "reads C 8" | whole | "one" | "takes  time=5ms"
lab: "closes 12" | "reads C 8" | whole | "one" | "takes  time=5ms"
qunit: whole | whole | whole | "one" | "takes"
tape: whole | whole | whole | "one two" | "takes"
zora: whole | whole | whole | "one" | "takes"
brittle: "closes #12 # time = 1ms" | "reads C# 8 # time = 1ms" | "splits at \\ # time = 1ms" | "one" | "takes # time=5ms # time = 1ms"
RECORDED
