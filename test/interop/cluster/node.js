// One process of the cluster. Counts every call in Redis, so that a call that ran twice is detected.
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { McpServer, serveHttp } from 'tenon/server'
import { redisStore } from 'tenon/stores/redis'

const { port, redisUrl, options, clockMs } = JSON.parse(process.argv[2])

if (clockMs) {
  const now = Date.now
  Date.now = () => now() + clockMs
}
const counters = new Redis(redisUrl)
const store = redisStore({ url: redisUrl, prefix: 'cluster', onError: () => {} })
counters.on('error', () => {})

const server = new McpServer(
  { name: 'node', version: '1.0.0' },
  { capabilities: { resources: { subscribe: true } }, onError: (error) => report(error) },
)
const id = { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] }

server.registerTool('act', { inputSchema: id }, async ({ id }) => {
  await counters.incr(`ran:${id}`)
  return `did ${id}`
})
// Reports progress first, so that the response is an event stream, which outlives its connection.
server.registerTool('stream', { inputSchema: id }, async ({ id }, ctx) => {
  await counters.incr(`ran:${id}`)
  ctx.progress(1, 2)
  await sleep(5)
  return `did ${id}`
})
server.registerTool('wait', { inputSchema: id }, async ({ id }, ctx) => {
  await counters.incr(`ran:${id}`)
  ctx.progress(1, 2)
  process.send({ began: id })
  // Longer than any test waits: the process is killed, or the test finishes the call.
  await new Promise((resolve) => {
    endings.set(id, resolve)
    ctx.signal.addEventListener('abort', resolve)
  })
  return `did ${id}`
})
server.registerTool(
  'look',
  { inputSchema: id, annotations: { readOnlyHint: true, idempotentHint: true } },
  async ({ id }) => {
    await counters.incr(`ran:${id}`)
    return `did ${id}`
  },
)
for (const number of [1, 2, 3, 4, 5]) {
  server.registerResource(`note ${number}`, `note://${number}`, {}, (uri) => ({
    contents: [{ uri: uri.href, text: 'note' }],
  }))
}

const endings = new Map()
const serving = await serveHttp(server, {
  port,
  sessionStore: store.sessions,
  eventStore: store.events,
  bus: store.bus,
  maxSessionsPerPrincipal: 10_000,
  ...options,
})

process.on('message', (message) => {
  if (message.update) server.sendResourceUpdated(message.update)
  else if (message.finish) endings.get(message.finish)?.()
  else if (message === 'streams') process.send({ streams: serving.metrics.streams })
})
// Exit with the test process.
process.on('disconnect', () => process.exit())
process.send({ port: serving.port })

function report(error) {
  if (process.env.TENON_CLUSTER_LOG) console.error(`node ${port}:`, error)
}
