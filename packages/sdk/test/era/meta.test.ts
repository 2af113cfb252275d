import { metaKeys, type RevisionId } from 'tenon'
import { Client } from 'tenon/client'
import { completable, McpServer, ResourceTemplate } from 'tenon/server'
import { InMemoryTransport, Judge, record, ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { errorOf } from '../kit/error-of.ts'
import { everyWire } from '../kit/every-wire.ts'
import { officialSchema } from '../kit/official-schemas.ts'
import { allRevisions, modern } from '../kit/revisions.ts'
import { discovery, scripted, scriptedClient } from '../kit/scripted-server.ts'
import { methodsOf, type Said, said } from '../kit/transcript.ts'
import { connected, testServer } from './support.ts'

const onlyModern = { revisions: [modern] }

function fullServer(options = {}) {
  const { server } = testServer(options)
  server.registerResource('note', 'note://a', {}, () => 'a')
  server.registerResource('any', new ResourceTemplate('note://{id}/x', {}), {}, (uri) => uri.href)
  server.registerPrompt('p', { argsSchema: { a: completable(z.string(), () => ['x']) } }, ({ a }) => a)
  return server
}

const requests: [string, Record<string, unknown>][] = [
  ['server/discover', {}],
  ['tools/list', {}],
  ['tools/call', { name: 'echo', arguments: { text: 'x' } }],
  ['prompts/list', {}],
  ['prompts/get', { name: 'p', arguments: { a: 'x' } }],
  ['resources/list', {}],
  ['resources/templates/list', {}],
  ['resources/read', { uri: 'note://a' }],
  ['completion/complete', { ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } }],
]

