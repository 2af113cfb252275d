import { McpServer, serveStdio } from 'tenon/server'
import { limits, serverInfo } from '../definitions.js'
import { zodTools } from '../zod-tools.js'

const server = new McpServer(serverInfo, { limits })
zodTools()(server)
await serveStdio(server)
