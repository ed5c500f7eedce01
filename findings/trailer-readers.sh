#!/usr/bin/env bash
# git of the machine (seen with 2.47), dulwich 1.2.21, GitPython 3.2.1 (PyPI).
#
# Expected: readers of the trailers of a commit agree with `git interpret-trailers --parse`, and so does `git log`.
# Seen: where `---` stands behind the trailers git's own two commands differ: the one takes what follows for a patch, the other
#   for the last paragraph, and finds none. dulwich knows no trailer that git itself wrote (a sign-off, a cherry pick) among
#   words, no comment behind them, and no blank before the colon; it takes names with `_` and `.`, which are none to git.
# Source: git-interpret-trailers(1) has the quarter of lines, the comments and `---` (`--no-divider`); the rest: none found.
# Why it matters: a sign-off, a co-author or an order to a bot in a trailer is there for one program and not for the next.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages dulwich==1.2.21 GitPython==3.2.1

git init --quiet .
cat >read.py <<'CODE'
import subprocess
import git
from dulwich.trailers import parse_trailers

repository = git.Repo(".")

def run(*command, text=""):
    return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout.strip()

tree = run("git", "mktree")
for title, body in {
    "plain": "Key: value\n",
    "behind words": "one\ntwo\nthree\nKey: value\n",
    "sign-off behind words": "one\ntwo\nthree\nSigned-off-by: A <a@example.org>\n",
    "among words of a cherry pick": "one\ntwo\n(cherry picked from commit 1234567)\nKey: value\n",
    "a comment behind": "Key: value\n# a comment\n",
    "a blank before the colon": "Key : value\n",
    "a patch behind": "Key: value\n\n---\nnotes\n",
    "a name with _": "My_key: value\n",
    "a name with .": "my.key: value\n",
}.items():
    text = f"subject\n\n{body}"
    commit = run("git", "-c", "user.name=a", "-c", "user.email=a@example.org", "commit-tree", tree, text=text)
    found = {
        "interpret-trailers": run("git", "interpret-trailers", "--parse", text=text),
        "log": run("git", "log", "-1", "--format=%(trailers:only,unfold)", commit),
        "GitPython": repository.commit(commit).trailers_list,
        "dulwich": parse_trailers(text.encode())[1],
    }
    print(f"{title}:", " ".join(name for name, trailers in found.items() if trailers) or "nobody")
CODE

observe() {
  python3 read.py
}

finding observe <<'RECORDED'
plain: interpret-trailers log GitPython dulwich
behind words: nobody
sign-off behind words: interpret-trailers log GitPython
among words of a cherry pick: interpret-trailers log GitPython
a comment behind: interpret-trailers log GitPython
a blank before the colon: interpret-trailers log GitPython
a patch behind: interpret-trailers GitPython dulwich
a name with _: dulwich
a name with .: dulwich
RECORDED
