import { connect } from 'tenon/client'
import { type Context, McpServer, ToolError } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { ScriptedClient } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { ask, script } from './support.ts'

const info = { name: 's', version: '1' }
const bytes = Buffer.from('bytes')
const circular: Record<string, unknown> = { list: [{}] }
circular.list = [{ self: circular }]

/** Texts that are not base64 as RFC 4648 defines it. */
const notBase64: [string, string][] = [
  ['plain text', '!!!not base64'],
  ['a data: URL', 'data:image/png;base64,aGk='],
  ['base64 without padding', 'aGk'],
  ['base64url', 'a-_k'],
  ['base64 with line breaks', `${'A'.repeat(76)}\n${'A'.repeat(75)}`],
  ['padding in the middle', 'aGk=aGk='],
  ['a megabyte that ends wrongly', `${'A'.repeat(1_000_000)}!AAA`],
  ['a megabyte that begins wrongly', `AA A${'A'.repeat(1_000_000)}`],
  ['a mistake in the middle of 200 KB', `${'AAAA'.repeat(25_000)}A-AA${'AAAA'.repeat(25_000)}`],
  ['padding in the middle of 200 KB', `${'AAAA'.repeat(25_000)}AA==${'AAAA'.repeat(25_000)}`],
]

/** Results that cannot be serialized, and the path that the error must name. */
const wrong: [string, unknown, string][] = [
  ['a Buffer as image data', { content: [{ type: 'image', mimeType: 'a/b', data: bytes }] }, 'content[0].data must be'],
  [
    'bytes as audio data',
    { content: [{ type: 'audio', mimeType: 'a/b', data: new Uint8Array(1) }] },
    'content[0].data',
  ],
  ...notBase64.map(([what, data]): [string, unknown, string] => [
    `${what} as image data`,
    { content: [{ type: 'image', mimeType: 'image/png', data }] },
    'content[0].data is not valid base64',
  ]),
  [
    'an audio type that is not a MIME type',
    { content: [{ type: 'audio', mimeType: 'wav', data: 'aGk=' }] },
    'content[0].mimeType must be a MIME type such as "image/png", not "wav"',
  ],
  [
    'a resource whose type is not a MIME type',
    { content: [{ type: 'resource', resource: { uri: 'a://b', text: 'x', mimeType: 'text' } }] },
    'content[0].resource.mimeType must be a MIME type',
  ],
  ['an image without mimeType', { content: [{ type: 'image', data: 'aGk=' }] }, 'content[0].mimeType'],
  [
    'a Buffer as a blob',
    { content: [{ type: 'resource', resource: { uri: 'a://b', blob: bytes } }] },
    'content[0].resource.blob must be a base64 string, not Buffer',
  ],
  [
    'a resource without contents',
    { content: [{ type: 'resource', resource: { uri: 'a://b' } }] },
    'content[0].resource.text',
  ],
  ['a link without a name', { content: [{ type: 'resource_link', uri: 'a://b' }] }, 'content[0].name'],
  [
    'an unknown content type',
    {
      content: [
        { type: 'text', text: 'x' },
        { type: 'txt', text: 'x' },
      ],
    },
    'content[1].type',
  ],
  [
    'text that is not a string',
    { content: [{ type: 'text', text: 7 }] },
    'content[0].text must be a string, not a number',
  ],
  ['a BigInt', { structuredContent: { total: 1n } }, 'structuredContent.total is a BigInt'],
  [
    'a BigInt beside content',
    { content: [], structuredContent: { rows: [{ id: 1n }] } },
    'structuredContent.rows[0].id',
  ],
  ['a circular value', { structuredContent: circular }, 'structuredContent.list[0].self is a circular reference'],
]

afterEach(() => vi.restoreAllMocks())

