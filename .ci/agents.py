#!/usr/bin/env python3
"""Real coding agents before a stand-in of their models, on loopback: what they are told, which tools they offer, and how
often their stop hooks hold them.

    .ci/agents.py LOOPGATE FOLDER [AGENT…]

LOOPGATE is the program, FOLDER holds the commands of npm's @anthropic-ai/claude-code, @openai/codex, @github/copilot,
@google/gemini-cli and opencode-ai (`node_modules/.bin`). One that is not there is said and left out. AGENT is one of
claude-code, codex, copilot, gemini-cli, opencode.
"""
import concurrent.futures
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

# Stands once in what `loopgate init --agents` writes.
INSTRUCTIONS = "Loopgate checks every pull request here"
TOOLS = ["verify", "feedback", "wait", "explain", "memory", "dispute"]
PROMPT = "Say that you are done."
DEBUG = "AGENTS_DEBUG" in os.environ
# Seconds that one run of an agent may take.
LONGEST = 100
CALC = "echo $((1 + 1)) $((7 * 7))\n"
TESTS = """\
set -- $(sh calc.sh)
if [ "$1" = 2 ]; then echo 'ok 1 - adds'; else printf 'not ok 1 - adds\\n  ---\\n  file: calc.sh\\n  line: 1\\n  ...\\n'; failed=1; fi
if [ "$2" = 49 ]; then echo 'ok 2 - multiplies'; else printf 'not ok 2 - multiplies\\n  ---\\n  file: calc.sh\\n  line: 1\\n  ...\\n'; failed=1; fi
echo 1..2
exit ${failed:-0}
"""


class Model(http.server.ThreadingHTTPServer):
    """A model that calls a tool if it is to, and else says that it is done. `asked` holds the requests for a turn."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Asked)
        self.asked, self.others = [], []
        self.calls, self.each_turn = None, lambda: None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def begin(self, calls=None, each_turn=lambda: None):
        """Begins a run, in which it calls this tool first, and each turn of which begins with this."""
        self.asked, self.others = [], []
        self.calls, self.each_turn = calls, each_turn

    def turn(self, asked):
        """The tool to call with its arguments, or the words to say."""
        self.asked.append(asked)
        self.each_turn()
        if self.calls:
            calls, self.calls = self.calls, None
            return calls, None
        return None, f"Answer {len(self.asked)}."

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}"


class Asked(http.server.BaseHTTPRequestHandler):
    """The interfaces of four makers of models, as far as one turn needs them."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        self.answer("application/json", json.dumps({"object": "list", "data": [], "models": []}))

    def do_POST(self):
        length = int(self.headers.get("content-length") or 0)
        body = self.rfile.read(length) if length else self.chunks()
        text = body.decode("utf-8", "replace")
        try:
            asked = json.loads(text)
        except ValueError:
            asked = {}
        path = self.path.split("?")[0]
        if DEBUG:
            print(f"--- {self.path} {len(text)} {text[:300]}", file=sys.stderr)
        # Titles, summaries, token counts and the like are asked for without tools.
        is_turn = bool(asked.get("tools"))
        called, said = self.server.turn(text) if is_turn else (None, "Fine.")
        if not is_turn:
            self.server.others.append((path, text))
        if path.endswith("/messages"):
            self.answer("text/event-stream", anthropic(called, said))
        elif path.endswith("/responses"):
            self.answer("text/event-stream", responses(called, said))
        elif path.endswith("/chat/completions"):
            self.answer("text/event-stream", completions(called, said))
        elif "streamGenerateContent" in path or "generateContent" in path:
            self.answer(*gemini(called, said, "stream" in path))
        else:
            self.answer("application/json", "{}")

    def chunks(self):
        body = b""
        while self.headers.get("transfer-encoding", "").lower() == "chunked":
            size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
            body += self.rfile.read(size)
            self.rfile.readline()
            if size == 0:
                break
        return body

    def answer(self, kind, text):
        body = text.encode()
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def events(*all_of_them):
    return "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in all_of_them)


