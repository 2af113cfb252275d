import fastify from 'fastify'
import { createMcpHandler, McpServer } from 'tenon/server'

const server = new McpServer({ name: 'fastify-example', version: '1.0.0' })
const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
server.registerTool('greet', { description: 'Says hello', inputSchema }, ({ name }) => `Hello, ${name}!`)

const handler = createMcpHandler(server)
const app = fastify()
app.all('/mcp', (request, reply) => {
  // From here on the answer is ours, streams too.
  reply.hijack()
  handler.node(request.raw, reply.raw, request.body)
})
await app.listen({ port: 3000, host: '127.0.0.1' })
console.log('http://127.0.0.1:3000/mcp')
