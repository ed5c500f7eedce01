#!/usr/bin/env python3
"""The official MCP inspector, as a client of `loopgate mcp`: it lists the tools and calls each of them. The answers are
what the tools promise, as a validator of JSON schemas reads it.

    .ci/mcp.py LOOPGATE INSPECTOR

LOOPGATE is the program, INSPECTOR the command of npm's @modelcontextprotocol/inspector.
"""
import http.server
import json
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

import jsonschema

HEAD = "1" * 40
DOCUMENT = {
    "schema": "loopgate.feedback/v1", "repository": "acme/widgets", "pull_request": 12, "head_sha": HEAD,
    "final": True, "decision": "retry", "failures": [{"id": "3fa9c01b", "do": "Hash it."}],
}
COMMENT = f"<!-- loopgate:status -->\n```json\n{json.dumps(DOCUMENT)}\n```\n"
AT = {
    "created_at": "2026-11-20T10:00:00Z", "updated_at": "2026-11-20T10:00:00Z",
    "html_url": "https://github.com/acme/widgets/pull/12#issuecomment-1",
}
ANSWERS = {
    "/repos/acme/widgets/pulls/12": {
        "number": 12, "title": "Round up", "state": "open", "user": {"login": "alice", "id": 1, "type": "User"},
        "head": {"ref": "topic", "sha": HEAD, "repo": None}, "base": {"ref": "main", "sha": HEAD, "repo": None},
        "created_at": "2026-11-20T10:00:00Z", "html_url": "https://github.com/acme/widgets/pull/12",
    },
    f"/repos/acme/widgets/commits/{HEAD}/check-runs": {"check_runs": []},
    "/repos/acme/widgets/issues/12/comments": [
        {"id": 1, "body": COMMENT.replace("retry", "proceed"), "user": {"login": "mallory", "id": 2, "type": "User"}, **AT},
        {"id": 2, "body": COMMENT, "user": {"login": "loopgate[bot]", "id": 3, "type": "Bot"}, **AT},
    ],
}


COMMENTED = []


class GitHub(http.server.BaseHTTPRequestHandler):
    """As much of it as a public pull request takes."""

    def do_GET(self):
        answer = ANSWERS.get(self.path.split("?")[0])
        body = json.dumps(answer if answer is not None else {"message": "Not Found"}).encode()
        self.send_response(200 if answer is not None else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        said = json.loads(self.rfile.read(int(self.headers["content-length"])))["body"]
        COMMENTED.append((self.path, self.headers["authorization"], said))
        body = json.dumps({"id": 3, "html_url": "https://github.com/acme/widgets/pull/12#issuecomment-3"}).encode()
        self.send_response(201)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def main(loopgate, inspector):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), GitHub)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as folder:
        project(Path(folder))

        def ask(method, *more, token="-e=GH_NOTHING=1"):
            command = [inspector, "--cli", *token.split("=", 1), "-e", f"LOOPGATE_GITHUB_API_URL=http://127.0.0.1:{server.server_port}",
                       str(Path(loopgate).resolve()), "mcp", "--method", method, *more]
            asked = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
            if asked.returncode != 0:
                raise RuntimeError(f"{asked.stdout}{asked.stderr}")
            return json.loads(asked.stdout)

        def call(tool, *arguments, **more):
            given = [part for argument in arguments for part in ("--tool-arg", argument)]
            answer = ask("tools/call", "--tool-name", tool, *given, **more)
            if not answer.get("isError"):
                jsonschema.validate(answer["structuredContent"], promised[tool])
            return answer

        tools = ask("tools/list")["tools"]
        names = [tool["name"] for tool in tools]
        promised = {tool["name"]: tool["outputSchema"] for tool in tools}
        assert names == ["verify", "feedback", "wait", "explain", "memory", "dispute"], names
        verified = call("verify")
        document = verified["structuredContent"]
        assert document["failures"][0]["check"] == "lint" and document["decision"] == "retry", verified
        assert json.loads(verified["content"][0]["text"]) == document, verified
        assert call("feedback")["structuredContent"] == document
        for tool in "feedback", "wait":
            told = call(tool, "pull_request=acme/widgets#12")["structuredContent"]
            assert told["decision"] == "retry" and told["read_from"] == "status_comment", told
        refused = call("explain", "pull_request=acme/widgets#12")
        assert refused["isError"] and "there is no App named loopgate" in refused["content"][0]["text"], refused
        remembered = call("memory", "words=lint")["structuredContent"]
        assert remembered["schema"] == "loopgate.memory-query/v1" and remembered["cards"] == [], remembered
        disputed = ["failure=3fa9c01b", "reason=it is meant so", "pull_request=acme/widgets#12"]
        refused = call("dispute", *disputed)
        assert refused["isError"] and "Loopgate-Dispute: 3fa9c01b test_wrong it is meant so" in refused["content"][0]["text"], refused
        said = call("dispute", *disputed, token="-e=GITHUB_TOKEN=t0ken")["structuredContent"]
        assert said["said_in"] == "comment" and said["url"].endswith("#issuecomment-3"), said
        comment = ("/repos/acme/widgets/issues/12/comments", "Bearer t0ken", "/loop dispute 3fa9c01b test_wrong it is meant so")
        assert COMMENTED == [comment], COMMENTED
        wrong = call("wait", "pull_request=acme")
        assert wrong["isError"] and "OWNER/REPO#N" in wrong["content"][0]["text"], wrong
        try:
            call("merge")
        except RuntimeError as error:
            assert "Unknown tool" in str(error), error
        else:
            raise AssertionError("a tool that there is not was called")
    print(f"the inspector listed and called {', '.join(names)}")


def project(folder):
    (folder / ".github").mkdir()
    (folder / ".github/loopgate.yml").write_text(
        "version: 1\nverify:\n  checks:\n    lint: { kind: lint, run: cat checked }\n")
    who = ["-c", "user.name=alice", "-c", "user.email=alice@example.com"]
    for arguments in ["init", "-q"], ["add", "-A"], [*who, "commit", "-qm", "A project"]:
        subprocess.run(["git", *arguments], cwd=folder, check=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
