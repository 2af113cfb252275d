// Many tasks, each followed by a poller of its own, all in one process:
// node polled-tasks.fixture.js <memory | sqlite file | redis URL> <tasks> <clients> <deadline in seconds>
// Prints how many finished, and how fast. It runs the built package, as users do.
import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { redisStore } from 'tenon/stores/redis'
import { sqliteStore } from 'tenon/stores/sqlite'
import { MemoryTaskStore, tasks } from 'tenon/tasks'

const [where, count = '5000', clientCount = '1', deadlineSeconds = '60'] = process.argv.slice(2)
const store = openStore(where)

const server = new McpServer(
  { name: 'polled', version: '1.0.0' },
  { tasks: tasks({ store: store.tasks, maxOpenPerCaller: 20_000 }) },
)
const inputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
server.registerTool('twice', { inputSchema, execution: { taskSupport: 'required' } }, async ({ n }, ctx) => {
  const twice = await ctx.once('twice', () => 2 * n)
  return String(twice)
})

const clients = await Promise.all(Array.from({ length: Number(clientCount) }, () => connect(server, { tasks: true })))
let finished = 0
let wrong = 0
const begin = performance.now()
const following = Array.from({ length: Number(count) }, async (_, n) => {
  const task = await clients[n % clients.length].callToolAsTask('twice', { n })
  const { text } = await task.result()
  finished++
  if (text !== String(2 * n)) wrong++
})
let timer
const deadline = new Promise((resolve) => {
  timer = setTimeout(resolve, 1_000 * Number(deadlineSeconds))
})
await Promise.race([Promise.all(following), deadline])
clearTimeout(timer)
const seconds = (performance.now() - begin) / 1_000
console.log(JSON.stringify({ finished, wrong, seconds, perSecond: finished / seconds }))
process.exit(0)

function openStore(place) {
  if (place === 'memory') return { tasks: new MemoryTaskStore({ maxTasks: 20_000 }) }
  return place.startsWith('redis:') ? redisStore({ url: place, prefix: 'polled' }) : sqliteStore(place)
}
