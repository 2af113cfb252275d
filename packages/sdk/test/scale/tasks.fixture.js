// Runs ten thousand concurrent tasks through one connection:
// node --expose-gc tasks.fixture.js <sqlite file | redis URL>
// Prints the outcome. Runs the built package, as users do.
import { McpServer } from 'tenon/server'
import { redisStore } from 'tenon/stores/redis'
import { sqliteStore } from 'tenon/stores/sqlite'
import { tasks } from 'tenon/tasks'
import { InMemoryTransport } from 'tenon/testing'
import { endWithParent } from '../kit/end-with-parent.js'

endWithParent()

const count = 10_000
const [where] = process.argv.slice(2)
const store = where.startsWith('redis:') ? redisStore({ url: where, prefix: 'many' }) : sqliteStore(where)

let ended = 0
let wake = () => {}
const server = new McpServer(
  { name: 'many', version: '1.0.0' },
  {
    tasks: tasks({
      store: store.tasks,
      maxOpenPerCaller: 20_000,
      concurrency: 32,
      onEvent: ({ type }) => {
        if (type === 'completed' || type === 'failed') ended++
        wake()
      },
    }),
  },
)
const inputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
server.registerTool('twice', { inputSchema, execution: { taskSupport: 'required' } }, async ({ n }, ctx) => {
  const twice = await ctx.once('twice', () => 2 * n)
  return String(twice)
})

const [ours, theirs] = InMemoryTransport.createLinkedPair()
await server.connect(theirs)
const waiting = new Map()
ours.onmessage = (message) => {
  waiting.get(message.id)?.(message)
  waiting.delete(message.id)
}
await ours.start()
const _meta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'many', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
}
let nextId = 1

// Warm up: compiled code and grown tables are on the heap too.
await round(1_000)
const before = await heap()
const { completed, wrong, createdMs, endedMs } = await round(count)
const after = await heap()
console.log(JSON.stringify({ completed, wrong, before, after, createdMs, endedMs }))
await server.close()
await store.close()

function request(method, params) {
  const id = nextId++
  const answer = new Promise((resolve) => waiting.set(id, resolve))
  ours.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta } })
  return answer
}

async function round(size) {
  ended = 0
  const begin = performance.now()
  const over = new Promise((resolve) => {
    wake = () => ended === size && resolve()
  })
  const created = await Promise.all(
    Array.from({ length: size }, (_, n) => request('tools/call', { name: 'twice', arguments: { n } })),
  )
  const createdMs = performance.now() - begin
  await over
  const endedMs = performance.now() - begin
  let completed = 0
  let wrong = 0
  for (const [n, { result, error }] of created.entries()) {
    if (!result) throw new Error(error.message)
    const { result: task } = await request('tasks/get', { taskId: result.taskId })
    if (task.status === 'completed') completed++
    if (task.result?.content[0].text !== String(2 * n)) wrong++
  }
  return { completed, wrong, createdMs, endedMs }
}

/** Returns the minimum of several measurements, because timers and microtasks hold memory only for a moment. */
async function heap() {
  let least = Number.POSITIVE_INFINITY
  for (let times = 0; times < 10; times++) {
    await new Promise((resolve) => setTimeout(resolve, 20))
    globalThis.gc()
    least = Math.min(least, process.memoryUsage().heapUsed)
  }
  return least
}
