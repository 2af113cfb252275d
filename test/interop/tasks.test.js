// 2025-11-25 tasks with the official v1 package, the only official one with tasks: its client with the Tenon server,
// and the Tenon client with its server.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { InMemoryTaskStore } from '@modelcontextprotocol/sdk/experimental/tasks/stores/in-memory.js'
import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js'
import { McpServer as OfficialServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { connect } from 'tenon/client'
import { McpServer, serveHttp } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import * as z from 'zod'

describe('official v1 client, Tenon server, tasks', () => {
  test('creates a task, follows it, answers its request and gets the result', async (t) => {
    const client = await officialClient(t)
    const seen = []
    const stream = client.experimental.tasks.callToolStream({ name: 'print', arguments: { pages: 2 } }, undefined, {
      task: { ttl: 60_000 },
    })
    for await (const message of stream) seen.push(message)
    assert.equal(seen[0].type, 'taskCreated')
    assert.equal(seen.at(-1).type, 'result', JSON.stringify(seen.at(-1)))
    assert.equal(seen.at(-1).result.content[0].text, '2 pages, accept')
    const { taskId } = seen[0].task
    assert.equal((await client.experimental.tasks.getTask(taskId)).status, 'completed')
    const { tasks: listed } = await client.experimental.tasks.listTasks()
    assert.deepEqual(
      listed.map((task) => task.taskId),
      [taskId],
    )
  })

  test('cancels a task', async (t) => {
    const client = await officialClient(t)
    const params = { name: 'print', arguments: { pages: 1000 } }
    const stream = client.experimental.tasks.callToolStream(params, undefined, { task: { ttl: 60_000 } })
    const { value } = await stream.next()
    const { taskId } = value.task
    assert.equal((await client.experimental.tasks.cancelTask(taskId)).status, 'cancelled')
    assert.equal((await client.experimental.tasks.getTask(taskId)).status, 'cancelled')
  })
})

describe('Tenon client, official v1 server, tasks', () => {
  test('runs a task to its end, with a handle and with an ordinary call', async (t) => {
    const client = await ourClient(t)
    const task = await client.callToolAsTask('count', { to: 3 })
    const states = []
    for await (const { status } of task) states.push(status)
    assert.equal(states.at(-1), 'completed')
    assert.equal((await task.result()).text, 'counted to 3')
    assert.equal((await client.callTool('count', { to: 4 })).text, 'counted to 4')
    const { tasks: listed } = await client.listTasks()
    assert.equal(listed.length, 2)
  })

  test('cancels a task', async (t) => {
    const client = await ourClient(t)
    const task = await client.callToolAsTask('count', { to: 100 })
    await task.cancel()
    await assert.rejects(task.result(), { code: 'cancelled' })
  })
})

async function officialClient(t) {
  const server = new McpServer({ name: 'press', version: '1.0.0' }, { tasks: tasks({ pollIntervalMs: 20 }) })
  server.registerTool(
    'print',
    { inputSchema: { pages: z.number() }, execution: { taskSupport: 'required' } },
    async ({ pages }, ctx) => {
      for (let page = 1; page <= pages; page++) {
        await ctx.once(`page ${page}`, () => new Promise((resolve) => setTimeout(resolve, 20)))
      }
      const { action } = await ctx.elicit('Bind them?')
      return `${pages} pages, ${action}`
    },
  )
  const serving = await serveHttp(server, { port: 0, exit: false })
  const client = new Client(
    { name: 'official', version: '1.0.0' },
    { capabilities: { elicitation: { form: {} }, tasks: { requests: {} } } },
  )
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: {} }))
  await client.connect(new StreamableHTTPClientTransport(new URL(serving.url)))
  await client.listTools()
  t.after(async () => {
    await client.close()
    await serving.close()
  })
  return client
}

async function ourClient(t) {
  const taskStore = new InMemoryTaskStore()
  const server = new OfficialServer(
    { name: 'official', version: '1.0.0' },
    { capabilities: { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }, taskStore },
  )
  server.experimental.tasks.registerToolTask(
    'count',
    { inputSchema: { to: z.number() }, execution: { taskSupport: 'required' } },
    {
      async createTask({ to }, { taskStore: store }) {
        const task = await store.createTask({ ttl: 60_000, pollInterval: 20 })
        const result = { content: [{ type: 'text', text: `counted to ${to}` }] }
        setTimeout(() => store.storeTaskResult(task.taskId, 'completed', result).catch(() => {}), to * 20)
        return { task }
      },
      getTask: (_args, { taskId, taskStore: store }) => store.getTask(taskId),
      getTaskResult: (_args, { taskId, taskStore: store }) => store.getTaskResult(taskId),
    },
  )
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  const client = await connect(near, { revision: '2025-11-25' })
  t.after(async () => {
    await client.close()
    taskStore.cleanup()
  })
  return client
}
