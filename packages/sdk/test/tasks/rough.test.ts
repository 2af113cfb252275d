import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { MemoryTaskStore, type TaskEvent, type TaskStore, type TasksOptions, tasks } from 'tenon/tasks'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'

const required = { execution: { taskSupport: 'required' } } as const

function serverWith(options: TasksOptions, reported: unknown[] = []): McpServer {
  const onError = (error: unknown) => reported.push(error)
  return new McpServer({ name: 'lab', version: '1.0.0' }, { onError, tasks: tasks({ pollIntervalMs: 20, ...options }) })
}

describe('a call that becomes a task', () => {
  it('asks each question once, even when it is promoted while it asks', async () => {
    const server = serverWith({})
    const config = { inputSchema: { ms: z.number() }, execution: { taskSupport: 'optional' } } as const
    server.registerTool('two', { ...config, taskPolicy: { afterMs: 15 } }, async ({ ms }, ctx) => {
      await ctx.elicit('one')
      await new Promise((resolve) => setTimeout(resolve, ms))
      await ctx.elicit('two')
      return 'done'
    })
    for (let index = 0; index < 40; index++) {
      const asked: string[] = []
      const elicit = ({ message }: { message: string }) => {
        asked.push(message)
        return { action: 'accept', content: {} } as const
      }
      await using client = await connect(server, { tasks: true, handlers: { elicit } })
      expect((await client.callTool('two', { ms: 10 + (index % 10) })).text).toBe('done')
      expect(asked).toEqual(['one', 'two'])
    }
    await server.close()
  })
})

describe('tasks', () => {
  it('continue when onEvent throws', async () => {
    const reported: unknown[] = []
    const failing = (event: TaskEvent) => {
      throw new Error(`no ${event.type}`)
    }
    const server = serverWith({ onEvent: failing }, reported)
    server.registerTool('work', required, () => 'done')
    await using client = await connect(server, { tasks: true })
    expect((await client.callTool('work')).text).toBe('done')
    expect(reported.map(String)).toContain('Error: no completed')
    await server.close()
  })

  it('that have finished are evicted from memory for new ones, and open ones are not', async () => {
    const store = new MemoryTaskStore({ maxTasks: 10 })
    const server = serverWith({ store })
    server.registerTool('work', required, () => 'done')
    server.registerTool('wait', required, async (_args, ctx) => (await ctx.elicit('When?')).action)
    const elicit = () => new Promise<never>(() => {})
    await using client = await connect(server, { tasks: true, handlers: { elicit } })
    const open = await client.callToolAsTask('wait')
    for (let index = 0; index < 30; index++) expect((await client.callTool('work')).text).toBe('done')
    expect(await store.get(open.id!)).toMatchObject({ isOpen: true })
    for (let index = 0; index < 9; index++) await client.callToolAsTask('wait')
    await expect(client.callToolAsTask('wait')).rejects.toThrow('Task limit reached: this server keeps 10')
    await server.close()
  })

  it('run after a store that failed at first recovers', async () => {
    const inner = new MemoryTaskStore()
    let failures = 1
    const store: TaskStore = {
      create: (...args) => inner.create(...args),
      get: (id) => inner.get(id),
      replace: (...args) => inner.replace(...args),
      notes: (id) => inner.notes(id),
      list: (...args) => inner.list(...args),
      countOpen: (owner) => inner.countOpen(owner),
      watch: (listener) => inner.watch(listener),
      publish: (...args) => inner.publish(...args),
      work: async (...args) => {
        if (failures-- > 0) throw new Error('away')
        return inner.work(...args)
      },
    }
    const reported: unknown[] = []
    const server = serverWith({ store }, reported)
    server.registerTool('work', required, () => 'done')
    await using first = await connect(server, { tasks: true })
    expect(first.revision).toBeDefined()
    await using second = await connect(server, { tasks: true })
    expect((await second.callTool('work')).text).toBe('done')
    expect(reported.map(String)).toEqual(['Error: away'])
    await server.close()
  })

  it.each([
    { ttlMs: '5' },
    { ttlMs: 0 },
    { leaseMs: Number.POSITIVE_INFINITY },
    { drainMs: 1e12 },
    { maxAttempts: 0.5 },
    { concurrency: -1 },
    { policy: { afterMs: 1e12 } },
    { policy: 'sometimes' },
  ])('reject invalid options: %j', (options) => {
    expect(() => tasks(options as unknown as TasksOptions)).toThrow(/tasks\(\{ \w+ \}\) must be/)
  })

  it.each([
    [{ ttl: 5 }, 'tasks({ ttl }) is not an option. Options: store, policy,'],
    [{ ttlMs: '5' }, 'tasks({ ttlMs }) must be a number from 1 to 31536000000, not "5".'],
    [{ ttlMs: 90_000_000 }, 'tasks({ ttlMs }) must not be greater than maxTtlMs, which is 86400000.'],
    [{ store: { tasks: new MemoryTaskStore() } }, 'tasks({ store }) must be a task store: pass its `tasks` member.'],
    [{ store: './tasks.db' }, 'tasks({ store }) must be a task store: for example sqliteStore(path).tasks.'],
    [{ onEvent: 'log' }, 'tasks({ onEvent }) must be a function, not "log".'],
    [{ requireTasks: 1 }, 'tasks({ requireTasks }) must be a boolean, not 1.'],
    [true, 'tasks() takes an options object, for example tasks({ ttlMs: 60_000 }), not true.'],
  ])('report what is wrong with the options %j', (options, message) => {
    expect(() => tasks(options as unknown as TasksOptions)).toThrow(message)
  })

  it.each([{ afterMs: 1e12 }, { afterMs: '5' }, {}, null, 'sometimes'])('reject the policy %j of a tool', (policy) => {
    const register = () => serverWith({}).registerTool('odd', { taskPolicy: policy as never }, () => 'x')
    expect(register).toThrow(/Tool "odd": taskPolicy must be 'always', 'never' or \{ afterMs \}/)
  })
})
