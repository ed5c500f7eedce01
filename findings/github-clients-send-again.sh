#!/usr/bin/env bash
# @octokit/core 7.0.8, @octokit/plugin-retry 8.1.1, @octokit/plugin-throttling 11.0.5 (npm); PyGithub 2.10.0,
# githubkit 0.16.1 with hishel 1.4.0 (PyPI); Node 26.12.1; a server on the loopback.
#
# Expected: a client asks again what changes nothing: a GET after a 5xx, and what a rate limit refused, once that has passed.
# Seen: all three send a POST that was answered with 502 again, PyGithub ten times and without a pause; what it raises then is
#   no exception of its own. Octokit repeats a conflict (409), and a request that a limit refused with 429 three times before
#   its throttling waits. PyGithub does not wait for a limit that came with 429; githubkit and Octokit wait where access was
#   refused for another reason while none were left. (githubkit takes hishel 2.0.0, and cannot be imported then.)
# Source: https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api
#   has 403 and 429 for the limits; the README of plugin-retry names the statuses that it leaves alone, 409 is not among
#   them; that methods do not matter: no documentation found.
# Why it matters: a comment, a review or a merge behind a gateway that answered too late is made twice or more often.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @octokit/core@7.0.8 @octokit/plugin-retry@8.1.1 @octokit/plugin-throttling@11.0.5
pip_packages PyGithub==2.10.0 githubkit==0.16.1 hishel==1.4.0

# Answers every request as its path says, but the last ones of a limit with success, and tells how many there were.
cat >server.py <<'CODE'
import http.server, json, time

class Answer(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    seen = {}
    def answer(self):
        self.rfile.read(int(self.headers.get("content-length") or 0))
        name = self.path.strip("/")
        if name.startswith("count/"):
            return self.send(200, {}, {"count": self.seen.pop(name[6:], 0)})
        self.seen[name] = self.seen.get(name, 0) + 1
        kind = name.split("-", 1)[1]
        if kind.startswith("limit") and self.seen[name] > int(kind[-1]):
            return self.send(200, {}, {})
        spent = {"x-ratelimit-remaining": "0", "x-ratelimit-limit": "5000", "x-ratelimit-reset": str(int(time.time()) + 1)}
        match kind[:3], kind:
            case "lim", _:
                self.send(int(kind[5:8]), spent, {"message": "API rate limit exceeded for user ID 1."})
            case "ref", _:
                self.send(403, spent, {"message": "Resource not accessible by integration"})
            case _, _:
                self.send(int(kind), {}, {"message": "no"})
    do_GET = do_POST = do_PUT = answer
    def send(self, status, headers, body):
        body = json.dumps(body).encode()
        self.send_response(status)
        for name, value in {**headers, "content-type": "application/json", "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
CODE
cat >octokit.mjs <<'CODE'
import { Octokit } from "@octokit/core";
import { retry } from "@octokit/plugin-retry";
import { throttling } from "@octokit/plugin-throttling";
const [baseUrl, method, path] = process.argv.slice(2);
const log = { debug() {}, info() {}, warn() {}, error() {} };
let waits = 0;
const again = (after, options, kit, before) => (waits++, before < 1);
const throttle = { onRateLimit: again, onSecondaryRateLimit: again };
const Kit = Octokit.plugin(retry, throttling);
const kit = new Kit({ baseUrl, log, throttle, retry: { retryAfterBaseValue: 1 } });
const end = await kit.request(`${method} ${path}`).then(() => "success", (error) => error.name);
console.log(`${end}, told of a limit ${waits} times`);
CODE
ln -s "$folder/node_modules" node_modules
cat >ask.py <<'CODE'
import logging, subprocess, threading, time, urllib.request, json
import github, githubkit
from server import server

threading.Thread(target=server.serve_forever, daemon=True).start()
base = f"http://127.0.0.1:{server.server_port}"
logging.disable(logging.CRITICAL)
slept = []
time.sleep = lambda seconds: slept.append(seconds)

def pygithub(method, path):
    kit = github.Github(base_url=base, auth=github.Auth.Token("x"), seconds_between_requests=None, seconds_between_writes=None)
    kit.requester.requestJsonAndCheck(method, path)

def githubkit_(method, path):
    githubkit.GitHub("x", base_url=base + "/").request(method, path)

def octokit(method, path):
    return subprocess.run(["node", "octokit.mjs", base, method, path], capture_output=True, text=True).stdout.strip()

for method, kind in [("POST", "502"), ("PUT", "409"), ("GET", "limit403x1"), ("GET", "limit429x1"), ("GET", "limit429x4"), ("GET", "refused")]:
    print(method, kind)
    for name, call in [("octokit", octokit), ("PyGithub", pygithub), ("githubkit", githubkit_)]:
        slept.clear()
        path = f"/{name}-{kind}"
        try:
            end = call(method, path) or "success"
        except Exception as error:
            end = f"{type(error).__module__.split('.')[0]}.{type(error).__name__}"
        with urllib.request.urlopen(f"{base}/count{path}") as answer:
            count = json.load(answer)["count"]
        waited = "" if name == "octokit" else ", waited" if any(second > 0.01 for second in slept) else ", no pause"
        print(f"  {name}: {count} requests{waited}, {end}")
CODE

observe() {
  python3 ask.py
}

finding observe <<'RECORDED'
POST 502
  octokit: 4 requests, HttpError, told of a limit 0 times
  PyGithub: 11 requests, no pause, requests.RetryError
  githubkit: 4 requests, waited, githubkit.RequestFailed
PUT 409
  octokit: 4 requests, HttpError, told of a limit 0 times
  PyGithub: 1 requests, no pause, github.GithubException
  githubkit: 1 requests, no pause, githubkit.RequestFailed
GET limit403x1
  octokit: 2 requests, success, told of a limit 1 times
  PyGithub: 2 requests, waited, success
  githubkit: 2 requests, waited, success
GET limit429x1
  octokit: 2 requests, success, told of a limit 0 times
  PyGithub: 1 requests, no pause, github.GithubException
  githubkit: 2 requests, waited, success
GET limit429x4
  octokit: 5 requests, success, told of a limit 1 times
  PyGithub: 1 requests, no pause, github.GithubException
  githubkit: 2 requests, waited, githubkit.PrimaryRateLimitExceeded
GET refused
  octokit: 2 requests, HttpError, told of a limit 2 times
  PyGithub: 1 requests, no pause, github.GithubException
  githubkit: 2 requests, waited, githubkit.PrimaryRateLimitExceeded
RECORDED
