import { type ContentBlock, revisionIds } from 'tenon'
import { McpServer } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, results, script } from './support.ts'

const info = { name: 'results', version: '1' }
const structured = ['2025-06-18', '2025-11-25', '2026-07-28'] as const

const blocks: ContentBlock[] = [
  {
    type: 'text',
    text: 'words',
    annotations: { audience: ['user'], priority: 0.5, lastModified: '2026-01-01T00:00:00Z' },
  },
  { type: 'image', data: 'AAEC', mimeType: 'image/png' },
  { type: 'audio', data: 'AAEC', mimeType: 'audio/wav' },
  { type: 'resource_link', uri: 'notes://hidden', name: 'hidden', title: 'Hidden note', mimeType: 'text/plain' },
  { type: 'resource', resource: { uri: 'notes://today', text: 'Today', mimeType: 'text/plain' } },
  { type: 'resource', resource: { uri: 'notes://bytes', blob: 'AAEC', mimeType: 'application/octet-stream' } },
]

function speaking() {
  const server = new McpServer(info)
  server.registerResource('today', 'notes://today', { mimeType: 'text/plain' }, () => 'Today')
  server.registerTool('all', {}, () => ({ content: blocks }))
  return server
}

describe('content of a tool result', () => {
  everyWire('can embed a resource whose URI the client reads [TOOL-026]', async (wire) => {
    await using pair = await wire.connect(speaking())
    const { content } = await pair.client.callTool('all')
    const embedded = content.filter((block) => block.type === 'resource').map(({ resource }) => resource.uri)
    expect(embedded).toContain('notes://today')
    expect((await pair.client.readResource('notes://today')).contents[0]).toMatchObject({ text: 'Today' })
  })

  everyWire(
    'is text, image or embedded resource on 2024-11-05 [TOOL-022, TOOL-026]',
    async (wire) => {
      await using pair = await wire.connect(speaking())
      const { content } = await pair.client.callTool('all')
      expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'text', 'text', 'resource', 'resource'])
      expect(content[2]).toEqual({ type: 'text', text: expect.stringContaining('audio/wav') })
      expect(content[3]).toEqual({ type: 'text', text: expect.stringContaining('notes://hidden') })
    },
    { revisions: ['2024-11-05'] },
  )

  everyWire(
    'is text, image, audio or embedded resource on 2025-03-26 [TOOL-023, TOOL-026]',
    async (wire) => {
      await using pair = await wire.connect(speaking())
      const { content } = await pair.client.callTool('all')
      expect(content.map(({ type }) => type)).toEqual(['text', 'image', 'audio', 'text', 'resource', 'resource'])
      expect(content[3]).toEqual({ type: 'text', text: expect.stringContaining('notes://hidden') })
      expect(content[0]!.annotations).toEqual({ audience: ['user'], priority: 0.5 })
    },
    { revisions: ['2025-03-26'] },
  )

  everyWire(
    'is any type, including a link to an unlisted resource, since 2025-06-18 [TOOL-024, TOOL-025, TOOL-026]',
    async (wire) => {
      await using pair = await wire.connect(speaking())
      const { content } = await pair.client.callTool('all')
      expect(content).toEqual(blocks)
      const listed = (await pair.client.listResources().all()).map(({ uri }) => uri)
      expect(listed).not.toContain('notes://hidden')
    },
    { revisions: [...structured] },
  )

  everyWire('keeps the annotations inside of an embedded resource unchanged [TOOL-056]', async (wire) => {
    const annotations = { audience: ['user' as const, 'assistant' as const], priority: 0.7 }
    const resource = { uri: 'file:///project/main.rs', mimeType: 'text/x-rust', text: 'fn main() {}', annotations }
    const server = new McpServer({ name: 'files', version: '1' })
    server.registerTool('file', {}, () => ({ content: [{ type: 'resource' as const, resource }] }))
    await using pair = await wire.connect(server)
    expect((await pair.client.callTool('file')).content).toEqual([{ type: 'resource', resource }])
  })

  everyWire('keeps the annotations of every block, in the form of the revision [TOOL-053]', async (wire) => {
    const annotations = { audience: ['user', 'assistant'] as ('user' | 'assistant')[], priority: 0.5 }
    const server = new McpServer(info)
    // On revisions without audio and links these become text, which has annotations as well.
    server.registerTool('all', {}, () => ({ content: blocks.map((block) => ({ ...block, annotations })) }))
    await using pair = await wire.connect(server)
    const { content } = await pair.client.callTool('all')
    expect(content.map((block) => block.annotations)).toEqual(blocks.map(() => annotations))
  })

  it.each(revisionIds)('is never changed in the object that the handler keeps, on %s', async (revision) => {
    const before = structuredClone(blocks)
    await using client = await script(speaking(), revision)
    await ask(client, 'tools/call', { name: 'all' })
    expect(blocks).toEqual(before)
  })

  everyWire('is empty for a tool that returns nothing [TOOL-020]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('quiet', {}, () => undefined)
    server.registerTool('later', {}, async () => undefined)
    await using pair = await wire.connect(server)
    expect((await pair.client.callTool('quiet')).content).toEqual([])
    expect((await pair.client.callTool('later')).content).toEqual([])
  })

  everyWire('includes the _meta of the result', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('meta', {}, () => ({ content: [], _meta: { 'example.com/took': 3 } }))
    await using pair = await wire.connect(server)
    expect((await pair.client.callTool('meta'))._meta).toMatchObject({ 'example.com/took': 3 })
  })

  it('is rejected when it is a plain value without an output schema', async () => {
    const onError = vi.fn()
    const server = new McpServer(info, { onError })
    server.registerTool('plain', {}, (() => ({ sum: 3 })) as never)
    await using client = await script(server, '2026-07-28')
    expect((await ask(client, 'tools/call', { name: 'plain' })).result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Tool "plain" returned a plain value') }],
    })
    expect(String(onError.mock.calls[0]![0])).toContain('plain')
  })
})

