import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { serverInfo } from '../../definitions.js'
import { zodTools } from '../../zod-tools.js'
import { perRequest, perSession } from './official.js'
import { mode, stand } from './stand.js'

const registerTools = zodTools()

function createServer() {
  const server = new McpServer(serverInfo)
  registerTools(server)
  return server
}

await stand((mode === 'sessions' ? perSession : perRequest)(createServer, StreamableHTTPServerTransport))
