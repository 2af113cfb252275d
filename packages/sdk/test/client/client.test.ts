import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type RevisionId, revisionIds } from 'tenon'
import { type ClientOptions, connect, McpError, PeerError } from 'tenon/client'
import { McpServer, ResourceTemplate } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../kit/every-wire.ts'
import { pretend, requests, since } from '../server/features/support.ts'

const object = { type: 'object' }
const structured = since('2025-06-18')

/** Connects a client to a server that lists the given tools and answers every call with the given result. */
async function facing(
  revision: RevisionId,
  tools: unknown,
  result: object = { content: [] },
  options: ClientOptions = {},
) {
  const server = pretend(
    revision,
    { tools: {} },
    {
      'tools/list': () => ({ result: { tools } }),
      'tools/call': () => ({ result }),
    },
  )
  const client = await connect(server.transport, { revision, ...options })
  const warnings: string[] = []
  client.on('warning', ({ message }) => warnings.push(message))
  return { client, server, warnings, [Symbol.asyncDispose]: () => client.close() }
}

describe('lists', () => {
  everyWire('can await, iterate and collect a list', async (wire) => {
    const server = new McpServer({ name: 'lists', version: '1' }, { pageSize: 2 })
    for (const name of ['a', 'b', 'c']) server.registerTool(name, {}, () => 'x')
    await using pair = await wire.connect(server)
    const { client } = pair
    const page = await client.listTools()
    expect(page.tools.map(({ name }) => name)).toEqual(['a', 'b'])
    const iterated: string[] = []
    for await (const tool of client.listTools()) iterated.push(tool.name)
    expect(iterated).toEqual(['a', 'b', 'c'])
    const pages: number[] = []
    for await (const each of client.listTools().pages()) pages.push(each.tools.length)
    expect(pages).toEqual([2, 1])
    expect(await client.listTools().all()).toHaveLength(3)
    expect((await client.listTools({ cursor: page.nextCursor! }).all()).map(({ name }) => name)).toEqual(['c'])
  })

  everyWire('requests a list once when it is awaited and then iterated', async (wire) => {
    const server = new McpServer({ name: 'lists', version: '1' })
    server.registerTool('a', {}, () => 'x')
    await using pair = await wire.connect(server)
    const list = pair.client.listTools()
    await list
    await list
    expect(await list.all()).toHaveLength(1)
    expect(requests(pair.transcript, 'tools/list')).toHaveLength(1)
  })

  it.each(revisionIds)('drops a malformed tool with a warning and keeps the others on %s', async (revision) => {
    const bad = [
      null,
      7,
      'tool',
      [],
      {},
      { name: 'no schema' },
      { name: '', inputSchema: object },
      { name: 3, inputSchema: object },
      { name: 'odd', inputSchema: 'string' },
    ]
    await using met = await facing(revision, [
      { name: 'first', inputSchema: object },
      ...bad,
      { name: 'last', inputSchema: object },
    ])
    expect((await met.client.listTools()).tools.map(({ name }) => name)).toEqual(['first', 'last'])
    expect(met.warnings).toHaveLength(bad.length)
    expect(met.warnings.join('\n')).toContain('no schema')
  })

  it.each(revisionIds)('drops malformed prompts, resources and templates with a warning on %s', async (revision) => {
    const server = pretend(
      revision,
      { prompts: {}, resources: {} },
      {
        'prompts/list': () => ({ result: { prompts: [{}, { name: 'p' }, null] } }),
        'resources/list': () => ({ result: { resources: [{ name: 'no uri' }, { uri: 'a://b', name: 'r' }] } }),
        'resources/templates/list': () => ({
          result: { resourceTemplates: [{ uriTemplate: 7 }, { uriTemplate: 'a://{b}', name: 't' }] },
        }),
      },
    )
    await using client = await connect(server.transport, { revision })
    const warnings: string[] = []
    client.on('warning', ({ message }) => warnings.push(message))
    expect(await client.listPrompts().all()).toEqual([{ name: 'p' }])
    expect(await client.listResources().all()).toHaveLength(1)
    expect(await client.listResourceTemplates().all()).toHaveLength(1)
    expect(warnings).toHaveLength(4)
  })

  it.each(revisionIds)('rejects a result that is not a list on %s', async (revision) => {
    for (const tools of [undefined, null, {}, 'tools']) {
      await using met = await facing(revision, tools)
      await expect(met.client.listTools().all()).rejects.toMatchObject({ code: 'invalid-response' })
    }
  })

  it.each(revisionIds)('keeps every keyword of a schema on %s [JSON-015]', async (revision) => {
    const inputSchema = {
      type: 'object',
      $defs: { a: { $anchor: 'a', const: 1 } },
      allOf: [{ $ref: '#a' }],
      if: {},
      else: false,
      'x-y': [null],
    }
    await using met = await facing(revision, [{ name: 'a', inputSchema, outputSchema: inputSchema }])
    const [tool] = (await met.client.listTools()).tools
    expect(tool?.inputSchema).toEqual(inputSchema)
    expect(tool?.outputSchema).toEqual(inputSchema)
  })
})

