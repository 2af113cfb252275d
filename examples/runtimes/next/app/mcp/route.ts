import { createMcpHandler, McpServer } from 'tenon/server'

const server = new McpServer({ name: 'next-example', version: '1.0.0' })

server.registerTool(
  'greet',
  {
    description: 'Says hello',
    inputSchema: { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] },
  },
  ({ name }) => `Hello, ${name}!`,
)

// When deployed, name the hosts that serve it: createMcpHandler(server, { allowedHosts: ['app.example.com'] })
const handler = createMcpHandler(server)

export const GET = handler.fetch
export const POST = handler.fetch
export const DELETE = handler.fetch
