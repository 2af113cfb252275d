import { revisionIds } from 'tenon'
import { McpServer, ProtocolError, ToolError } from 'tenon/server'
import { afterEach, describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, handshakes, results, script, since } from './support.ts'

const info = { name: 'tools', version: '1' }
const newest = ['2026-07-28'] as const

function createServer() {
  const server = new McpServer(info)
  server.registerTool('first', { description: 'The first' }, () => 'one')
  server.registerTool(
    'second',
    {
      title: 'Second',
      inputSchema: { count: z.number().int().min(1).max(10) },
      annotations: {
        title: 'Annotated',
        readOnlyHint: true,
        destructiveHint: false,
        idempotentHint: true,
        openWorldHint: false,
      },
      icons: [{ src: 'https://example.com/icon.png', mimeType: 'image/png', sizes: ['48x48'], theme: 'dark' }],
      _meta: { 'example.com/x': 1 },
    },
    ({ count }) => `${count}`,
  )
  return server
}

describe('tools/list', () => {
  everyWire('lists tools under a declared capability [TOOL-001, TOOL-006, TOOL-007]', async (wire) => {
    await using pair = await wire.connect(createServer())
    expect(pair.client.getServerCapabilities()?.tools).toEqual({ listChanged: true })
    const page = await pair.client.listTools()
    expect(Array.isArray(page.tools)).toBe(true)
    expect(page.tools.map(({ name }) => name)).toEqual(['first', 'second'])
    for (const tool of page.tools) expect(tool.inputSchema.type).toBe('object')
  })

  it.each(revisionIds)('neither exists nor is declared without tools on %s [TOOL-001]', async (revision) => {
    await using client = await script(new McpServer(info), revision)
    expect((await ask(client, 'tools/list')).error?.code).toBe(-32601)
    expect((await ask(client, 'tools/call', { name: 'x' })).error?.code).toBe(-32601)
    const opened =
      revision === '2026-07-28' ? (await ask(client, 'server/discover')).result : results(client.transcript)[0]
    expect(opened.capabilities).not.toHaveProperty('tools')
  })

  everyWire(
    'returns an empty list while all tools are disabled, and the tools once enabled [TOOL-002]',
    async (wire) => {
      const server = new McpServer(info)
      const tool = server.registerTool('only', {}, () => 'x')
      tool.disable()
      await using pair = await wire.connect(server, { cache: false })
      expect((await pair.client.listTools()).tools).toEqual([])
      tool.enable()
      expect((await pair.client.listTools()).tools).toHaveLength(1)
      tool.remove()
      expect((await pair.client.listTools()).tools).toEqual([])
    },
  )

  it.each(revisionIds)(
    'exists when the capability is declared explicitly and no tool is registered, on %s [TOOL-002]',
    async (revision) => {
      const server = new McpServer(info, { capabilities: { tools: {} } })
      await using client = await script(server, revision)
      expect((await ask(client, 'tools/list')).result.tools).toEqual([])
    },
  )

  everyWire(
    'is the same on every connection, in the same order, regardless of earlier calls [TOOL-003, TOOL-005]',
    async (wire) => {
      const server = createServer()
      for (let index = 0; index < 20; index++) server.registerTool(`z${20 - index}`, {}, () => 'x')
      await using one = await wire.connect(server, { cache: false })
      await using two = await wire.connect(server, { cache: false })
      const before = (await one.client.listTools()).tools
      await one.client.callTool('second', { count: 3 })
      await one.client.callTool('z3')
      const after = (await one.client.listTools()).tools
      const elsewhere = (await two.client.listTools()).tools
      expect(after).toEqual(before)
      expect(elsewhere).toEqual(before)
      expect(before.map(({ name }) => name).slice(0, 4)).toEqual(['first', 'second', 'z20', 'z19'])
    },
  )

  everyWire(
    'describes a tool without parameters by an object schema without properties [TOOL-008, TOOL-009]',
    async (wire) => {
      await using pair = await wire.connect(createServer())
      const [first, second] = (await pair.client.listTools()).tools
      expect(first?.inputSchema).toEqual({ type: 'object', properties: {}, additionalProperties: false })
      expect(second?.inputSchema).toMatchObject({
        type: 'object',
        properties: { count: { type: 'integer', minimum: 1, maximum: 10 } },
        required: ['count'],
      })
    },
  )

  everyWire('shows title, annotations, icons and _meta where the revision has them [TOOL-010]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const { id } = wire.revision
    const second = (await pair.client.listTools()).tools[1]!
    const annotations = {
      title: 'Annotated',
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    }
    expect(second.annotations).toEqual(id >= '2025-03-26' ? annotations : undefined)
    expect(second.title).toBe(id >= '2025-06-18' ? 'Second' : undefined)
    // No revision forbids _meta here, and MCP Apps need it.
    expect(second._meta).toEqual({ 'example.com/x': 1 })
    expect(second.icons !== undefined).toBe(id >= '2025-11-25')
  })

  everyWire('includes execution on 2025-11-25 only [TOOL-048]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('slow', { execution: { taskSupport: 'optional' } }, () => 'x')
    await using pair = await wire.connect(server)
    const [tool] = (await pair.client.listTools()).tools
    if (wire.revision.id === '2025-11-25') expect(tool?.execution).toEqual({ taskSupport: 'optional' })
    else expect(tool).not.toHaveProperty('execution')
  })
})