describe('server/discover', () => {
  it('returns versions, capabilities, caching hints and server info as the schema requires [DISC-001, DISC-002, DISC-003, DISC-004, DISC-005]', async () => {
    await using caller = await ScriptedClient.connect(fullServer())
    const { result } = (await caller.request('server/discover')) as Said
    expect(result).toEqual({
      resultType: 'complete',
      supportedVersions: [...allRevisions].reverse(),
      capabilities: {
        logging: {},
        completions: {},
        tools: { listChanged: true },
        resources: { listChanged: true, subscribe: true },
        prompts: { listChanged: true },
      },
      ttlMs: 0,
      cacheScope: 'private',
      _meta: { [metaKeys.serverInfo]: { name: 'test-server', version: '3.2.1' } },
    })
    const schema = officialSchema(modern)
    if (!schema) return
    const judge = new Judge(schema)
    for (const line of caller.transcript.lines) judge.hear(line)
    expect(judge.problems).toEqual([])
  })

  it.each([[[modern]], [[modern, '2024-11-05']], [['2025-11-25', modern]]] as RevisionId[][][])(
    'lists exactly the supported versions: %s [DISC-002]',
    async (revisions) => {
      await using caller = await ScriptedClient.connect(testServer({ revisions }).server)
      const { result } = (await caller.request('server/discover')) as Said
      expect([...(result!.supportedVersions as string[])].sort()).toEqual([...revisions].sort())
    },
  )

  it('includes features that were registered after the connection was made [DISC-003]', async () => {
    const server = new McpServer({ name: 's', version: '1' })
    await using caller = await ScriptedClient.connect(server)
    expect(((await caller.request('server/discover')) as Said).result?.capabilities).toEqual({ logging: {} })
    server.registerPrompt('p', {}, () => 'x')
    const later = (await caller.request('server/discover')) as Said
    expect(later.result?.capabilities).toEqual({ logging: {}, prompts: { listChanged: true } })
  })

  everyWire(
    'includes instructions if given, and serverInfo only in _meta [DISC-005, DISC-006]',
    async (wire) => {
      await using pair = await wire.connect(fullServer({ instructions: 'Read the notes first.' }))
      expect(pair.client.getInstructions()).toBe('Read the notes first.')
      expect(pair.client.getServerVersion()).toEqual({ name: 'test-server', version: '3.2.1' })
      const result = said(pair.transcript, 'server')[0]!.result!
      expect(result.instructions).toBe('Read the notes first.')
      expect(result).not.toHaveProperty('serverInfo')
      await using plain = await wire.connect(fullServer())
      expect(plain.client.getInstructions()).toBeUndefined()
      expect(said(plain.transcript, 'server')[0]!.result).not.toHaveProperty('instructions')
    },
    onlyModern,
  )

  everyWire(
    'is requested with _meta only [DISC-007]',
    async (wire) => {
      await using pair = await wire.connect(fullServer(), { logLevel: 'debug' })
      await pair.client.ping()
      const asked = said(pair.transcript, 'client', 'server/discover')
      expect(asked).toHaveLength(2)
      for (const { params } of asked) expect(Object.keys(params!)).toEqual(['_meta'])
    },
    onlyModern,
  )

  it('determines the version of later requests [DISC-008]', async () => {
    const server = scripted(modern, {
      'server/discover': () => ({ result: discovery(['2031-05-05', modern]) }),
      'tools/list': () => ({ result: { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' } }),
    })
    const client = await scriptedClient(server)
    await client.listTools()
    await client.ping()
    const versions = said(server.transcript, 'client').map(({ params }) => params?._meta?.[metaKeys.protocolVersion])
    expect(new Set(versions)).toEqual(new Set([modern]))
    await client.close()
  })

  it.each([
    undefined,
    { name: 'anthropic-official-trusted', version: '999' },
    { name: '', version: '' },
    'a string',
    5,
    null,
    { name: 7 },
  ])('does not change client behaviour when serverInfo is %j [DISC-009, DISC-010]', async (info) => {
    const talk = async (serverInfo: unknown) => {
      const { _meta, ...rest } = discovery([modern])
      const meta = { ...(serverInfo !== undefined && { [metaKeys.serverInfo]: serverInfo }) }
      const server = scripted(modern, {
        'server/discover': () => ({ result: { ...rest, _meta: meta } }),
        'tools/list': () => ({
          result: { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private', _meta: meta },
        }),
        'tools/call': () => ({ result: { resultType: 'complete', content: [], _meta: meta } }),
      })
      const client = await scriptedClient(server)
      await client.listTools()
      await client.callTool('x', { a: 1 })
      await client.ping()
      await client.close()
      return said(server.transcript, 'client')
    }
    expect(await talk(info)).toEqual(await talk({ name: 'scripted', version: '1' }))
  })
})

describe('the _meta of client requests', () => {
  everyWire(
    'contains version, capabilities and client info for every method [META-009, META-010, META-011]',
    async (wire) => {
      const capabilities = { elicitation: { form: {} } }
      await using pair = await wire.connect(fullServer(), { capabilities })
      const { client } = pair
      await client.listTools()
      await client.callTool('echo', { text: 'x' })
      await client.listPrompts()
      await client.getPrompt('p', { a: 'x' })
      await client.listResources()
      await client.listResourceTemplates()
      await client.readResource('note://a')
      await client.complete({ ref: { type: 'ref/prompt', name: 'p' }, argument: { name: 'a', value: '' } })
      await client.request('tools/list', { _meta: { 'com.example/mine': 1 } })
      await (await client.listen({ toolsListChanged: true })).close()
      await client.ping()
      const sent = said(pair.transcript, 'client').filter(({ id }) => id !== undefined)
      expect(sent.length).toBe(12)
      for (const { method, params } of sent) {
        expect(params?._meta, method).toMatchObject({
          [metaKeys.protocolVersion]: modern,
          [metaKeys.clientCapabilities]: capabilities,
          [metaKeys.clientInfo]: { name: 'test', version: '1.0.0' },
        })
      }
      expect(sent.find(({ params }) => params?._meta?.['com.example/mine'] === 1)).toBeDefined()
    },
    onlyModern,
  )

  it('contains empty capabilities when there are none [META-010]', async () => {
    const server = scripted(modern)
    const client = await scriptedClient(server)
    await client.ping()
    for (const { params } of said(server.transcript, 'client')) {
      expect(params?._meta?.[metaKeys.clientCapabilities]).toEqual({})
    }
    await client.close()
  })
})

describe('validation of _meta by a server', () => {
  const good = {
    [metaKeys.protocolVersion]: modern,
    [metaKeys.clientCapabilities]: {},
    [metaKeys.clientInfo]: { name: 'x', version: '1' },
  }
  const without = (key: string) => Object.fromEntries(Object.entries(good).filter(([name]) => name !== key))
  const bad: [string, unknown][] = [
    ['no version', without(metaKeys.protocolVersion)],
    ['no capabilities', without(metaKeys.clientCapabilities)],
    ['a version that is a number', { ...good, [metaKeys.protocolVersion]: 20260728 }],
    ['a version that is null', { ...good, [metaKeys.protocolVersion]: null }],
    ['capabilities that are null', { ...good, [metaKeys.clientCapabilities]: null }],
    ['capabilities that are a list', { ...good, [metaKeys.clientCapabilities]: [] }],
    ['capabilities that are a string', { ...good, [metaKeys.clientCapabilities]: 'all' }],
    ['neither of both', {}],
    ['no _meta', undefined],
    ['a _meta that is a string', 'x'],
    ['a _meta that is null', null],
  ]
  for (const revisions of [[modern], allRevisions]) {
    it.each(bad)(`refuses %s with -32602, serving ${revisions.length} revision(s) [META-012]`, async (_, meta) => {
      await using caller = await ScriptedClient.connect(fullServer({ revisions }))
      for (const [method, params] of [...requests, ['subscriptions/listen', { notifications: {} }] as const]) {
        const message = {
          jsonrpc: '2.0',
          id: method,
          method,
          params: { ...params, ...(meta !== undefined && { _meta: meta }) },
        }
        const answer = (await caller.send(message)) as Said
        expect(answer.error?.code, method).toBe(-32602)
        expect(answer.result, method).toBeUndefined()
      }
    })
  }

  it('adds its server info to every result [META-018]', async () => {
    await using caller = await ScriptedClient.connect(fullServer())
    for (const [method, params] of requests) {
      const answer = (await caller.request(method, params)) as Said
      expect(answer.result?._meta?.[metaKeys.serverInfo], method).toEqual({ name: 'test-server', version: '3.2.1' })
    }
    // A tool error is a result too.
    const failed = (await caller.request('tools/call', { name: 'echo', arguments: {} })) as Said
    expect(failed.result).toMatchObject({ isError: true, _meta: { [metaKeys.serverInfo]: { name: 'test-server' } } })
  })

  it('adds its server info beside the _meta of a handler [META-018, META-023]', async () => {
    const server = new McpServer({ name: 's', version: '1' })
    server.registerTool('t', {}, () => ({ content: [], _meta: { 'com.example/cost': 3 } }))
    await using caller = await ScriptedClient.connect(server)
    const { result } = (await caller.request('tools/call', { name: 't' })) as Said
    expect(result?._meta).toEqual({ 'com.example/cost': 3, [metaKeys.serverInfo]: { name: 's', version: '1' } })
  })

  it.each([
    { name: 'admin', version: '999' },
    { name: 'test-server', version: '3.2.1' },
    { name: '', version: '' },
    undefined,
  ])('answers a client with the info %j like any other [META-019, META-020]', async (info) => {
    const talk = async (clientInfo: unknown) => {
      await using caller = await ScriptedClient.connect(fullServer())
      const answers: unknown[] = []
      for (const [method, params] of [
        ...requests,
        ['tools/call', { name: 'nope' }] as const,
        ['ping', {}] as const,
        ['resources/read', { uri: 'note://nope' }] as const,
      ]) {
        const { [metaKeys.clientInfo]: _, ...meta } = good
        const _meta = { ...meta, ...(clientInfo !== undefined && { [metaKeys.clientInfo]: clientInfo }) }
        answers.push(await caller.send({ jsonrpc: '2.0', id: answers.length, method, params: { ...params, _meta } }))
      }
      return answers
    }
    expect(await talk(info)).toEqual(await talk({ name: 'script', version: '1' }))
  })
})

describe('keys in _meta', () => {
  const strange = {
    'io.modelcontextprotocol/future': { any: ['thing'] },
    'io.modelcontextprotocol/other': 42,
    'mcp.dev/x': null,
    'dev.mcp/': '',
    'com.example/own': [1],
    plain: false,
  }
  const metaRevisions: RevisionId[] = ['2025-06-18', '2025-11-25', '2026-07-28']

  it.each(metaRevisions)(
    'passes unknown _meta keys to the handler without effect on the server (%s) [META-001]',
    async (revision) => {
      const server = new McpServer({ name: 's', version: '1' })
      let seen: unknown
      server.registerTool('t', {}, (_, ctx) => {
        seen = ctx.meta
        return 'ok'
      })
      await using caller = await ScriptedClient.connect(server, { revision })
      await caller.open()
      const answer = (await caller.request('tools/call', { name: 't', _meta: strange })) as Said
      expect(answer.result).toMatchObject({ content: [{ text: 'ok' }] })
      expect(seen).toMatchObject(strange)
    },
  )

  it.each(metaRevisions)('ignores unknown or malformed _meta keys from a server (%s) [META-001]', async (revision) => {
    const odd = { ...strange, [metaKeys.serverInfo]: 7, [metaKeys.relatedTask]: 'not an object', progressToken: {} }
    const server = scripted(revision, {
      'tools/call': () => ({
        result: {
          ...(revision === modern && { resultType: 'complete' }),
          content: [{ type: 'text', text: 'ok', _meta: odd }],
          _meta: odd,
        },
      }),
    })
    const client = await scriptedClient(server, { revision })
    const told: string[] = []
    client.on('toolsChanged', () => told.push('tools'))
    server.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: { _meta: odd } })
    const result = await client.callTool('t')
    expect(result.text).toBe('ok')
    expect(result._meta).toEqual(odd)
    expect(told).toEqual(['tools'])
    await client.close()
  })

  it.each(metaRevisions)('delivers _meta keys wherever they are allowed (%s) [META-023]', async (revision) => {
    const _meta = { 'com.example/mark': 'x' }
    const server = new McpServer({ name: 's', version: '1' })
    server.registerTool('t', { _meta }, (_, ctx) => ({
      content: [
        { type: 'text', text: JSON.stringify(ctx.meta['com.example/asked']), _meta },
        { type: 'image', data: 'AA==', mimeType: 'image/png', _meta },
        { type: 'audio', data: 'AA==', mimeType: 'audio/wav', _meta },
        { type: 'resource_link', uri: 'note://a', name: 'a', _meta },
        { type: 'resource', resource: { uri: 'note://a', text: 'a', _meta }, _meta },
      ],
      _meta,
    }))
    server.registerResource('r', 'note://a', { _meta }, () => ({
      contents: [{ uri: 'note://a', text: 'a', _meta }],
      _meta,
    }))
    server.registerResource('tpl', new ResourceTemplate('note://{id}/x', {}), { _meta }, () => 'x')
    server.registerPrompt('p', { _meta }, () => ({
      messages: [{ role: 'user', content: { type: 'text', text: 'x', _meta } }],
      _meta,
    }))
    const client = await connected(server, { revision })
    const called = await client.callTool({ name: 't', arguments: {}, _meta: { 'com.example/asked': 'yes' } })
    expect(called.text).toBe('"yes"')
    const read = await client.readResource('note://a')
    const prompt = await client.getPrompt('p')
    const marked: [string, unknown][] = [
      ['tool', (await client.listTools()).tools[0]],
      ['resource', (await client.listResources()).resources[0]],
      ['template', (await client.listResourceTemplates()).resourceTemplates[0]],
      ['prompt', (await client.listPrompts()).prompts[0]],
      ['contents', read.contents[0]],
      ['read result', read],
      ['prompt result', prompt],
      ['prompt content', prompt.messages[0]!.content],
      ['call result', called],
      ['embedded', (called.content[4] as { resource: unknown }).resource],
      ...called.content.map((block): [string, unknown] => [block.type, block]),
    ]
    for (const [what, item] of marked) expect((item as { _meta?: object })._meta, what).toMatchObject(_meta)
    await client.close()
  })

  it.each(metaRevisions)('passes trace context through unchanged, without a prefix (%s)', async (revision) => {
    const trace = {
      [metaKeys.traceparent]: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01',
      [metaKeys.tracestate]: 'vendor=opaque,other=1',
      [metaKeys.baggage]: 'userId=alice;prop=1,region=eu',
    }
    const server = new McpServer({ name: 's', version: '1' })
    server.registerTool('t', {}, (_, ctx) => JSON.stringify(ctx.meta))
    const client = await connected(server, { revision })
    const result = await client.callTool({ name: 't', arguments: {}, _meta: trace })
    expect(JSON.parse(result.text)).toMatchObject(trace)
    await client.close()
  })

  it.each(['traceparent', 'tracestate', 'baggage'])(
    'does not send trace context when %s is malformed [META-021]',
    async (key) => {
      const server = scripted(modern)
      const client = await scriptedClient(server)
      const _meta = { [key]: 'a b\0' }
      const calls = [
        client.callTool({ name: 't', arguments: {}, _meta }),
        client.request('custom/any', { _meta }),
        (async () => client.notify('notifications/custom', { _meta }))(),
      ]
      for (const call of calls) {
        const error = await errorOf(call)
        expect(error).toMatchObject({ code: 'invalid-argument', message: expect.stringContaining(`_meta.${key}`) })
      }
      expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover'])
      await client.close()
    },
  )

  it('ignores malformed trace context on a server [META-021]', async () => {
    const server = new McpServer({ name: 's', version: '1' })
    server.registerTool('t', {}, (_, ctx) => JSON.stringify(ctx.meta))
    await using caller = await ScriptedClient.connect(server)
    const _meta = { traceparent: '00-1', tracestate: 'a=b', baggage: 'a=b', 'com.example/x': 1 }
    const { result } = (await caller.request('tools/call', { name: 't', arguments: {}, _meta })) as Said
    const seen = JSON.parse((result!.content as { text: string }[])[0]!.text)
    expect(seen).toMatchObject({ baggage: 'a=b', 'com.example/x': 1 })
    expect(seen).not.toHaveProperty('traceparent')
    expect(seen).not.toHaveProperty('tracestate')
  })

  it('removes malformed trace context from results [META-021]', async () => {
    const server = new McpServer({ name: 's', version: '1' })
    server.registerTool('t', {}, () => ({ content: [], _meta: { traceparent: '00-1', baggage: 'a=b' } }))
    await using caller = await ScriptedClient.connect(server)
    const { result } = (await caller.request('tools/call', { name: 't', arguments: {} })) as Said
    expect(result?._meta).toMatchObject({ baggage: 'a=b' })
    expect(result?._meta).not.toHaveProperty('traceparent')
  })

  it('adds only defined keys to _meta on either side', async () => {
    const server = fullServer()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const transcript = record(ours)
    const client = new Client({ name: 'c', version: '1' })
    await client.connect(ours)
    await client.listTools()
    await client.callTool('echo', { text: 'x' })
    await (await client.listen({ toolsListChanged: true })).close()
    const known = new Set<string>([...Object.values(metaKeys), 'progressToken'])
    const used = [...said(transcript, 'client'), ...said(transcript, 'server')].flatMap(({ params, result }) => [
      ...Object.keys(params?._meta ?? {}),
      ...Object.keys(result?._meta ?? {}),
    ])
    expect(used.length).toBeGreaterThan(5)
    expect(used.filter((key) => !known.has(key))).toEqual([])
    expect(methodsOf(transcript, 'client')).toContain('subscriptions/listen')
    await client.close()
  })
})
