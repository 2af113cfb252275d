import { McpServer } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { ScriptedClient } from 'tenon/testing'
import { expect, it } from 'vitest'
import { z } from 'zod'

function serverWith() {
  const server = new McpServer({ name: 'lab', version: '1.0.0' }, { tasks: tasks({ pollIntervalMs: 20 }) })
  const done: string[] = []
  server.registerTool(
    'steps',
    { inputSchema: { name: z.string() }, execution: { taskSupport: 'optional' }, taskPolicy: 'always' },
    async ({ name }, ctx) => {
      const one = await ctx.once('one', () => (done.push('one'), 1))
      ctx.task?.status('one is done')
      const answer = await ctx.elicit(`Go on, ${name}?`, z.object({ sure: z.boolean() }))
      const two = await ctx.once('two', () => (done.push('two'), 2))
      return `${name} ${one} ${two} ${answer.action} ${JSON.stringify(answer.content)}`
    },
  )
  server.registerTool(
    'slow',
    { inputSchema: { ms: z.number() }, execution: { taskSupport: 'optional' }, taskPolicy: { afterMs: 30 } },
    async ({ ms }, ctx) => {
      const one = await ctx.once('one', () => 1)
      await new Promise((resolve) => setTimeout(resolve, ms))
      const two = await ctx.once('two', () => 2)
      return `slow ${one} ${two}`
    },
  )
  return { server, done }
}
const ext = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }

async function until(client: ScriptedClient, taskId: string, status: string) {
  for (;;) {
    const { result } = (await client.request('tasks/get', { taskId })) as any
    if (result?.status === status) return result
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
}

it('extension', async () => {
  const { server, done } = serverWith()
  const client = await ScriptedClient.connect(server, { capabilities: ext })
  const created = (await client.request('tools/call', { name: 'steps', arguments: { name: 'Ann' } })) as any
  console.log(JSON.stringify(created))
  const { taskId } = created.result
  const asked = await until(client, taskId, 'input_required')
  console.log(JSON.stringify(asked))
  const [key] = Object.keys(asked.inputRequests)
  console.log(
    JSON.stringify(
      await client.request('tasks/update', {
        taskId,
        inputResponses: { [key!]: { action: 'accept', content: { sure: true } } },
      }),
    ),
  )
  console.log(JSON.stringify(await until(client, taskId, 'completed')), done)
  const quick = await client.request('tools/call', { name: 'slow', arguments: { ms: 1 } })
  console.log(JSON.stringify(quick))
  const slow = (await client.request('tools/call', { name: 'slow', arguments: { ms: 100 } })) as any
  console.log(JSON.stringify(slow))
  console.log(JSON.stringify(await until(client, slow.result.taskId, 'completed')))
  await client.close()
  await server.close()
})

it('legacy', async () => {
  const { server, done } = serverWith()
  const client = await ScriptedClient.connect(server, {
    revision: '2025-11-25',
    capabilities: { elicitation: { form: {} } },
  } as any)
  console.log(JSON.stringify(await client.open()))
  const created = (await client.request('tools/call', {
    name: 'steps',
    arguments: { name: 'Ann' },
    task: { ttl: 5000 },
  })) as any
  console.log(JSON.stringify(created))
  const { taskId } = created.result.task
  await until(client, taskId, 'input_required')
  const result = client.request('tasks/result', { taskId })
  const ask = (await client.next(({ method }: any) => method === 'elicitation/create')) as any
  console.log(JSON.stringify(ask))
  client.say({ jsonrpc: '2.0', id: ask.id, result: { action: 'accept', content: { sure: true } } } as any)
  console.log(JSON.stringify(await result))
  console.log(JSON.stringify(await client.request('tasks/list')), done)
  await client.close()
  await server.close()
})
