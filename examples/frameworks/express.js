import express from 'express'
import { createMcpHandler, McpServer } from 'tenon/server'

const server = new McpServer({ name: 'express-example', version: '1.0.0' })
const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
server.registerTool('greet', { description: 'Says hello', inputSchema }, ({ name }) => `Hello, ${name}!`)

const handler = createMcpHandler(server)
const app = express()
// Not needed for MCP; where a parser was faster, its body is taken.
app.use(express.json())
app.all('/mcp', handler.node)
app.listen(3000, '127.0.0.1', () => console.log('http://127.0.0.1:3000/mcp'))