describe('tool names', () => {
  afterEach(() => vi.restoreAllMocks())

  it.each(['a b', 'a,b', 'größe', 'x'.repeat(129)])(
    'produce a warning for %j, which hosts may reject [TOOL-014, TOOL-015]',
    (name) => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
      new McpServer(info).registerTool(name, {}, () => 'x')
      expect(warn).toHaveBeenCalledTimes(1)
      expect(warn.mock.calls[0]![0]).toContain('1 to 128')
    },
  )

  it.each(['a', 'getUser', 'DATA_EXPORT_v2', 'admin.tools.list', 'a-b', 'x'.repeat(128)])(
    'produce no warning for %s [TOOL-014, TOOL-015]',
    (name) => {
      const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
      new McpServer(info).registerTool(name, {}, () => 'x')
      expect(warn).not.toHaveBeenCalled()
    },
  )

  it('must not be empty [TOOL-014]', () => {
    expect(() => new McpServer(info).registerTool('', {}, () => 'x')).toThrow(TypeError)
  })

  everyWire('are case-sensitive [TOOL-016]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('Get', {}, () => 'upper')
    server.registerTool('get', {}, () => 'lower')
    await using pair = await wire.connect(server)
    expect((await pair.client.callTool('Get')).text).toBe('upper')
    expect((await pair.client.callTool('get')).text).toBe('lower')
    await expect(pair.client.callTool('GET')).rejects.toMatchObject({ code: 'peer', rpcCode: -32602 })
  })

  it('must be unique at registration and after a rename [TOOL-017]', async () => {
    const server = createServer()
    expect(() => server.registerTool('first', {}, () => 'again')).toThrow(/"first" is already registered/)
    const third = server.registerTool('third', {}, () => 'three')
    expect(() => third.update({ name: 'first' })).toThrow(/is already registered/)
    await using client = await script(server, '2026-07-28')
    const names = (await ask(client, 'tools/list')).result.tools.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['first', 'second', 'third'])
    expect((await ask(client, 'tools/call', { name: 'first' })).result.content[0].text).toBe('one')
  })

  it('are unique in the list when the server and a mounted server share a name [TOOL-017]', async () => {
    const child = new McpServer(info)
    child.registerTool('add', {}, () => 'of the child')
    const server = new McpServer(info)
    server.registerTool('shop_add', {}, () => 'own')
    server.mount(child, { prefix: 'shop' })
    await using client = await script(server, '2026-07-28')
    const names = (await ask(client, 'tools/list')).result.tools.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['shop_add'])
    expect((await ask(client, 'tools/call', { name: 'shop_add' })).result.content[0].text).toBe('own')
  })
})

