import { revisionIds } from 'tenon'
import { type ClientTransport, connect, type Transport } from 'tenon/client'
import { McpServer, ResourceTemplate } from 'tenon/server'
import type { ScriptedClient } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, pretend, requests, script } from './support.ts'

const info = { name: 'pages', version: '1' }

function createServer(options: ConstructorParameters<typeof McpServer>[1] = {}, count = 7) {
  const server = new McpServer(info, { pageSize: 3, ...options })
  for (let index = 0; index < count; index++) {
    server.registerTool(`t${index}`, {}, () => 'x')
    server.registerPrompt(`p${index}`, {}, () => 'x')
    server.registerResource(`r${index}`, `r://${index}`, {}, () => 'x')
    server.registerResource(`f${index}`, new ResourceTemplate(`f${index}://{x}`), {}, () => 'x')
  }
  return server
}

const lists = [
  ['tools/list', 'tools', 'name'],
  ['prompts/list', 'prompts', 'name'],
  ['resources/list', 'resources', 'name'],
  ['resources/templates/list', 'resourceTemplates', 'name'],
] as const

async function page(client: ScriptedClient, method: string, cursor?: string) {
  const { result, error } = await ask(client, method, cursor === undefined ? {} : { cursor })
  const member = lists.find(([name]) => name === method)![1]
  const names = result?.[member].map(({ name }: { name: string }) => name) as string[]
  return { names, next: result?.nextCursor as string, error }
}

describe('lists of a server', () => {
  everyWire('are paginated [PAGE-001]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const { client } = pair
    const sizes = async (pages: AsyncIterable<object>, member: string) => {
      const found: number[] = []
      for await (const each of pages) found.push((each as Record<string, unknown[]>)[member]!.length)
      return found
    }
    expect(await sizes(client.listTools().pages(), 'tools')).toEqual([3, 3, 1])
    expect(await sizes(client.listPrompts().pages(), 'prompts')).toEqual([3, 3, 1])
    expect(await sizes(client.listResources().pages(), 'resources')).toEqual([3, 3, 1])
    expect(await sizes(client.listResourceTemplates().pages(), 'resourceTemplates')).toEqual([3, 3, 1])
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['t0', 't1', 't2', 't3', 't4', 't5', 't6'])
  })

  describe.each(revisionIds)('on %s', (revision) => {
    it.each(lists)(
      '%s accepts its own cursors repeatedly, and the last page has no cursor [PAGE-001, PAGE-008]',
      async (method) => {
        await using client = await script(createServer(), revision)
        const first = await page(client, method)
        const second = await page(client, method, first.next)
        const third = await page(client, method, second.next)
        expect([...first.names, ...second.names, ...third.names]).toHaveLength(7)
        expect(third.next).toBeUndefined()
        expect((await page(client, method, first.next)).names).toEqual(second.names)
      },
    )

    it.each(lists)('%s rejects a cursor that it did not issue [PAGE-008, PAGE-009]', async (method) => {
      const server = createServer()
      await using client = await script(server, revision)
      await using stranger = await script(createServer(), revision)
      const own = (await page(client, method)).next
      const other = (await page(client, method === 'tools/list' ? 'prompts/list' : 'tools/list')).next
      const foreign = (await page(stranger, method)).next
      const flipped = own.slice(0, 20) + (own[20] === 'A' ? 'B' : 'A') + own.slice(21)
      const bad = [
        '',
        'x',
        '3',
        'null',
        'made up',
        own.slice(0, -1),
        own.slice(0, 10),
        `${own}A`,
        flipped,
        other,
        foreign,
        'A'.repeat(100_000),
      ]
      for (const cursor of bad) expect((await page(client, method, cursor)).error?.code).toBe(-32602)
      expect((await ask(client, method, { cursor: 7 })).error?.code).toBe(-32602)
      expect((await ask(client, method, { cursor: null })).error?.code).toBe(-32602)
      expect((await page(client, method, own)).names).toHaveLength(3)
    })
  })

  it('accept the cursor of another connection and of another node with the same key [PAGE-008]', async () => {
    const [here, there] = [['new', 'shared'], ['shared']].map((keys) =>
      createServer({ stateKeys: keys.map((key) => key.padEnd(32, '!')) }),
    ) as [ReturnType<typeof createServer>, ReturnType<typeof createServer>]
    await using one = await script(there, '2026-07-28')
    await using two = await script(here, '2025-06-18')
    const { next } = await page(one, 'tools/list')
    expect((await page(two, 'tools/list', next)).names).toEqual(['t3', 't4', 't5'])
  })

  it('issue cursors that a client cannot read', async () => {
    const server = new McpServer(info, { pageSize: 1 })
    for (const name of ['secret_tool_name', 'other']) server.registerTool(name, {}, () => 'x')
    await using client = await script(server, '2026-07-28')
    const { next } = await page(client, 'tools/list')
    expect(Buffer.from(next, 'base64url').toString('latin1')).not.toContain('secret')
  })

  describe('that change between pages', () => {
    async function halfway() {
      const server = createServer({}, 0)
      const tools = Array.from({ length: 7 }, (_, index) => server.registerTool(`t${index}`, {}, () => 'x'))
      const client = await script(server, '2026-07-28')
      const first = await page(client, 'tools/list')
      expect(first.names).toEqual(['t0', 't1', 't2'])
      return { server, tools, client, next: first.next }
    }

    it('continue after the last item when an earlier item is removed [PAGE-008]', async () => {
      const { tools, client, next } = await halfway()
      tools[0]!.remove()
      expect((await page(client, 'tools/list', next)).names).toEqual(['t3', 't4', 't5'])
      await client.close()
    })

    it('skip nothing when the last item itself is removed [PAGE-008]', async () => {
      const { tools, client, next } = await halfway()
      tools[2]!.remove()
      expect((await page(client, 'tools/list', next)).names).toContain('t3')
      await client.close()
    })

    it('include items that are added [PAGE-008]', async () => {
      const { server, client, next } = await halfway()
      server.registerTool('t7', {}, () => 'x')
      const second = await page(client, 'tools/list', next)
      expect((await page(client, 'tools/list', second.next)).names).toEqual(['t6', 't7'])
      await client.close()
    })

    it('end when no items are left [PAGE-008]', async () => {
      const { tools, client, next } = await halfway()
      for (const tool of tools) tool.remove()
      expect(await page(client, 'tools/list', next)).toMatchObject({ names: [], next: undefined, error: undefined })
      await client.close()
    })
  })
})

