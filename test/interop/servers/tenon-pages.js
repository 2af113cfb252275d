import { McpServer } from 'tenon/server'
import { info, lie, tools } from './pages.js'
import { serve } from './serve-tenon.js'

const server = new McpServer(info, { pageSize: 2 })
for (const { name, inputSchema, outputSchema } of tools) {
  server.registerTool(name, { inputSchema, outputSchema }, () => ({ content: [] }))
}
// Uses the low-level server, because McpServer would reject the invalid output.
server.server.setRequestHandler('tools/call', () => lie)
await serve(server)
