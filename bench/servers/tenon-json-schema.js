import { McpServer, serveStdio } from 'tenon/server'
import {
  echoTool,
  extraTools,
  formSchema,
  limits,
  listedTool,
  offersForm,
  searchSchema,
  serverInfo,
} from '../definitions.js'

// The same server without a schema library.

const server = new McpServer(serverInfo, { limits })
server.registerTool('echo', { description: echoTool.description, inputSchema: echoTool.inputSchema }, ({ text }) => ({
  content: [{ type: 'text', text }],
}))
for (let n = 0; n < extraTools; n++) {
  const { name, description } = listedTool(n)
  server.registerTool(name, { description, inputSchema: searchSchema }, ({ query }) => ({
    content: [{ type: 'text', text: query }],
  }))
}
if (offersForm) {
  server.registerTool('form', { description: 'A long form', inputSchema: formSchema }, ({ text0 }) => ({
    content: [{ type: 'text', text: text0 }],
  }))
}

await serveStdio(server)