describe('a client', () => {
  // Cursors that look meaningful, and pages of every size including an empty one.
  const cursors = ['', '2', '{"page":3}', ' ', 'ünïcode ✓', '%00', 'x'.repeat(5_000)]
  const sizes = [2, 0, 5, 1, 0, 3, 1, 4]

  function paging(revision: (typeof revisionIds)[number]) {
    return pretend(
      revision,
      { tools: {} },
      {
        'tools/list': ({ cursor }) => {
          const index = cursor === undefined ? 0 : cursors.indexOf(cursor as string) + 1
          const tools = Array.from({ length: sizes[index]! }, (_, at) => ({
            name: `t${index}.${at}`,
            inputSchema: { type: 'object' },
          }))
          const nextCursor = cursors[index]
          const hints = revision === '2026-07-28' ? { resultType: 'complete', ttlMs: 0, cacheScope: 'private' } : {}
          return { result: { tools, ...(nextCursor !== undefined && { nextCursor }), ...hints } }
        },
      },
    )
  }

  describe.each(revisionIds)('on %s', (revision) => {
    it('sends cursors back unchanged and stops without one [PAGE-002, PAGE-004, PAGE-005, PAGE-006]', async () => {
      const server = paging(revision)
      await using client = await connect(server.transport, { revision })
      const tools = await client.listTools().all()
      expect(tools).toHaveLength(sizes.reduce((sum, size) => sum + size))
      expect(requests(server.transcript, 'tools/list').map(({ params }) => params?.cursor)).toEqual([
        undefined,
        ...cursors,
      ])
    })

    it('can fetch one page at a time, starting from any cursor [PAGE-002, PAGE-006, PAGE-007]', async () => {
      const server = paging(revision)
      await using client = await connect(server.transport, { revision })
      const first = await client.listTools()
      expect([first.tools.length, first.nextCursor]).toEqual([2, ''])
      const second = await client.listTools({ cursor: first.nextCursor! })
      expect([second.tools.length, second.nextCursor]).toEqual([0, '2'])
      expect(requests(server.transcript, 'tools/list')).toHaveLength(2)
    })

    it('accepts a list without pagination [PAGE-005, PAGE-007]', async () => {
      const server = pretend(revision, { tools: {} }, { 'tools/list': () => ({ result: { tools: [] } }) })
      await using client = await connect(server.transport, { revision })
      expect(await client.listTools().all()).toEqual([])
      expect(requests(server.transcript, 'tools/list')).toHaveLength(1)
    })

    it('requests no more pages than it needs [PAGE-004]', async () => {
      const server = paging(revision)
      await using client = await connect(server.transport, { revision })
      for await (const tool of client.listTools()) if (tool.name === 't2.0') break
      expect(requests(server.transcript, 'tools/list')).toHaveLength(3)
    })

    it('stops when a server repeats a cursor', async () => {
      const server = pretend(
        revision,
        { tools: {} },
        { 'tools/list': () => ({ result: { tools: [], nextCursor: 'again' } }) },
      )
      await using client = await connect(server.transport, { revision })
      await expect(client.listTools().all()).rejects.toMatchObject({ code: 'invalid-response' })
      expect(requests(server.transcript, 'tools/list').length).toBeLessThan(5)
    })
  })

  it.each(revisionIds.filter((id) => id < '2026-07-28'))(
    'does not reuse a cursor in another session on %s [PAGE-003]',
    async (revision) => {
      const sessions: ReturnType<typeof pretend>[] = []
      const transport = restarting(() => {
        const session = pretend(
          revision,
          { tools: {} },
          {
            'tools/list': () => ({
              result: {
                tools: [{ name: 't', inputSchema: { type: 'object' } }],
                nextCursor: `of session ${sessions.length}`,
              },
            }),
          },
        )
        sessions.push(session)
        return session.transport
      })
      await using client = await connect(transport, { revision })
      const pages = client.listTools().pages()
      await pages.next()
      const back = new Promise<void>((resolve) => {
        client.on('state', ({ state, previous }) => {
          if (state === 'ready' && previous === 'reconnecting') resolve()
        })
      })
      await sessions[0]!.close()
      await back
      await pages.next().catch(() => {})
      await client.ping()
      expect(sessions).toHaveLength(2)
      const carried = requests(sessions[1]!.transcript, 'tools/list').filter(
        ({ params }) => params?.cursor === 'of session 1',
      )
      expect(carried).toEqual([])
    },
  )
})

