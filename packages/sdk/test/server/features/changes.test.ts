import { revisionIds } from 'tenon'
import { McpServer, type McpServerOptions, ResourceTemplate } from 'tenon/server'
import type { Wire } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, listenToAll, notes, script, settle } from './support.ts'

const info = { name: 'changes', version: '1' }
const kinds = ['tools', 'prompts', 'resources'] as const

function createServer(options: McpServerOptions = {}) {
  const server = new McpServer(info, { listChangedDelayMs: 2, ...options })
  const tool = server.registerTool('tool', { description: 'old' }, () => 'old')
  const prompt = server.registerPrompt('prompt', {}, () => 'old')
  const resource = server.registerResource('resource', 'a://old', {}, () => 'old')
  const template = server.registerResource('template', new ResourceTemplate('old://{x}'), {}, () => 'old')
  return { server, tool, prompt, resource, template }
}

async function watch(wire: Wire, server: McpServer) {
  const pair = await wire.connect(server)
  await listenToAll(pair.client)
  const count = () =>
    Object.fromEntries(kinds.map((kind) => [kind, notes(pair.transcript, `notifications/${kind}/list_changed`).length]))
  /** Waits for a notification of every kind, and then long enough to notice a duplicate. */
  const told = async () => {
    await expect.poll(() => Math.min(...Object.values(count())), { interval: 2 }).toBeGreaterThan(0)
    await settle(15)
    await pair.client.ping()
    return count()
  }
  return { pair, count, told }
}

