import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { serverInfo } from '../definitions.js'
import { zodTools } from '../zod-tools.js'

const server = new McpServer(serverInfo)
zodTools()(server)
await server.connect(new StdioServerTransport())
