#!/usr/bin/env bash
# marked 18.2.1, markdown-it 15.0.3, markdown-it-task-lists 2.1.1, remark-parse 11.0.0, remark-gfm 4.0.1, unified 11.0.5,
# unist-util-visit 5.2.0 (npm); cmarkgfm 2025.10.22, mistune 3.4.0, pymdown-extensions 13.1.2, marko 2.2.4 (PyPI); Node 26.12.1.
#
# Expected: seven readers of GitHub's task lists find the same boxes.
# Seen: of sixteen forms they agree on two. cmarkgfm, which has GitHub's own engine in it, finds none in a quotation, in a
#   list that begins in an item, or below a marker that stands alone, and finds the item that has a box and a blank and no
#   text. A tab behind the box is no box to markdown-it; a text in the next line is one to three; marko finds boxes in any
#   paragraph.
# Source: https://github.github.com/gfm/#task-list-items-extension- has the rule; of the differences no documentation
#   found.
# Why it matters: who waits until the last box of a description is ticked has to know which lines are boxes: one that
#   nobody shows can never be ticked.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 marked@18.2.1 markdown-it@15.0.3 markdown-it-task-lists@2.1.1 remark-parse@11.0.0 remark-gfm@4.0.1 \
  unified@11.0.5 unist-util-visit@5.2.0
pip_packages cmarkgfm==2025.10.22 mistune==3.4.0 pymdown-extensions==13.1.2 markdown==3.11.3 marko==2.2.4

ln -s "$folder/node_modules" node_modules
cat >texts.json <<'FILE'
["- [x] a", "- [x]a", "1) [x] a", "- [x]", "- [x] ", "- [x]\ta", "- [x]\na", "-\n  [x] a", "> - [x] a", "- - [x] a", "- > [x] a",
 "- b\n\n  [x] a", "[x] a", "- [\u00a0] a", "-      [x] a", "<details>\n\n- [x] a\n</details>"]
FILE
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import { marked } from 'marked'
import MarkdownIt from 'markdown-it'
import taskLists from 'markdown-it-task-lists'
import { unified } from 'unified'
import remarkParse from 'remark-parse'
import remarkGfm from 'remark-gfm'
import { visit } from 'unist-util-visit'
const markdownIt = new MarkdownIt({ html: true }).use(taskLists)
const remark = unified().use(remarkParse).use(remarkGfm)
const boxes = (html) => /<input[^>]*checkbox/.test(html)
const found = []
for (const text of JSON.parse(fs.readFileSync('texts.json'))) {
  let items = 0
  visit(remark.parse(text), 'listItem', (item) => { if (typeof item.checked === 'boolean') items++ })
  found.push({ marked: boxes(marked(text)), 'markdown-it': boxes(markdownIt.render(text)), remark: items > 0 })
}
console.log(JSON.stringify(found))
CODE
cat >read.py <<'CODE'
import json, re, subprocess
import cmarkgfm, markdown, mistune
from cmarkgfm.cmark import Options
from marko.ext.gfm import gfm

read_mistune = mistune.create_markdown(escape=False, plugins=["task_lists"])
readers = {
    "cmarkgfm": lambda text: cmarkgfm.github_flavored_markdown_to_html(text, options=Options.CMARK_OPT_UNSAFE),
    "mistune": read_mistune,
    "pymdownx": lambda text: markdown.markdown(text, extensions=["pymdownx.tasklist"]),
    "marko": gfm,
}
with open("texts.json") as file:
    texts = json.load(file)
for text, found in zip(texts, json.loads(subprocess.check_output(["node", "read.mjs"]))):
    found |= {name: bool(re.search("<input[^>]*checkbox", read(text))) for name, read in readers.items()}
    names = [name for name, box in found.items() if box]
    print(f"{json.dumps(text)}:", "all" if len(names) == len(found) else " ".join(names) or "nobody")
CODE

observe() {
  python3 read.py
}

finding observe <<'RECORDED'
"- [x] a": all
"- [x]a": nobody
"1) [x] a": marked markdown-it remark cmarkgfm mistune marko
"- [x]": mistune
"- [x] ": cmarkgfm mistune pymdownx
"- [x]\ta": marked remark cmarkgfm mistune pymdownx marko
"- [x]\na": remark mistune marko
"-\n  [x] a": markdown-it remark mistune marko
"> - [x] a": marked markdown-it remark mistune pymdownx marko
"- - [x] a": marked markdown-it remark mistune pymdownx marko
"- > [x] a": marko
"- b\n\n  [x] a": marko
"[x] a": marko
"- [\u00a0] a": marko
"-      [x] a": pymdownx
"<details>\n\n- [x] a\n</details>": marked markdown-it remark cmarkgfm mistune marko
RECORDED