describe('a tool that returns a result that cannot be sent', () => {
  const cases = wrong.flatMap(([what, result, place]) => {
    return ['2025-11-25', '2026-07-28'].map((revision) => [what, revision, result, place] as const)
  })

  it.each(cases)('yields an error that names the tool and the field: %s (%s)', async (_, revision, result, place) => {
    const onError = vi.fn()
    const server = new McpServer(info, { onError })
    server.registerTool('report', {}, () => result as never)
    server.registerTool('thrown', {}, () => {
      throw new ToolError((result as { content?: [] }).content ?? 'x')
    })
    await using client = await script(server, revision as '2026-07-28')
    const answer = await ask(client, 'tools/call', { name: 'report' })
    expect(answer.result).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('Tool "report"') }],
    })
    expect(answer.result.content[0].text).toContain(place)
    expect(String(onError.mock.lastCall?.[0])).toContain(place)
  })

  for (const revision of ['2025-03-26', '2025-11-25', '2026-07-28'] as const) {
    it(`is answered with an error when the value is next to valid content (${revision})`, async () => {
      const onError = vi.fn()
      const server = new McpServer(info, { onError })
      const content = [{ type: 'text', text: 'x' }]
      server.registerTool('report', {}, () => ({ content, _meta: { 'a/b': { n: 1n } } }) as never)
      server.registerTool('plain', {}, () => ({ content, more: { n: 1n } }) as never)
      await using client = await script(server, revision)
      const message = 'The result of tools/call "report" cannot be sent: _meta.a/b.n is a BigInt'
      expect((await ask(client, 'tools/call', { name: 'report' })).error).toEqual({ code: -32603, message })
      expect((await ask(client, 'tools/call', { name: 'plain' })).error?.message).toContain(
        '"plain" cannot be sent: more.n',
      )
      expect(onError.mock.calls.map(([error]) => error.message)[0]).toBe(message)
    })
  }

  it('is answered with an error that names it, without affecting the other responses of a batch', async () => {
    const server = new McpServer(info, { onError: () => {} })
    server.registerTool('bad', {}, () => ({ content: [{ type: 'text', text: 'x' }], _meta: { n: 1n } }) as never)
    server.registerTool('good', {}, () => 'good')
    await using client = await script(server, '2025-03-26')
    const answered = client.next((message) => Array.isArray(message))
    const call = (id: string) => ({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: id } })
    client.say([call('bad'), call('good')])
    expect(await answered).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: 'bad', error: { code: -32603, message: expect.stringContaining('"bad"') } }),
        expect.objectContaining({ id: 'good', result: expect.anything() }),
      ]),
    )
  })

  it('is answered on a transport that serializes JSON itself', async () => {
    const server = new McpServer(info, { onError: () => {} })
    server.registerTool('bad', {}, () => ({ content: [{ type: 'text', text: 'x' }], _meta: { n: 1n } }) as never)
    const sent: string[] = []
    const transport = {
      onmessage: undefined as ((message: unknown) => void) | undefined,
      start: async () => {},
      close: async () => {},
      send: (message: unknown) => void sent.push(JSON.stringify(message)),
    }
    await server.connect(transport)
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    transport.onmessage?.({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'bad', _meta } })
    await expect.poll(() => sent).toHaveLength(1)
    expect(sent[0]).toContain('The result of tools/call \\"bad\\" cannot be sent: _meta.n is a BigInt')
  })

  it('is answered without details when maskErrors is set', async () => {
    const server = new McpServer(info, { maskErrors: true, onError: () => {} })
    server.registerTool('report', {}, () => ({ content: [{ type: 'txt' }] }) as never)
    await using client = await connect(server)
    expect(await client.callTool('report')).toMatchObject({ isError: true, text: 'Tool "report" failed' })
  })

  it('fails the task instead of leaving it in the working status', async () => {
    const server = new McpServer(info, { tasks: tasks(), onError: () => {} })
    const config = { execution: { taskSupport: 'required' } } as const
    server.registerTool('report', config, () => ({ content: [{ type: 'text', text: 'x' }], _meta: { n: 1n } }) as never)
    await using client = await connect(server, { tasks: true })
    await expect(client.callTool('report', {})).rejects.toThrow(/_meta\.n is a BigInt/)
    await server.close()
  })
})

