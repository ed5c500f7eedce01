#!/usr/bin/env bash
# @octokit/core 7.0.8, @octokit/plugin-paginate-rest 16.0.0 (npm); PyGithub 2.10.0 (PyPI); Node 26.12.1; a server on the loopback.
#
# Expected: a list over pages is whole or an error.
# Seen: Octokit takes 409 on any page for the end of the list: what came before is the answer. PyGithub ends at a page that is
#   empty, though a next one is named; Octokit goes on. Of an object with two lists Octokit's answer is the first alone, of
#   one with a number in front it raises a TypeError, and of one without a total it makes a list of that object. That a
#   search was cut short (`incomplete_results`) and the total are in neither's list.
# Source: https://docs.github.com/en/rest/using-the-rest-api/using-pagination-in-the-rest-api
#   has the Link header; that 409 is the end: no documentation found.
# Why it matters: "all check runs passed" over a list that ends in the middle.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @octokit/core@7.0.8 @octokit/plugin-paginate-rest@16.0.0
pip_packages PyGithub==2.10.0

cat >octokit.mjs <<'CODE'
import { Octokit } from "@octokit/core";
import { paginateRest } from "@octokit/plugin-paginate-rest";
const [baseUrl, path] = process.argv.slice(2);
const kit = new (Octokit.plugin(paginateRest))({ baseUrl });
const numbers = (list) => list.map((item) => item.number ?? item);
console.log(JSON.stringify(await kit.paginate(`GET ${path}`).then(numbers, (error) => error.name)));
CODE
ln -s "$folder/node_modules" node_modules
cat >ask.py <<'CODE'
import http.server, json, logging, re, subprocess, threading
import github

class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        kind = self.path.split("/")[2]
        page = int((re.findall(r"[?&]page=(\d+)", self.path) or ["1"])[0])
        items = [{"number": page * 10 + at, "url": base + "/one"} for at in range(2)]
        status, body = 200, items
        if page == 2 and kind.isdigit():
            status, body = int(kind), {"message": "no"}
        elif page == 2 and kind == "empty":
            body = []
        elif kind == "two-lists":
            body = {"total_count": 4, "first": [1, 2], "second": [3, 4]}
        elif kind == "number":
            body = {"total_count": 2, "attempt": 1, "jobs": [1, 2]}
        elif kind == "no-total":
            body = {"jobs": [1, 2]}
        elif kind == "search":
            body = {"total_count": 900, "incomplete_results": True, "items": items}
        self.send_response(status)
        self.send_header("content-type", "application/json")
        if page < 3 and isinstance(body, list):
            self.send_header("link", f'<{base}{self.path.split("?")[0]}?page={page + 1}>; rel="next"')
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())
    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answer)
base = f"http://127.0.0.1:{server.server_port}"
threading.Thread(target=server.serve_forever, daemon=True).start()
logging.disable(logging.CRITICAL)
kit = github.Github(base_url=base, retry=None, seconds_between_requests=None)

for kind in ["whole", "404", "409", "empty", "search", "two-lists", "number", "no-total"]:
    path = f"/repos/{kind}/r/issues"
    print(f"{kind}: octokit", subprocess.run(["node", "octokit.mjs", base, path], capture_output=True, text=True).stdout.strip(), end="")
    if kind in ("whole", "404", "409", "empty"):
        try:
            seen = [issue.number for issue in kit.get_repo(f"{kind}/r", lazy=True).get_issues()]
        except github.GithubException as error:
            seen = type(error).__name__
        print(", PyGithub", seen, end="")
    print()
CODE

observe() {
  python3 -W ignore ask.py
}

finding observe <<'RECORDED'
whole: octokit [10,11,20,21,30,31], PyGithub [10, 11, 20, 21, 30, 31]
404: octokit "HttpError", PyGithub GithubException
409: octokit [10,11], PyGithub GithubException
empty: octokit [10,11,30,31], PyGithub [10, 11]
search: octokit [10,11]
two-lists: octokit [1,2]
number: octokit "TypeError"
no-total: octokit [{"jobs":[1,2]}]
RECORDED
