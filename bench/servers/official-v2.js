import { McpServer } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod'
import { serverInfo } from '../definitions.js'
import { zodTools } from '../zod-tools.js'

const registerTools = zodTools(z.object)
serveStdio(() => {
  const server = new McpServer(serverInfo)
  registerTools(server)
  return server
})
