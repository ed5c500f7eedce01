#!/usr/bin/env python3
"""The reference fixer in a loop, with stand-ins for the agent: one repairs, one cheats, one disputes, one hangs, and a
model that answers over HTTP.

    .ci/fixer.py LOOPGATE
"""
import http.server
import json
import os
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

FIXER = Path(__file__).resolve().parent.parent / "docs/fixer/reference_fixer.py"
TESTS = """\
. ./calc.sh
if [ "$(total 1 2 3)" = 6 ]; then echo 'ok 1 - adds'; else
    printf 'not ok 1 - adds\\n  ---\\n  message: expected 6, got 7\\n  expected: 6\\n  actual: 7\\n  file: calc.sh\\n  line: 2\\n  ...\\n'
    failed=1
fi
if [ "$(total 5 5)" -gt 9 ]; then echo 'ok 2 - grows'; else echo 'not ok 2 - grows'; failed=1; fi
echo 1..2
exit ${failed:-0}
"""
CALC = "total() {\n    sum=1\n    for n in \"$@\"; do sum=$((sum + n)); done\n    echo $sum\n}\n"
AGENTS = {
    "repairs": "cat > task.log; mv task.log ..; sed -i 's/sum=1/sum=0/' calc.sh; echo 'Begin the sum at 0'",
    "cheats": "cat > /dev/null; printf 'echo ok 1 - adds\\necho 1..1\\n' > tests/test_calc.sh; echo Done",
    "disputes": "id=$(sed -n 's/^\\[\\([0-9a-f]*\\)\\].*/\\1/p'); echo \"DISPUTE $id sums begin at 1 here\"",
    "hangs": "cat > /dev/null; sleep 600",
}


class Model(http.server.BaseHTTPRequestHandler):
    asked: list = []

    def do_POST(self) -> None:
        Model.asked.append((self.headers["authorization"], json.loads(self.rfile.read(int(self.headers["content-length"])))))
        diff = "--- a/calc.sh\n+++ b/calc.sh\n@@ -1,3 +1,3 @@\n total() {\n-    sum=1\n+    sum=0\n     for n in \"$@\"; do sum=$((sum + n)); done\n"
        body = json.dumps({"choices": [{"message": {"content": f"```diff\n{diff}```\n"}}]}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


def loop(loopgate: Path, agent: str | None, settings: str = "") -> tuple[int, dict, Path]:
    folder = Path(tempfile.mkdtemp())
    here = folder / "project"
    (here / "tests").mkdir(parents=True)
    (here / ".github").mkdir()
    (here / "calc.sh").write_text(CALC)
    (here / "tests/test_calc.sh").write_text(TESTS)
    (folder / "agent").write_text(f"#!/bin/sh\n{agent}\n")
    (folder / "agent").chmod(0o755)
    command = f"{sys.executable} {FIXER}" + (" ../agent" if agent else "")
    (here / ".github/loopgate.yml").write_text(
        "version: 1\nverify:\n  checks:\n    unit: { kind: test, run: sh tests/test_calc.sh }\n"
        f"fixer:\n  kind: command\n  command: {command}\n{settings}")
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "USER": "alice"}
    for arguments in (["git", "init", "-qb", "main"], ["git", "add", "-A"],
                      ["git", "-c", "user.name=alice", "-c", "user.email=a@b.c", "commit", "-qm", "A project"],
                      [loopgate, "loop", "new", "repair calc", "--alias", "calc", "--type", "refactor", "--yes"]):
        subprocess.run(arguments, cwd=here, env=env, check=True, capture_output=True)
    ran = subprocess.run([loopgate, "loop", "run", "--format", "json"], cwd=here, env=env, capture_output=True, text=True)
    return ran.returncode, json.loads(ran.stdout or "{}") | {"said": ran.stderr}, folder


def main(program: str) -> None:
    loopgate = Path(program).resolve()

    def ends(agent: str | None, code: int, trigger: str | None, settings: str = "") -> tuple[dict, Path]:
        ended, state, folder = loop(loopgate, agent and AGENTS[agent], settings)
        called = (state.get("blocked") or {}).get("trigger")
        assert (ended, called) == (code, trigger), (agent, ended, state)
        return state, folder

    state, folder = ends("repairs", 0, None)
    assert state["fixes"][0]["description"] == "Begin the sum at 0", state["fixes"]
    told = (folder / "task.log").read_text()
    assert "expected 6, got 7" in told and "DISPUTE <id> <reason>" in told, told
    ends("cheats", 2, "tampering")
    state, _ = ends("disputes", 2, "disputed")
    assert "sums begin at 1 here" in state["question"]["question"], state["question"]
    ends("hangs", 2, "timeout_exceeded", "  timeout: 2s\n")

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    env = {"FIXER_URL": f"http://127.0.0.1:{server.server_port}/v1/chat/completions", "FIXER_KEY": "k3y", "FIXER_MODEL": "any"}
    ends(None, 0, None, "  env: { %s }\n" % ", ".join(f'{name}: "{value}"' for name, value in env.items()))
    authorization, asked = Model.asked[0]
    assert authorization == "Bearer k3y" and "sum=1" in asked["messages"][0]["content"], asked
    print("the reference fixer repairs, is stopped when it cheats, disputes, and is ended when it hangs")


if __name__ == "__main__":
    main(*sys.argv[1:])