describe('list_changed', () => {
  const changes: [string, (all: ReturnType<typeof createServer>) => void][] = [
    [
      'registration',
      ({ server }) => {
        server.registerTool('more', {}, () => 'x')
        server.registerPrompt('more', {}, () => 'x')
        server.registerResource('more', 'a://more', {}, () => 'x')
      },
    ],
    [
      'disabling',
      ({ tool, prompt, resource }) => {
        tool.disable()
        prompt.disable()
        resource.disable()
      },
    ],
    [
      'an update',
      ({ tool, prompt, template }) => {
        tool.update({ description: 'new' })
        prompt.update({ description: 'new' })
        template.update({ description: 'new' })
      },
    ],
    [
      'removal',
      ({ tool, prompt, template }) => {
        tool.remove()
        prompt.remove()
        template.remove()
      },
    ],
    [
      'being sent by hand',
      ({ server }) => {
        server.sendToolListChanged()
        server.sendPromptListChanged()
        server.sendResourceListChanged()
      },
    ],
  ]
  describe.each(changes)('after %s', (_what, change) => {
    everyWire('is sent once for each list [TOOL-041, PROMPT-014, RES-021, SDK-010]', async (wire) => {
      const all = createServer()
      const { pair, told } = await watch(wire, all.server)
      await using _pair = pair
      change(all)
      expect(await told()).toEqual({ tools: 1, prompts: 1, resources: 1 })
    })
  })

  everyWire('is sent once for a burst of changes [SDK-011]', async (wire) => {
    const all = createServer({ listChangedDelayMs: 20 })
    const { pair, told, count } = await watch(wire, all.server)
    await using _pair = pair
    for (let index = 0; index < 100; index++) {
      all.server.registerTool(`t${index}`, {}, () => 'x')
      all.server.registerPrompt(`p${index}`, {}, () => 'x').disable()
      all.server.registerResource(`r${index}`, `r://${index}`, {}, () => 'x').remove()
    }
    expect(await told()).toEqual({ tools: 1, prompts: 1, resources: 1 })
    expect(await pair.client.listTools().all()).toHaveLength(101)
    expect(count()).toEqual({ tools: 1, prompts: 1, resources: 1 })
  })

  everyWire('is emitted as an event of the client, after the cached lists are invalidated', async (wire) => {
    const { server } = createServer({ cache: { ttlMs: 60_000 } })
    await using pair = await wire.connect(server)
    const { client } = pair
    await listenToAll(client)
    expect((await client.listTools()).tools).toHaveLength(1)
    const changed = new Promise<void>((resolve) => client.on('toolsChanged', () => resolve()))
    server.registerTool('more', {}, () => 'x')
    await changed
    expect((await client.listTools()).tools).toHaveLength(2)
  })

  everyWire(
    'is not sent for a list whose sub-capability was not declared [TOOL-042, PROMPT-015, RES-022]',
    async (wire) => {
      const listChanged = false
      const { server } = createServer({
        capabilities: { tools: { listChanged }, prompts: { listChanged }, resources: { listChanged } },
      })
      const { pair, count } = await watch(wire, server)
      await using _pair = pair
      server.registerTool('more', {}, () => 'x')
      server.registerPrompt('more', {}, () => 'x')
      server.registerResource('more', 'a://more', {}, () => 'x')
      server.sendToolListChanged()
      await settle(20)
      await pair.client.ping()
      expect(count()).toEqual({ tools: 0, prompts: 0, resources: 0 })
    },
  )

  everyWire(
    'is not sent for a feature that was added after the capabilities were announced [TOOL-042, PROMPT-015, RES-022]',
    async (wire) => {
      const server = new McpServer(info, { listChangedDelayMs: 1 })
      const { pair, count } = await watch(wire, server)
      await using _pair = pair
      server.registerTool('first', {}, () => 'x')
      server.registerPrompt('first', {}, () => 'x')
      server.registerResource('first', 'a://first', {}, () => 'x')
      await settle(20)
      await pair.client.ping()
      expect(count()).toEqual({ tools: 0, prompts: 0, resources: 0 })
    },
  )

  it('is sent only to listen streams that requested it on 2026-07-28 [TOOL-041, PROMPT-014, RES-021]', async () => {
    const { server } = createServer()
    await using asks = await script(server, '2026-07-28')
    await using silent = await script(server, '2026-07-28')
    const acknowledged = asks.nextNotification('notifications/subscriptions/acknowledged')
    asks.say({
      jsonrpc: '2.0',
      id: 'l',
      method: 'subscriptions/listen',
      params: asks.params({ notifications: { toolsListChanged: true } }),
    })
    await acknowledged
    await ask(silent, 'tools/list')
    const changed = asks.nextNotification('notifications/tools/list_changed')
    server.registerTool('more', {}, () => 'x')
    server.registerPrompt('more', {}, () => 'x')
    server.registerResource('more', 'a://more', {}, () => 'x')
    await changed
    await settle(10)
    await ask(asks, 'tools/list')
    await ask(silent, 'tools/list')
    const heard = (client: typeof asks) =>
      kinds.map((kind) => notes(client.transcript, `notifications/${kind}/list_changed`).length)
    expect(heard(asks)).toEqual([1, 0, 0])
    expect(heard(silent)).toEqual([0, 0, 0])
  })

  it('is sent to every client of every handshake revision', async () => {
    const { server } = createServer()
    const clients = await Promise.all(
      revisionIds.filter((id) => id < '2026-07-28').map((revision) => script(server, revision)),
    )
    await Promise.all(clients.map((client) => ask(client, 'ping')))
    const heard = clients.map((client) => client.nextNotification('notifications/tools/list_changed'))
    server.registerTool('more', {}, () => 'x')
    expect(await Promise.all(heard)).toHaveLength(4)
    for (const client of clients) await client.close()
  })
})

