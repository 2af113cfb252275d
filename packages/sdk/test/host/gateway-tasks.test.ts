import type { RevisionId } from 'tenon'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { ErrorCode, ProtocolError } from '../../src/errors.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { MemoryTaskStore } from '../../src/store/memory/tasks.ts'
import { tasks } from '../../src/tasks/runtime.ts'
import { deferred } from '../../src/util/deferred.ts'
import { eventually } from '../kit/eventually.ts'
import { serveGateway } from './gateway-support.ts'

const eras = ['2025-11-25', '2026-07-28'] as const
const pairs = eras.flatMap((caller) => eras.map((upstream) => [caller, upstream] as const))

const size = { type: 'object' as const, properties: { size: { type: 'string' } }, required: ['size'] }

/** A server whose tools run as tasks. */
function shop(revision: RevisionId) {
  const server = new McpServer(
    { name: 'shop', version: '1.0.0' },
    { revisions: [revision], tasks: tasks({ policy: 'always', pollIntervalMs: 20 }) },
  )
  const counts = { begun: 0, bought: 0, cancelled: 0 }
  const gate = deferred<void>()
  const execution = { taskSupport: 'optional' as const }
  server.registerTool('buy', { execution }, async (_, ctx) => {
    await ctx.once('begun', () => counts.begun++)
    ctx.task?.status('Looking')
    const answer = await ctx.elicit('Which size?', size)
    if (answer.action !== 'accept') return answer.action
    await ctx.once('bought', () => counts.bought++)
    return `bought ${JSON.stringify(answer.content)}`
  })
  server.registerTool('wait', { execution }, async (_, ctx) => {
    counts.begun++
    const cancelled = new Promise<string>((resolve) =>
      ctx.signal.addEventListener('abort', () => resolve(`cancelled ${++counts.cancelled}`)),
    )
    return Promise.race([gate.promise.then(() => 'waited'), cancelled])
  })
  server.registerTool('now', {}, () => 'now')
  return { server, counts, gate }
}

const fast = () => tasks({ policy: 'always', pollIntervalMs: 20 })

describe.each(pairs)('tasks of a caller of %s at a server of %s', (revision, upstream) => {
  it('are offered for tools that their server runs as tasks', async () => {
    await using gateway = await serveGateway({ shop: { server: shop(upstream).server } }, { tasks: fast() })
    await using client = await connect(gateway.url, { revision })
    const tools = await client.listTools().all()
    expect(tools.find(({ name }) => name === 'shop_buy')?.execution).toEqual(
      revision === '2025-11-25' ? { taskSupport: 'optional' } : undefined,
    )
    expect((await client.callTool('shop_now')).text).toBe('now')
  })

  it('ask their caller, and the tool runs once', async () => {
    const { server, counts } = shop(upstream)
    await using gateway = await serveGateway({ shop: { server } }, { tasks: fast() })
    const questions: string[] = []
    const elicit = ({ message }: { message: string }) => {
      questions.push(message)
      return { action: 'accept' as const, content: { size: 'M' } }
    }
    await using client = await connect(gateway.url, { revision, handlers: { elicit }, tasks: true })
    const task = await client.callToolAsTask('shop_buy')
    expect(task.id).toBeDefined()
    const states: string[] = []
    for await (const { status } of task) if (states.at(-1) !== status) states.push(status)
    expect((await task.result()).text).toBe('bought {"size":"M"}')
    expect(states.at(-1)).toBe('completed')
    expect(questions).toEqual(['shop: Which size?'])
    expect(counts).toMatchObject({ begun: 1, bought: 1 })
  })

  it('do not reveal the task of the server', async () => {
    const { server, gate } = shop(upstream)
    await using gateway = await serveGateway({ shop: { server } }, { tasks: fast() })
    await using client = await connect(gateway.url, { revision, tasks: true })
    gate.resolve()
    const task = await client.callToolAsTask('shop_wait')
    const { _meta = {} } = await task.result()
    const related = _meta['io.modelcontextprotocol/related-task']
    expect(related).toEqual(revision === '2025-11-25' ? { taskId: task.id } : undefined)
  })

  it('are cancelled at the server when the caller cancels them', async () => {
    const { server, counts } = shop(upstream)
    await using gateway = await serveGateway({ shop: { server } }, { tasks: fast() })
    await using client = await connect(gateway.url, { revision, tasks: true })
    const task = await client.callToolAsTask('shop_wait')
    await eventually(() => counts.begun === 1)
    await task.cancel()
    await expect(task.result()).rejects.toMatchObject({ code: 'cancelled' })
    await eventually(() => counts.cancelled === 1)
    expect(counts.begun).toBe(1)
  })

  it('belong to their caller: another one can neither see nor cancel them', async () => {
    const { server, gate, counts } = shop(upstream)
    const verify = async (token: string) => ({ subject: token, scopes: [] })
    await using gateway = await serveGateway(
      { shop: { server } },
      {
        tasks: fast(),
        http: { auth: { verify, resource: 'http://127.0.0.1/mcp', authorizationServers: ['https://login.example'] } },
      },
    )
    const as = (name: string) =>
      connect(gateway.url, { revision, tasks: true, headers: { authorization: `Bearer ${name}` } })
    await using alice = await as('alice')
    await using bob = await as('bob')
    const task = await alice.callToolAsTask('shop_wait')
    await eventually(() => counts.begun === 1)
    await expect(bob.resumeTask(task.id!).result()).rejects.toMatchObject({ code: 'peer' })
    await expect(bob.resumeTask(task.id!).cancel()).rejects.toMatchObject({ code: 'peer' })
    gate.resolve()
    expect((await task.result()).text).toBe('waited')
  })
})

