import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import type { Message } from '../kit/message.ts'

import { TaskPeer } from './peer.ts'
import { extensionId, legacy, modern, type ServerOptions, World } from './support.ts'

const say = (_: unknown, ctx: { task?: unknown }) => (ctx.task ? 'a task' : 'no task')

const plainTools = (server: McpServer) => {
  server.registerTool('silent', {}, say)
  server.registerTool('forbidden', { execution: { taskSupport: 'forbidden' } }, say)
  server.registerTool('optional', { execution: { taskSupport: 'optional' } }, say)
  server.registerTool('never', { execution: { taskSupport: 'optional' }, taskPolicy: 'never' }, say)
  server.registerTool('always', { execution: { taskSupport: 'optional' }, taskPolicy: 'always' }, say)
}

const tools = (server: McpServer) => {
  plainTools(server)
  server.registerTool('required', { execution: { taskSupport: 'required' } }, say)
  server.registerTool('required-never', { execution: { taskSupport: 'required' }, taskPolicy: 'never' }, say)
  server.registerTool('required-late', { execution: { taskSupport: 'required' }, taskPolicy: { afterMs: 60_000 } }, say)
}

const textOf = ({ result }: Message) => result?.content?.[0]?.text

async function lab(revision: typeof legacy | typeof modern, options: ServerOptions = {}) {
  const world = new World(revision, 'memory', 'memory')
  const server = await world.serve(tools, options)
  return { world, server, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

describe('a client of 2025-11-25', () => {
  it('gets a task for each call that requests one, if the tool supports it [TASK-011] [TASK-012]', async () => {
    await using made = await lab(legacy)
    const peer = await made.world.peer(made.server)
    for (const name of ['optional', 'required', 'never', 'always', 'required-never', 'required-late']) {
      expect(await peer.textOf(await peer.start(name))).toBe('a task')
    }
  })

  it('gets a plain result for a call that does not request a task [TASK-011]', async () => {
    await using made = await lab(legacy, { policy: 'always' })
    const peer = await made.world.peer(made.server)
    for (const name of ['silent', 'forbidden', 'optional', 'never', 'always']) {
      expect(textOf(await peer.plain(name))).toBe('no task')
    }
  })

  it('gets -32600 for a plain call when the server requires tasks [TASK-016]', async () => {
    await using made = await lab(legacy, { requireTasks: true })
    const peer = await made.world.peer(made.server)
    for (const name of ['optional', 'never', 'always']) {
      expect((await peer.plain(name)).error).toEqual({
        code: -32600,
        message: 'Task augmentation is required for tools/call: add `task` to the params',
      })
      expect(await peer.textOf(await peer.start(name))).toBe('a task')
    }
    // Tools that cannot run as a task, and those that always do, are not affected.
    for (const name of ['silent', 'forbidden']) expect(textOf(await peer.plain(name))).toBe('no task')
    expect((await peer.plain('required')).error?.code).toBe(-32601)
  })

  it('gets the immediate response for the model together with the task [TASK-014]', async () => {
    await using made = await lab(legacy)
    const immediateResponse = 'The report is being written.'
    const execution = { taskSupport: 'optional' } as const
    made.server.registerTool('report', { execution, immediateResponse }, () => 'done')
    const peer = await made.world.peer(made.server)
    const key = 'io.modelcontextprotocol/model-immediate-response'
    expect((await peer.call('report')).result?._meta).toEqual({ [key]: immediateResponse })
    expect((await peer.call('optional')).result).not.toHaveProperty('_meta')
    await using client = await connect(made.server, { revisions: [legacy] })
    expect((await client.callToolAsTask('report')).immediateResponse).toBe(immediateResponse)
  })

  it('gets -32602 for a malformed task request [TASK-011]', async () => {
    await using made = await lab(legacy)
    const peer = await made.world.peer(made.server)
    for (const task of [true, 5, [], null, { ttl: '1s' }, { ttl: null }]) {
      expect((await peer.request('tools/call', { name: 'optional', task })).error?.code).toBe(-32602)
    }
  })

  it('gets -32601 when it requests a task for a tool without task support [TASK-007]', async () => {
    await using made = await lab(legacy)
    const peer = await made.world.peer(made.server)
    for (const name of ['silent', 'forbidden']) {
      expect((await peer.call(name)).error).toEqual({ code: -32601, message: 'This tool cannot be called as a task' })
    }
  })

  it('gets -32601 for a plain call of a tool that requires a task [TASK-010]', async () => {
    await using made = await lab(legacy)
    const peer = await made.world.peer(made.server)
    for (const name of ['required', 'required-never', 'required-late']) {
      const { error } = await peer.plain(name)
      expect(error?.code).toBe(-32601)
      expect(error?.message).toContain('only be called as a task')
    }
  })

  it('gets the same error for an unknown tool, with and without a task', async () => {
    await using made = await lab(legacy)
    const peer = await made.world.peer(made.server)
    expect((await peer.call('none')).error).toEqual((await peer.plain('none')).error)
    expect((await peer.call('none')).error?.code).toBe(-32602)
  })

  it('sees the task capabilities of its revision: tools/call, list and cancel [TASK-001] [TASK-002] [TASK-004] [XTASK-041]', async () => {
    await using made = await lab(legacy)
    const client = await ScriptedClient.connect(made.server, { revision: legacy })
    const { result } = (await client.open()) as Message
    expect(result?.capabilities).toHaveProperty('tasks', { list: {}, cancel: {}, requests: { tools: { call: {} } } })
    expect(result?.capabilities).not.toHaveProperty('extensions')
    expect((await client.request('tasks/list')) as Message).toHaveProperty('result.tasks', [])
    await client.close()
  })

  it('sees taskSupport in the list of tools [TOOL-047]', async () => {
    await using made = await lab(legacy)
    const peer = await made.world.peer(made.server)
    const { tools: listed } = (await peer.request('tools/list')).result as unknown as {
      tools: { name: string; execution?: object }[]
    }
    const said = Object.fromEntries(listed.map(({ name, execution }) => [name, execution]))
    expect(said).toMatchObject({
      forbidden: { taskSupport: 'forbidden' },
      optional: { taskSupport: 'optional' },
      required: { taskSupport: 'required' },
    })
    expect(said.silent).toBeUndefined()
  })

  it('gets no task by declaring the extension [XTASK-041]', async () => {
    await using made = await lab(legacy, { policy: 'always' })
    const peer = await made.world.peer(made.server, { capabilities: { extensions: { [extensionId]: {} } } })
    expect(textOf(await peer.plain('always'))).toBe('no task')
    expect((await peer.plain('required')).error?.code).toBe(-32601)
    expect((await peer.request('tasks/update', { taskId: 'a', inputResponses: {} })).error?.code).toBe(-32601)
  })
})

describe('a client of 2026-07-28', () => {
  it('gets a task or a plain result as the server decides [XTASK-002] [XTASK-007]', async () => {
    await using made = await lab(modern, { policy: { afterMs: 60_000 } })
    const peer = await made.world.peer(made.server)
    for (const name of ['silent', 'forbidden', 'optional', 'never']) {
      const { result } = await peer.plain(name)
      expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'no task' }] })
    }
    for (const name of ['always', 'required', 'required-never']) {
      expect(await peer.textOf(await peer.start(name))).toBe('a task')
    }
    // It finished before its threshold, and is a task anyway because the tool requires one.
    const { result } = await peer.plain('required-late')
    expect(result).toMatchObject({ resultType: 'task', status: 'completed' })
    expect(await peer.textOf(result?.taskId as string)).toBe('no task')
  })

  it('follows the policy of the server when the tool has none', async () => {
    for (const [policy, resultType] of [['always', 'task'] as const, ['never', 'complete'] as const]) {
      await using made = await lab(modern, { policy })
      const peer = await made.world.peer(made.server)
      expect((await peer.plain('optional')).result?.resultType).toBe(resultType)
    }
  })

  it('without the extension gets no task, regardless of its other requests [XTASK-003]', async () => {
    await using made = await lab(modern, { policy: 'always' })
    const peer = await made.world.peer(made.server)
    await peer.start('always')
    const capabilities = { elicitation: {} }
    const _meta = { 'io.modelcontextprotocol/clientCapabilities': capabilities }
    for (const name of ['always', 'optional', 'never', 'silent']) {
      const { result } = await peer.request('tools/call', { name, _meta })
      expect(result).toMatchObject({ resultType: 'complete', content: [{ type: 'text', text: 'no task' }] })
    }
    await peer.start('always')
  })

  it('without the extension gets an error that names it from a tool that requires a task [XTASK-006]', async () => {
    await using made = await lab(modern)
    const peer = await made.world.peer(made.server, { hasTasks: false })
    for (const name of ['required', 'required-never', 'required-late']) {
      const { error } = await peer.plain(name)
      expect(error).toMatchObject({
        code: -32021,
        data: { requiredCapabilities: { extensions: { [extensionId]: {} } } },
      })
    }
  })

  it('without the extension cannot access tasks, not even existing ones [XTASK-033]', async () => {
    await using made = await lab(modern)
    const peer = await made.world.peer(made.server)
    const taskId = await peer.start('always')
    const other = await made.world.peer(made.server, { hasTasks: false })
    for (const [method, more] of [
      ['tasks/get', {}],
      ['tasks/update', { inputResponses: {} }],
      ['tasks/cancel', {}],
    ] as const) {
      for (const id of [taskId, 'none']) {
        expect((await other.request(method, { taskId: id, ...more })).error).toMatchObject({
          code: -32021,
          data: { requiredCapabilities: { extensions: { [extensionId]: {} } } },
        })
      }
    }
    expect(await peer.textOf(taskId)).toBe('a task')
  })

  it('sees the extension, and not the task capabilities of 2025-11-25 [XTASK-001] [XTASK-041]', async () => {
    await using made = await lab(modern)
    const peer = await made.world.peer(made.server)
    const { capabilities } = (await peer.request('server/discover')).result as { capabilities: Record<string, unknown> }
    expect(capabilities.extensions).toEqual({ [extensionId]: {} })
    expect(capabilities).not.toHaveProperty('tasks')
    const { tools: listed } = (await peer.request('tools/list')).result as unknown as { tools: object[] }
    for (const tool of listed) expect(tool).not.toHaveProperty('execution')
  })

  it('gets no task by declaring the capabilities of 2025-11-25 [XTASK-041]', async () => {
    await using made = await lab(modern, { policy: 'always' })
    const capabilities = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } }
    const peer = await made.world.peer(made.server, { hasTasks: false, capabilities })
    expect((await peer.plain('always')).result?.resultType).toBe('complete')
    expect((await peer.plain('required')).error?.code).toBe(-32021)
    expect((await peer.request('tasks/get', { taskId: 'a' })).error?.code).toBe(-32021)
  })

  it('may send the `task` of 2025-11-25 without effect [XTASK-040]', async () => {
    await using made = await lab(modern)
    const peer = await made.world.peer(made.server)
    for (const name of ['silent', 'forbidden', 'never']) {
      for (const task of [{ ttl: 5 }, { ttl: 'x' }, 5, null]) {
        expect(textOf(await peer.request('tools/call', { name, task }))).toBe('no task')
      }
    }
    const { result } = await peer.request('tools/call', { name: 'always', task: { ttl: 5 } })
    expect(result).toMatchObject({ resultType: 'task', ttlMs: 3_600_000 })
  })

  it('has neither tasks/result nor tasks/list [XTASK-040]', async () => {
    await using made = await lab(modern)
    const peer = await made.world.peer(made.server)
    const taskId = await peer.start('always')
    expect((await peer.request('tasks/result', { taskId })).error?.code).toBe(-32601)
    expect((await peer.request('tasks/list')).error?.code).toBe(-32601)
  })
})

