import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SubscribeRequestSchema, UnsubscribeRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { serve } from './serve-official-v1.js'
import { defineWorkshop, info, instructions } from './workshop.js'

const capabilities = { logging: {}, resources: { subscribe: true, listChanged: true } }

await serve(createServer)

function createServer() {
  const server = new McpServer(info, { instructions, capabilities })
  const subscribed = new Set()
  defineWorkshop(server, {
    ResourceTemplate,
    completable,
    updated: (uri) => subscribed.has(uri) && server.server.sendResourceUpdated({ uri }),
    acts: (extra) => ({
      signal: extra.signal,
      progress: async (progress, total, message) => {
        const progressToken = extra._meta?.progressToken
        if (progressToken === undefined) return
        const params = { progressToken, progress, total, message }
        await extra.sendNotification({ method: 'notifications/progress', params })
      },
      log: (level, data) => server.sendLoggingMessage({ level, data }, extra.sessionId),
    }),
  })
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    subscribed.add(params.uri)
    return {}
  })
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    subscribed.delete(params.uri)
    return {}
  })
  return server
}
