#!/usr/bin/env bash
# mcp 2.3.0 (PyPI), @modelcontextprotocol/sdk 1.32.2 (npm), Node 26.10.0.
#
# Expected: an exception of a tool reaches the client as an error result that holds its message, in both SDKs.
# Seen: the SDK for JavaScript sends the message. The one for Python sends "Error executing tool NAME" and keeps the
#   message for its own log, unless what was raised is its own ToolError.
# Source: releases of servers that were built on it tell of the change in mcp 2.1; no documentation found.
# Why it matters: an agent behind a Python server may learn that a tool failed and never why. Such an answer is no
#   message to quote as a cause.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.10.0 @modelcontextprotocol/sdk@1.32.2
pip_packages mcp==2.3.0

cat >server.mjs <<'CODE'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
const server = new McpServer({ name: 'example', version: '1' })
server.registerTool('wait', {}, async () => { throw new Error('the check is still running') })
await server.connect(new StdioServerTransport())
CODE
cat >server.py <<'CODE'
from mcp.server import MCPServer
from mcp.server.mcpserver.exceptions import ToolError

server = MCPServer("example")

@server.tool()
def wait() -> str:
    raise ValueError("the check is still running")

@server.tool()
def wait_and_tell() -> str:
    raise ToolError("the check is still running")

server.run()
CODE
cat >client.py <<'CODE'
import json, subprocess, sys

tool = sys.argv[1]
server = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)

def answer(id):
    for line in server.stdout:
        message = json.loads(line)
        if message.get("id") == id:
            return message

client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}
send(id=1, method="initialize", params=client)
answer(1)
send(method="notifications/initialized")
send(id=2, method="tools/call", params={"name": tool, "arguments": {}})
result = answer(2)["result"]
print(sys.argv[2], tool, result["isError"], [part["text"] for part in result["content"]])
server.stdin.close()
server.wait()
CODE

observe() {
  python3 client.py wait node server.mjs
  python3 client.py wait python3 server.py
  python3 client.py wait_and_tell python3 server.py
}

finding observe <<'RECORDED'
node wait True ['the check is still running']
python3 wait True ['Error executing tool wait']
python3 wait_and_tell True ['Error executing tool wait_and_tell: the check is still running']
RECORDED