describe('clients of both revisions', () => {
  it('are served by one server: those of 2025-11-25 can still get and cancel their tasks [XTASK-042]', async () => {
    await using made = await lab(legacy, { concurrency: 0 })
    const older = await made.world.peer(made.server, { revision: legacy })
    const newer = await made.world.peer(made.server, { revision: modern })
    const [kept, ended] = [await older.start('optional'), await older.start('optional')]
    await newer.start('always')
    expect((await older.cancel(ended)).result).toMatchObject({ taskId: ended, status: 'cancelled' })
    expect((await older.state(ended)).status).toBe('cancelled')
    expect((await older.state(kept)).status).toBe('working')
  })

  it('see the same task, each in the format of its revision', async () => {
    await using made = await lab(legacy)
    const older = await made.world.peer(made.server, { revision: legacy })
    const newer = await made.world.peer(made.server, { revision: modern })
    const id = await older.start('optional')
    expect(await older.textOf(id)).toBe('a task')
    expect((await newer.state(id)).status).toBe('completed')
    const another = await newer.start('always')
    expect(await newer.textOf(another)).toBe('a task')
    expect((await older.state(another)).status).toBe('completed')
    expect(await older.textOf(another)).toBe('a task')
  })
})

describe('revisions before tasks', () => {
  for (const revision of ['2024-11-05', '2025-03-26', '2025-06-18'] as const) {
    it(`${revision}: every call returns a plain result, and task augmentation is ignored [TASK-015]`, async () => {
      await using made = await lab(legacy, { policy: 'always' })
      const peer = await TaskPeer.open(made.server, revision, {})
      for (const name of ['silent', 'optional', 'always', 'required']) {
        expect(textOf(await peer.call(name))).toBe('no task')
        expect(textOf(await peer.plain(name))).toBe('no task')
      }
      for (const method of ['tasks/get', 'tasks/result', 'tasks/cancel', 'tasks/update']) {
        const { error } = await peer.request(method, { taskId: 'a', inputResponses: {} })
        expect(error?.code).toBe(-32601)
      }
      expect((await peer.request('tasks/list')).error?.code).toBe(-32601)
      await peer.close()
    })
  }
})

