import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod'
import { echoTool, extraTools, listedTool, offersForm, serverInfo } from '../definitions.js'
import { echoShape, formShape, searchShape } from '../zod-schemas.js'

serveStdio(() => {
  const server = new McpServer(serverInfo)
  server.registerTool('echo', { description: echoTool.description, inputSchema: z.object(echoShape) }, ({ text }) => ({
    content: [{ type: 'text', text }],
  }))
  for (let n = 0; n < extraTools; n++) {
    const { name, description } = listedTool(n)
    server.registerTool(name, { description, inputSchema: z.object(searchShape()) }, ({ query }) => ({
      content: [{ type: 'text', text: query }],
    }))
  }
  if (offersForm) {
    server.registerTool('form', { description: 'A long form', inputSchema: z.object(formShape()) }, ({ text0 }) => ({
      content: [{ type: 'text', text: text0 }],
    }))
  }
  return server
})