describe('tool results', () => {
  const outputSchema = { type: 'object', properties: { n: { type: 'number', maximum: 10 } }, required: ['n'] }
  const tools = [{ name: 'a', inputSchema: object, outputSchema }]

  describe.each(structured)('on %s', (revision) => {
    it('checks the result against the listed output schema [TOOL-033]', async () => {
      await using good = await facing(revision, tools, { content: [], structuredContent: { n: 3 } })
      await good.client.listTools()
      expect((await good.client.callTool('a')).structuredContent).toEqual({ n: 3 })
      for (const structuredContent of [{ n: 11 }, { n: '3' }, {}, undefined, [], 'text']) {
        await using bad = await facing(revision, tools, { content: [], structuredContent })
        await bad.client.listTools()
        const failure = await bad.client.callTool('a').catch((error) => error)
        expect(failure).toBeInstanceOf(McpError)
        expect(failure.code).toBe('invalid-output')
        expect(failure.message).toContain('a')
      }
    })

    it('returns results with isError unchecked, without throwing [TOOL-033, TOOL-039]', async () => {
      await using met = await facing(revision, tools, {
        content: [{ type: 'text', text: 'The tank is empty' }],
        isError: true,
      })
      await met.client.listTools()
      const result = await met.client.callTool('a')
      expect([result.isError, result.text]).toEqual([true, 'The tank is empty'])
    })

    it('does not check the result of a tool that was not listed or has no schema [TOOL-033]', async () => {
      await using met = await facing(revision, [{ name: 'b', inputSchema: object }], {
        content: [],
        structuredContent: { any: 1 },
      })
      expect((await met.client.callTool('a')).structuredContent).toEqual({ any: 1 })
      await met.client.listTools()
      expect((await met.client.callTool('b')).structuredContent).toEqual({ any: 1 })
    })

    it('follows the dialect that the schema names, or 2020-12 [JSON-001, JSON-002, JSON-005]', async () => {
      const draft7 = { $schema: 'http://json-schema.org/draft-07/schema#' }
      // An array as items belongs to draft-07, prefixItems to 2020-12; each dialect ignores the other keyword.
      const cases: [object, object, boolean][] = [
        [draft7, { items: [{ type: 'string' }] }, false],
        [draft7, { prefixItems: [{ type: 'string' }] }, true],
        [{}, { prefixItems: [{ type: 'string' }] }, false],
      ]
      for (const [dialect, list, fits] of cases) {
        const schema = { ...dialect, type: 'object', properties: { list } }
        const tools = [{ name: 'a', inputSchema: object, outputSchema: schema }]
        await using met = await facing(revision, tools, { content: [], structuredContent: { list: [1] } })
        await met.client.listTools()
        const code = await met.client.callTool('a').then(
          () => undefined,
          (error) => error.code,
        )
        expect(code).toBe(fits ? undefined : 'invalid-output')
        expect(met.warnings).toEqual([])
      }
    })

    const unusable: [string, object][] = [
      ['of a dialect nobody knows [JSON-006]', { $schema: 'https://example.com/dialect', type: 'object' }],
      ['that is not valid itself [JSON-007]', { type: 'object', properties: { n: { type: 'nonsense' } } }],
      ['that refers to nothing [JSON-007]', { type: 'object', properties: { n: { $ref: '#/$defs/gone' } } }],
    ]
    it.each(unusable)(
      'passes the parts of a schema %s that cannot be checked, with one warning',
      async (_what, schema) => {
        await using met = await facing(revision, [{ name: 'a', inputSchema: object, outputSchema: schema }], {
          content: [],
          structuredContent: { n: 1 },
        })
        expect((await met.client.listTools()).tools).toHaveLength(1)
        expect((await met.client.callTool('a')).structuredContent).toEqual({ n: 1 })
        await met.client.callTool('a')
        expect(met.warnings).toHaveLength(1)
        expect(met.warnings[0]).toMatch(/Parts of the output schema of the tool "a" are not checked/)
      },
    )

    it.each<[string, object]>([
      ['a wrong type', { type: 'nonsense' }],
      ['an unknown reference', { $ref: '#/$defs/gone' }],
      ['an unsupported pattern', { pattern: '(a)\\1' }],
    ])('checks the rest of a schema that has %s [TOOL-033]', async (_what, unusablePart) => {
      const outputSchema = { type: 'object', properties: { n: unusablePart, count: { type: 'number' } } }
      await using met = await facing(revision, [{ name: 'a', inputSchema: object, outputSchema }], {
        content: [],
        structuredContent: { n: 1, count: 'many' },
      })
      await met.client.listTools()
      await expect(met.client.callTool('a')).rejects.toThrow('count: must be a number, got string')
    })

    it('checks and converts the result by the output schema that the caller passes', async () => {
      await using met = await facing(revision, [{ name: 'a', inputSchema: object }], {
        content: [],
        structuredContent: { at: '2026-07-28T00:00:00Z' },
      })
      const outputSchema = { at: z.coerce.date() }
      const { structuredContent } = await met.client.callTool('a', {}, { outputSchema })
      expect(structuredContent?.at.getUTCFullYear()).toBe(2026)
      const wrong = met.client.callTool({ name: 'a' }, { outputSchema: { type: 'object', required: ['count'] } })
      await expect(wrong).rejects.toMatchObject({
        code: 'invalid-output',
        message: expect.stringContaining('count: is required'),
      })
    })

    it('distinguishes failed results from missing structured content for a caller’s output schema', async () => {
      const outputSchema = { n: z.number() }
      await using failing = await facing(revision, [], { content: [], isError: true })
      expect((await failing.client.callTool('a', {}, { outputSchema })).isError).toBe(true)
      await using empty = await facing(revision, [], { content: [] })
      await expect(empty.client.callTool('a', {}, { outputSchema })).rejects.toThrow('returned no structured content')
    })

    it('matches patterns in bounded time [JSON-014]', async () => {
      const outputSchema = { type: 'object', properties: { id: { pattern: '^(\\w+\\s?)*$' } } }
      await using met = await facing(revision, [{ name: 'a', inputSchema: object, outputSchema }], {
        content: [],
        structuredContent: { id: `${'a'.repeat(100_000)}!` },
      })
      await met.client.listTools()
      await expect(met.client.callTool('a')).rejects.toThrow('id: must match the pattern')
      expect(met.warnings).toEqual([])
    })
  })

  it.each(structured)(
    'fetches nothing for a schema that refers to the network, and a server refuses it, on %s [TOOL-046, JSON-009, JSON-011, JSON-013]',
    async (revision) => {
      let fetched = 0
      const http = createHttpServer((_request, response) => {
        fetched++
        response.end('{"type":"object"}')
      })
      await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
      try {
        const remote = {
          type: 'object',
          properties: { n: { $ref: `http://127.0.0.1:${(http.address() as AddressInfo).port}/schema.json` } },
        }
        await using met = await facing(revision, [{ name: 'a', inputSchema: remote, outputSchema: remote }], {
          content: [],
          structuredContent: { n: 1 },
        })
        await met.client.listTools()
        await met.client.callTool('a', { n: 1 })
        expect(met.warnings).toHaveLength(1)
        const server = new McpServer({ name: 'x', version: '1' })
        expect(() => server.registerTool('in', { inputSchema: remote }, () => 'x')).toThrow(/schema\.json/)
        expect(() => server.registerTool('out', { outputSchema: remote }, () => ({}))).toThrow(/schema\.json/)
        expect(fetched).toBe(0)
      } finally {
        http.close()
      }
    },
  )

  it.each(revisionIds)('returns a result without content safely on %s', async (revision) => {
    await using met = await facing(revision, [], {})
    const result = await met.client.callTool('a')
    expect([result.content, result.text]).toEqual([[], ''])
  })

  it.each(revisionIds)('times out when no result arrives on %s', async (revision) => {
    const server = pretend(revision, { tools: {} }, { 'tools/call': () => undefined })
    await using client = await connect(server.transport, { revision })
    await expect(client.callTool('slow', {}, { timeoutMs: 20 })).rejects.toMatchObject({
      code: 'timeout',
      timeoutMs: 20,
    })
  })
})

