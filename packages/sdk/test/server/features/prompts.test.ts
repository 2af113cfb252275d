import { type ContentBlock, type EmbeddedResource, type PromptMessage, revisionIds } from 'tenon'
import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, pretend, requests, script } from './support.ts'

const info = { name: 'prompts', version: '1' }
const icons = [{ src: 'https://example.com/i.svg', mimeType: 'image/svg+xml', sizes: ['any'] }]

function createServer(onError?: (error: unknown) => void) {
  const server = new McpServer(info, { ...(onError && { onError }) })
  server.registerPrompt('bare', {}, () => 'Hello')
  server.registerPrompt(
    'review',
    {
      title: 'Review',
      description: 'Reviews code',
      argsSchema: {
        code: z.string().min(1).describe('The code').meta({ title: 'Code' }),
        language: z.enum(['ts', 'py']).optional(),
      },
      icons,
    },
    ({ code, language = 'some' }) => ({
      messages: [
        { role: 'user', content: { type: 'text', text: `Review this ${language} code: ${code}` } },
        { role: 'assistant', content: { type: 'text', text: 'Gladly.' } },
      ],
    }),
  )
  return server
}

describe('names of prompts', () => {
  it('must be unique at registration and after a rename [PROMPT-024]', async () => {
    const server = createServer()
    expect(() => server.registerPrompt('bare', {}, () => 'again')).toThrow(/"bare" is already registered/)
    const third = server.registerPrompt('third', {}, () => 'three')
    expect(() => third.update({ name: 'bare' })).toThrow(/is already registered/)
    await using client = await connect(server)
    const names = (await client.listPrompts().all()).map(({ name }) => name)
    expect(new Set(names).size).toBe(names.length)
    expect((await client.getPrompt('bare')).messages[0]?.content).toEqual({ type: 'text', text: 'Hello' })
  })
})

describe('prompts/list', () => {
  everyWire('lists prompts under a declared capability [PROMPT-001, PROMPT-002]', async (wire) => {
    await using pair = await wire.connect(createServer())
    expect(pair.client.getServerCapabilities()?.prompts).toEqual({ listChanged: true })
    expect((await pair.client.listPrompts()).prompts.map(({ name }) => name)).toEqual(['bare', 'review'])
  })

  everyWire('shows the fields that each revision has for a prompt [PROMPT-003]', async (wire) => {
    await using pair = await wire.connect(createServer())
    const { id } = wire.revision
    const [bare, review] = (await pair.client.listPrompts()).prompts
    expect(bare).toEqual({ name: 'bare' })
    expect(review).toEqual({
      name: 'review',
      description: 'Reviews code',
      arguments: [
        { name: 'code', description: 'The code', required: true, ...(id >= '2025-06-18' && { title: 'Code' }) },
        { name: 'language', required: false },
      ],
      ...(id >= '2025-06-18' && { title: 'Review' }),
      ...(id >= '2025-11-25' && { icons }),
    })
  })

  everyWire('may be empty, and is the same for every connection [PROMPT-004, PROMPT-005]', async (wire) => {
    const server = new McpServer(info)
    const only = server.registerPrompt('only', {}, () => 'x')
    await using one = await wire.connect(server, { cache: false })
    await using two = await wire.connect(server, { cache: false })
    const before = (await one.client.listPrompts()).prompts
    await one.client.getPrompt('only')
    expect((await one.client.listPrompts()).prompts).toEqual(before)
    expect((await two.client.listPrompts()).prompts).toEqual(before)
    only.disable()
    expect((await one.client.listPrompts()).prompts).toEqual([])
    expect((await two.client.listPrompts()).prompts).toEqual([])
  })

  it.each(revisionIds)('exists when the capability is declared explicitly, on %s [PROMPT-004]', async (revision) => {
    await using client = await script(new McpServer(info, { capabilities: { prompts: {} } }), revision)
    expect((await ask(client, 'prompts/list')).result.prompts).toEqual([])
    expect((await ask(client, 'prompts/get', { name: 'x' })).error?.code).toBe(-32602)
  })
})

