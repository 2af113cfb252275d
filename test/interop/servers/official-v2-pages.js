import { Server } from '@modelcontextprotocol/server'
import { info, lie, page } from './pages.js'
import { serve } from './serve-official-v2.js'

serve(() => {
  const server = new Server(info, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', ({ params }) => page(params?.cursor))
  server.setRequestHandler('tools/call', () => lie)
  return server
})