def anthropic(called, said):
    start = {"type": "message_start", "message": {
        "id": "msg_1", "type": "message", "role": "assistant", "content": [], "model": "claude-sonnet-4-5",
        "stop_reason": None, "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}}}
    if called:
        name, given = called
        block = {"type": "tool_use", "id": "toolu_1", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(given)}
    else:
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": said}
    return events(
        start,
        {"type": "content_block_start", "index": 0, "content_block": block},
        {"type": "content_block_delta", "index": 0, "delta": delta},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use" if called else "end_turn", "stop_sequence": None},
         "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    )


def responses(called, said):
    if called:
        name, given = called
        item = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": name, "arguments": json.dumps(given)}
        if "." in name:
            item["namespace"], item["name"] = name.split(".")
    else:
        item = {"type": "message", "id": "msg_1", "role": "assistant", "content": [{"type": "output_text", "text": said, "annotations": []}]}
    usage = {"input_tokens": 1, "input_tokens_details": None, "output_tokens": 1, "output_tokens_details": None, "total_tokens": 2}
    return events(
        {"type": "response.created", "response": {"id": "resp_1"}},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {"id": "resp_1", "usage": usage}},
    )


def completions(called, said):
    delta = {"role": "assistant", "content": said}
    if called:
        name, given = called
        delta = {"role": "assistant", "tool_calls": [
            {"index": 0, "id": "call_1", "type": "function", "function": {"name": name, "arguments": json.dumps(given)}}]}
    chunk = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "stand-in"}
    ended = {"index": 0, "delta": {}, "finish_reason": "tool_calls" if called else "stop"}
    parts = [
        chunk | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        chunk | {"choices": [ended], "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}},
    ]
    return "".join(f"data: {json.dumps(part)}\n\n" for part in parts) + "data: [DONE]\n\n"


def gemini(called, said, streams):
    part = {"text": said}
    if called:
        part = {"functionCall": {"name": called[0], "args": called[1]}}
    answer = {"candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": "STOP", "index": 0}],
              "usageMetadata": {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}}
    if streams:
        return "text/event-stream", f"data: {json.dumps(answer)}\n\n"
    return "application/json", json.dumps(answer)


class Project:
    """A repository for which `loopgate init --agents` has written, with its own home."""

    def __init__(self, loopgate, base_fails=False):
        self.loopgate = loopgate
        self.folder = Path(tempfile.mkdtemp())
        self.root, self.home = self.folder / "project", self.folder / "home"
        self.home.mkdir()
        bin_folder = self.folder / "bin"
        bin_folder.mkdir()
        (bin_folder / "loopgate").symlink_to(loopgate)
        (self.root / ".github").mkdir(parents=True)
        (self.root / "calc.sh").write_text(CALC.replace("7 * 7", "7 + 7") if base_fails else CALC)
        (self.root / "tests.sh").write_text(TESTS)
        (self.root / ".github/loopgate.yml").write_text(
            "version: 1\nverify:\n  checks:\n    unit: { kind: test, run: sh tests.sh }\n")
        self.env = {
            "PATH": f"{bin_folder}:{os.environ['PATH']}", "HOME": str(self.home), "USER": "alice", "LANG": "C.UTF-8",
            "TERM": "dumb", "NO_COLOR": "1", "DO_NOT_TRACK": "1", "GIT_CONFIG_NOSYSTEM": "1",
            # What is no loopback is not there.
            "HTTPS_PROXY": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1,localhost",
        }
        self.run("git", "init", "-qb", "main")
        self.run("git", "config", "user.name", "alice")
        self.run("git", "config", "user.email", "alice@example.com")
        self.run(loopgate, "init", "--agents", "--stop-hooks", "write")
        self.commit()

    def run(self, *command):
        return subprocess.run(command, cwd=self.root, env=self.env, capture_output=True, text=True, timeout=60)

    def verify(self):
        self.run(self.loopgate, "verify")

    def commit(self):
        self.run("git", "add", "-A")
        self.run("git", "commit", "-qm", "Work")

    def edit(self, text):
        (self.root / "notes.txt").write_text(text)

    def breaks(self):
        (self.root / "calc.sh").write_text(CALC.replace("1 + 1", "1 - 1"))


