import { completable, McpServer, ResourceTemplate, serveStdio } from 'tenon/server'
import { defineWorkshop, info, instructions } from './workshop.js'

// Revisions may be named on the command line; all of them otherwise.
const [, , ...revisions] = process.argv
const server = new McpServer(info, { instructions, ...(revisions.length > 0 && { revisions }) })
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
