#!/usr/bin/env bash
# error-stack-parser 3.0.0, error-stack-parser-es 2.0.1, stacktrace-parser 0.1.11, stack-utils 2.0.6, stacktracey 2.2.0,
# stack-trace 1.0.0 (npm); Node 26.12.1.
#
# Expected: six readers of V8's stack find the same file, line and function.
# Seen: a folder in parentheses, as Next.js names its route groups, loses them in two: the file does not exist. `async` is
#   a part of the function to all, and in a frame without a function a part of the path to four. The frame of an eval has
#   three places. The line of a dev server's address is its port, 5173, to stack-trace. If no frame has a place, two
#   return the lines themselves as files.
# Source: no documentation found.
# Why it matters: the place of a failure, the owner of its file and the fingerprint are made of such frames.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 error-stack-parser@3.0.0 error-stack-parser-es@2.0.1 stacktrace-parser@0.1.11 stack-utils@2.0.6 \
  stacktracey@2.2.0 stack-trace@1.0.0

ln -s "$folder/node_modules" node_modules
cat >read.mjs <<'CODE'
import * as old from 'error-stack-parser'
import * as parser from 'error-stack-parser-es'
import * as stacktrace from 'stacktrace-parser'
import StackUtils from 'stack-utils'
import StackTracey from 'stacktracey'
import * as trace from 'stack-trace'

const utils = new StackUtils({ cwd: '/none', internals: [] })
const oldParser = old.default.default ?? old.default
const place = (file, line, column) => [file, line, column].map((part) => part ?? '').join(':')
const readers = {
  'error-stack-parser': (stack) => oldParser.parse({ stack }).map((f) => [f.functionName, place(f.fileName, f.lineNumber, f.columnNumber)]),
  'error-stack-parser-es': (stack) => parser.parse({ stack }).map((f) => [f.functionName, place(f.fileName, f.lineNumber, f.columnNumber)]),
  'stacktrace-parser': (stack) => stacktrace.parse(stack).map((f) => [f.methodName, place(f.file, f.lineNumber, f.column)]),
  'stack-utils': (stack) => stack.split('\n').slice(1).map((line) => utils.parseLine(line)).filter(Boolean)
    .map((f) => [f.function, place(f.file, f.line, f.column)]),
  stacktracey: (stack) => new StackTracey(stack).items.map((f) => [f.callee, place(f.file, f.line, f.column)]),
  'stack-trace': (stack) => trace.parse({ stack }).map((f) => [f.getFunctionName(), place(f.getFileName(), f.getLineNumber(), f.getColumnNumber())]),
}
for (const frame of [
  'at f (/a/b.js:1:2)',
  'at f (/app/(shop)/cart.js:1:2)',
  'at /app/(shop)/cart.js:1:2',
  'at async f (/a/b.js:1:2)',
  'at async /a/b.js:1:2',
  'at new Cart (/a/b.js:1:2)',
  'at Cart.get [as size] (/a/b.js:1:2)',
  'at eval (eval at f (/a/b.js:1:2), <anonymous>:3:4)',
  'at f (http://localhost:5173/a.js:1:2)',
  'at Array.map (<anonymous>)',
  'at async Promise.all (index 0)',
]) {
  console.log(frame)
  const groups = new Map()
  for (const [name, read] of Object.entries(readers)) {
    let found
    try {
      found = read(`Error: no\n    ${frame}`).map(([called, where]) => `[${called || ''}] ${where}`).join(' and ') || 'nothing'
    } catch (error) {
      found = `an error: ${error.message}`
    }
    groups.set(found, [...groups.get(found) ?? [], name])
  }
  for (const [found, names] of groups) console.log(`  ${found}  <- ${groups.size === 1 ? 'all' : names.join(', ')}`)
}
CODE

observe() {
  node read.mjs
}

finding observe <<'RECORDED'
at f (/a/b.js:1:2)
  [f] /a/b.js:1:2  <- all
at f (/app/(shop)/cart.js:1:2)
  [f] /app/shop/cart.js:1:2  <- error-stack-parser, error-stack-parser-es
  [f] /app/(shop)/cart.js:1:2  <- stacktrace-parser, stack-utils, stacktracey, stack-trace
at /app/(shop)/cart.js:1:2
  [] /app/shop/cart.js:1:2  <- error-stack-parser, error-stack-parser-es
  [<unknown>] /app/(shop)/cart.js:1:2  <- stacktrace-parser
  [] /app/(shop)/cart.js:1:2  <- stack-utils, stacktracey, stack-trace
at async f (/a/b.js:1:2)
  [async f] /a/b.js:1:2  <- all
at async /a/b.js:1:2
  [] async /a/b.js:1:2  <- error-stack-parser, error-stack-parser-es, stack-utils, stack-trace
  [async] /a/b.js:1:2  <- stacktrace-parser, stacktracey
at new Cart (/a/b.js:1:2)
  [new Cart] /a/b.js:1:2  <- error-stack-parser, error-stack-parser-es, stacktrace-parser, stacktracey, stack-trace
  [Cart] /a/b.js:1:2  <- stack-utils
at Cart.get [as size] (/a/b.js:1:2)
  [Cart.get [as size]] /a/b.js:1:2  <- error-stack-parser, error-stack-parser-es, stacktrace-parser, stacktracey, stack-trace
  [Cart.get] /a/b.js:1:2  <- stack-utils
at eval (eval at f (/a/b.js:1:2), <anonymous>:3:4)
  [eval] /a/b.js:1:2  <- error-stack-parser, error-stack-parser-es, stacktrace-parser, stacktracey
  [eval] <anonymous>:3:4  <- stack-utils
  [eval] eval at f (/a/b.js:1:2  <- stack-trace
at f (http://localhost:5173/a.js:1:2)
  [f] http://localhost:5173/a.js:1:2  <- error-stack-parser, error-stack-parser-es, stacktrace-parser, stack-utils, stacktracey
  [f] http://localhost:5173:  <- stack-trace
at Array.map (<anonymous>)
  [] Error: no:: and [    at Array.map (<anonymous>)] ::  <- error-stack-parser, error-stack-parser-es
  [Array.map] <anonymous>::  <- stacktrace-parser
  nothing  <- stack-utils
  [Array.map] ::  <- stacktracey, stack-trace
at async Promise.all (index 0)
  [] Error: no:: and [    at async Promise.all (index 0)] ::  <- error-stack-parser, error-stack-parser-es
  nothing  <- stacktrace-parser, stack-utils
  [async Promise.all] ::  <- stacktracey, stack-trace
RECORDED
