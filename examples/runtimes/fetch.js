// bun fetch.js, deno serve fetch.js, or a Worker.
import { createMcpHandler, McpServer } from 'tenon/server'

const server = new McpServer({ name: 'fetch-example', version: '1.0.0' })
const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
server.registerTool('greet', { description: 'Says hello', inputSchema }, ({ name }) => `Hello, ${name}!`)

// Under a name of its own, a server says which: createMcpHandler(server, { allowedHosts: ['mcp.example.com'] })
const handler = createMcpHandler(server)

export default {
  fetch(request) {
    if (new URL(request.url).pathname === '/mcp') return handler.fetch(request)
    return new Response('Not found', { status: 404 })
  },
}
