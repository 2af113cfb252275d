import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { info, lie, page } from './pages.js'
import { serve } from './serve-official-v1.js'

await serve(() => {
  const server = new Server(info, { capabilities: { tools: {} } })
  server.setRequestHandler(ListToolsRequestSchema, ({ params }) => page(params?.cursor))
  server.setRequestHandler(CallToolRequestSchema, () => lie)
  return server
})