describe('structured content', () => {
  function weather() {
    const server = new McpServer(info)
    const outputSchema = { degrees: z.number(), sky: z.string().optional() }
    server.registerTool('plain', { outputSchema }, () => ({ degrees: 21 }))
    server.registerTool('async', { outputSchema }, async () => ({ degrees: 21 }))
    server.registerTool('full', { outputSchema }, () => ({
      content: [{ type: 'text', text: 'warm' }],
      structuredContent: { degrees: 21 },
    }))
    server.registerTool('bare', { outputSchema }, () => ({ content: [], structuredContent: { degrees: 21 } }))
    return server
  }

  everyWire(
    'is sent as an object and as text when the handler returns a plain value [TOOL-028, TOOL-030, TOOL-032]',
    async (wire) => {
      await using pair = await wire.connect(weather())
      for (const name of ['plain', 'async']) {
        const result = await pair.client.callTool(name)
        expect(JSON.parse(result.text)).toEqual({ degrees: 21 })
        if (wire.revision.id >= '2025-06-18') expect(result.structuredContent).toEqual({ degrees: 21 })
        else expect(result).not.toHaveProperty('structuredContent')
      }
    },
  )

  everyWire('does not replace the content that the handler returned', async (wire) => {
    await using pair = await wire.connect(weather())
    const result = await pair.client.callTool('full')
    expect(result.content).toEqual([{ type: 'text', text: 'warm' }])
  })

  everyWire('is also sent as text when the handler returned empty content [TOOL-030]', async (wire) => {
    await using pair = await wire.connect(weather())
    expect(JSON.parse((await pair.client.callTool('bare')).text || 'null')).toEqual({ degrees: 21 })
  })

  everyWire('is described by an output schema only since 2025-06-18 [JSON-017]', async (wire) => {
    await using pair = await wire.connect(weather())
    const [tool] = (await pair.client.listTools()).tools
    if (wire.revision.id < '2025-06-18') expect(tool).not.toHaveProperty('outputSchema')
    else expect(tool?.outputSchema).toMatchObject({ type: 'object', required: ['degrees'] })
  })

  const values: [string, z.ZodType, unknown][] = [
    ['list', z.array(z.number()), [1, 2, 3]],
    ['number', z.number(), 7],
    ['text', z.string(), 'seven'],
    ['truth', z.boolean(), false],
    ['nothing', z.null(), null],
    ['either', z.union([z.object({ a: z.number() }), z.object({ b: z.number() })]), { b: 2 }],
  ]
  function anything() {
    const server = new McpServer(info)
    for (const [name, outputSchema, value] of values) server.registerTool(name, { outputSchema }, () => value as never)
    return server
  }

  everyWire(
    'may be any JSON value on 2026-07-28, with the same value as text [TOOL-029, TOOL-030, TOOL-031, JSON-018]',
    async (wire) => {
      await using pair = await wire.connect(anything())
      const tools = (await pair.client.listTools()).tools
      for (const tool of tools) expect(tool.outputSchema).toBeDefined()
      for (const [name, , value] of values) {
        const result = await pair.client.callTool(name)
        expect(result.structuredContent).toEqual(value)
        expect(JSON.parse(result.text)).toEqual(value)
      }
    },
    { revisions: ['2026-07-28'] },
  )

  everyWire(
    'is wrapped as { result } on 2025-06-18 and 2025-11-25 when its schema requires it [TOOL-028, JSON-017, TOOL-031]',
    async (wire) => {
      await using pair = await wire.connect(anything())
      const tools = (await pair.client.listTools()).tools
      for (const { outputSchema } of tools) {
        expect(outputSchema).toMatchObject({ type: 'object', properties: { result: {} }, required: ['result'] })
      }
      for (const [name, , value] of values) {
        const result = await pair.client.callTool(name)
        expect(result.structuredContent).toEqual({ result: value })
        expect(JSON.parse(result.text)).toEqual(value)
      }
    },
    { revisions: ['2025-06-18', '2025-11-25'] },
  )

  everyWire(
    'keeps the references in its schema valid when it is wrapped as { result } [JSON-017]',
    async (wire) => {
      const server = new McpServer(info, { onError: () => {} })
      const outputSchema = {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        type: 'array',
        items: { anyOf: [{ $ref: '#/$defs/leaf' }, { $ref: '#' }] },
        $defs: { leaf: { type: 'string', default: { $ref: '#' } } },
      } as const
      server.registerTool('tree', { outputSchema }, () => ['a', ['b', ['c']]] as never)
      server.registerTool('bad', { outputSchema }, () => ['a', ['b', [7]]] as never)
      await using pair = await wire.connect(server, {})
      const [tool] = (await pair.client.listTools()).tools
      expect(tool?.outputSchema).toMatchObject({
        properties: { result: { $defs: { leaf: { default: { $ref: '#' } } } } },
      })
      // The client validates the value against the listed schema.
      expect((await pair.client.callTool('tree')).structuredContent).toEqual({ result: ['a', ['b', ['c']]] })
      expect((await pair.client.callTool('bad')).isError).toBe(true)
    },
    { revisions: ['2025-06-18', '2025-11-25'] },
  )

  function lying(onError: (error: unknown) => void) {
    const server = new McpServer(info, { onError })
    const outputSchema = z.object({ degrees: z.number() })
    server.registerTool('wrong', { outputSchema }, () => ({ degrees: 'secret 451' }) as never)
    server.registerTool('full', { outputSchema }, () => ({ content: [], structuredContent: { degrees: 'secret 451' } }))
    server.registerTool('missing', { outputSchema }, () => ({ content: [{ type: 'text', text: '21' }] }))
    server.registerTool('nothing', { outputSchema }, () => undefined as never)
    server.registerTool('failed', { outputSchema }, () => ({
      content: [{ type: 'text', text: 'no sky' }],
      isError: true,
    }))
    return server
  }

  everyWire('is not sent when its schema rejects it, and onError gets the reason [TOOL-032]', async (wire) => {
    const onError = vi.fn()
    await using pair = await wire.connect(lying(onError))
    for (const name of ['wrong', 'full', 'missing', 'nothing']) {
      const { isError, text } = await pair.client.callTool(name)
      expect({ isError, text }).toEqual({ isError: true, text: expect.stringContaining(`Tool "${name}"`) })
      expect(String(onError.mock.lastCall![0])).toContain(`Tool "${name}"`)
    }
    expect(onError).toHaveBeenCalledTimes(4)
    expect(JSON.stringify(results(pair.transcript))).not.toContain('secret')
    expect(pair.transcript.toString()).not.toContain('secret')
  })

  everyWire('is not required in a result that reports an error [TOOL-032, TOOL-038]', async (wire) => {
    const onError = vi.fn()
    await using pair = await wire.connect(lying(onError))
    expect(await pair.client.callTool('failed')).toMatchObject({ isError: true, content: [{ text: 'no sky' }] })
    expect(onError).not.toHaveBeenCalled()
  })

  everyWire('is the parsed value: defaults are filled in, unknown keys are removed', async (wire) => {
    const server = new McpServer(info)
    const outputSchema = z.object({ a: z.number(), unit: z.string().default('C') })
    server.registerTool('filled', { outputSchema }, () => ({ a: 1, extra: true }) as { a: number })
    await using pair = await wire.connect(server)
    expect(JSON.parse((await pair.client.callTool('filled')).text)).toEqual({ a: 1, unit: 'C' })
  })
})