describe('prompts/get', () => {
  everyWire(
    'sends the name and string arguments, and returns messages with a role and one block [PROMPT-006, PROMPT-007]',
    async (wire) => {
      await using pair = await wire.connect(createServer())
      const { messages, description } = await pair.client.getPrompt('review', { code: 'x', language: 'ts' })
      expect(messages).toEqual([
        { role: 'user', content: { type: 'text', text: 'Review this ts code: x' } },
        { role: 'assistant', content: { type: 'text', text: 'Gladly.' } },
      ])
      expect(description).toBe('Reviews code')
      const [request] = requests(pair.transcript, 'prompts/get')
      expect(request?.params).toMatchObject({ name: 'review', arguments: { code: 'x', language: 'ts' } })
      expect((await pair.client.getPrompt({ name: 'bare' })).messages).toEqual([
        { role: 'user', content: { type: 'text', text: 'Hello' } },
      ])
    },
  )

  everyWire('is not sent with an argument that is not a string [PROMPT-006]', async (wire) => {
    await using pair = await wire.connect(createServer())
    await expect(pair.client.getPrompt('review', { code: 7 } as never)).rejects.toMatchObject({
      code: 'invalid-argument',
    })
    await expect(pair.client.getPrompt({} as never)).rejects.toMatchObject({ code: 'invalid-argument' })
    expect(requests(pair.transcript, 'prompts/get')).toEqual([])
  })

  it.each(revisionIds)('rejects arguments that are not strings on %s [PROMPT-006]', async (revision) => {
    await using client = await script(createServer(), revision)
    for (const params of [
      { name: 'review', arguments: { code: 7 } },
      { name: 'review', arguments: 'x' },
      {},
      { name: 7 },
    ]) {
      expect((await ask(client, 'prompts/get', params)).error?.code).toBe(-32602)
    }
  })

  everyWire('rejects an unknown name [PROMPT-016]', async (wire) => {
    const server = createServer()
    server.registerPrompt('gone', {}, () => 'x').disable()
    await using pair = await wire.connect(server)
    for (const name of ['unknown', 'Bare', 'gone']) {
      await expect(pair.client.getPrompt(name)).rejects.toMatchObject({ code: 'peer', rpcCode: -32602 })
    }
  })

  everyWire('rejects missing and invalid arguments before the prompt runs [PROMPT-017, PROMPT-019]', async (wire) => {
    const handler = vi.fn(() => 'ran')
    const server = new McpServer(info)
    server.registerPrompt(
      'strict',
      { argsSchema: { code: z.string().min(1), language: z.enum(['ts', 'py']).optional() } },
      handler,
    )
    await using pair = await wire.connect(server)
    const bad: [Record<string, string> | undefined, string][] = [
      [undefined, 'code'],
      [{}, 'code'],
      [{ language: 'ts' }, 'code'],
      [{ code: '' }, 'code'],
      [{ code: 'x', language: 'cobol' }, 'language'],
    ]
    for (const [args, named] of bad) {
      const failure = await pair.client.getPrompt('strict', args).catch((error) => error)
      expect(failure).toMatchObject({ code: 'peer', rpcCode: -32602 })
      expect(failure.message).toContain(named)
    }
    expect(handler).not.toHaveBeenCalled()
    await pair.client.getPrompt('strict', { code: 'x' })
    expect(handler).toHaveBeenCalledTimes(1)
  })

  everyWire('hides internal errors and reports them to onError [PROMPT-018]', async (wire) => {
    const onError = vi.fn()
    const server = createServer(onError)
    const thrown = new Error('password=hunter2')
    server.registerPrompt('sync', {}, () => {
      throw thrown
    })
    server.registerPrompt('async', {}, () => Promise.reject(thrown))
    server.registerPrompt('odd', {}, (() => 42) as never)
    await using pair = await wire.connect(server)
    for (const name of ['sync', 'async']) {
      await expect(pair.client.getPrompt(name)).rejects.toMatchObject({ rpcCode: -32603, message: 'Internal error' })
    }
    await expect(pair.client.getPrompt('odd')).rejects.toMatchObject({
      rpcCode: -32603,
      message: 'Prompt "odd" returned a number. Return { messages } or text.',
    })
    expect(onError.mock.calls.map(([error]) => error)).toEqual([thrown, thrown, expect.any(TypeError)])
    expect(pair.transcript.toString()).not.toContain('hunter2')
  })
})

