#!/usr/bin/env bash
# @semantic-release/commit-analyzer 13.0.1, release-please 17.9.0, commit-and-tag-version 12.7.3 (npm); python-semantic-release 10.7.0,
# commitizen 4.19.3, git-cliff 2.14.2 (PyPI); needs git; Node 26.12.1.
#
# Expected: six tools that make the next version of Conventional Commits agree on plain messages, and on the rules of the
#   specification.
# Seen: they agree on `fix: a`, and on nothing else of fourteen. `docs:` releases a patch in three. A feature with its
#   revert is a minor release to five and a patch to one. `BREAKING-CHANGE:` is none to semantic-release, `breaking
#   change:` is one to it and to commit-and-tag-version. `feat!:` in the body is a major release to two, `feat:a` a minor
#   one to three, `feat : a` a patch to one. The title that GitHub gives a merge releases in three. A breaking change of
#   0.2.3 is 1.0.0 to four, 0.3.0 to one.
# Source: https://www.conventionalcommits.org/en/v1.0.0/ has the footers and the colon with its blank; each tool's
#   documentation its table of types, not the rest.
# Why it matters: whoever names a release ahead, or writes commits for another's tool, has to ask that very tool.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 --legacy-peer-deps @semantic-release/commit-analyzer@13.0.1 release-please@17.9.0 \
  commit-and-tag-version@12.7.3
pip_packages python-semantic-release==10.7.0 commitizen==4.19.3 git-cliff==2.14.2

ln -s "$folder/node_modules" node_modules
cat >next.mjs <<'CODE'
import fs from 'node:fs'
import { analyzeCommits } from '@semantic-release/commit-analyzer'
import parser from 'release-please/build/src/commit.js'
import strategy from 'release-please/build/src/versioning-strategies/default.js'
import { Version } from 'release-please/build/src/version.js'
const [version, messages] = JSON.parse(fs.readFileSync(0, 'utf8'))
const commits = messages.map((message, at) => ({ hash: `${at}`, sha: `${at}`, message, files: [] }))
const silent = { info() {}, warn() {}, error() {}, debug() {}, trace() {}, log() {} }
console.log = () => {}
const kind = await analyzeCommits({}, { cwd: process.cwd(), logger: silent, commits })
const parsed = parser.parseConventionalCommits(commits, silent)
const next = parsed.length ? new strategy.DefaultVersioningStrategy({ logger: silent }).bump(Version.parse(version), parsed) : version
const at = ['major', 'minor', 'patch'].indexOf(kind)
const semantic = version.split('.').map((part, index) => index < at ? +part : index === at ? +part + 1 : at < 0 ? +part : 0).join('.')
process.stdout.write(JSON.stringify({ 'semantic-release': semantic, 'release-please': `${next}` }))
CODE
cat >next.py <<'CODE'
import json, os, re, subprocess, tempfile