describe('tools/call', () => {
  everyWire('returns content, without isError on success [TOOL-020, TOOL-021]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const result = await pair.client.callTool('first')
    expect(result.content).toEqual([{ type: 'text', text: 'one' }])
    expect(result).not.toHaveProperty('isError')
    expect(result.isError ?? false).toBe(false)
  })

  everyWire('answers an unknown tool with a protocol error [TOOL-034]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const failure = await pair.client.callTool('third').catch((error) => error)
    expect(failure).toMatchObject({ code: 'peer', rpcCode: -32602 })
    expect(failure.message).toContain('third')
  })

  everyWire('treats disabled and removed tools as unknown [TOOL-034]', async (wire) => {
    const server = createServer()
    const tool = server.registerTool('gone', {}, () => 'x')
    await using pair = await wire.connect(server)
    tool.disable()
    await expect(pair.client.callTool('gone')).rejects.toMatchObject({ rpcCode: -32602 })
    tool.remove()
    await expect(pair.client.callTool('gone')).rejects.toMatchObject({ rpcCode: -32602 })
  })

  it.each(revisionIds)(
    'answers an unknown tool with the same error when none is registered on %s [TOOL-034]',
    async (revision) => {
      const server = new McpServer(info, { capabilities: { tools: {} } })
      await using client = await script(server, revision)
      expect((await ask(client, 'tools/call', { name: 'x' })).error?.code).toBe(-32602)
    },
  )

  everyWire(
    'reports invalid arguments as a protocol error until 2025-06-18 [TOOL-035]',
    async (wire) => {
      await using pair = await wire.connect(createServer())
      const failure = await pair.client.callTool('second', { count: 11 }).catch((error) => error)
      expect(failure).toMatchObject({ code: 'peer', rpcCode: -32602 })
      expect(failure.message).toContain('count')
    },
    { revisions: ['2024-11-05', '2025-03-26', '2025-06-18'] },
  )

  everyWire(
    'reports invalid arguments in the result since 2025-11-25 [TOOL-037]',
    async (wire) => {
      await using pair = await wire.connect(createServer())
      for (const count of [11, 0, 1.5, 'three', undefined]) {
        const result = await pair.client.callTool('second', { count })
        expect(result.isError).toBe(true)
        expect(result.text).toContain('count')
      }
    },
    { revisions: ['2025-11-25', '2026-07-28'] },
  )

  it.each(revisionIds)('answers a malformed request with a protocol error on %s [TOOL-036]', async (revision) => {
    await using client = await script(createServer(), revision)
    const malformed = [
      {},
      { name: 7 },
      { name: null },
      { name: 'first', arguments: [] },
      { name: 'first', arguments: 'x' },
    ]
    for (const params of malformed) {
      const { result, error } = await ask(client, 'tools/call', params)
      expect(result).toBeUndefined()
      expect(error?.code).toBe(-32602)
    }
  })

  everyWire('never runs a handler with invalid arguments [TOOL-035, TOOL-037, TOOL-043]', async (wire) => {
    const handler = vi.fn(() => 'ran')
    const server = new McpServer(info)
    server.registerTool('strict', { inputSchema: z.strictObject({ a: z.string() }) }, handler)
    await using pair = await wire.connect(server)
    const call = (args: Record<string, unknown>) => pair.client.callTool('strict', args).catch((error) => error)
    await call({ a: 1 })
    await call({ a: 'x', extra: true })
    expect(handler).not.toHaveBeenCalled()
    await call({ a: 'x' })
    expect(handler).toHaveBeenCalledTimes(1)
  })

  everyWire('treats missing arguments as an empty object', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('none', {}, (args) => JSON.stringify(args))
    server.registerTool('optional', { inputSchema: { a: z.string().optional() } }, (args) => JSON.stringify(args))
    await using pair = await wire.connect(server)
    expect((await pair.client.callTool({ name: 'none' })).text).toBe('{}')
    expect((await pair.client.callTool({ name: 'optional' })).text).toBe('{}')
    expect((await pair.client.callTool('none', { left: 'out' })).text).toBe('{}')
  })
})

