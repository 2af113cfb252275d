import { Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { info, lie, page } from './pages.js'

serveStdio(() => {
  const server = new Server(info, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', ({ params }) => page(params?.cursor))
  server.setRequestHandler('tools/call', () => lie)
  return server
})