/** Creates a transport that starts a new session on each start, as a child process does. */
function restarting(start: () => Transport): Transport {
  let current: Transport | undefined
  const transport: ClientTransport = {
    restartable: true,
    async start() {
      current = start()
      current.onmessage = (message) => transport.onmessage?.(message)
      current.onclose = (detail) => transport.onclose?.(detail)
      await current.start()
    },
    send: (message) => current!.send(message),
    close: async () => current?.close(),
  }
  return transport
}

describe('lists cached by the server', () => {
  everyWire('are never stale: add, update, disable, enable, remove', async (wire) => {
    const server = new McpServer(info)
    const tool = server.registerTool('a', { description: 'old' }, () => 'x')
    const prompt = server.registerPrompt('a', {}, () => 'x')
    const resource = server.registerResource('a', 'a://a', {}, () => 'x')
    const template = server.registerResource('a', new ResourceTemplate('a://{x}'), {}, () => 'x')
    await using pair = await wire.connect(server, { cache: false })
    const { client } = pair
    const look = async () => ({
      tools: (await client.listTools()).tools.map(({ name, description }) => [name, description]),
      prompts: (await client.listPrompts()).prompts.map(({ name }) => name),
      resources: (await client.listResources()).resources.map(({ uri }) => uri),
      templates: (await client.listResourceTemplates()).resourceTemplates.map(({ uriTemplate }) => uriTemplate),
    })
    const handles = [tool, prompt, resource, template]
    const before = { tools: [['a', 'old']], prompts: ['a'], resources: ['a://a'], templates: ['a://{x}'] }
    const none = { tools: [], prompts: [], resources: [], templates: [] }
    expect(await look()).toEqual(before)
    expect(await look()).toEqual(before)
    for (const handle of handles) handle.disable()
    expect(await look()).toEqual(none)
    for (const handle of handles) handle.enable()
    expect(await look()).toEqual(before)
    tool.update({ name: 'b', description: 'new' })
    prompt.update({ name: 'b' })
    resource.update({ uri: 'a://b' })
    template.update({ template: new ResourceTemplate('b://{x}') })
    expect(await look()).toEqual({
      tools: [['b', 'new']],
      prompts: ['b'],
      resources: ['a://b'],
      templates: ['b://{x}'],
    })
    server.registerTool('c', {}, () => 'x')
    expect((await look()).tools).toHaveLength(2)
    for (const handle of handles) handle.remove()
    expect(await look()).toEqual({ ...none, tools: [['c', undefined]] })
  })

  it('are cached per revision', async () => {
    const server = new McpServer(info)
    server.registerTool('a', { title: 'A', annotations: { readOnlyHint: true } }, () => 'x')
    for (let round = 0; round < 2; round++) {
      for (const revision of revisionIds) {
        await using client = await script(server, revision)
        const [tool] = (await ask(client, 'tools/list')).result.tools
        expect('annotations' in tool).toBe(revision >= '2025-03-26')
        expect('title' in tool).toBe(revision >= '2025-06-18')
      }
    }
  })

  it('are not cached when middleware or a listing template is involved', async () => {
    const server = new McpServer(info)
    server.registerTool('a', {}, () => 'x')
    const list = vi.fn(() => [{ uri: 'a://1', name: '1' }])
    server.registerResource('r', new ResourceTemplate('a://{x}', { list }), {}, () => 'x')
    await using client = await script(server, '2026-07-28')
    await ask(client, 'tools/list')
    const seen = vi.fn()
    server.use((request, next) => {
      seen(request.method)
      return next()
    })
    await ask(client, 'tools/list')
    await ask(client, 'tools/list')
    expect(seen).toHaveBeenCalledTimes(2)
    await ask(client, 'resources/list')
    await ask(client, 'resources/list')
    expect(list).toHaveBeenCalledTimes(2)
  })
})
