#!/usr/bin/env python3
"""Every command of README.md is run here, or has a reason why it is not; every page of the server it starts is opened.

    .ci/readme.py LOOPGATE

LOOPGATE is the program. A command that README has and this file has not fails, and so does the other way round.
"""
import html.parser
import json
import re
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOOPGATE = Path(sys.argv[1]).resolve()
MOST_PAGES = 200

CI = """name: CI
on: pull_request
jobs:
  test:
    runs-on: ubuntu-latest
    steps:
      - run: python3 -m unittest discover -s tests
"""
TEST = """import unittest


class Sum(unittest.TestCase):
    def test_sum(self):
        self.assertEqual(1 + 1, 2)
"""


def project(folder):
    """A small repository with a CI of its own."""
    for path, text in {".github/workflows/ci.yml": CI, "tests/test_sum.py": TEST, "pyproject.toml": ""}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    subprocess.run(["git", "init", "--quiet"], cwd=folder, check=True)
    subprocess.run(["git", "add", "--all"], cwd=folder, check=True)
    identity = ["-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run(["git", *identity, "commit", "--quiet", "--message=Begin"], cwd=folder, check=True)


def run(command, folder, code=0, given=None):
    ended = subprocess.run(command, cwd=folder, input=given, capture_output=True, text=True, timeout=300)
    assert ended.returncode == code, f"{command}: {ended.returncode}, not {code}\n{ended.stdout}{ended.stderr}"
    return ended.stdout


class Links(html.parser.HTMLParser):
    """What a page leads to."""

    def __init__(self, page):
        super().__init__()
        self.found = set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        self.found.update(value for name, value in attributes if name in ("href", "src") and value)


def opened(address):
    try:
        with urllib.request.urlopen(address, timeout=30) as answer:
            return answer.status, answer.headers.get_content_type(), answer.read().decode(errors="replace")
    except urllib.error.HTTPError as refused:
        return refused.code, "", refused.read().decode(errors="replace")


def every_page(starts):
    """Opens the addresses and all that they lead to on the same server."""
    waiting, seen = list(starts), set(starts)
    hosts = {urllib.parse.urlsplit(start).netloc for start in starts}
    while waiting and len(seen) <= MOST_PAGES:
        address = waiting.pop()
        status, kind, page = opened(address)
        assert status == 200, f"{address}: {status}\n{page[:500]}"
        if kind != "text/html":
            continue
        for link in Links(page).found:
            there = urllib.parse.urldefrag(urllib.parse.urljoin(address, link)).url
            parts = urllib.parse.urlsplit(there)
            if parts.netloc in hosts and parts.path != "/events" and there not in seen:
                seen.add(there)
                waiting.append(there)
    print(f"   {len(seen)} addresses opened")


class Started:
    """A program that goes on until it is stopped, and the addresses that it prints."""

    def __init__(self, command, folder, addresses):
        self.process = subprocess.Popen(
            command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        self.addresses = []
        for line in self.process.stdout:
            self.addresses += re.findall(r"http://127\.0\.0\.1:\d+\S*", line)
            if len(self.addresses) >= addresses:
                return
        raise AssertionError(f"{command} ended with {self.process.wait()} before it printed {addresses} addresses")

    def __enter__(self):
        return self.addresses

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait(timeout=30)


def demo(folder):
    facts = json.loads(run([LOOPGATE, "demo", "--json"], folder))
    assert facts["merged"] and facts["memory_matches"] and facts["gates"]["security"]["refused"], facts


def demo_that_serves(folder):
    with Started([LOOPGATE, "demo", "--fast", "--serve"], folder, 2) as addresses:
        every_page(addresses)


def setup(folder):
    command = [LOOPGATE, "setup", "--organization", "acme", "--public-url", "https://loopgate.example.com"]
    with Started(command, folder, 1) as addresses:
        status, _, page = opened(addresses[0])
        assert status == 200 and "acme" in page, page[:500]


def install(folder):
    # The same command, in the profile and the folder whose dependencies are built already.
    target = LOOPGATE.parent.parent
    run(["cargo", "install", "--locked", "--path", ROOT, "--debug", "--root", folder, "--target-dir", target], folder)
    run([folder / "bin/loopgate", "--version"], folder)


def verify(folder):
    project(folder)
    run([LOOPGATE, "verify"], folder)


def init(folder):
    project(folder)
    run([LOOPGATE, "init"], folder)
    run([LOOPGATE, "check-config"], folder)
    run([LOOPGATE, "verify"], folder)


def mcp(folder):
    hello = {
        "jsonrpc": "2.0", "id": 1, "method": "initialize",
        "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "readme", "version": "1"}},
    }
    answer = json.loads(run([LOOPGATE, "mcp"], folder, given=json.dumps(hello) + "\n").splitlines()[0])
    assert answer["result"]["serverInfo"]["name"] == "loopgate", answer


def comment(words):
    def understood(folder):
        document = json.loads(run([LOOPGATE, "inspect", "comment", "--format", "json"], folder, given=words))
        assert document["intents"] and not document["near_misses"], document
    return understood


ACCOUNT = "needs an account, an App or a repository on GitHub"
STEP = "is a step of its own of .ci/run"
COMMANDS = {
    "cargo run -- demo": demo,
    "cargo run -- demo --serve": demo_that_serves,
    "cargo run -- try OWNER/REPO --html history.html": ACCOUNT,
    "cargo test": STEP,
    "cargo clippy --all-targets -- -D warnings": STEP,
    "cargo fmt --check": STEP,
    ".ci/run": "runs this",
    "cargo install --locked --path .": install,
    "docker build -t loopgate .": "needs a container engine",
    "loopgate setup --organization acme --public-url https://loopgate.example.com": setup,
    "loopgate serve": ACCOUNT,
    "loopgate doctor acme/widgets": ACCOUNT,
    "loopgate verify": verify,
    "loopgate init": init,
    "loopgate feedback OWNER/REPO#12 --wait": ACCOUNT,
    "loopgate mcp": mcp,
    "security approved": comment("security approved"),
    "security rejected": comment("security rejected"),
    "security approval revoked": comment("security approval revoked"),
    "/loop retry": comment("/loop retry"),
    "/loop resume": comment("/loop resume"),
    "/loop dispute <failure> <reason>": comment("/loop dispute 3fa9c01b an hour leaves 0, not 1"),
    "/loop explain": comment("/loop explain"),
}


def commands(readme):
    """What stands in blocks of a shell, and in the text between backticks, as a command or as words of a comment."""
    blocks = re.findall(r"```sh\n(.*?)```", readme, re.S)
    lines = [line.split(" #")[0].strip() for block in blocks for line in block.splitlines()]
    text = re.sub(r"```.*?```", "", readme, flags=re.S)
    begins = re.compile(r"(loopgate |cargo |docker |gh |\.ci/|/loop |security )")
    return {one for one in [*lines, *re.findall(r"`([^`\n]+)`", text)] if begins.match(one)} - {"loopgate / verify", "loopgate / gates"}


def configuration(readme):
    (text,) = re.findall(r"```yaml\n(.*?)```", readme, re.S)
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "loopgate.yml").write_text(text)
        run([LOOPGATE, "check-config", "loopgate.yml"], folder)


def main():
    readme = (ROOT / "README.md").read_text()
    found = commands(readme)
    assert found == COMMANDS.keys(), f"unknown here: {found - COMMANDS.keys()}, not in README.md: {COMMANDS.keys() - found}"
    configuration(readme)
    for command, how in COMMANDS.items():
        if isinstance(how, str):
            print(f"not run  {command}: {how}")
            continue
        since = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            how(Path(folder))
        print(f"ran      {command} ({time.monotonic() - since:.1f} s)", flush=True)


main()