describe('content of prompts', () => {
  const image: ContentBlock = {
    type: 'image',
    data: Buffer.from([137, 80, 78, 71]).toString('base64'),
    mimeType: 'image/png',
  }
  const audio: ContentBlock = { type: 'audio', data: Buffer.from([1, 2, 3]).toString('base64'), mimeType: 'audio/wav' }
  const link: ContentBlock = { type: 'resource_link', uri: 'notes://a', name: 'a' }
  const text: ContentBlock = { type: 'resource', resource: { uri: 'notes://a', mimeType: 'text/plain', text: 'a' } }
  const blob: ContentBlock = { type: 'resource', resource: { uri: 'notes://b', mimeType: 'image/png', blob: 'AAEC' } }
  const all = [{ type: 'text', text: 'words' } as ContentBlock, image, audio, link, text, blob]

  function speaking() {
    const server = new McpServer(info)
    server.registerPrompt('all', {}, () => ({ messages: all.map((content) => ({ role: 'user', content })) }))
    return server
  }

  const known = {
    '2024-11-05': ['text', 'image', 'text', 'text', 'resource', 'resource'],
    '2025-03-26': ['text', 'image', 'audio', 'text', 'resource', 'resource'],
    '2025-06-18': ['text', 'image', 'audio', 'resource_link', 'resource', 'resource'],
    '2025-11-25': ['text', 'image', 'audio', 'resource_link', 'resource', 'resource'],
    '2026-07-28': ['text', 'image', 'audio', 'resource_link', 'resource', 'resource'],
  }
  everyWire(
    'of a type that the revision does not have is described as text [PROMPT-008, PROMPT-009, PROMPT-010]',
    async (wire) => {
      await using pair = await wire.connect(speaking())
      const { messages } = await pair.client.getPrompt('all')
      expect(messages.map(({ content }) => content.type)).toEqual(known[wire.revision.id])
      for (const { content } of messages) {
        if (content.type === 'text') expect(content.text).toMatch(/words|audio\/wav|notes:\/\/a/)
      }
    },
  )

  everyWire(
    'keeps base64 data, its type and embedded resources unchanged [PROMPT-011, PROMPT-012, PROMPT-013]',
    async (wire) => {
      await using pair = await wire.connect(speaking())
      const contents = (await pair.client.getPrompt('all')).messages.map(({ content }) => content)
      expect(contents[1]).toEqual(image)
      if (wire.revision.id >= '2025-03-26') expect(contents[2]).toEqual(audio)
      expect(contents[4]).toEqual(text)
      expect(contents[5]).toEqual(blob)
    },
  )
})

describe('an embedded resource of a prompt', () => {
  everyWire('has a MIME type, also if the author gave none [PROMPT-013]', async (wire) => {
    const server = new McpServer(info)
    const embed = (resource: { uri: string; mimeType?: string; text?: string; blob?: string }) =>
      ({ role: 'user', content: { type: 'resource', resource } }) as PromptMessage
    server.registerPrompt('docs', {}, () => ({
      messages: [
        embed({ uri: 'notes://a', text: 'a' }),
        embed({ uri: 'notes://b', blob: 'AAEC' }),
        embed({ uri: 'notes://c', text: '{}', mimeType: 'application/json; charset=utf-8' }),
      ],
    }))
    await using pair = await wire.connect(server)
    const { messages } = await pair.client.getPrompt('docs')
    expect(messages.map(({ content }) => (content as EmbeddedResource).resource)).toEqual([
      { uri: 'notes://a', text: 'a', mimeType: 'text/plain' },
      { uri: 'notes://b', blob: 'AAEC', mimeType: 'application/octet-stream' },
      { uri: 'notes://c', text: '{}', mimeType: 'application/json; charset=utf-8' },
    ])
  })
})

describe('capability negotiation for prompts', () => {
  it.each(revisionIds)('a server without prompts does not have their methods on %s [PROMPT-021]', async (revision) => {
    const server = new McpServer(info)
    await using client = await script(server, revision)
    expect((await ask(client, 'prompts/list')).error?.code).toBe(-32601)
    expect((await ask(client, 'prompts/get', { name: 'x' })).error?.code).toBe(-32601)
    expect(server.server.getCapabilities()).not.toHaveProperty('prompts')
  })

  it.each(revisionIds)('a client does not call a server without prompts on %s [PROMPT-021]', async (revision) => {
    const server = pretend(revision, { tools: {} }, {})
    await using client = await connect(server.transport, { revision })
    await expect(client.listPrompts()).rejects.toMatchObject({ code: 'capability-missing', capability: 'prompts' })
    await expect(client.getPrompt('x')).rejects.toMatchObject({ code: 'capability-missing' })
    await client.ping()
    expect(server.transcript.toString()).not.toContain('prompts/')
  })

  it.each(revisionIds)('a client reads a list of prompts page by page on %s [PROMPT-020]', async (revision) => {
    const server = pretend(
      revision,
      { prompts: {} },
      {
        'prompts/list': ({ cursor }) => ({
          result: cursor === undefined ? { prompts: [{ name: 'a' }], nextCursor: 'n' } : { prompts: [{ name: 'b' }] },
        }),
      },
    )
    await using client = await connect(server.transport, { revision })
    expect((await client.listPrompts().all()).map(({ name }) => name)).toEqual(['a', 'b'])
    expect(requests(server.transcript, 'prompts/list').map(({ params }) => params?.cursor)).toEqual([undefined, 'n'])
  })
})
