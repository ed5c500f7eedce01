#!/usr/bin/env bash
# simple-git 4.0.2, isomorphic-git 1.44.19 (npm); GitPython 3.2.1, dulwich 1.2.21 (PyPI); Node 26.12.1; git of the
# machine.
#
# Expected: four libraries find a tree clean when `git status` does, and put a change in the list that its name says.
# Seen: a file that only became executable is clean to isomorphic-git and to dulwich. A link that became a file, and a
#   file that was added and then deleted, are in none of simple-git's lists, though the tree is not clean. A rename is an
#   addition and a deletion to isomorphic-git and dulwich. A file that was only announced (`git add -N`) is staged to
#   dulwich, created to simple-git, and a change of what is staged to GitPython.
# Source: git-status(1) has the marks; of the readers' lists no documentation found.
# Why it matters: "the agent changed nothing" and "nothing to commit" by a library, over a tree that git calls changed.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 simple-git@4.0.2 isomorphic-git@1.44.19
pip_packages GitPython==3.2.1 dulwich==1.2.21

ln -s "$folder/node_modules" node_modules
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import git from 'isomorphic-git'
import { simpleGit } from 'simple-git'
const dir = process.argv[2]
const status = await simpleGit(dir).status()
const lists = ['created', 'deleted', 'modified', 'renamed', 'not_added', 'staged'].filter((name) => status[name].length)
console.log(`  simple-git: clean ${status.isClean()}, ${lists.join(' ') || 'no list'}`)
const rows = (await git.statusMatrix({ fs, dir })).filter(([, ...marks]) => marks.join('') !== '111')
console.log('  isomorphic-git:', rows.map(([path, ...marks]) => `${path} ${marks.join('')}`).join(', ') || 'clean')
CODE
cat >read.py <<'CODE'
import sys
import dulwich.porcelain, git
repository = git.Repo(sys.argv[1])
changes = [("staged", repository.head.commit.diff()), ("changed", repository.index.diff(None))]
told = [f"{name} {one.change_type}" for name, found in changes for one in found]
print(f"  GitPython: dirty {repository.is_dirty(untracked_files=True)},", ", ".join(told + [f"untracked {one}" for one in repository.untracked_files]))
status = dulwich.porcelain.status(sys.argv[1])
text = lambda one: one.decode() if isinstance(one, bytes) else one
told = [f"{name} {text(one)}" for name, found in status.staged.items() for one in found]
told += [f"unstaged {text(one)}" for one in status.unstaged] + [f"untracked {text(one)}" for one in status.untracked]
print("  dulwich:", ", ".join(told) or "clean")
CODE

situation() {
  local dir=tree-$RANDOM$RANDOM
  git init --quiet --initial-branch main "$dir"
  (
    cd "$dir"
    seq 9 >cart.txt
    ln -s cart.txt link
    git add .
    git -c user.name=a -c user.email=a@example.org commit --quiet --message first
    eval "$2"
  )
  echo "$1: git $(git -C "$dir" status --short | tr '\n' ',')"
  node read.mjs "$dir"
  python3 read.py "$dir"
}

observe() {
  situation "nothing" :
  situation "executable" 'chmod +x cart.txt'
  situation "link became a file" 'rm link; echo cart >link'
  situation "added, then deleted" 'echo new >new.txt; git add new.txt; rm new.txt'
  situation "announced" 'echo new >new.txt; git add -N new.txt'
  situation "renamed" 'git mv cart.txt basket.txt'
  situation "untracked folder" 'mkdir -p a/b; echo new >a/b/new.txt'
}

finding observe <<'RECORDED'
nothing: git 
  simple-git: clean true, no list
  isomorphic-git: clean
  GitPython: dirty False, 
  dulwich: clean
executable: git  M cart.txt,
  simple-git: clean false, modified
  isomorphic-git: clean
  GitPython: dirty True, changed M
  dulwich: clean
link became a file: git  T link,
  simple-git: clean false, no list
  isomorphic-git: link 121
  GitPython: dirty True, changed T
  dulwich: unstaged link
added, then deleted: git AD new.txt,
  simple-git: clean false, no list
  isomorphic-git: new.txt 003
  GitPython: dirty True, staged A, changed D
  dulwich: add new.txt, unstaged new.txt
announced: git  A new.txt,
  simple-git: clean false, created
  isomorphic-git: new.txt 023
  GitPython: dirty True, changed A
  dulwich: add new.txt, unstaged new.txt
renamed: git R  cart.txt -> basket.txt,
  simple-git: clean false, renamed
  isomorphic-git: basket.txt 022, cart.txt 100
  GitPython: dirty True, staged R
  dulwich: add basket.txt, delete cart.txt
untracked folder: git ?? a/,
  simple-git: clean false, not_added
  isomorphic-git: a/b/new.txt 020
  GitPython: dirty True, untracked a/b/new.txt
  dulwich: untracked a/
RECORDED