describe('a prompt or resource that returns a result that cannot be sent', () => {
  const messages = (content: unknown, role = 'user') => ({ messages: [{ role, content }] })
  const prompts: [string, unknown, string][] = [
    ['a Buffer as data', messages({ type: 'image', mimeType: 'a/b', data: bytes }), 'messages[0].content.data'],
    ['an unknown content type', messages({ type: 'txt' }), 'messages[0].content.type'],
    [
      'an embedded resource without a URI',
      messages({ type: 'resource', resource: { uri: 'notes', text: 'x' } }),
      'messages[0].content.resource.uri is not a URI',
    ],
    ['a system message', messages({ type: 'text', text: 'x' }, 'system'), 'messages[0].role'],
    ['content as text', messages('hello'), 'messages[0].content must be an object'],
    ['a BigInt', { ...messages({ type: 'text', text: 'x' }), _meta: { n: 1n } }, '_meta.n is a BigInt'],
  ]
  prompts.push(
    ...notBase64.flatMap(([what, text]): [string, unknown, string][] => [
      [
        `${what} as image data [PROMPT-011]`,
        messages({ type: 'image', data: text, mimeType: 'image/png' }),
        'messages[0].content.data is not valid base64',
      ],
      [
        `${what} as a blob [PROMPT-013]`,
        messages({ type: 'resource', resource: { uri: 'a://b', blob: text } }),
        'messages[0].content.resource.blob is not valid base64',
      ],
    ]),
    [
      'an image type that is not a MIME type [PROMPT-011]',
      messages({ type: 'image', data: 'aGk=', mimeType: 'nope' }),
      'messages[0].content.mimeType must be a MIME type such as "image/png", not "nope"',
    ],
  )
  it.each(prompts)(
    'is answered with an error that names the prompt and the field: %s [PROMPT-022]',
    async (_, result, place) => {
      const server = new McpServer(info, { onError: () => {} })
      server.registerPrompt('ask', {}, () => result as never)
      for (const revision of ['2025-11-25', '2026-07-28'] as const) {
        await using client = await connect(server, { revision })
        const error = await client.getPrompt('ask').catch((reason) => reason)
        expect(error).toMatchObject({ rpcCode: -32603, message: expect.stringContaining(place) })
        expect(error.message).toMatch(/Prompt "ask"|prompts\/get "ask"/)
      }
    },
  )

  const reads: [string, unknown, string][] = [
    [
      'a Buffer as a blob',
      { contents: [{ uri: 'a://b', blob: bytes }] },
      'contents[0].blob must be a base64 string, not Buffer',
    ],
    ...notBase64.map(([what, blob]): [string, unknown, string] => [
      `${what} as a blob [RES-011]`,
      { contents: [{ uri: 'a://b', blob }] },
      'contents[0].blob is not valid base64',
    ]),
    ['neither text nor blob', { contents: [{ uri: 'a://b' }] }, 'contents[0].text'],
    ['no uri', { contents: [{ text: 'x' }] }, 'contents[0].uri'],
    ['a circular value', { contents: [{ uri: 'a://b', text: 'x', _meta: circular }] }, 'is a circular reference'],
  ]
  it.each(reads)('is answered with an error that names the resource and the field: %s', async (_, result, place) => {
    const server = new McpServer(info, { onError: () => {} })
    server.registerResource('r', 'a://b', {}, () => result as never)
    for (const revision of ['2025-11-25', '2026-07-28'] as const) {
      await using client = await connect(server, { revision })
      const error = await client.readResource('a://b').catch((reason) => reason)
      expect(error).toMatchObject({ rpcCode: -32603, message: expect.stringContaining(place) })
      expect(error.message).toContain('a://b')
    }
  })
})

describe('a thrown value that is not an error', () => {
  it.each([
    ['an object', { a: 1, token: 'secret' }, 'Tool "t" threw an object instead of an Error (with a, token)'],
    ['an object with a message', { message: 'Out of tea' }, 'Out of tea'],
    ['an array', [1], 'Tool "t" threw an array instead of an Error'],
    ['undefined', undefined, 'Tool "t" threw undefined instead of an Error'],
    ['text', 'Out of tea', 'Out of tea'],
  ])('results in a useful message that does not include its contents: %s', async (_, thrown, text) => {
    const server = new McpServer(info)
    server.registerTool('t', {}, () => {
      throw thrown
    })
    await using client = await connect(server)
    expect(await client.callTool('t')).toMatchObject({ isError: true, text })
  })
})

