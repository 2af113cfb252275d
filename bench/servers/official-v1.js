import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { echoTool, extraTools, listedTool, offersForm, serverInfo } from '../definitions.js'
import { echoShape, formShape, searchShape } from '../zod-schemas.js'

const server = new McpServer(serverInfo)
server.registerTool('echo', { description: echoTool.description, inputSchema: echoShape }, ({ text }) => ({
  content: [{ type: 'text', text }],
}))
for (let n = 0; n < extraTools; n++) {
  const { name, description } = listedTool(n)
  server.registerTool(name, { description, inputSchema: searchShape() }, ({ query }) => ({
    content: [{ type: 'text', text: query }],
  }))
}
if (offersForm) {
  server.registerTool('form', { description: 'A long form', inputSchema: formShape() }, ({ text0 }) => ({
    content: [{ type: 'text', text: text0 }],
  }))
}

await server.connect(new StdioServerTransport())
