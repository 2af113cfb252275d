import { createServer } from 'node:http'
import { createMcpHandler, McpServer } from 'tenon/server'

const server = new McpServer({ name: 'node-http-example', version: '1.0.0' })
const inputSchema = { type: 'object', properties: { name: { type: 'string' } }, required: ['name'] }
server.registerTool('greet', { description: 'Says hello', inputSchema }, ({ name }) => `Hello, ${name}!`)

// For a server that does nothing else, serveHttp(server) is all it takes.
const handler = createMcpHandler(server)
const http = createServer((request, response) => {
  if (request.url === '/mcp') handler.node(request, response)
  else response.writeHead(404).end()
})
http.listen(3000, '127.0.0.1', () => console.log('http://127.0.0.1:3000/mcp'))
