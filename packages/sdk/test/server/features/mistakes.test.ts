import { bearer } from 'tenon/auth/client'
import { connect } from 'tenon/client'
import { type Context, completable, createMcpHandler, McpServer, ResourceTemplate, serveHttp } from 'tenon/server'
import { ScriptedClient } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import * as z from 'zod'

const info = { name: 's', version: '1' }

describe('a mistake in code that uses the library is reported where it is made', () => {
  const server = new McpServer(info)
  const slips: [string, () => unknown, RegExp][] = [
    ['a server without a name', () => new McpServer(undefined as never), /requires a name and a version/],
    [
      'a tool without a handler',
      () => server.registerTool('a', {}, undefined as never),
      /Tool "a": the third argument, the handler/,
    ],
    [
      'a prompt without a handler',
      () => server.registerPrompt('a', {}, undefined as never),
      /Prompt "a": the third argument, the handler/,
    ],
    [
      'a resource without a reader',
      () => server.registerResource('a', 'a://b', {}, undefined as never),
      /Resource "a": the fourth argument/,
    ],
    ['middleware that is no function', () => server.use({} as never), /use\(\) requires a function/],
    ['a mount without a prefix', () => server.mount(new McpServer(info), undefined as never), /requires a prefix/],
    [
      'a shape of type names',
      () => server.registerTool('b', { inputSchema: { a: 'string' } }, () => 'x'),
      /no keyword/,
    ],
    [
      'a mixture of zod and JSON Schema',
      () => server.registerTool('c', { inputSchema: { a: z.string(), b: { type: 'number' } } as never }, () => 'x'),
      /a is a schema of a library/,
    ],
    [
      'a schema whose root is not an object',
      () => server.registerTool('e', { inputSchema: z.string() as never }, () => 'x'),
      /must have type "object", not "string"\. Name the arguments/,
    ],
    [
      'a template given as a string',
      () => server.registerResource('d', 'x://{id}', {}, () => 'x'),
      /new ResourceTemplate/,
    ],
    [
      'suggestions for no variable',
      () => new ResourceTemplate('x://{a}' as string, { complete: { b: () => [] } }),
      /Unknown variable "b"/,
    ],
  ]
  it.each(slips)('%s', (_what, slip, message) => {
    expect(slip).toThrow(TypeError)
    expect(slip).toThrow(message)
  })

  it('arguments that cannot be serialized', async () => {
    const echo = new McpServer(info)
    echo.registerTool('echo', { inputSchema: { type: 'object' } }, () => 'x')
    await using client = await connect(echo)
    const error = await client.callTool('echo', { big: 1n }).catch((reason) => reason)
    expect(error).toMatchObject({ code: 'invalid-argument', message: expect.stringContaining('tools/call') })
    expect((await client.callTool('echo')).text).toBe('x')
  })

  it('middleware that does not return', async () => {
    const errors: unknown[] = []
    const forgetful = new McpServer(info, { onError: (error) => errors.push(error) })
    forgetful.registerTool('a', {}, () => 'x')
    forgetful.use((async (_request: unknown, next: () => unknown) => void (await next())) as never)
    await using client = await connect(forgetful)
    await expect(client.callTool('a')).rejects.toMatchObject({ rpcCode: -32603 })
    expect(String(errors[0])).toContain('Return the result of next()')
  })
})