describe('a call of a caller that supports tasks', () => {
  const slow = () => tasks({ policy: { afterMs: 60_000 }, pollIntervalMs: 20 })

  it('becomes a task as soon as its server makes it one', async () => {
    const { server, counts } = shop('2026-07-28')
    await using gateway = await serveGateway({ shop: { server } }, { tasks: slow() })
    const elicit = () => ({ action: 'accept' as const, content: { size: 'M' } })
    await using client = await connect(gateway.url, { revision: '2026-07-28', handlers: { elicit }, tasks: true })
    const task = await client.callToolAsTask('shop_buy')
    expect(task.id).toBeDefined()
    expect((await task.result()).text).toBe('bought {"size":"M"}')
    expect(counts).toMatchObject({ begun: 1, bought: 1 })
  })

  it('is not a task if its server answers at once', async () => {
    await using gateway = await serveGateway({ shop: { server: shop('2026-07-28').server } }, { tasks: slow() })
    await using client = await connect(gateway.url, { revision: '2026-07-28', tasks: true })
    const task = await client.callToolAsTask('shop_now')
    expect(task.id).toBeUndefined()
    expect((await task.result()).text).toBe('now')
  })

  it('becomes a task that fails if the task of its server fails', async () => {
    const server = new McpServer(
      { name: 'x', version: '1' },
      { revisions: ['2026-07-28'], tasks: tasks({ policy: 'always', pollIntervalMs: 20 }) },
    )
    server.registerTool('break', { execution: { taskSupport: 'required' } }, () => {
      throw new ProtocolError(ErrorCode.InternalError, 'It broke')
    })
    await using gateway = await serveGateway({ x: { server } }, { tasks: slow() })
    await using client = await connect(gateway.url, { revision: '2026-07-28', tasks: true })
    const task = await client.callToolAsTask('x_break')
    expect(task.id).toBeDefined()
    await expect(task.result()).rejects.toThrow('It broke')
  })
})

describe('a task of a gateway that stops', () => {
  it('continues in another process, and the tool of a 2026-07-28 server runs once', async () => {
    const { server, counts, gate } = shop('2026-07-28')
    let polls = 0
    server.use((request, next) => {
      if (request.method === 'tasks/get') polls++
      return next()
    })
    const store = new MemoryTaskStore()
    const create = () =>
      serveGateway({ shop: { server } }, { tasks: tasks({ store, policy: 'always', pollIntervalMs: 20, drainMs: 10 }) })
    const first = await create()
    const client = await connect(first.url, { revision: '2026-07-28', tasks: true })
    const task = await client.callToolAsTask('shop_wait')
    await eventually(() => polls > 0)
    const { id } = task
    await client.close()
    await first[Symbol.asyncDispose]()
    await using second = await create()
    await using again = await connect(second.url, { revision: '2026-07-28', tasks: true })
    const resumed = again.resumeTask(id!).result()
    gate.resolve()
    expect((await resumed).text).toBe('waited')
    expect(counts.begun).toBe(1)
  })

  it.each(['always', { afterMs: 1 }] as const)(
    'fails with the reason if its server ran an ordinary call, which is not repeated (policy %j)',
    async (policy) => {
      let calls = 0
      const server = new McpServer(
        { name: 'x', version: '1' },
        { revisions: ['2026-07-28'], tasks: tasks({ policy: 'never' }) },
      )
      const gate = deferred<void>()
      server.registerTool('pay', { execution: { taskSupport: 'optional' } }, async () => {
        calls++
        await gate.promise
        return 'paid'
      })
      const store = new MemoryTaskStore()
      const create = () =>
        serveGateway({ x: { server } }, { tasks: tasks({ store, policy, pollIntervalMs: 20, drainMs: 10 }) })
      const first = await create()
      const client = await connect(first.url, { revision: '2026-07-28', tasks: true })
      const { id } = await client.callToolAsTask('x_pay')
      await eventually(() => calls === 1)
      await client.close()
      await first[Symbol.asyncDispose]()
      await using second = await create()
      await using again = await connect(second.url, { revision: '2026-07-28', tasks: true })
      await expect(again.resumeTask(id!).result()).rejects.toThrow(/unknown whether it had an effect/)
      expect(calls).toBe(1)
      gate.resolve()
    },
  )
})
