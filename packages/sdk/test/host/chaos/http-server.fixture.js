// A server of every revision over HTTP. Every run of a tool is a line in a file, so that a call that ran twice is detected.
//
//   node http-server.fixture.js <file for runs>
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer, serveHttp } from 'tenon/server'
import { endWithParent } from '../../kit/end-with-parent.js'

endWithParent()
const runs = process.argv[2]
const server = new McpServer({ name: 'shop', version: '1.0.0' })
server.registerResource('price', 'shop://price', {}, () => '1 EUR')
const inputSchema = { type: 'object', additionalProperties: true }
server.registerTool('work', { inputSchema }, async ({ id, ms }) => {
  await sleep(Number(ms))
  appendFileSync(runs, `${id}\n`)
  return `done ${id}`
})
server.registerTool('ask', { inputSchema }, async ({ id, who }, ctx) => {
  await ctx.once('run', () => appendFileSync(runs, `${id}\n`))
  const { action } = await ctx.elicit(`Confirm the transfer of ${who}`)
  return `${who}: ${action}`
})
server.registerTool('update', {}, () => {
  server.sendResourceUpdated('shop://price')
  return 'updated'
})
const { url } = await serveHttp(server, { port: 0 })
process.stdout.write(`ready ${url}\n`)