describe('an option that does not exist is reported with the nearest name', () => {
  const cases: [string, () => unknown, string][] = [
    [
      'of a server',
      () => new McpServer(info, { instrutions: 'x' } as object),
      'McpServer: unknown option "instrutions". Did you mean instructions?',
    ],
    [
      'of a tool',
      () => new McpServer(info).registerTool('slip', { inputShema: {} } as object, () => 'x'),
      'Tool "slip": unknown option "inputShema". Did you mean inputSchema?',
    ],
    [
      'of the annotations of a tool',
      () => new McpServer(info).registerTool('hint', { annotations: { readOnly: true } as object }, () => 'x'),
      'Tool "hint", annotations: unknown option "readOnly". Did you mean readOnlyHint?',
    ],
    [
      'of a prompt',
      () => new McpServer(info).registerPrompt('slip', { argSchema: {} } as object, () => 'x'),
      'Prompt "slip": unknown option "argSchema". Did you mean argsSchema?',
    ],
    [
      'of a resource',
      () => new McpServer(info).registerResource('slip', 'a://b', { mimetpye: 'text/plain' } as object, () => 'x'),
      'Resource "slip": unknown option "mimetpye". Did you mean mimeType?',
    ],
    [
      'of createMcpHandler()',
      () => createMcpHandler(new McpServer(info), { allowedHost: ['a.example'] } as object),
      'createMcpHandler: unknown option "allowedHost". Did you mean allowedHosts?',
    ],
    [
      'of connect()',
      () => connect(new McpServer(info), { hedaers: {} } as object).then((client) => client.close()),
      'connect: unknown option "hedaers". Did you mean headers?',
    ],
  ]
  it.each(cases)('%s', async (_what, slip, message) => {
    const warnings = await warningsOf(slip)
    expect(warnings).toEqual([`[tenon] ${message}`])
  })

  it('of serveHttp()', async () => {
    const warnings = await warningsOf(async () => {
      await using _serving = await serveHttp(new McpServer(info), { port: 0, exit: false, prot: 1 } as object)
    })
    expect(warnings).toEqual(['[tenon] serveHttp: unknown option "prot". Did you mean port?'])
  })

  it('and all names if none is near', async () => {
    const register = () => new McpServer(info).registerTool('far', { parameters: {} } as object, () => 'x')
    expect(await warningsOf(register)).toEqual([
      expect.stringContaining('Did you mean title, description, inputSchema'),
    ])
  })

  it('but not for a value of undefined', async () => {
    expect(await warningsOf(() => new McpServer(info, { nothing: undefined } as object))).toEqual([])
  })
})

describe('a result that is not one', () => {
  it('says what a tool returned and what to return', async () => {
    const errors: unknown[] = []
    const server = new McpServer(info, { onError: (error) => errors.push(error) })
    server.registerTool('number', {}, (() => 42) as never)
    server.registerTool('content', {}, (() => ({ content: 'hello' })) as never)
    await using client = await connect(server)
    expect((await client.callTool('number')).text).toContain('returned a plain value (number). Return text or {')
    expect((await client.callTool('content')).text).toContain('returned invalid content. Return text or { content: [')
    expect(errors).toHaveLength(2)
  })

  it('says what to return if a tool with an outputSchema returns text', async () => {
    const errors: unknown[] = []
    const server = new McpServer(info, { onError: (error) => errors.push(error) })
    server.registerTool('a', { outputSchema: { x: z.number() } }, (() => 'hello') as never)
    await using client = await connect(server)
    const message = (details = '') =>
      `Tool "a" returned a string that does not match its outputSchema${details}. Return what the schema describes.`
    expect((await client.callTool('a')).text).toBe(message())
    expect(errors.map(String)).toEqual([`TypeError: ${message(': must be an object')}`])
  })

  it('is reported once for a tool that returns undefined', async () => {
    const server = new McpServer(info)
    server.registerTool('forgetful', {}, () => {})
    await using client = await connect(server)
    const warnings = await warningsOf(async () => {
      await client.callTool('forgetful')
      await client.callTool('forgetful')
    })
    expect(warnings).toEqual(['[tenon] Tool "forgetful" returned undefined, so its result is empty. Return text.'])
  })
})

it('a prompt with z.number() says that arguments are text, and z.coerce.number() works', async () => {
  const server = new McpServer(info)
  server.registerPrompt('wrong', { argsSchema: { n: z.number() } as never }, () => 'x')
  server.registerPrompt(
    'right',
    { argsSchema: { n: z.coerce.number() } as never },
    ({ n }: { n: number }) => `${n + 1}`,
  )
  await using client = await connect(server)
  await expect(client.getPrompt('wrong', { n: '3' })).rejects.toThrow(
    'Prompt arguments are text: convert them with z.coerce',
  )
  expect((await client.getPrompt('right', { n: '3' })).messages[0]?.content).toMatchObject({ text: '4' })
})

it.each([
  ['tool', 'registerTool'],
  ['resource', 'registerResource'],
  ['prompt', 'registerPrompt'],
  ['addTool', 'registerTool'],
  ['addResource', 'registerResource'],
  ['addPrompt', 'registerPrompt'],
  ['listen', 'serveHttp'],
])('server.%s() names what to use: %s()', (name, better) => {
  const method = (new McpServer(info) as unknown as Record<string, () => void>)[name]
  expect(() => method?.()).toThrow(new RegExp(`^McpServer has no method ${name}\\(\\). Use .*\\b${better}\\(`))
})