describe('server errors', () => {
  it.each(revisionIds)(
    'exposes code, message and data of a server error to the caller on %s [TOOL-040]',
    async (revision) => {
      const server = pretend(
        revision,
        { tools: {} },
        {
          'tools/call': () => ({ error: { code: -32602, message: 'Unknown tool: x', data: { near: ['y'] } } }),
        },
      )
      await using client = await connect(server.transport, { revision })
      const failure = await client.callTool('x').catch((error) => error)
      expect(failure).toBeInstanceOf(PeerError)
      expect(failure).toMatchObject({
        code: 'peer',
        rpcCode: -32602,
        message: 'Unknown tool: x',
        data: { near: ['y'] },
      })
    },
  )

  it.each(revisionIds)('does not request a feature that the server did not declare on %s', async (revision) => {
    const server = pretend(revision, {}, {})
    await using client = await connect(server.transport, { revision })
    const calls = [
      () => client.listTools(),
      () => client.callTool('x'),
      () => client.listResources(),
      () => client.readResource('a://b'),
      () => client.listResourceTemplates(),
    ]
    for (const call of calls) await expect((async () => call())()).rejects.toMatchObject({ code: 'capability-missing' })
    expect(server.transcript.toString()).not.toMatch(/tools\/|resources\//)
  })
})

describe('icons', () => {
  const icons = [
    { src: 'https://example.com/icon.png' },
    {
      src: 'data:image/svg+xml;base64,PHN2Zy8+',
      mimeType: 'image/svg+xml',
      sizes: ['any', '48x48'],
      theme: 'dark' as const,
    },
  ]

  everyWire('sends icons with everything that can have one, since 2025-11-25 [ICON-001]', async (wire) => {
    const server = new McpServer({ name: 'icons', version: '1', icons })
    server.registerTool('t', { icons }, () => 'x')
    server.registerPrompt('p', { icons }, () => 'x')
    server.registerResource('r', 'a://b', { icons }, () => 'x')
    await using pair = await wire.connect(server)
    const { client } = pair
    const expected = wire.revision.id >= '2025-11-25' ? icons : undefined
    expect((await client.listTools()).tools[0]?.icons).toEqual(expected)
    expect((await client.listPrompts()).prompts[0]?.icons).toEqual(expected)
    expect((await client.listResources()).resources[0]?.icons).toEqual(expected)
    expect(client.getServerVersion()?.icons).toEqual(expected)
  })

  const wrong: [string, unknown][] = [
    ['no src', [{ mimeType: 'image/png' }]],
    ['a src that is not a URL', [{ src: 'icon.png' }]],
    ['a javascript: URL', [{ src: 'javascript:alert(1)' }]],
    ['a file: URL', [{ src: 'file:///etc/passwd' }]],
    ['the wrong one second', [...icons, { src: 'ftp://example.com/icon.png' }]],
    ['a size that is not one', [{ src: 'https://example.com/icon.png', sizes: ['big'] }]],
    ['sizes as text', [{ src: 'https://example.com/icon.png', sizes: '48x48' }]],
    ['an unknown theme', [{ src: 'https://example.com/icon.png', theme: 'blue' }]],
    ['a mimeType that is not text', [{ src: 'https://example.com/icon.png', mimeType: 7 }]],
    ['no list', { src: 'https://example.com/icon.png' }],
  ]

  it.each(wrong)('refuses an icon at registration with %s [ICON-001]', (_, icons) => {
    const config = { icons: icons as never }
    const info = { name: 'icons', version: '1' }
    const server = new McpServer(info)
    expect(() => server.registerTool('t', config, () => 'x')).toThrow(/^Tool "t": icons/)
    expect(() => server.registerPrompt('p', config, () => 'x')).toThrow(/^Prompt "p": icons/)
    expect(() => server.registerResource('r', 'a://b', config, () => 'x')).toThrow(/^Resource "r": icons/)
    const template = new ResourceTemplate('a://{b}')
    expect(() => server.registerResource('f', template, config, () => 'x')).toThrow(/^Resource "f": icons/)
    expect(() => new McpServer({ ...info, ...config })).toThrow(/^Server "icons": icons/)
  })

  it('accepts http: icons with a warning that clients will not load them', () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const icons = [{ src: 'http://example.com/warned.png' }]
    expect(() => new McpServer({ name: 'icons', version: '1', icons })).not.toThrow()
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('http://example.com/warned.png'))
    warn.mockRestore()
  })
})
