#!/usr/bin/env python3
"""A fixer: hands Loopgate's feedback to a coding agent in its words, and the agent's answer back.

    fixer:
      kind: command
      command: python3 reference_fixer.py AGENT [ARGUMENT…]

AGENT is any program that reads its task on standard input, works in the current directory and ends when it is done, such
as `claude -p --permission-mode acceptEdits` or `codex exec -`. Without one a model is asked over HTTP for a diff: FIXER_URL
(an address that speaks the chat completions of OpenAI), FIXER_KEY and FIXER_MODEL come from `fixer.env`.

What the agent does to the files is judged by Loopgate, not here. A failure that is not the agent's to mend it disputes,
with a line of its own: DISPUTE <id> <reason>.
"""
import json
import os
import re
import subprocess
import sys
import urllib.request

MOST_FILES, MOST_BYTES = 6, 60_000


def task(feedback: dict) -> str:
    lines = [f"Task: {feedback['task']}", "", "These checks fail. Mend the code so that they pass."]
    for failure in feedback["failures"]:
        place = failure.get("place") or {}
        at = f" at {place['file']}:{place.get('line')}" if place else ""
        lines += ["", f"[{failure['id']}] {failure['check']}: {failure.get('test') or ''}{at}", f"  {failure['message']}"]
        told = {"Expected": "expected", "Actual": "actual", "Do": "do", "Reproduce": "reproduce", "Said before": "settled"}
        lines += [f"  {label}: {failure[key]}" for label, key in told.items() if failure.get(key)]
        lines += [f"  Tried already: {tried['change']}" for tried in failure.get("tried", []) if tried.get("change")]
    lines += ["", *(f"{other['location']}: {other['problem']} {other['action']}" for other in feedback["feedback"])]
    lines += ["", "Never edit, skip or remove a test to make it pass, and change nothing under .github/.",
              "If a failure is not yours to mend (the test is wrong, what it asks for is unclear or impossible), edit",
              "nothing and write one line: DISPUTE <id> <reason>. A person decides then."]
    return "\n".join(lines) + "\n"


def files(feedback: dict) -> str:
    """What a model that sees no directory has to see: the files that the failures name."""
    named = [place["file"] for place in (failure.get("place") for failure in feedback["failures"]) if place]
    shown = []
    for path in list(dict.fromkeys(named))[:MOST_FILES]:
        inside = os.path.realpath(path).startswith(os.path.realpath(".") + os.sep)
        if inside and os.path.isfile(path):
            with open(path, encoding="utf-8", errors="replace") as file:
                shown.append(f"--- {path}\n{file.read(MOST_BYTES)}")
    return "\n".join(shown)


def ask_model(feedback: dict) -> str:
    words = task(feedback) + "\nAnswer with one unified diff against these files, and nothing else.\n\n" + files(feedback)
    body = {"model": os.environ["FIXER_MODEL"], "messages": [{"role": "user", "content": words}]}
    headers = {"content-type": "application/json", "authorization": f"Bearer {os.environ['FIXER_KEY']}"}
    request = urllib.request.Request(os.environ["FIXER_URL"], json.dumps(body).encode(), headers)
    with urllib.request.urlopen(request, timeout=600) as answer:
        said = json.load(answer)["choices"][0]["message"]["content"]
    diff = re.search(r"^(?:diff --git|--- ).*", said, re.MULTILINE | re.DOTALL)
    if diff and not disputed(said):
        text = diff.group().split("\n```")[0] + "\n"
        # What a check planted in git's settings would run here: without the key.
        without_key = {name: value for name, value in os.environ.items() if name != "FIXER_KEY"}
        subprocess.run(["git", "apply", "--recount", "--whitespace=nowarn"], input=text, text=True, check=True, env=without_key)
    return said


def disputed(said: str) -> dict | None:
    found = re.search(r"^DISPUTE ([0-9a-f]{8}) (.+)$", said, re.MULTILINE)
    return {"outcome": "dispute", "failure": found[1], "reason": found[2][:500]} if found else None


def main(agent: list[str]) -> int:
    feedback = json.load(sys.stdin)
    if agent:
        done = subprocess.run(agent, input=task(feedback), stdout=subprocess.PIPE, text=True)
        if done.returncode != 0:
            return done.returncode
        said = done.stdout
    elif os.environ.get("FIXER_KEY"):
        said = ask_model(feedback)
    else:
        sys.exit("name the command of an agent, or set FIXER_URL, FIXER_KEY and FIXER_MODEL")
    lines = [line for line in said.splitlines() if line.strip()]
    answer = disputed(said) or {"description": lines[-1][:200] if lines else "Mend what fails"}
    with open(os.environ["LOOPGATE_ANSWER"], "w", encoding="utf-8") as file:
        json.dump(answer, file)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
