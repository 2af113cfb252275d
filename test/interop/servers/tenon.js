import { parseArgs } from 'node:util'
import { completable, McpServer, ResourceTemplate } from 'tenon/server'
import { serve } from './serve-tenon.js'
import { defineWorkshop, info, instructions } from './workshop.js'

// Revisions can be given on the command line; the default is all of them.
const { positionals: revisions } = parseArgs({
  strict: false,
  allowPositionals: true,
  options: { http: { type: 'string' } },
})
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
await serve(server)
