#!/usr/bin/env bash
# diff 9.0.0 (npm); whatthepatch 1.0.7, patch-ng 1.19.1 (PyPI); git of the machine (seen with 2.47); Node 26.12.1.
#
# Expected: a patch of `git diff` or of Python's difflib is applied to the file it was made of, or refused.
# Seen: patch-ng reports success for a patch that takes the last line break away, or makes LF of CRLF, and changes
#   nothing; whatthepatch returns lines without their ends, so that CRLF and the last line break are gone, and refuses a
#   form feed. difflib writes no mark for a missing line break: each of its patches there is refused, or (by jsdiff, too)
#   applied without a change.
# Source: docs.python.org, difflib, does not name the mark; of the appliers no documentation found.
# Why it matters: a bot that applies a suggested change and trusts the answer commits nothing, or other line ends.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 diff@9.0.0
pip_packages whatthepatch==1.0.7 patch-ng==1.19.1

ln -s "$folder/node_modules" node_modules
cat >apply.mjs <<'CODE'
import fs from 'node:fs'
import { applyPatch } from 'diff'
const [before, patch] = JSON.parse(fs.readFileSync(0, 'utf8'))
let after
try { after = applyPatch(before, patch) } catch { after = false }
console.log(JSON.stringify(after === false ? null : after))
CODE
cat >apply.py <<'CODE'
import difflib, json, logging, os, subprocess, tempfile
import patch_ng, whatthepatch

logging.disable(logging.CRITICAL)
HEAD = "--- a/f\n+++ b/f\n"

def write(folder, name, text):
    with open(f"{folder}/{name}", "w", newline="") as file:
        file.write(text)

def read(folder):
    with open(f"{folder}/f", newline="") as file:
        return file.read()

def made_by_git(before, after):
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "a", before)
        write(folder, "b", after)
        made = subprocess.run(["git", "diff", "--no-index", "a", "b"], cwd=folder, capture_output=True).stdout.decode()
        return HEAD + made[made.index("@@"):]

def made_by_difflib(before, after):
    return "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), "a/f", "b/f"))

def by_git(before, patch):
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "f", before)
        done = subprocess.run(["git", "apply"], cwd=folder, input=patch.encode(), capture_output=True)
        return read(folder) if done.returncode == 0 else None

def by_diff(before, patch):
    return json.loads(subprocess.check_output(["node", "apply.mjs"], input=json.dumps([before, patch]), text=True))

def by_whatthepatch(before, patch):
    try:
        lines = whatthepatch.apply_diff(next(whatthepatch.parse_patch(patch)), before)
    except Exception:
        return None
    return "".join(f"{line}\n" for line in lines) if lines is not None else None

def by_patch_ng(before, patch):
    with tempfile.TemporaryDirectory() as folder:
        write(folder, "f", before)
        found = patch_ng.fromstring(patch.encode())
        return read(folder) if found and found.apply(root=folder) else None

CASES = {"a line": ("a\nb\nc\n", "a\nx\nc\n"), "the last line break goes": ("a\nb\n", "a\nb"), "the last line break comes": ("a\nb", "a\nb\n"),
         "CRLF stays": ("a\r\nb\r\n", "a\r\nx\r\n"), "CRLF becomes LF": ("a\r\nb\r\n", "a\nb\n"), "a form feed": ("a\fb\nc\n", "a\fx\nc\n"),
         "U+2028": ("a\u2028b\nc\n", "a\u2028x\nc\n"), "all goes": ("a\n", "")}
for title, (before, after) in CASES.items():
    for maker, patch in (("git", made_by_git(before, after)), ("difflib", made_by_difflib(before, after))):
        groups = {}
        for name, apply in (("git", by_git), ("diff", by_diff), ("whatthepatch", by_whatthepatch), ("patch-ng", by_patch_ng)):
            result = apply(before, patch)
            shown = ("right" if result == after else "refused" if result is None else "applied, and nothing changed" if result == before
                     else f"applied, {result!r}")
            groups.setdefault(shown, []).append(name)
        print(f"{title}, patch of {maker}:", "; ".join(f"{shown}: {'all' if len(groups) == 1 else ' '.join(names)}" for shown, names in groups.items()))
CODE

observe() {
  python3 apply.py
}

finding observe <<'RECORDED'
a line, patch of git: right: all
a line, patch of difflib: right: all
the last line break goes, patch of git: right: git diff; applied, and nothing changed: whatthepatch patch-ng
the last line break goes, patch of difflib: refused: git; applied, and nothing changed: diff whatthepatch patch-ng
the last line break comes, patch of git: right: all
the last line break comes, patch of difflib: refused: all
CRLF stays, patch of git: right: git diff patch-ng; applied, 'a\nx\n': whatthepatch
CRLF stays, patch of difflib: right: git diff patch-ng; applied, 'a\nx\n': whatthepatch
CRLF becomes LF, patch of git: right: git diff whatthepatch; applied, and nothing changed: patch-ng
CRLF becomes LF, patch of difflib: right: git diff whatthepatch; applied, and nothing changed: patch-ng
a form feed, patch of git: right: git diff patch-ng; refused: whatthepatch
a form feed, patch of difflib: refused: git diff patch-ng; applied, 'a\nx\nc\n': whatthepatch
U+2028, patch of git: right: git diff patch-ng; refused: whatthepatch
U+2028, patch of difflib: refused: git diff patch-ng; applied, 'a\nx\nc\n': whatthepatch
all goes, patch of git: right: all
all goes, patch of difflib: right: all
RECORDED