class Agent:
    """How one agent is started, and what is so for it."""

    command = ""
    package = ""
    has_hook = True
    # Whether a person has to allow the hook, and has done so.
    asks, is_allowed = False, True
    # As its requests name a tool of ours.
    tool = "mcp__loopgate__{}"

    def __init__(self, folder, model):
        self.program, self.model = str(Path(folder) / self.command), model

    def prepare(self, project):
        return {}

    def arguments(self, project):
        return []

    def offered(self, tool):
        """What stands in a request that offers this tool."""
        return self.tool.format(tool)

    def starts(self, project):
        env = project.env | self.prepare(project)
        return subprocess.Popen(
            [self.program, *self.arguments(project)], cwd=project.root, env=env, stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def ends(self, project, **begin):
        """Runs it on the prompt. Returns what it printed, and its requests for turns."""
        self.model.begin(**begin)
        process = self.starts(project)
        try:
            printed, noted = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"it does not end after {len(self.model.asked)} requests") from None
        finally:
            end(process)
        if DEBUG:
            print(f"=== {self.name} {process.returncode}\n{printed}\n--- {noted[-3000:]}", file=sys.stderr)
        assert self.model.asked, f"it asks nothing: {printed[-500:]} {noted[-1500:]}"
        return printed, self.model.asked

    def was_held(self, times, asked, reason, printed):
        """It was held so often, for this reason, and its last answer is what it ended with."""
        times = times if self.has_hook else 0
        assert len(asked) == times + 1, f"held {len(asked) - 1} times, not {times}: {asked[-1][-1500:]}"
        assert all(reason in one for one in asked[1:]), f"not by {reason}: {asked[-1][-1500:]}"
        last = f"Answer {len(self.model.asked)}."
        assert last in printed, f"its answer is lost: {printed[-500:]}"


