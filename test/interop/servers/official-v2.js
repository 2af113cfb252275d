import { completable, McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import { defineWorkshop, info, instructions } from './workshop.js'

// On the command line: what to do with clients of earlier revisions, 'serve' or 'reject'.
const [, , legacy = 'serve'] = process.argv
const capabilities = { logging: {}, resources: { subscribe: true, listChanged: true } }

serveStdio(createServer, { legacy })

function createServer({ era }) {
  const server = new McpServer(info, { instructions, capabilities })
  const subscribed = new Set()
  defineWorkshop(server, {
    ResourceTemplate,
    completable,
    // On 2026-07-28 serveStdio knows who listens to what; before, the server has to.
    updated: (uri) => (era === 'modern' || subscribed.has(uri)) && server.server.sendResourceUpdated({ uri }),
    acts: ({ mcpReq }) => ({
      signal: mcpReq.signal,
      progress: async (progress, total, message) => {
        const progressToken = mcpReq._meta?.progressToken
        if (progressToken === undefined) return
        const params = { progressToken, progress, total, message }
        await mcpReq.notify({ method: 'notifications/progress', params })
      },
      log: (level, data) => mcpReq.log(level, data),
    }),
  })
  server.server.setRequestHandler('resources/subscribe', ({ params }) => {
    subscribed.add(params.uri)
    return {}
  })
  server.server.setRequestHandler('resources/unsubscribe', ({ params }) => {
    subscribed.delete(params.uri)
    return {}
  })
  return server
}
