#!/usr/bin/env bash
# shell-quote 1.12.0, string-argv 0.4.0, shlex 3.0.0 (npm); Python's own shlex; Bash of the machine; Node 26.12.1.
#
# Expected: four splitters of a command line find the words that Bash finds, in lines without variables and operators.
# Seen: of 16 lines 5 are the same to all. string-argv has no escapes: `a\ b` is two words, and of `"say \"a\""` the
#   backslashes stay and the quotes go. shell-quote cuts `a#b` in two and takes `--only=*.js` for an object without the
#   text; `$'...'` is known to it and to shlex of npm, not to Python. Outside of shell-quote a comment is words. A line
#   that goes on after a backslash is `ab`, `a` and `b`, or one word with a line end. A quote that is never closed is an
#   error to two, and nothing special to the others.
# Source: Python's documentation has `comments=False` for shlex.split(); of the rest none found.
# Why it matters: the names of tests have blanks, quotes and `#`. A command that is split to be run again without a shell
#   has other words than the shell ran.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 shell-quote@1.12.0 string-argv@0.4.0 shlex@3.0.0

ln -s "$folder/node_modules" node_modules
cat >split.mjs <<'CODE'
import { parse } from 'shell-quote'
import argv from 'string-argv'
import * as shlex from 'shlex'
const told = (split) => {
  try {
    return split().map((part) => part.op ?? part.comment ?? part)
  } catch {
    return null
  }
}
const lines = JSON.parse(process.argv[2])
console.log(JSON.stringify(lines.map((line) => [told(() => parse(line)), told(() => argv(line)), told(() => shlex.split(line))])))
CODE
cat >split.py <<'CODE'
import json, shlex, subprocess

LINES = ["test 'a b'", 'test "a b"c', "test ''", r"test a\ b", r'test "say \"a\""', r'test "a\\b"', r"test a\nb", "test a\\\nb", "test a#b",
         "test a # b", "test 'it''s'", "test $'a\\tb'", r"test C:\cart\a.js", "test --only=*.js", "test item[1]", "test it's"]

def by_python(line):
    try:
        return shlex.split(line)
    except ValueError:
        return None

def by_bash(line):
    run = subprocess.run(["bash", "-fc", 'test() { printf "%s\\0" "$@"; }; ' + line], capture_output=True, text=True)
    return None if run.returncode else ["test", *run.stdout.split("\0")[:-1]]

found = json.loads(subprocess.check_output(["node", "split.mjs", json.dumps(LINES)]))
for line, answers in zip(LINES, found):
    readers = dict(zip(("shell-quote", "string-argv", "shlex of npm"), answers), **{"Python": by_python(line)})
    right = by_bash(line)
    show = lambda parts: "an error" if parts is None else json.dumps(parts[1:])
    others = [f"{name} {show(parts)}" for name, parts in readers.items() if parts != right]
    print(f"{json.dumps(line)}: Bash {show(right)};", ", ".join(others) or "all the same")
CODE

observe() {
  python3 split.py
}

finding observe <<'RECORDED'
"test 'a b'": Bash ["a b"]; all the same
"test \"a b\"c": Bash ["a bc"]; all the same
"test ''": Bash [""]; all the same
"test a\\ b": Bash ["a b"]; string-argv ["a\\", "b"]
"test \"say \\\"a\\\"\"": Bash ["say \"a\""]; string-argv ["say \\a\\"]
"test \"a\\\\b\"": Bash ["a\\b"]; string-argv ["a\\\\b"]
"test a\\nb": Bash ["anb"]; string-argv ["a\\nb"]
"test a\\\nb": Bash ["ab"]; shell-quote ["a", "b"], string-argv ["a\\", "b"], Python ["a\nb"]
"test a#b": Bash ["a#b"]; shell-quote ["a", "b"]
"test a # b": Bash ["a"]; shell-quote ["a", " b"], string-argv ["a", "#", "b"], shlex of npm ["a", "#", "b"], Python ["a", "#", "b"]
"test 'it''s'": Bash ["its"]; all the same
"test $'a\\tb'": Bash ["a\tb"]; string-argv ["$a\\tb"], Python ["$a\\tb"]
"test C:\\cart\\a.js": Bash ["C:carta.js"]; string-argv ["C:\\cart\\a.js"]
"test --only=*.js": Bash ["--only=*.js"]; shell-quote ["glob"]
"test item[1]": Bash ["item[1]"]; all the same
"test it's": Bash an error; shell-quote ["it", "s"], string-argv ["its"]
RECORDED
