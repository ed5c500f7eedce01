#!/usr/bin/env bash
# ignore 7.0.17 (npm); pathspec 1.1.1, gitignore_parser 0.1.13, igittigitt 2.3.1 (PyPI); Node 26.12.1; git of the machine.
#
# Expected: four readers of `.gitignore` find what git finds, at least for what its manual has in its examples.
# Seen: none does. To pathspec and gitignore_parser a file in an ignored folder comes back by `!`, which to git it cannot.
#   gitignore_parser takes `[^x]` for a set with `^` and `x`, ends `foo/*` at the first folder, takes a file for a folder
#   (`*/`), does not see what lies in a folder by `.*`, and raises an error for `**`. `ignore` does not tell `A.js` from
#   `a.js`. `d/**/` is everything in `d` to three. A tab in front of a name is dropped by igittigitt, one behind it by
#   two. `[[:digit:]]` is no digit to two.
# Source: gitignore(5) has the rules; that `ignore` does not regard case is in its documentation (`ignorecase`).
# Why it matters: what a linter looks at, or a tool packs, is decided by one of these, and what is committed by git.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 ignore@7.0.17
pip_packages pathspec==1.1.1 gitignore_parser==0.1.13 igittigitt==2.3.1

ln -s "$folder/node_modules" node_modules
cat >ignore.cjs <<'CODE'
const ignore = require('ignore')
console.log(JSON.stringify(JSON.parse(process.argv[2]).map(([rules, path]) => ignore().add(rules).ignores(path))))
CODE
cat >compare.py <<'CODE'
import json, os, subprocess, tempfile, warnings
warnings.simplefilter("ignore")
import gitignore_parser, igittigitt, pathspec

CASES = [("*.log", "a/x.log"), ("a/**/b", "a/b"), ("a?b", "a/b"), ("a/*\n!a/keep", "a/keep"),
         ("build\n!build/keep", "build/keep"), ("*\n!*.js", "src/a.js"), ("[^x].js", "a.js"), ("[^x].js", "x.js"),
         ("[[:digit:]].js", "1.js"), ("A.js", "a.js"), ("foo/*", "foo/bar/c"), (".*", "d/.b/c"), ("*/", "x"), ("d/**/", "d/x"),
         ("**", "d/x"), ("a\\*b", "a*b"), ("\ta", "a"), ("a\t", "a"), ("a//b", "a/b")]

def said(ask):
    try:
        return bool(ask())
    except Exception as error:
        return type(error).__name__

def parsed(folder):
    parser = igittigitt.IgnoreParser()
    parser.parse_rule_files(folder)
    return parser

by_ignore = json.loads(subprocess.check_output(["node", "ignore.cjs", json.dumps(CASES)]))
for (rules, path), first in zip(CASES, by_ignore):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        full = os.path.join(folder, path)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        open(full, "w").close()
        with open(folder + "/.gitignore", "w") as file:
            file.write(rules + "\n")
        listed = ["git", "-C", folder, "ls-files", "-z", "--others", "--exclude-standard"]
        git = path not in subprocess.check_output(listed, text=True).split("\0")
        answers = {"ignore": first,
                   "pathspec": said(lambda: pathspec.GitIgnoreSpec.from_lines(rules.split("\n")).match_file(path)),
                   "gitignore_parser": said(lambda: gitignore_parser.parse_gitignore(folder + "/.gitignore")(full)),
                   "igittigitt": said(lambda: parsed(folder).match(full))}
    others = [f"{name} {answer}" for name, answer in answers.items() if answer != git]
    print(f"{json.dumps(rules)} and {path}: git {git};", ", ".join(others) or "all the same")
CODE

observe() {
  python3 compare.py
}

finding observe <<'RECORDED'
"*.log" and a/x.log: git True; all the same
"a/**/b" and a/b: git True; all the same
"a?b" and a/b: git False; all the same
"a/*\n!a/keep" and a/keep: git False; all the same
"build\n!build/keep" and build/keep: git True; pathspec False, gitignore_parser False
"*\n!*.js" and src/a.js: git True; pathspec False, gitignore_parser False
"[^x].js" and a.js: git True; gitignore_parser False
"[^x].js" and x.js: git False; gitignore_parser True
"[[:digit:]].js" and 1.js: git True; pathspec False, gitignore_parser False
"A.js" and a.js: git False; ignore True
"foo/*" and foo/bar/c: git True; gitignore_parser False
".*" and d/.b/c: git True; gitignore_parser False
"*/" and x: git False; gitignore_parser True
"d/**/" and d/x: git False; pathspec True, gitignore_parser True, igittigitt True
"**" and d/x: git True; gitignore_parser IndexError
"a\\*b" and a*b: git True; gitignore_parser False
"\ta" and a: git False; igittigitt True
"a\t" and a: git False; pathspec True, igittigitt True
"a//b" and a/b: git False; igittigitt True
RECORDED