describe('a name that a caller misspelt', () => {
  const server = new McpServer(info, { hideUnauthorized: true })
  server.registerTool('add', { inputSchema: { city: z.string(), unit: z.string().optional() } }, () => 'x')
  server.registerTool('purge', { requiredScopes: ['admin'] }, () => 'x')

  it('of an argument is reported with the names that exist', async () => {
    await using client = await connect(server)
    const { text } = await client.callTool('add', { ctiy: 'Rome' })
    expect(text).toMatch(/^Invalid arguments for tool add: city: .*\. Unknown: ctiy\. Known: city,unit$/)
    expect((await client.callTool('add', { city: 1 })).text).not.toContain('Known')
    const long = await client.callTool('add', { ['x'.repeat(100_000)]: 1 })
    expect(long.text.length).toBeLessThan(5_000)
  })

  it('of a tool is reported with the nearest name that the caller can see', async () => {
    await using client = await connect(server)
    await expect(client.callTool('ad')).rejects.toThrow('Unknown tool: ad. Did you mean add?')
    await expect(client.callTool('weather')).rejects.toThrow(/^Unknown tool: weather$/)
    await expect(client.callTool('purg')).rejects.toThrow(/^Unknown tool: purg$/)
    const outer = new McpServer(info)
    outer.mount(server, { prefix: 'inner' })
    await using other = await connect(outer)
    await expect(other.callTool('inner_ad')).rejects.toThrow('Did you mean inner_add?')
  })
})

it('a rate limit that is exceeded is reported to onError once', async () => {
  const errors: unknown[] = []
  const limits = { toolCalls: { perSecond: 1, burst: 2 } }
  const server = new McpServer(info, { limits, onError: (error) => errors.push(error) })
  server.registerTool('a', {}, () => 'x')
  await using client = await connect(server)
  const results = await Promise.all(Array.from({ length: 6 }, () => client.callTool('a')))
  expect(results.filter(({ isError }) => isError).length).toBeGreaterThan(2)
  expect(errors.map(String)).toEqual([expect.stringContaining('Raise limits.toolCalls of the server')])
})

describe('mistakes of serveHttp()', () => {
  it('name the value of the port, and the missing server', async () => {
    const server = new McpServer(info)
    await expect(serveHttp(server, { port: '80a' as never })).rejects.toThrow(
      'port must be an integer from 0 to 65535, not "80a". Environment variables are text: Number(process.env.PORT).',
    )
    await expect(serveHttp({ port: 0 } as never)).rejects.toThrow('The first argument must be an McpServer')
    expect(() => createMcpHandler(undefined as never)).toThrow('The first argument must be an McpServer')
  })

  it('in auth.verify are reported with the way to refuse a token', async () => {
    const errors: unknown[] = []
    const server = new McpServer(info, { onError: (error) => errors.push(error) })
    const statusWith = async (verify: () => unknown) => {
      const auth = {
        verify: verify as never,
        resource: 'http://127.0.0.1/mcp',
        authorizationServers: ['https://a.example'],
      }
      await using serving = await serveHttp(server, { port: 0, exit: false, auth })
      const headers = { authorization: 'Bearer x', 'content-type': 'application/json' }
      return (await fetch(serving.url, { method: 'POST', headers, body: '{}' })).status
    }
    const warnings = await warningsOf(async () => {
      const failing = () => {
        throw new Error('jwt expired')
      }
      expect(await statusWith(failing)).toBe(503)
    })
    expect(warnings).toEqual([expect.stringContaining('return undefined or throw InvalidTokenError')])
    expect(await statusWith(() => true)).toBe(503)
    expect(String(errors.at(-1))).toContain('auth.verify returned true. Return the identity')
    expect(await statusWith(() => undefined)).toBe(401)
    await expect(serveHttp(server, { port: 0, auth: (() => undefined) as never })).rejects.toThrow(
      'auth.verify must be a function: auth: { verify',
    )
  })

  it('in a token that the server refuses are reported with the way out', async () => {
    const auth = {
      verify: () => undefined,
      resource: 'http://127.0.0.1/mcp',
      authorizationServers: ['https://a.example'],
    }
    await using serving = await serveHttp(new McpServer(info), { port: 0, exit: false, auth })
    await expect(connect(serving.url, { auth: bearer('old'), reconnect: { maxRetries: 0 } })).rejects.toThrow(
      'The access token is not valid. Get a new token for this server: it expired, was revoked or belongs to another server',
    )
  })

  it('in the token of a client are found when it is created', () => {
    expect(() => bearer('Bearer abc')).toThrow('Leave out "Bearer "')
  })
})

