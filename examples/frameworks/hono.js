import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { createMcpHandler, McpServer } from 'tenon/server'

const server = new McpServer({ name: 'hono-example', version: '1.0.0' })
const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
server.registerTool('greet', { description: 'Says hello', inputSchema }, ({ name }) => `Hello, ${name}!`)

const handler = createMcpHandler(server)
const app = new Hono()
app.all('/mcp', (c) => handler.fetch(c.req.raw))
serve({ fetch: app.fetch, port: 3000, hostname: '127.0.0.1' }, () => console.log('http://127.0.0.1:3000/mcp'))
