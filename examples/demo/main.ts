import { parseArgs } from 'node:util'
import { McpError } from 'tenon'
import { type ServingHttp, serveHttp } from 'tenon/server'

const wanted = readPort()

// The definition opens its database when it is loaded.
process.env.TENON_DEMO_DB ??= 'tenon-demo.db'
const { server } = await import('./server.ts')

const { url } = await serve(wanted)
console.log(`The demo server speaks every revision of MCP on ${url}

Claude Code
  claude mcp add --transport http tenon-demo ${url}
VS Code, .vscode/mcp.json
  { "servers": {
    "tenon-demo": { "type": "http", "url": "${url}" } } }
Cursor, .cursor/mcp.json
  { "mcpServers": { "tenon-demo": { "url": "${url}" } } }
Claude Desktop, claude_desktop_config.json
  { "mcpServers": { "tenon-demo": {
    "command": "npx",
    "args": ["-y", "mcp-remote", "${url}"] } } }
The command line of Tenon, in your clone
  node packages/cli/dist/main.js list ${url}

Its notes are in ${process.env.TENON_DEMO_DB}. Ctrl-C ends it.`)

/** The port that was asked for, or another when it is taken. */
async function serve(port: number): Promise<ServingHttp> {
  try {
    return await serveHttp(server, { port, sse: true, inspector: true })
  } catch (error) {
    if (!(error instanceof McpError) || error.code !== 'listen-failed' || port === 0) throw error
    console.log(`${error.message}. Another port is used.`)
    return serveHttp(server, { port: 0, sse: true, inspector: true })
  }
}

function readPort(): number {
  try {
    const { values } = parseArgs({ options: { port: { type: 'string', default: '3000' } } })
    const port = Number(values.port)
    if (Number.isInteger(port) && port >= 0 && port <= 65_535) return port
  } catch {
    // Told below.
  }
  console.error('Usage: npm start -- --port <0 to 65535>')
  process.exit(2)
}
