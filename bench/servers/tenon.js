import { McpServer, serveStdio } from 'tenon/server'
import { serverInfo } from '../definitions.js'
import { zodTools } from '../zod-tools.js'

const server = new McpServer(serverInfo)
zodTools()(server)
await serveStdio(server)
