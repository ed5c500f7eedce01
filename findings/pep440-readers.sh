#!/usr/bin/env bash
# packaging 26.4, univers 32.0.1 (PyPI); @renovatebot/pep440 4.2.4 (npm); Node 26.12.1.
#
# Expected: three readers of Python's version ranges agree; a pre-release is in a range only if the range names one.
# Seen: packaging 26 says that 2.0rc1 is in `>=1.0`, and its filter leaves it out as soon as another version is there;
#   Renovate's reader says no, also to `<2.0rc2`, to 1.0.post2 in `>1.0.post1` and to 1.0 in `<1.0.post1`. univers has
#   2.0rc1 in `<2.0`, 1.0.post1 in `>1.0`, and 1.0+x not in `==1.0`; it reads no `~=` and no `==1.*`.
# Source: packaging.python.org, Version specifiers (PEP 440): exclusive comparison, pre-releases, local versions.
# Why it matters: the same pin is up to date for one bot and outdated or vulnerable for another.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @renovatebot/pep440@4.2.4
pip_packages packaging==26.4 univers==32.0.1

ln -s "$folder/node_modules" node_modules
cat >read.mjs <<'CODE'
import fs from 'node:fs'
import { satisfies } from '@renovatebot/pep440'
console.log(JSON.stringify(JSON.parse(fs.readFileSync(0, 'utf8')).map(([range, version]) => satisfies(version, range))))
CODE
cat >read.py <<'CODE'
import json, subprocess
from packaging.specifiers import SpecifierSet
from univers.version_range import PypiVersionRange
from univers.versions import PypiVersion

CASES = [case.split(" ") for case in (">=1.0 2.0rc1", "<2.0 1.9rc1", "<2.0 2.0rc1", "<2.0rc2 2.0rc1", ">=1.0a1 1.5rc1", ">1.0 1.0.post1", ">1.0.post1 1.0.post2",
         "<1.0.post1 1.0", "==1.0 1.0+x", "<=2.0 2.0+x", "!=1.0 1.0+x", "===1.0 1.0+x", "~=1.4 1.5", "==1.* 1.5")]

def by_univers(range, version):
    try:
        return PypiVersion(version) in PypiVersionRange.from_native(range)
    except Exception:
        return "an error"

read = subprocess.check_output(["node", "read.mjs"], input=json.dumps(CASES), text=True)
for (range, version), by_renovate in zip(CASES, json.loads(read)):
    found = {
        "packaging": SpecifierSet(range).contains(version),
        "packaging beside 1.9.9": version in SpecifierSet(range).filter([version, "1.9.9"]),
        "renovate": by_renovate,
        "univers": by_univers(range, version),
    }
    groups = {}
    for name, value in found.items():
        groups.setdefault({True: "in", False: "not in"}.get(value, value), []).append(name)
    print(f"{version} {range}:", "; ".join(f"{value}: {'all' if len(groups) == 1 else ', '.join(names)}" for value, names in groups.items()))
CODE

observe() {
  python3 read.py
}

finding observe <<'RECORDED'
2.0rc1 >=1.0: in: packaging, univers; not in: packaging beside 1.9.9, renovate
1.9rc1 <2.0: in: packaging, univers; not in: packaging beside 1.9.9, renovate
2.0rc1 <2.0: not in: packaging, packaging beside 1.9.9, renovate; in: univers
2.0rc1 <2.0rc2: in: packaging, packaging beside 1.9.9, univers; not in: renovate
1.5rc1 >=1.0a1: in: all
1.0.post1 >1.0: not in: packaging, packaging beside 1.9.9, renovate; in: univers
1.0.post2 >1.0.post1: in: packaging, packaging beside 1.9.9, univers; not in: renovate
1.0 <1.0.post1: in: packaging, packaging beside 1.9.9, univers; not in: renovate
1.0+x ==1.0: in: packaging, packaging beside 1.9.9, renovate; not in: univers
2.0+x <=2.0: in: packaging, packaging beside 1.9.9, renovate; not in: univers
1.0+x !=1.0: not in: packaging, packaging beside 1.9.9, renovate; in: univers
1.0+x ===1.0: not in: packaging, packaging beside 1.9.9; in: renovate; an error: univers
1.5 ~=1.4: in: packaging, packaging beside 1.9.9, renovate; an error: univers
1.5 ==1.*: in: packaging, packaging beside 1.9.9, renovate; an error: univers
RECORDED
