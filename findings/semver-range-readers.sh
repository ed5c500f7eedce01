#!/usr/bin/env bash
# semver 7.8.6 (npm); semantic-version 2.10.0 (NpmSpec), univers 32.0.1 (NpmVersionRange) (PyPI); Node 26.12.1.
#
# Expected: two readers in Python of npm's ranges find what npm's own library finds, but perhaps for blanks.
# Seen: they agree on `^1.2.3` and `~1`. To univers `^0` has no 0.9.0, `1.X` and an empty range have nothing, `>1` has 1.5.0,
#   `<=1` has not 1.9.9, and pre-releases are in any range around them. NpmSpec has 2.0.0-alpha in `<2.0.0`, and reads no
#   blank behind an operator and no `v`. Build metadata in a range is compared by both, and not by npm.
# Source: https://github.com/npm/node-semver has the grammar; semantic-version's documentation says that NpmSpec follows it.
# Why it matters: whether an update of a dependency is in range, and so needs a pull request, is answered by the language of
#   the bot.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 semver@7.8.6
pip_packages semantic-version==2.10.0 univers==32.0.1

cat >cases.json <<'JSON'
[["^1.2.3", "1.9.0"], ["~1", "1.9.0"], ["^0", "0.9.0"], ["1.X", "1.5.0"], ["", "1.0.0"], [">1", "1.5.0"], ["<=1", "1.9.9"],
 ["*", "1.0.0-rc.1"], ["^1.2.3-beta.2", "1.3.0-alpha"], ["<2.0.0", "2.0.0-alpha"], ["<2.0.0", "1.9.0-alpha"],
 [">= 1.2.3", "1.3.0"], ["=v1.2.3", "1.2.3"], ["~>1.2", "1.2.9"], ["^1.2.3 ^1.4", "1.4.5"], ["1.2.3+one", "1.2.3+two"],
 [">=1,<2", "1.5.0"]]
JSON
cat >read.cjs <<'CODE'
const semver = require(process.argv[2]);
for (const [range, version] of require("./cases.json")) {
  console.log(semver.validRange(range) === null ? "an error" : semver.satisfies(version, range) ? "yes" : "no");
}
CODE
cat >read.py <<'CODE'
import json, sys
from semantic_version import NpmSpec, Version
from univers.version_range import NpmVersionRange
from univers.versions import SemverVersion

def say(read):
    try:
        return "yes" if read() else "no"
    except Exception:
        return "an error"

for (text, version), npm in zip(json.load(open("cases.json")), sys.stdin, strict=True):
    spec = say(lambda: Version(version) in NpmSpec(text))
    univers = say(lambda: SemverVersion(version) in NpmVersionRange.from_native(text))
    print(f"{text!r} has {version}: npm {npm.strip()}, NpmSpec {spec}, univers {univers}")
CODE

observe() {
  node read.cjs "$folder/node_modules/semver" | python3 read.py
}

finding observe <<'RECORDED'
'^1.2.3' has 1.9.0: npm yes, NpmSpec yes, univers yes
'~1' has 1.9.0: npm yes, NpmSpec yes, univers yes
'^0' has 0.9.0: npm yes, NpmSpec yes, univers no
'1.X' has 1.5.0: npm yes, NpmSpec yes, univers no
'' has 1.0.0: npm yes, NpmSpec yes, univers no
'>1' has 1.5.0: npm no, NpmSpec no, univers yes
'<=1' has 1.9.9: npm yes, NpmSpec yes, univers no
'*' has 1.0.0-rc.1: npm no, NpmSpec no, univers yes
'^1.2.3-beta.2' has 1.3.0-alpha: npm no, NpmSpec no, univers yes
'<2.0.0' has 2.0.0-alpha: npm no, NpmSpec yes, univers yes
'<2.0.0' has 1.9.0-alpha: npm no, NpmSpec no, univers yes
'>= 1.2.3' has 1.3.0: npm yes, NpmSpec an error, univers yes
'=v1.2.3' has 1.2.3: npm yes, NpmSpec an error, univers yes
'~>1.2' has 1.2.9: npm yes, NpmSpec an error, univers an error
'^1.2.3 ^1.4' has 1.4.5: npm yes, NpmSpec yes, univers an error
'1.2.3+one' has 1.2.3+two: npm yes, NpmSpec no, univers no
'>=1,<2' has 1.5.0: npm an error, NpmSpec an error, univers yes
RECORDED