describe('a tool that throws', () => {
  function failing(thrown: unknown, options: { maskErrors?: boolean } = {}) {
    const onError = vi.fn()
    const server = new McpServer(info, { ...options, onError })
    server.registerTool('sync', {}, () => {
      throw thrown
    })
    server.registerTool('async', {}, async () => {
      await Promise.resolve()
      throw thrown
    })
    return { server, onError }
  }

  everyWire('reports the message in the result, and never the stack [TOOL-035, TOOL-038]', async (wire) => {
    const { server } = failing(new Error('The disk is full'))
    await using pair = await wire.connect(server)
    for (const name of ['sync', 'async']) {
      const result = await pair.client.callTool(name)
      expect(result.isError).toBe(true)
      expect(result.content).toEqual([{ type: 'text', text: 'The disk is full' }])
    }
    expect(JSON.stringify(pair.transcript.lines)).not.toContain('tools.test.ts')
  })

  everyWire('hides details from the peer with maskErrors and reports them to onError [TOOL-038]', async (wire) => {
    const thrown = new Error('password=hunter2', { cause: new Error('inner secret') })
    const { server, onError } = failing(thrown, { maskErrors: true })
    await using pair = await wire.connect(server)
    for (const name of ['sync', 'async']) {
      const result = await pair.client.callTool(name)
      expect(result.isError).toBe(true)
      expect(result.text).toContain(name)
    }
    expect(onError).toHaveBeenCalledTimes(2)
    expect(onError.mock.calls[0]![0]).toBe(thrown)
    const said = pair.transcript.toString()
    expect(said).not.toContain('hunter2')
    expect(said).not.toContain('inner secret')
  })

  everyWire('can throw ToolError, whose message is not masked [TOOL-038]', async (wire) => {
    const server = new McpServer(info, { maskErrors: true })
    server.registerTool('words', {}, () => {
      throw new ToolError('Ask for fewer rows')
    })
    server.registerTool('blocks', {}, () => {
      throw new ToolError([
        { type: 'text', text: 'See the picture' },
        { type: 'image', data: 'AAEC', mimeType: 'image/png' },
      ])
    })
    await using pair = await wire.connect(server)
    expect(await pair.client.callTool('words')).toMatchObject({
      isError: true,
      content: [{ type: 'text', text: 'Ask for fewer rows' }],
    })
    const blocks = await pair.client.callTool('blocks')
    expect(blocks.isError).toBe(true)
    expect(blocks.content.map(({ type }) => type)).toEqual(['text', 'image'])
  })

  everyWire('can throw ToolError with structured content for programs [TOOL-038]', async (wire) => {
    const server = new McpServer(info)
    const outputSchema = z.object({ rows: z.number() })
    server.registerTool('code', { outputSchema }, () => {
      throw new ToolError('Too many rows', { structuredContent: { code: 'TOO_MANY', limit: 10 } })
    })
    await using pair = await wire.connect(server)
    const result = await pair.client.callTool('code')
    expect(result).toMatchObject({ isError: true, content: [{ type: 'text', text: 'Too many rows' }] })
    // Earlier revisions have no structured content.
    const isKnown = wire.revision.id >= '2025-06-18'
    expect(result.structuredContent).toEqual(isKnown ? { code: 'TOO_MANY', limit: 10 } : undefined)
  })

  everyWire('can throw ProtocolError to answer with a protocol error', async (wire) => {
    const { server, onError } = failing(new ProtocolError(-32050, 'Locked', { by: 'someone' }))
    await using pair = await wire.connect(server)
    await expect(pair.client.callTool('async')).rejects.toMatchObject({
      rpcCode: -32050,
      message: 'Locked',
      data: { by: 'someone' },
    })
    expect(onError).not.toHaveBeenCalled()
  })

  const odd: [string, unknown, RegExp][] = [
    ['a string', 'just text', /^just text$/],
    ['a number', 42, /^42$/],
    ['null', null, /./],
    ['undefined', undefined, /./],
    ['a symbol', Symbol('odd'), /odd/],
    ['an object without prototype', Object.create(null), /./],
    [
      'an object that cannot be made a string',
      {
        toString: () => {
          throw new Error('no')
        },
      },
      /./,
    ],
    ['an error without a message', new Error(''), /^/],
  ]
  it.each(odd)('reports an error in the result when it throws %s [TOOL-038]', async (_what, thrown, text) => {
    const { server } = failing(thrown)
    await using client = await script(server, '2026-07-28')
    for (const name of ['sync', 'async']) {
      const { result, error } = await ask(client, 'tools/call', { name })
      expect(error).toBeUndefined()
      expect(result.isError).toBe(true)
      expect(result.content[0].text).toMatch(text)
    }
  })

  everyWire('does not affect other calls [TOOL-038]', async (wire) => {
    const { server } = failing(new Error('no'))
    server.registerTool('fine', {}, () => 'yes')
    await using pair = await wire.connect(server)
    const [failed, fine] = await Promise.all([pair.client.callTool('async'), pair.client.callTool('fine')])
    expect(failed.isError).toBe(true)
    expect(fine.text).toBe('yes')
  })
})

describe('several revisions at once', () => {
  it('one server answers clients of every revision concurrently [TOOL-020]', async () => {
    const server = createServer()
    const clients = await Promise.all(revisionIds.map((revision) => script(server, revision)))
    const answers = await Promise.all(clients.map((client) => ask(client, 'tools/call', { name: 'first' })))
    for (const { result } of answers) expect(result.content).toEqual([{ type: 'text', text: 'one' }])
    for (const client of clients) await client.close()
    expect(answers).toHaveLength(handshakes.length + newest.length)
    expect(since('2026-07-28')).toEqual(newest)
  })
})