who = {f"GIT_{role}_{what}": "a@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

def run(*command, text=None):
    done = subprocess.run(command, cwd=folder, env=os.environ | who | {"HOME": home}, capture_output=True, text=True, input=text)
    return done.stdout

HEAD = 'project = {name = "x", version = "%s"}\n[tool.semantic_release]\nversion_toml = ["pyproject.toml:project.version"]\n' \
       'allow_zero_version = true\n[tool.commitizen]\nversion = "%s"\ntag_format = "v$version"\n'
REVERT = "git revert"
for version, *messages in (
    ("1.2.3", "fix: a"), ("1.2.3", "docs: a"), ("1.2.3", "refactor: a"), ("1.2.3", "feat: a", REVERT), ("1.2.3", "chore!: a"),
    ("1.2.3", "fix: a\n\nBREAKING-CHANGE: b"), ("1.2.3", "fix: a\n\nbreaking change: b"), ("1.2.3", "fix: a\n\nfeat!: b"),
    ("1.2.3", "Feat: a"), ("1.2.3", "feat:a"), ("1.2.3", "feat : a"), ("1.2.3", "Merge pull request #1 from b/c\n\nfeat: a"),
    ("0.2.3", "feat: a"), ("0.2.3", "feat!: a"),
):
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as home:
        run("git", "init", "--quiet", "--initial-branch", "main")
        for name, text in (("package.json", '{"name":"x","version":"%s"}' % version), ("pyproject.toml", HEAD % (version, version))):
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        run("git", "remote", "add", "origin", "https://github.com/a/b.git")
        run("git", "add", ".")
        run("git", "commit", "--quiet", "--message", "chore: begin")
        run("git", "tag", f"v{version}")
        for message in messages:
            if message == REVERT:
                run("git", "revert", "--no-edit", "HEAD")
            else:
                with open(f"{folder}/file", "w") as file:
                    file.write(message)
                run("git", "add", "file")
                run("git", "commit", "--quiet", "--message", message)
        log = [text.strip() for text in run("git", "log", "--reverse", "--format=%B%x00", f"v{version}..").split("\0")[:-1]]
        found = json.loads(subprocess.check_output(["node", "next.mjs"], input=json.dumps([version, log]), text=True))
        found["python-semantic-release"] = run("semantic-release", "version", "--print").strip()
        found["commitizen"] = run("cz", "bump", "--get-next", "--yes").strip() or version
        found["git-cliff"] = run("git-cliff", "--bumped-version").strip().lstrip("v")
        dry = run("commit-and-tag-version", "--dry-run", "--skip.changelog")
        found["commit-and-tag-version"] = re.search(r"package.json from \S+ to (\S+)", dry)[1]
    groups = {}
    for name, following in found.items():
        groups.setdefault("none" if following == version else following, []).append(name)
    print(version, json.dumps(" and ".join(messages)))
    for following, names in sorted(groups.items()):
        print(f"  {following}: {'all' if len(groups) == 1 else ', '.join(names)}")
CODE

observe() {
  python3 next.py
}

finding observe <<'RECORDED'
1.2.3 "fix: a"
  1.2.4: all
1.2.3 "docs: a"
  1.2.4: release-please, git-cliff, commit-and-tag-version
  none: semantic-release, python-semantic-release, commitizen
1.2.3 "refactor: a"
  1.2.4: release-please, commitizen, git-cliff, commit-and-tag-version
  none: semantic-release, python-semantic-release
1.2.3 "feat: a and git revert"
  1.2.4: commit-and-tag-version
  1.3.0: semantic-release, release-please, python-semantic-release, commitizen, git-cliff
1.2.3 "chore!: a"
  2.0.0: release-please, python-semantic-release, commitizen, git-cliff, commit-and-tag-version
  none: semantic-release
1.2.3 "fix: a\n\nBREAKING-CHANGE: b"
  1.2.4: semantic-release
  2.0.0: release-please, python-semantic-release, commitizen, git-cliff, commit-and-tag-version
1.2.3 "fix: a\n\nbreaking change: b"
  1.2.4: release-please, python-semantic-release, commitizen, git-cliff
  2.0.0: semantic-release, commit-and-tag-version
1.2.3 "fix: a\n\nfeat!: b"
  1.2.4: semantic-release, python-semantic-release, git-cliff, commit-and-tag-version
  2.0.0: release-please, commitizen
1.2.3 "Feat: a"
  1.2.4: release-please, commit-and-tag-version
  1.3.0: git-cliff
  none: semantic-release, python-semantic-release, commitizen
1.2.3 "feat:a"
  1.2.4: commit-and-tag-version
  1.3.0: release-please, commitizen, git-cliff
  none: semantic-release, python-semantic-release
1.2.3 "feat : a"
  1.2.4: commit-and-tag-version
  none: semantic-release, release-please, python-semantic-release, commitizen, git-cliff
1.2.3 "Merge pull request #1 from b/c\n\nfeat: a"
  1.2.4: commit-and-tag-version
  1.3.0: release-please, commitizen
  none: semantic-release, python-semantic-release, git-cliff
0.2.3 "feat: a"
  0.2.4: commit-and-tag-version
  0.3.0: semantic-release, release-please, python-semantic-release, commitizen, git-cliff
0.2.3 "feat!: a"
  0.3.0: commit-and-tag-version
  1.0.0: release-please, python-semantic-release, commitizen, git-cliff
  none: semantic-release
RECORDED
