import { completable, McpServer, ResourceTemplate } from '@modelcontextprotocol/server'
import { serve } from './serve-official-v2.js'
import { defineWorkshop, info, instructions } from './workshop.js'

const capabilities = { logging: {}, resources: { subscribe: true, listChanged: true } }

const notify = serve(createServer)

function createServer({ era }) {
  const server = new McpServer(info, { instructions, capabilities })
  const subscribed = new Set()
  defineWorkshop(server, {
    ResourceTemplate,
    completable,
    updated: (uri) => {
      // On 2026-07-28 the handler knows the subscriptions; before, the server has to track them.
      if (era === 'modern' && notify) notify.resourceUpdated(uri)
      else if (era === 'modern' || subscribed.has(uri)) return server.server.sendResourceUpdated({ uri })
    },
    // On 2026-07-28 over HTTP a server exists for one request only, and subscribers are on other servers.
    grown: (what) => era === 'modern' && notify?.[`${what}sChanged`](),
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