class ClaudeCode(Agent):
    name, command, package = "claude-code", "claude", "@anthropic-ai/claude-code"

    def prepare(self, project):
        servers = {"mcpServers": {"loopgate": {"command": "loopgate", "args": ["mcp"]}}}
        (project.folder / "mcp.json").write_text(json.dumps(servers))
        return {"ANTHROPIC_BASE_URL": self.model.url, "ANTHROPIC_API_KEY": "sk-ant-none", "DISABLE_AUTOUPDATER": "1",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_TELEMETRY": "1", "IS_SANDBOX": "1"}

    def arguments(self, project):
        return ["-p", PROMPT, "--model", "claude-sonnet-4-5", "--mcp-config", str(project.folder / "mcp.json"),
                "--permission-mode", "bypassPermissions", "--allowedTools", "mcp__loopgate__verify"]


class Codex(Agent):
    name, command, package = "codex", "codex", "@openai/codex"
    asks = True
    tool = "mcp__loopgate.{}"

    def prepare(self, project):
        home = project.home / ".codex"
        home.mkdir(exist_ok=True)
        (home / "config.toml").write_text(
            'model = "stand-in"\nmodel_provider = "stand-in"\ncheck_for_update_on_startup = false\n'
            f'[model_providers.stand-in]\nname = "stand-in"\nbase_url = "{self.model.url}/v1"\nenv_key = "STAND_IN_KEY"\n'
            'wire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
            f'[projects."{project.root}"]\ntrust_level = "trusted"\n'
            '[mcp_servers.loopgate]\ncommand = "loopgate"\nargs = ["mcp"]\n[analytics]\nenabled = false\n')
        return {"CODEX_HOME": str(home), "STAND_IN_KEY": "none"}

    def offered(self, tool):
        return f'"name":"{tool}"'

    def arguments(self, project):
        allowed = ["--dangerously-bypass-hook-trust"] if self.is_allowed else []
        return ["exec", *allowed, "--dangerously-bypass-approvals-and-sandbox", PROMPT]


class Copilot(Agent):
    name, command, package = "copilot", "copilot", "@github/copilot"
    asks = True
    tool = "loopgate-{}"

    def prepare(self, project):
        home = project.home / ".copilot"
        home.mkdir(exist_ok=True)
        servers = {"mcpServers": {"loopgate": {"type": "local", "command": "loopgate", "args": ["mcp"], "tools": ["*"]}}}
        (home / "mcp-config.json").write_text(json.dumps(servers))
        return {"COPILOT_PROVIDER_BASE_URL": f"{self.model.url}/v1", "COPILOT_PROVIDER_TYPE": "openai",
                "COPILOT_PROVIDER_API_KEY": "none", "COPILOT_MODEL": "gpt-5", "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_WIRE_API": "completions",
                "COPILOT_AUTO_UPDATE": "false",
                # Or the folder stands in `trusted_folders` of its config.json.
                **({"GITHUB_COPILOT_PROMPT_MODE_REPO_HOOKS": "true"} if self.is_allowed else {})}

    def arguments(self, project):
        return ["-p", PROMPT, "--allow-all-tools", "--no-auto-update"]


class GeminiCli(Agent):
    name, command, package = "gemini-cli", "gemini", "@google/gemini-cli"
    tool = "mcp_loopgate_{}"

    def prepare(self, project):
        home = project.home / ".gemini"
        home.mkdir(exist_ok=True)
        (home / "settings.json").write_text(json.dumps({
            "mcpServers": {"loopgate": {"command": "loopgate", "args": ["mcp"], "trust": True}},
            "general": {"disableAutoUpdate": True, "enableAutoUpdate": False}, "privacy": {"usageStatisticsEnabled": False},
            "security": {"auth": {"selectedType": "gemini-api-key"}},
        }))
        return {"GOOGLE_GEMINI_BASE_URL": self.model.url, "GEMINI_API_KEY": "none", "GEMINI_CLI_TRUST_WORKSPACE": "true"}

    def arguments(self, project):
        return ["-p", PROMPT, "-m", "gemini-2.5-flash", "--approval-mode", "yolo"]


class OpenCode(Agent):
    name, command, package = "opencode", "opencode", "opencode-ai"
    has_hook = False
    tool = "loopgate_{}"

    def prepare(self, project):
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "Stand-in",
                    "options": {"baseURL": f"{self.model.url}/v1", "apiKey": "none"}, "models": {"m": {"name": "m"}}}
        settings = {"provider": {"stand-in": provider}, "model": "stand-in/m", "small_model": "stand-in/m",
                    "autoupdate": False, "share": "disabled",
                    "mcp": {"loopgate": {"type": "local", "command": ["loopgate", "mcp"], "enabled": True}}}
        return {"OPENCODE_CONFIG_CONTENT": json.dumps(settings), "OPENCODE_DISABLE_AUTOUPDATE": "1",
                "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_LSP_DOWNLOAD": "1"}

    def arguments(self, project):
        return ["run", PROMPT]


def is_told_once_and_calls_a_tool(agent, loopgate):
    """Its tree fails. It calls `verify`, and is held three times."""
    project = Project(loopgate)
    project.breaks()
    project.verify()
    printed, asked = agent.ends(project, calls=(agent.tool.format("verify"), {}))
    told = [one.count(INSTRUCTIONS) for one in asked]
    assert set(told) == {1}, f"the instructions stand so often in its requests: {told}"
    missing = [tool for tool in TOOLS if agent.offered(tool) not in asked[0]]
    assert not missing, f"it does not know {missing}"
    assert "loopgate.feedback/v1" in asked[1], f"the tool was not called: {asked[1][-2000:]}"
    agent.was_held(3, asked[1:], "`loopgate verify` fails on this working tree", printed)
    held = ", held three times" if agent.has_hook else ""
    return f"told once, six tools, one called{held}"


def is_held_once_after_an_edit(agent, loopgate):
    project = Project(loopgate)
    project.verify()
    project.edit("Later.\n")
    printed, asked = agent.ends(project)
    agent.was_held(1, asked, "files were edited after the last `loopgate verify`", printed)
    return "held once after an edit"


def is_not_held_by_the_base(agent, loopgate):
    """The base fails in one test, and the change in no other."""
    project = Project(loopgate, base_fails=True)
    project.verify()
    project.run("git", "switch", "-qc", "topic")
    project.edit("A change.\n")
    project.commit()
    project.verify()
    printed, asked = agent.ends(project)
    agent.was_held(0, asked, "", printed)
    return "not held by the base's failure"


