#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2, @modelcontextprotocol/server 2.4.0, zod 4.6.7 (npm); mcp 2.3.0, fastmcp 4.2.3 (PyPI); Node
# 26.12.1.
#
# Expected: four servers with one tool, whose one argument is an integer, give the same answers to the same wrong calls: an
#   error of the protocol for a name that is not there, and an error result for a wrong argument.
# Seen: a tool that is not there is an error of the protocol to one of four. An argument that is not in the schema is an error
#   to fastmcp and dropped without a word by the others. Both of Python call the tool with 7 for "7" and with 1 for true, both
#   of JavaScript refuse. A prompt that is not there has the code 0 in mcp's own server, and -32602 in the others.
# Source: https://modelcontextprotocol.io/specification/2025-06-18/server/tools has -32602 for an unknown tool; of arguments no
#   documentation found.
# Why it matters: a client that looks at `error` alone takes a missing tool for one that ran. Whether an argument with a slip in
#   its name is told to the agent, or the tool runs without it, depends on the server.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @modelcontextprotocol/sdk@1.32.2 @modelcontextprotocol/server@2.4.0 zod@4.6.7
pip_packages mcp==2.3.0 fastmcp==4.2.3

ln -s "$folder/node_modules" node_modules
cat >sdk.mjs <<'CODE'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'
const server = new McpServer({ name: 'example', version: '1' })
const inputSchema = { job: z.number().int() }
server.registerTool('rerun', { inputSchema }, async ({ job }) => ({ content: [{ type: 'text', text: `job ${job}` }] }))
server.registerPrompt('fix', {}, async () => ({ messages: [] }))
await server.connect(new StdioServerTransport())
CODE
cat >server.mjs <<'CODE'
import { McpServer } from '@modelcontextprotocol/server'
import { StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import { z } from 'zod'
const server = new McpServer({ name: 'example', version: '1' })
const inputSchema = z.object({ job: z.number().int() })
server.registerTool('rerun', { inputSchema }, async ({ job }) => ({ content: [{ type: 'text', text: `job ${job}` }] }))
server.registerPrompt('fix', {}, async () => ({ messages: [] }))
await server.connect(new StdioServerTransport())
CODE
cat >mcp_server.py <<'CODE'
from mcp.server import MCPServer

server = MCPServer("example")

@server.tool()
def rerun(job: int) -> str:
    return f"job {job}"

@server.prompt()
def fix() -> str:
    return ""

server.run()
CODE
sed 's/mcp.server import MCPServer/fastmcp import FastMCP as MCPServer/; s/server.run()/server.run(show_banner=False)/' \
  mcp_server.py >fastmcp_server.py
cat >client.py <<'CODE'
import json, subprocess

servers = {
    "sdk 1.32": ["node", "sdk.mjs"],
    "server 2.4": ["node", "server.mjs"],
    "mcp": ["python3", "mcp_server.py"],
    "fastmcp": ["python3", "fastmcp_server.py"],
}
calls = [
    ("a tool that is not there", "tools/call", {"name": "re-run", "arguments": {"job": 7}}),
    ("an argument more", "tools/call", {"name": "rerun", "arguments": {"job": 7, "dry-run": True}}),
    ("no argument", "tools/call", {"name": "rerun", "arguments": {}}),
    ("a text", "tools/call", {"name": "rerun", "arguments": {"job": "7"}}),
    ("true", "tools/call", {"name": "rerun", "arguments": {"job": True}}),
    ("7.5", "tools/call", {"name": "rerun", "arguments": {"job": 7.5}}),
    ("a prompt that is not there", "prompts/get", {"name": "mend"}),
]
client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "client", "version": "1"}}
answers = {}
for name, command in servers.items():
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def send(**message):
        print(json.dumps({"jsonrpc": "2.0", **message}), file=server.stdin, flush=True)

    def answer(id):
        for line in server.stdout:
            message = json.loads(line)
            if message.get("id") == id:
                return message

    send(id=0, method="initialize", params=client)
    answer(0)
    send(method="notifications/initialized")
    for at, (title, method, params) in enumerate(calls, 1):
        send(id=at, method=method, params=params)
        message = answer(at)
        if "error" in message:
            found = f"error {message['error']['code']}"
        elif message["result"].get("isError"):
            found = "error result"
        else:
            found = message["result"]["content"][0]["text"]
        answers.setdefault(title, []).append(f"{name}: {found}")
    server.stdin.close()
    server.wait()
for title, found in answers.items():
    print(title, *found, sep="\n  ")
CODE

observe() {
  python3 client.py
}

finding observe <<'RECORDED'
a tool that is not there
  sdk 1.32: error result
  server 2.4: error -32602
  mcp: error result
  fastmcp: error result
an argument more
  sdk 1.32: job 7
  server 2.4: job 7
  mcp: job 7
  fastmcp: error result
no argument
  sdk 1.32: error result
  server 2.4: error result
  mcp: error result
  fastmcp: error result
a text
  sdk 1.32: error result
  server 2.4: error result
  mcp: job 7
  fastmcp: job 7
true
  sdk 1.32: error result
  server 2.4: error result
  mcp: job 1
  fastmcp: job 1
7.5
  sdk 1.32: error result
  server 2.4: error result
  mcp: error result
  fastmcp: error result
a prompt that is not there
  sdk 1.32: error -32602
  server 2.4: error -32602
  mcp: error 0
  fastmcp: error -32602
RECORDED
