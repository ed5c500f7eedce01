#!/usr/bin/env bash
# strip-ansi 7.2.0 (npm); click 8.5.1, rich 15.0.0, colorama 0.4.6 (PyPI); bun 1.4.5; Node 26.12.1.
#
# Expected: six libraries that take terminal sequences out of a log leave the same text.
# Seen: they agree on a plain colour. A link (OSC 8), as compilers and linters write it, stays whole with click, and
#   without its escapes with rich if BEL ends it. Node's own function leaves "4;1m" and " q" of two sequences, and eats
#   the letter behind a restored place. colorama leaves eight of thirteen forms as they are. rich takes bells away, and
#   what stands before a carriage return.
# Source: ECMA-48 has the forms; nodejs.org, util.stripVTControlCharacters, promises the removal of all; of the rest no
#   documentation found.
# Why it matters: a message or a path that is read from a log depends on the cleaner: `8;;https://…` stands in front of a
#   file's name.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 strip-ansi@7.2.0
bun_package 1.4.5
pip_packages click==8.5.1 rich==15.0.0 colorama==0.4.6

ln -s "$folder/node_modules" node_modules
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import stripAnsi from 'strip-ansi'
const strip = globalThis.Bun ? { bun: Bun.stripANSI } : { 'strip-ansi': stripAnsi, node: stripVTControlCharacters }
const found = JSON.parse(fs.readFileSync('texts.json')).map((text) =>
  Object.fromEntries(Object.entries(strip).map(([name, clean]) => [name, clean(text)])))
console.log(JSON.stringify(found))
CODE
cat >read.py <<'CODE'
import json, subprocess
import click
from colorama.ansitowin32 import AnsiToWin32
from rich.text import Text

TEXTS = {
    "a colour": "a\033[31mb\033[0m",
    "a colour with colons": "a\033[38:2::1:2:3mb",
    "a link, ended by BEL": "\033]8;;https://a.example\7a\033]8;;\7b",
    "a link, ended by ST": "\033]8;;https://a.example\033\\a\033]8;;\033\\b",
    "a title": "a\033]0;title\7b",
    "the cursor hidden": "a\033[?25lb",
    "the shape of the cursor": "a\033[0 qb",
    "keys": "a\033[>4;1mb",
    "a set of characters": "a\033(Bb",
    "the place saved and restored": "a\0337b\0338c",
    "one byte for ESC [": "a\x9b31mb",
    "back to the beginning": "a\rb",
    "a bell": "a\7b",
}
with open("texts.json", "w") as file:
    json.dump(list(TEXTS.values()), file)
node, bun = (json.loads(subprocess.check_output([command, "read.mjs"])) for command in ("node", "bun"))
for (title, text), by_node, by_bun in zip(TEXTS.items(), node, bun):
    found = by_node | by_bun | {
        "click": click.unstyle(text),
        "rich": Text.from_ansi(text).plain,
        "colorama": AnsiToWin32.ANSI_OSC_RE.sub("", AnsiToWin32.ANSI_CSI_RE.sub("", text)),
    }
    groups = {}
    for name, clean in found.items():
        groups.setdefault(json.dumps(clean), []).append(name)
    print(f"{title}:", "; ".join(f"{clean} {'all' if len(groups) == 1 else ' '.join(names)}" for clean, names in groups.items()))
CODE

observe() {
  python3 read.py
}

finding observe <<'RECORDED'
a colour: "ab" all
a colour with colons: "ab" strip-ansi node bun click rich; "a\u001b[38:2::1:2:3mb" colorama
a link, ended by BEL: "ab" strip-ansi node bun colorama; "\u001b]8;;https://a.example\u0007a\u001b]8;;\u0007b" click; "8;;https://a.examplea8;;b" rich
a link, ended by ST: "ab" strip-ansi node bun rich; "\u001b]8;;https://a.example\u001b\\a\u001b]8;;\u001b\\b" click colorama
a title: "ab" strip-ansi node bun colorama; "a\u001b]0;title\u0007b" click; "a0;titleb" rich
the cursor hidden: "ab" strip-ansi node bun click rich; "a\u001b[?25lb" colorama
the shape of the cursor: "ab" strip-ansi bun click rich; "a qb" node; "a\u001b[0 qb" colorama
keys: "ab" strip-ansi bun click rich; "a4;1mb" node; "a\u001b[>4;1mb" colorama
a set of characters: "ab" strip-ansi node bun rich; "a\u001b(Bb" click colorama
the place saved and restored: "abc" strip-ansi bun rich; "ab" node; "a\u001b7b\u001b8c" click colorama
one byte for ESC [: "ab" strip-ansi node bun; "a\u009b31mb" click rich colorama
back to the beginning: "a\rb" strip-ansi node bun click colorama; "b" rich
a bell: "a\u0007b" strip-ansi node bun click colorama; "ab" rich
RECORDED
