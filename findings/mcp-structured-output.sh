#!/usr/bin/env bash
# @modelcontextprotocol/sdk 1.32.2 (npm), mcp 2.3.0 (PyPI), Node 26.12.1.
#
# Expected: a server that lets a structured result pass has compared it with the schema that it declares, and the text beside
#   it says the same.
# Seen: the SDK for JavaScript declares `additionalProperties: false` and sends a further key nevertheless: the clients of
#   both SDKs refuse the whole result with an error. The SDK for Python drops the key and turns "1" into 1, and keeps both
#   as they were in the text: one result says two things.
# Source: no documentation found.
# Why it matters: a tool that was carried out is an error to its caller, who may call it again. And what an agent read in a
#   text need not be what a program read of the same answer.
set -euo pipefail

# shellcheck source=findings/finding.bash
. "$(dirname "$0")/finding.bash"
node_and_npm_packages 26.12.1 @modelcontextprotocol/sdk@1.32.2 zod@4.1.12
pip_packages mcp==2.3.0

cat >server.mjs <<'CODE'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'
const server = new McpServer({ name: 'example', version: '1' })
const answer = { count: 1, more: 2 }
server.registerTool('count', { outputSchema: { count: z.number() } }, async () => ({
  content: [{ type: 'text', text: JSON.stringify(answer) }],
  structuredContent: answer,
}))
await server.connect(new StdioServerTransport())
CODE
cat >server.py <<'CODE'
from mcp.server import MCPServer
from pydantic import BaseModel

class Answer(BaseModel):
    count: int

server = MCPServer("example")

@server.tool()
def count() -> Answer:
    return {"count": "1", "more": 2}

server.run()
CODE
cat >client.mjs <<'CODE'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
const [command, ...args] = process.argv.slice(2)
const client = new Client({ name: 'example', version: '1' })
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: 'ignore' }))
const { tools } = await client.listTools()
console.log('further keys in the schema:', tools[0].outputSchema.additionalProperties ?? 'allowed')
try {
  const { content, structuredContent } = await client.callTool({ name: 'count', arguments: {} })
  console.log('text:', content[0].text.replace(/\s+/g, ''))
  console.log('structured:', JSON.stringify(structuredContent))
} catch (error) {
  console.log('error:', error.message)
}
await client.close()
CODE
cat >client.py <<'CODE'
import asyncio, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with stdio_client(server) as streams, ClientSession(*streams) as session:
        await session.initialize()
        try:
            print("structured:", (await session.call_tool("count", {})).structured_content)
        except Exception as error:
            print("error:", str(error).splitlines()[0])

asyncio.run(main())
CODE

observe() {
  echo "# server in JavaScript, client in JavaScript"
  node client.mjs node server.mjs
  echo "# server in JavaScript, client in Python"
  python3 client.py node server.mjs
  echo "# server in Python, client in JavaScript"
  node client.mjs python3 server.py 2>/dev/null
}

finding observe <<'RECORDED'
# server in JavaScript, client in JavaScript
further keys in the schema: false
error: MCP error -32602: Structured content does not match the tool's output schema: data must NOT have additional properties
# server in JavaScript, client in Python
error: Invalid structured content returned by tool count: Additional properties are not allowed ('more' was unexpected)
# server in Python, client in JavaScript
further keys in the schema: allowed
text: {"count":"1","more":2}
structured: {"count":1}
RECORDED