def is_let_go_in_the_end(agent, loopgate):
    """It commits in each turn, and repairs nothing."""
    project = Project(loopgate)
    project.breaks()

    def works():
        project.edit(f"Attempt {len(agent.model.asked)}\n")
        project.commit()
        project.verify()

    printed, asked = agent.ends(project, each_turn=works)
    agent.was_held(8, asked, "`loopgate verify` fails on this working tree", printed)
    return "let go after eight in a row"


def leaves_out_what_is_not_allowed(agent, loopgate):
    """Without the word of a person the hook does not run, and nothing says so."""
    project = Project(loopgate)
    project.breaks()
    project.verify()
    agent.is_allowed = False
    printed, asked = agent.ends(project)
    agent.is_allowed = True
    agent.was_held(0, asked, "", printed)
    return "not held where the hook is not allowed"


def ends_what_it_has_begun(agent, loopgate):
    """It is interrupted, as a terminal does it, while its tool runs a check: some are a launcher and a program."""
    project = Project(loopgate)
    (project.root / "tests.sh").write_text("touch began; sleep 77\n")
    agent.model.begin(calls=(agent.tool.format("verify"), {}))
    process = agent.starts(project)
    try:
        until(lambda: (project.root / "began").exists(), "the check does not begin")
        os.killpg(process.pid, signal.SIGINT)
        until(lambda: process.poll() is not None, "it does not end")
        until(lambda: not runs_in(project.root), "a check outlives it")
    finally:
        end(process)
    return "ends a check with itself"


def runs_in(folder):
    """Processes of checks in a folder."""
    found = []
    for place in Path("/proc").glob("[0-9]*/cwd"):
        try:
            command = (place.parent / "cmdline").read_bytes()
            if place.resolve() == folder.resolve() and (b"sleep" in command or b"tests.sh" in command):
                found.append(command)
        except OSError:
            pass
    return found


def until(holds, otherwise, seconds=40):
    ends = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < ends, otherwise
        time.sleep(0.1)


def end(process):
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.communicate()


HELD = [is_held_once_after_an_edit, is_not_held_by_the_base, is_let_go_in_the_end]


def try_out(agent, loopgate):
    """What is so for one agent, as a line; or why it is not."""
    began, found = time.monotonic(), []
    if not Path(agent.program).exists():
        return True, f"{agent.name}: skipped, {agent.package} is not here"
    version = subprocess.run([agent.program, "--version"], capture_output=True, text=True, timeout=60,
                             env={"PATH": os.environ["PATH"], "HOME": tempfile.mkdtemp()})
    trials = [is_told_once_and_calls_a_tool, *(HELD if agent.has_hook else []), ends_what_it_has_begun]
    trials += [leaves_out_what_is_not_allowed] if agent.asks else []
    for trial in trials:
        try:
            found.append(trial(agent, loopgate))
        except AssertionError as error:
            return False, f"{agent.name}: {trial.__name__}: {error}"
    named = version.stdout.strip().splitlines()[:1]
    return True, f"{agent.name} ({' '.join(named)}), {time.monotonic() - began:.0f} s: {'; '.join(found)}"


def main(loopgate, folder, *only):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as below:
        # Homes and projects, of which each agent leaves some hundred megabytes.
        tempfile.tempdir = below
        tried = try_all(loopgate, folder, only)
    for _, line in tried:
        print(line)
    sys.exit(0 if all(is_good for is_good, _ in tried) else 1)


def try_all(loopgate, folder, only):
    agents = [kind(folder, Model()) for kind in (ClaudeCode, Codex, Copilot, GeminiCli, OpenCode)]
    agents = [agent for agent in agents if not only or agent.name in only]
    loopgate = str(Path(loopgate).resolve())
    with concurrent.futures.ThreadPoolExecutor(max_workers=len(agents)) as pool:
        return list(pool.map(lambda agent: try_out(agent, loopgate), agents))


if __name__ == "__main__":
    main(*sys.argv[1:])
