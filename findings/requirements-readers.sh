#!/usr/bin/env bash
# pip-requirements-parser 32.0.1, requirements-parser 0.13.1, dparse 0.6.4, pip 26.3 (PyPI).
#
# Expected: four readers of one requirements file, pip's own code among them, find the same packages.
# Seen: they agree on three lines of eleven. `#` without a blank is an error to pip and a comment to one. A line that goes
#   on is a package named "1" to dparse, which leaves out every address without a name, and an error to
#   requirements-parser. An included file is read by two, a file of constraints by pip alone. An option behind a
#   requirement makes it invalid, an error or nothing.
# Source: pip.pypa.io, Requirements File Format, has all lines; of the differences no documentation found.
# Why it matters: a package that a reader leaves out is in no report of licences, updates or weaknesses, and nothing says
#   so.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
pip_packages pip-requirements-parser==32.0.1 requirements-parser==0.13.1 dparse==0.6.4 pip==26.3

echo 'deep==1' >more.txt
cat >read.py <<'CODE'
import logging, warnings
import dparse, requirements
from pip._internal.network.session import PipSession
from pip._internal.req.constructors import install_req_from_parsed_requirement
from pip._internal.req.req_file import parse_requirements
from pip_requirements_parser import RequirementsFile

warnings.simplefilter("ignore")
logging.disable(logging.CRITICAL)
FILE = "requirements.txt"

def by_pip():
    for found in parse_requirements(FILE, session=PipSession()):
        requirement = install_req_from_parsed_requirement(found).req
        yield f"{requirement.name}{requirement.specifier}" if requirement else "no name"

def by_parser():
    read = RequirementsFile.from_file(FILE)
    for found in read.requirements:
        yield f"{found.name}{found.specifier or ''}" if found.name else "no name"
    for _ in read.invalid_lines:
        yield "invalid"

def by_requirements():
    for found in requirements.parse(open(FILE)):
        yield f"{found.name or 'no name'}{','.join(map(''.join, found.specs))}"

def by_dparse():
    for found in dparse.parse(open(FILE).read(), file_type=FILE).dependencies:
        yield f"{found.name}{found.specs}"

READERS = {"pip": by_pip, "pip-requirements-parser": by_parser, "requirements-parser": by_requirements, "dparse": by_dparse}
for text in ("one==1  # why", "one==1#why", "one==\\\n1", "one==1 --config-settings 'a=b'", "one==1 \\\n  --hash=sha256:" + "0" * 64, "-r more.txt",
             "-c more.txt", "git+https://a.example/one.git#egg=one", "-e git+https://a.example/one.git#egg=one",
             "one @ git+https://a.example/one.git", "https://a.example/one-1-py3-none-any.whl"):
    with open(FILE, "w") as file:
        file.write(text + "\n")
    groups = {}
    for name, read in READERS.items():
        try:
            found = " and ".join(read()) or "nothing"
        except Exception:
            found = "an error"
        groups.setdefault(found, []).append(name)
    print(f"{text!r}:", "; ".join(f"{found} ({'all' if len(groups) == 1 else ', '.join(names)})" for found, names in groups.items()))
CODE

observe() {
  python3 read.py
}

finding observe <<'RECORDED'
'one==1  # why': one==1 (all)
'one==1#why': an error (pip); invalid (pip-requirements-parser); one==1 (requirements-parser); nothing (dparse)
'one==\\\n1': one==1 (pip, pip-requirements-parser); an error (requirements-parser); one==1 and 1 (dparse)
"one==1 --config-settings 'a=b'": one==1 (pip); invalid (pip-requirements-parser); an error (requirements-parser); nothing (dparse)
'one==1 \\\n  --hash=sha256:0000000000000000000000000000000000000000000000000000000000000000': one==1 (all)
'-r more.txt': deep==1 (pip, requirements-parser); nothing (pip-requirements-parser, dparse)
'-c more.txt': deep==1 (pip); nothing (pip-requirements-parser, requirements-parser, dparse)
'git+https://a.example/one.git#egg=one': one (pip, pip-requirements-parser, requirements-parser); nothing (dparse)
'-e git+https://a.example/one.git#egg=one': one (pip, pip-requirements-parser, requirements-parser); nothing (dparse)
'one @ git+https://a.example/one.git': one (all)
'https://a.example/one-1-py3-none-any.whl': one==1 (pip, pip-requirements-parser); no name (requirements-parser); nothing (dparse)
RECORDED
