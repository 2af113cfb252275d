import { McpServer } from 'tenon/server'
import { type TaskEvent, tasks } from 'tenon/tasks'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { gate } from '../kit/gate.ts'
import { serve } from '../kit/serve-http.ts'

import { type Capabilities, TaskPeer } from './peer.ts'
import { always, everyDialect, extensionId, legacy, modern, World } from './support.ts'

const tools = (server: McpServer) => {
  server.registerTool('echo', { inputSchema: { text: z.string() }, ...always }, ({ text }) => text)
  server.registerTool('ask', always, async (_, ctx) => (await ctx.elicit('Sure?', z.object({}))).action)
}

describe('middleware', () => {
  everyDialect('runs once, inside the task, and not around the call that creates it', async (world) => {
    const seen: string[] = []
    const server = await world.serve((made) => {
      tools(made)
      made.use(async ({ method, params, ctx }, next) => {
        seen.push(`${method} ${ctx.task ? 'task' : 'plain'}`)
        if (method !== 'tools/call') return next()
        return next({ ...params, arguments: { text: 'changed' } })
      })
    })
    const peer = await world.peer(server)
    const id = await peer.start('echo', { text: 'a' })
    expect(await peer.textOf(id)).toBe('changed')
    expect(seen.filter((line) => line.startsWith('tools/call'))).toEqual(['tools/call task'])
  })
})

describe('a mounted server', () => {
  everyDialect('runs its tools as tasks of the outer server', async (world) => {
    const shop = new McpServer({ name: 'shop', version: '1.0.0' })
    tools(shop)
    const server = await world.serve((made) => void made.mount(shop, { prefix: 'shop' }))
    const peer = await world.peer(server)
    expect(await peer.textOf(await peer.start('shop_echo', { text: 'a' }))).toBe('a')
    const id = await peer.start('shop_ask')
    const { result } = await peer.drive(id, () => ({ action: 'decline' }))
    expect(result?.content?.[0]?.text).toBe('decline')
  })
})

describe('a token', () => {
  const auth = {
    authorizationServers: ['https://issuer.example'],
    verify: (token: string) => {
      const [subject = '', ...scopes] = token.split('.')
      return { subject, clientId: 'app', scopes, issuer: 'https://issuer.example' }
    },
  }

  everyDialect(
    'gives the handler of a task its identity, and is not stored [TASK-049]',
    async (world) => {
      const finish = gate()
      let created = 0
      const onEvent = ({ type }: TaskEvent) => {
        if (type === 'created') created++
      }
      const server = await world.serve(
        (made) => {
          made.registerTool('who', { ...always, requiredScopes: ['files'] }, async (_, ctx) => {
            await finish.opened
            return JSON.stringify([ctx.auth?.subject, ctx.auth?.scopes, ctx.request?.header('authorization') ?? null])
          })
        },
        { onEvent },
      )
      const url = await world.url(server, { auth, principal: undefined })
      const capabilities: Capabilities = world.isModern ? { extensions: { [extensionId]: {} } } : {}
      const open = (token: string) =>
        TaskPeer.open(url, world.revision, capabilities, { authorization: `Bearer ${token}` })
      const [ann, bob, low] = [await open('ann.files'), await open('bob.files'), await open('low.other')]
      const id = await ann.start('who')
      expect((await bob.request('tasks/get', { taskId: id })).error?.code).toBe(-32602)
      const store = await world.openStore()
      const kept = JSON.stringify([await store.get(id), await store.notes(id)])
      expect(kept).not.toContain('ann.files')
      expect(kept).not.toContain('Bearer')
      finish.open()
      expect(JSON.parse((await ann.textOf(id))!)).toEqual(['ann', ['files'], null])
      // A caller without the scope is rejected at once, and no task is created.
      const params = { name: 'who', arguments: {}, ...(!world.isModern && { task: {} }) }
      const refused = await low.channel.peer!.request('tools/call', params)
      expect(refused.status).toBe(403)
      expect(refused.headers['www-authenticate']).toContain('scope="files"')
      expect((await refused.json()).error?.code).toBe(-32000)
      expect(created).toBe(1)
      for (const peer of [ann, bob, low]) await peer.close()
    },
    { channels: ['http'] },
  )
})

describe('tasks over HTTP', () => {
  it('require the task id in a header and in the body [TASK-053] [HDR-009]', async () => {
    await using world = new World(modern, 'memory', 'http')
    const peer = await world.peer(await world.serve(tools))
    const taskId = await peer.start('echo', { text: 'a' })
    const http = peer.channel.peer!
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      for (const name of ['another', undefined]) {
        const answer = await http.request(method, { taskId, inputResponses: {} }, { headers: { 'mcp-name': name } })
        expect(answer.status).toBe(400)
        expect((await answer.json()).error?.code).toBe(-32020)
      }
    }
  })

  it('are read without a stream [TASK-034] [TASK-053]', async () => {
    for (const revision of [legacy, modern] as const) {
      await using world = new World(revision, 'memory', 'http')
      const peer = await world.peer(await world.serve(tools))
      const taskId = await peer.start('ask')
      await peer.until(taskId, 'input_required')
      const answer = await peer.channel.peer!.request('tasks/get', { taskId }, { headers: { 'mcp-name': taskId } })
      expect([answer.status, answer.type]).toEqual([200, 'application/json'])
      await answer.json()
    }
  })

  it('keep the question and the result for a client that closed the tasks/result stream [TASK-035]', async () => {
    await using world = new World(legacy, 'memory', 'http')
    const server = await world.serve(tools)
    const peer = await world.peer(server, { user: 'ann' })
    const id = await peer.start('ask')
    const left = await peer.channel.peer!.request('tasks/result', { taskId: id })
    await left.notified('elicitation/create')
    left.close()
    await left.ended
    const again = await world.peer(server, { user: 'ann' })
    const [question] = await again.questions(id)
    await question!.answer({ action: 'decline' })
    expect(await again.textOf(id)).toBe('decline')
  })

  it('require a known session [TASK-053]', async () => {
    await using world = new World(legacy, 'memory', 'http')
    const peer = await world.peer(await world.serve(tools))
    const taskId = await peer.start('echo', { text: 'a' })
    const headers = { 'mcp-session-id': 'nobody' }
    const answer = await peer.channel.peer!.request('tasks/get', { taskId }, { headers })
    expect(answer.status).toBe(404)
    const unsupported = { 'mcp-protocol-version': '1999-01-01' }
    expect((await peer.channel.peer!.request('tasks/get', { taskId }, { headers: unsupported })).status).toBe(400)
  })
})

describe('tasks()', () => {
  it('can be passed to one server only', async () => {
    const runtime = tasks()
    const first = new McpServer({ name: 'a', version: '1' }, { tasks: runtime })
    expect(() => new McpServer({ name: 'b', version: '1' }, { tasks: runtime })).toThrow('belongs to one server')
    await first.close()
  })

  it('uses the memory store by default', async () => {
    const server = new McpServer({ name: 'a', version: '1' }, { tasks: tasks() })
    tools(server)
    const serving = await serve(server)
    const peer = await TaskPeer.open(serving.url, modern, { extensions: { [extensionId]: {} } })
    expect(await peer.textOf(await peer.start('echo', { text: 'a' }))).toBe('a')
    await peer.close()
    await serving.close()
    await server.close()
  })
})