describe('handles', () => {
  everyWire('apply updates while clients are connected [SDK-010]', async (wire) => {
    const { server, tool, prompt, resource, template } = createServer()
    await using pair = await wire.connect(server)
    const { client } = pair
    const text = async () => ({
      tool: (await client.callTool('tool', { n: 1 })).text,
      prompt: (await client.getPrompt('prompt')).messages[0]?.content,
      resource: (await client.readResource('a://old')).contents[0],
    })
    expect(await text()).toMatchObject({ tool: 'old', prompt: { text: 'old' }, resource: { text: 'old' } })
    tool.update({ inputSchema: { n: z.number() }, handler: ({ n }: { n: number }) => `new ${n}` })
    prompt.update({ handler: () => 'new' })
    resource.update({ read: () => 'new', mimeType: 'text/plain' })
    expect(await text()).toMatchObject({
      tool: 'new 1',
      prompt: { text: 'new' },
      resource: { text: 'new', mimeType: 'text/plain' },
    })
    template.update({ template: new ResourceTemplate('fresh://{y}'), read: (_uri, { y }) => `fresh ${y}` })
    expect((await client.readResource('fresh://z')).contents[0]).toMatchObject({ text: 'fresh z' })
    await expect(client.readResource('old://z')).rejects.toMatchObject({ code: 'peer' })
    tool.update({ name: 'renamed' })
    expect(tool.name).toBe('renamed')
    expect((await client.callTool('renamed', { n: 2 })).text).toBe('new 2')
    await expect(client.callTool('tool')).rejects.toMatchObject({ rpcCode: -32602 })
  })

  it('report whether they are enabled', () => {
    const { tool } = createServer()
    expect([tool.name, tool.enabled]).toEqual(['tool', true])
    tool.disable()
    expect(tool.enabled).toBe(false)
    tool.enable()
    expect(tool.enabled).toBe(true)
  })

  it('keep the position of an item in the list', async () => {
    const server = new McpServer(info)
    const [a] = ['a', 'b', 'c'].map((name) => server.registerTool(name, {}, () => 'x'))
    a!.disable()
    a!.enable()
    a!.update({ description: 'new' })
    await using client = await script(server, '2026-07-28')
    expect((await ask(client, 'tools/list')).result.tools.map(({ name }: { name: string }) => name)).toEqual([
      'a',
      'b',
      'c',
    ])
  })

  it('reject an update with an unusable schema without changing anything', async () => {
    const { server, tool } = createServer()
    expect(() => tool.update({ inputSchema: { type: 'array' } })).toThrow(/must have type "object"/)
    await using client = await script(server, '2026-07-28')
    expect((await ask(client, 'tools/call', { name: 'tool' })).result.content[0].text).toBe('old')
  })

  const names = async (server: McpServer) => {
    await using client = await script(server, '2026-07-28')
    return (await ask(client, 'tools/list')).result.tools.map(
      ({ name, description }: { name: string; description?: string }) => `${name} ${description}`,
    )
  }

  it('of a removed item do not bring it back', async () => {
    const { server, tool } = createServer()
    tool.remove()
    for (const change of [() => tool.enable(), () => tool.update({ description: 'ghost' })]) {
      try {
        change()
      } catch {
        // Throwing is as good as doing nothing.
      }
    }
    expect(await names(server)).toEqual([])
  })

  it('of a removed item do not affect a new item with the same name', async () => {
    const { server, tool } = createServer()
    tool.remove()
    server.registerTool('tool', { description: 'second' }, () => 'second')
    for (const change of [() => tool.disable(), () => tool.update({ description: 'ghost' }), () => tool.remove()]) {
      try {
        change()
      } catch {
        // Throwing is as good as doing nothing.
      }
    }
    expect(await names(server)).toEqual(['tool second'])
  })
})

describe('registration while clients are connected', () => {
  everyWire('makes new items usable at once for capabilities declared at connect time [SDK-010]', async (wire) => {
    const { server } = createServer()
    await using pair = await wire.connect(server)
    server.registerTool('more', {}, () => 'more')
    server.registerPrompt('more', {}, () => 'more')
    server.registerResource('more', 'a://more', {}, () => 'more')
    expect((await pair.client.callTool('more')).text).toBe('more')
    expect((await pair.client.getPrompt('more')).messages).toHaveLength(1)
    expect((await pair.client.readResource('a://more')).contents).toHaveLength(1)
  })

  it.each(revisionIds)('makes items of a new kind usable on %s', async (revision) => {
    const server = new McpServer(info)
    await using client = await script(server, revision)
    expect((await ask(client, 'tools/list')).error?.code).toBe(-32601)
    server.registerTool('late', {}, () => 'late')
    expect((await ask(client, 'tools/call', { name: 'late' })).result.content[0].text).toBe('late')
  })
})
