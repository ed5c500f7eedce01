"""Whether real failures of real tools are read well enough: `check_failures.py SCORER BINARY [FOLDER]`.

At least 95 % of places, blame and of the failures in logs with several, 85 % of both sides, nothing made up. The share of
next steps is printed and has no minimum: a step is left out where no rule is certain. Sides that a tool gives only in a
sentence of its own are not read, which is what `sides` lacks. With `--only-tell` in front the figures are printed,
whatever they are: for failures that nobody has looked at.
"""

import json
import subprocess
import sys

LEAST = {"place": 95, "sides": 85, "blame": 95, "sober": 100}


def main() -> int:
    only_tell = sys.argv[1] == "--only-tell"
    answer = subprocess.run([sys.executable, *sys.argv[1 + only_tell :], "--json"], check=True, capture_output=True, text=True)
    table, _, last = answer.stdout.rstrip().rpartition("\n")
    print(table, flush=True)
    score = json.loads(last)
    logs = score["several_all"]
    shares = {column: (*score[column], least) for column, least in LEAST.items()}
    shares["failures of logs with several"] = (logs["recall"], logs["of"], 95)
    problems = [
        f"{what}: {right} of {all_of_them}, less than {least} %"
        for what, (right, all_of_them, least) in shares.items()
        if 100 * right < least * all_of_them
    ]
    problems += [f"{logs[what]} {what}s" for what in ("chimera", "ghost") if logs[what]]
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems and not only_tell else 0


if __name__ == "__main__":
    sys.exit(main())