describe('registration rejects', () => {
  const server = new McpServer(info)
  const slips: [string, () => unknown, RegExp][] = [
    [
      'tasks: true',
      () => new McpServer(info, { tasks: true as never }),
      /Invalid option "tasks": pass the result of tasks\(\)/,
    ],
    [
      'requiredScopes as text (registerTool)',
      () => server.registerTool('a', { requiredScopes: 'admin' as never }, () => 'x'),
      /Tool "a": requiredScopes must be an array of scopes/,
    ],
    [
      'requiredScopes with two scopes in one text',
      () => server.registerTool('a', { requiredScopes: ['read write'] }, () => 'x'),
      /Tool "a": requiredScopes must be an array of scopes/,
    ],
    [
      'requiredScopes with an empty scope',
      () => server.registerTool('a', { requiredScopes: [''] }, () => 'x'),
      /Tool "a": requiredScopes must be an array of scopes/,
    ],
    [
      'requiredScopes as text (registerPrompt)',
      () => server.registerPrompt('a', { requiredScopes: 'admin' as never }, () => 'x'),
      /Prompt "a": requiredScopes must be an array of scopes/,
    ],
    [
      'requiredScopes as text (registerResource)',
      () => server.registerResource('a', 'a://b', { requiredScopes: 'admin' as never }, () => 'x'),
      /Resource "a": requiredScopes must be an array of scopes/,
    ],
    [
      'a tool that requires tasks on a server without them',
      () => server.registerTool('a', { execution: { taskSupport: 'required' } }, () => 'x'),
      /Tool "a": taskSupport 'required' requires a server with tasks/,
    ],
    [
      'an unknown taskSupport',
      () => server.registerTool('a', { execution: { taskSupport: 'always' as never } }, () => 'x'),
      /Tool "a": execution\.taskSupport must be/,
    ],
    [
      'an update to what could not be registered',
      () => new McpServer(info).registerTool('b', {}, () => 'x').update({ execution: { taskSupport: 'required' } }),
      /Tool "b": taskSupport 'required'/,
    ],
  ]
  it.each(slips)('%s', (_, slip, message) => {
    expect(slip).toThrow(TypeError)
    expect(slip).toThrow(message)
  })
})

describe('progress and logs', () => {
  it('do not warn after the caller has cancelled', async () => {
    vi.resetModules()
    const { McpServer: FreshServer } = await import('tenon/server')
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const server = new FreshServer(info)
    let late: Context | undefined
    let end: (() => void) | undefined
    server.registerTool('slow', {}, (_args, ctx) => {
      late = ctx
      return new Promise<string>((resolve) => {
        end = () => resolve('done')
      })
    })
    const client = await ScriptedClient.connect(server)
    client.say({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: client.params({ name: 'slow' }) })
    await expect.poll(() => late).toBeDefined()
    client.notify('notifications/cancelled', { requestId: 1 })
    await expect.poll(() => late?.signal.aborted).toBe(true)
    late?.log.info('cancelled')
    end?.()
    expect(warn).not.toHaveBeenCalled()
    await client.close()
  })

  it('warn once per process when they are reported after the response, and are not sent', async () => {
    vi.resetModules()
    const { McpServer: FreshServer } = await import('tenon/server')
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const server = new FreshServer(info)
    let late: Context | undefined
    server.registerTool('forgets', {}, (_args, ctx) => {
      late = ctx
      return 'x'
    })
    await using client = await connect(server, { revision: '2025-11-25' })
    await client.callTool('forgets', {}, { onProgress: () => {} })
    for (let times = 0; times < 3; times++) {
      late?.progress(times)
      late?.log.info('late')
    }
    expect(warn.mock.calls.map(([text]) => text)).toEqual([
      expect.stringContaining('ctx.progress was called after the end of the request'),
      expect.stringContaining('ctx.log was called after the end of the request'),
    ])
  })
})
