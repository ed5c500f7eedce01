#!/usr/bin/env bash
# npm 11.19.1, Node 26.10.0.
#
# Expected: `npm install NAME` installs the version of the tag `latest`, and warns (EBADENGINE) if its `engines` exclude this
#   Node.
# Seen: without a word npm installs an older version whose `engines` fit, though `npm view` and `npm outdated` name the newer
#   one. Only `NAME@latest` installs that, with the warning.
# Source: https://docs.npmjs.com/cli/v11/commands/npm-install, a note below `npm install <name>`.
# Why it matters: jobs of one matrix that install a linter or a test runner without a lock file run different versions of it, each on
#   its Node. A failure in one job alone need not be the change's, nor the Node's.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 npm@11.19.1

cat >registry.py <<'CODE'
import base64, hashlib, http.server, io, json, tarfile

def packed(version):
    text = json.dumps({"name": "example-tool", "version": version}).encode()
    into = io.BytesIO()
    with tarfile.open(fileobj=into, mode="w:gz") as archive:
        member = tarfile.TarInfo("package/package.json")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text))
    return into.getvalue()

packages = {version: packed(version) for version in ("1.0.0", "2.0.0")}

class Registry(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        version = self.path.removeprefix("/example-tool-").removesuffix(".tgz")
        self.send_response(200)
        self.end_headers()
        self.wfile.write(packages[version] if version in packages else json.dumps(self.about()).encode())

    def about(self):
        return {"name": "example-tool", "dist-tags": {"latest": "2.0.0"}, "versions": {
            version: {"name": "example-tool", "version": version, "engines": {"node": node}, "dist": {
                "tarball": f"http://127.0.0.1:{server.server_port}/example-tool-{version}.tgz",
                "integrity": "sha512-" + base64.b64encode(hashlib.sha512(packages[version]).digest()).decode()}}
            for version, node in (("1.0.0", ">=20"), ("2.0.0", ">=99"))}}

    def log_message(self, *_):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Registry)
print(server.server_port, flush=True)
server.serve_forever()
CODE
coproc registry { exec python3 registry.py; }
trap 'kill "$registry_PID"; rm -rf "$folder"' EXIT
read -r port <&"${registry[0]}"
npm_config_registry=http://127.0.0.1:$port
export npm_config_registry npm_config_cache=$folder/cache npm_config_update_notifier=false npm_config_fund=false npm_config_audit=false

installed() {
  npm install "$1" >"$folder/out" 2>&1
  echo "npm install $1: $(node -p 'require("./node_modules/example-tool/package.json").version'), $(grep -c EBADENGINE "$folder/out" || :) lines of EBADENGINE"
}

observe() {
  echo "npm view: $(npm view example-tool version)"
  installed example-tool
  installed example-tool@latest
}

finding observe <<'RECORDED'
npm view: 2.0.0
npm install example-tool: 1.0.0, 0 lines of EBADENGINE
npm install example-tool@latest: 2.0.0, 5 lines of EBADENGINE
RECORDED
