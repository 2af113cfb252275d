import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { serverInfo } from '../../definitions.js'
import { zodTools } from '../../zod-tools.js'
import { perRequest, perSession } from './official.js'
import { mode, stand } from './stand.js'

const registerTools = zodTools(z.object)

function createServer() {
  const server = new McpServer(serverInfo)
  registerTools(server)
  return server
}

const listeners = {
  stateless: () => perRequest(createServer, NodeStreamableHTTPServerTransport),
  sessions: () => perSession(createServer, NodeStreamableHTTPServerTransport),
  2026: () => toNodeHandler(createMcpHandler(createServer, { legacy: 'reject' })),
}
await stand(listeners[mode]())
