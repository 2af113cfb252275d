// Runs many tasks, each followed by its own client, all in one process:
// node polled-tasks.fixture.js <memory | sqlite file | redis URL> <poll | follow> <tasks> <deadline in seconds>
// `poll` sends tasks/get at the interval that the server asks for; `follow` uses task.result() of the client.
// Prints how many tasks finished, and how fast. Runs the built package, as users do.
import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { redisStore } from 'tenon/stores/redis'
import { sqliteStore } from 'tenon/stores/sqlite'
import { MemoryTaskStore, tasks } from 'tenon/tasks'
import { InMemoryTransport } from 'tenon/testing'
import { endWithParent } from '../kit/end-with-parent.js'

endWithParent()

const [where, mode = 'poll', count = '5000', deadlineSeconds = '60'] = process.argv.slice(2)
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

const textOf = mode === 'poll' ? await createPoller() : await createFollower()
let finished = 0
let wrong = 0
let polls = 0
const begin = performance.now()
const all = Array.from({ length: Number(count) }, async (_, n) => {
  const text = await textOf(n)
  finished++
  if (text !== String(2 * n)) wrong++
})
let timer
const deadline = new Promise((resolve) => {
  timer = setTimeout(resolve, 1_000 * Number(deadlineSeconds))
})
await Promise.race([Promise.all(all), deadline])
clearTimeout(timer)
const seconds = (performance.now() - begin) / 1_000
console.log(JSON.stringify({ finished, wrong, seconds, perSecond: finished / seconds, polls }))
process.exit(0)

async function createFollower() {
  const client = await connect(server, { tasks: true })
  return async (n) => (await (await client.callToolAsTask('twice', { n })).result()).text
}

async function createPoller() {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  const waiting = new Map()
  ours.onmessage = ({ id, result, error }) => {
    waiting.get(id)?.(result ?? error)
    waiting.delete(id)
  }
  await ours.start()
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'poller', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { extensions: { 'io.modelcontextprotocol/tasks': {} } },
  }
  let lastId = 0
  const request = (method, params) => {
    const id = ++lastId
    ours.send({ jsonrpc: '2.0', id, method, params: { ...params, _meta } })
    return new Promise((resolve) => waiting.set(id, resolve))
  }
  return async (n) => {
    let task = await request('tools/call', { name: 'twice', arguments: { n } })
    while (task.status === 'working') {
      await new Promise((resolve) => setTimeout(resolve, task.pollIntervalMs))
      polls++
      task = await request('tasks/get', { taskId: task.taskId })
    }
    return task.result?.content[0].text
  }
}

function openStore(place) {
  if (place === 'memory') return { tasks: new MemoryTaskStore({ maxTasks: 20_000 }) }
  return place.startsWith('redis:') ? redisStore({ url: place, prefix: 'polled' }) : sqliteStore(place)
}