describe('a server without tasks', () => {
  const bare = () => {
    const server = new McpServer({ name: 'bare', version: '1.0.0' })
    plainTools(server)
    return server
  }

  it('declares no tasks, ignores task augmentation and has no task methods [TASK-004] [TASK-015]', async () => {
    const server = bare()
    const client = await ScriptedClient.connect(server, { revision: legacy })
    const { result } = (await client.open()) as Message
    expect(result?.capabilities).not.toHaveProperty('tasks')
    for (const name of ['optional', 'always', 'silent']) {
      const answer = (await client.request('tools/call', { name, task: { ttl: 100 } })) as Message
      expect(textOf(answer)).toBe('no task')
    }
    for (const method of ['tasks/list', 'tasks/cancel', 'tasks/get', 'tasks/result']) {
      expect(((await client.request(method, { taskId: 'a' })) as Message).error?.code).toBe(-32601)
    }
    await server.close()
  })

  it('returns no task to a client that supports them [XTASK-001]', async () => {
    const server = bare()
    const peer = await TaskPeer.open(server, modern, { extensions: { [extensionId]: {} } })
    const discovered = await peer.request('server/discover')
    expect(discovered.result?.capabilities).not.toHaveProperty('extensions')
    for (const name of ['always', 'optional']) {
      expect((await peer.plain(name)).result).toMatchObject({ resultType: 'complete' })
    }
    expect((await peer.request('tasks/get', { taskId: 'a' })).error?.code).toBe(-32601)
    await server.close()
  })
})
