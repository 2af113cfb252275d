// app/mcp/route.js of a Next.js app
import { createMcpHandler, McpServer } from 'tenon/server'

const server = new McpServer({ name: 'next-example', version: '1.0.0' })
const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
server.registerTool('greet', { description: 'Says hello', inputSchema }, ({ name }) => `Hello, ${name}!`)

// Deployed, it says under which name: createMcpHandler(server, { allowedHosts: ['app.example.com'] })
const handler = createMcpHandler(server)

export const GET = (request) => handler.fetch(request)
export const POST = GET
export const DELETE = GET
