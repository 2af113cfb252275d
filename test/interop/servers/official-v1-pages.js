import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { info, lie, page } from './pages.js'

const server = new Server(info, { capabilities: { tools: {} } })
server.setRequestHandler(ListToolsRequestSchema, ({ params }) => page(params?.cursor))
server.setRequestHandler(CallToolRequestSchema, () => lie)
await server.connect(new StdioServerTransport())
