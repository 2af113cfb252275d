import { completable, McpServer, ResourceTemplate, serveStdio } from 'tenon/server'
import { defineWorkshop, info, instructions } from './workshop.js'

const server = new McpServer(info, { instructions })
defineWorkshop(server, {
  ResourceTemplate,
  completable,
  updated: (uri) => server.sendResourceUpdated(uri),
  acts: (ctx) => ({
    signal: ctx.signal,
    progress: (progress, total, message) => ctx.progress(progress, { total, message }),
    log: (level, data) => ctx.log[level](data),
  }),
})
await serveStdio(server)