/** The developer warnings while `work` runs. Each is given once per process. */
async function warningsOf(work: () => unknown): Promise<string[]> {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  try {
    await work()
    return warn.mock.calls.map(([message]) => String(message))
  } finally {
    warn.mockRestore()
  }
}

describe('mistakes with questions on 2026-07-28 are reported once', () => {
  const revision = '2026-07-28'
  const handlers = { elicit: () => ({ action: 'decline' as const }) }
  const call = async (work: (ctx: Context) => unknown) => {
    const server = new McpServer(info)
    server.registerTool('ask', {}, async (_args, ctx) => String(await work(ctx)))
    await using client = await connect(server, { revision, handlers })
    for (let count = 0; count < 2; count++) await client.callTool('ask').catch(() => {})
  }

  it('a handler that returns before its question was answered', async () => {
    const swallow = (ctx: Context) => ctx.elicit('Sure?', undefined, { key: 'sure' }).catch(() => 'no')
    expect(await warningsOf(() => call(swallow))).toEqual([
      '[tenon] A handler of tools/call returned before its question "sure" was answered. Check for a missing await, or for a catch that does not rethrow Suspended.',
    ])
  })

  it('a question that changes between two runs', async () => {
    let count = 0
    const vary = (ctx: Context) => ctx.elicit(`Sure at ${Math.min(++count, 3)}?`, undefined, { key: 'sure' })
    expect(await warningsOf(() => call(vary))).toEqual([
      '[tenon] The question "sure" changed between two runs of the handler, so the client is asked again. If its text varies, compute it inside ctx.once.',
    ])
  })

  it('a state that this process cannot decrypt', async () => {
    const server = new McpServer(info)
    server.registerTool('ask', {}, () => 'never')
    await using client = await ScriptedClient.connect(server, { revision })
    const warnings = await warningsOf(async () => {
      for (let count = 0; count < 2; count++) {
        const params = { name: 'ask', requestState: 'AAAA', inputResponses: {} }
        expect(await client.request('tools/call', params)).toMatchObject({ error: { code: -32602 } })
      }
    })
    expect(warnings).toEqual([expect.stringContaining('A requestState could not be decrypted')])
  })
})

describe('completers', () => {
  it('belong to the argument, not to the schema object that it shares with other arguments', async () => {
    const language = z.string()
    const server = new McpServer(info)
    server.registerPrompt(
      'p',
      { argsSchema: { a: completable(language, () => ['a']), b: completable(language, () => ['b']), c: language } },
      () => 'x',
    )
    await using client = await connect(server)
    const ask = async (name: string) =>
      (await client.complete({ ref: { type: 'ref/prompt', name: 'p' }, argument: { name, value: '' } })).values
    expect([await ask('a'), await ask('b'), await ask('c')]).toEqual([['a'], ['b'], []])
  })
})

describe('a server that gets its first tool after a client has connected', () => {
  it('is queried again on 2026-07-28, and the tool is found', async () => {
    const server = new McpServer(info)
    await using client = await connect(server, { revision: '2026-07-28' })
    await expect(client.callTool('late')).rejects.toMatchObject({ code: 'capability-missing' })
    server.registerTool('late', {}, () => 'here')
    expect((await client.callTool('late')).text).toBe('here')
  })

  it('is reported with the capability to declare, on handshake revisions', async () => {
    const server = new McpServer(info)
    await using client = await connect(server, { revision: '2025-11-25' })
    server.registerTool('late', {}, () => 'here')
    await expect(client.callTool('late')).rejects.toThrow('capabilities: { tools: {} }')
  })
})

describe('an error from a call', () => {
  it('includes the calling function in its stack', async () => {
    const server = new McpServer(info)
    server.registerTool('a', {}, () => 'x')
    await using client = await connect(server)
    async function theOneWhoAsked() {
      return await client.callTool('b')
    }
    const error = await theOneWhoAsked().catch((reason) => reason)
    expect(error.stack).toContain('theOneWhoAsked')
  })
})
