import { createContext, runInContext } from 'node:vm'
import { bearer } from 'tenon/auth/client'
import { type Client, type ClientHandlers, connect } from 'tenon/client'
import { type Context, completable, McpServer, ResourceTemplate, serveHttp } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'

const info = { name: 'later', version: '1' }

type Later = <T>(value: T) => PromiseLike<T>

const realm = createContext({})
const foreignPromise = runInContext('(value) => Promise.resolve(value)', realm) as Later

type Run = (done: (value: unknown) => void, fail: (error: unknown) => void) => void

/** A thenable that settles synchronously and returns no promise, like several query builders. */
class Query {
  readonly #run: Run

  constructor(run: Run) {
    this.#run = run
  }

  // biome-ignore lint/suspicious/noThenProperty: the test needs a thenable
  then(done: (value: unknown) => void, fail: (error: unknown) => void): void {
    this.#run(done, fail)
  }
}

const query: Later = (value) => new Query((done) => done(value)) as never

function callableQuery(value: unknown) {
  const callable = () => {}
  Object.defineProperty(callable, 'then', { value: (done: (value: unknown) => void) => done(value) })
  return callable
}

/** Everything that `await` accepts besides a promise of this realm. */
const kinds: [string, Later][] = [
  ['a promise of another realm', foreignPromise],
  ['a query builder', query],
  ['a function that is a thenable', callableQuery as never],
]

function createServer(later: Later) {
  const server = new McpServer(info)
  server.registerTool('tool', {}, () => later('tool'))
  server.registerTool('output', { outputSchema: { n: z.number() } }, () => later({ n: 1 }))
  server.registerTool('ask', {}, async (_args, ctx: Context) => {
    const { action } = await ctx.elicit('Sure?')
    const roots = await ctx.roots()
    const { text } = await ctx.sample({ messages: [], maxTokens: 1 })
    return [action, roots[0]?.uri, text, await ctx.once('key', () => later('once') as never)].join(' ')
  })
  server.registerPrompt('prompt', { argsSchema: { a: completable(z.string(), () => later(['completed'])) } }, () =>
    later('prompt'),
  )
  server.registerResource('resource', 'a://resource', {}, () => later('resource'))
  const template = new ResourceTemplate('a://template/{id}', {
    list: () => later([{ uri: 'a://template/listed', name: 'listed' }]),
  })
  server.registerResource('template', template, {}, () => later('template'))
  server.server.setRequestHandler('custom', () => later({ custom: true }))
  return server
}

function createHandlers(later: Later): ClientHandlers {
  return {
    elicit: () => later({ action: 'accept' as const }),
    roots: () => later(['file:///root']),
    sample: () =>
      later({ role: 'assistant' as const, content: { type: 'text' as const, text: 'sampled' }, model: 'm' }),
  }
}

describe.each(kinds)('%s is awaited', (_, later) => {
  const uses: [string, (client: Client) => unknown, unknown][] = [
    ['from a tool', async (client) => (await client.callTool('tool')).text, 'tool'],
    [
      'from a tool with an outputSchema',
      async (client) => (await client.callTool('output')).structuredContent,
      { n: 1 },
    ],
    [
      'from a prompt',
      (client) => client.getPrompt('prompt', { a: 'x' }),
      { messages: [{ content: { text: 'prompt' } }] },
    ],
    ['from a resource', (client) => client.readResource('a://resource'), { contents: [{ text: 'resource' }] }],
    ['from a template', (client) => client.readResource('a://template/7'), { contents: [{ text: 'template' }] }],
    [
      'from the list of a template',
      (client) => client.listResources().all(),
      [{ name: 'resource' }, { name: 'listed' }],
    ],
    [
      'from a completer',
      (client) => client.complete({ ref: { type: 'ref/prompt', name: 'prompt' }, argument: { name: 'a', value: '' } }),
      { values: ['completed'] },
    ],
    ['from a handler of a custom method', (client) => client.request('custom'), { custom: true }],
    [
      'from the handlers of a client, and in once()',
      async (client) => (await client.callTool('ask')).text,
      'accept file:///root sampled once',
    ],
  ]

  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    it.each(uses)(`%s (${revision})`, async (_use, run, expected) => {
      const server = createServer(later)
      await using client = await connect(server, { revision, handlers: createHandlers(later) })
      const result = await run(client)
      if (typeof expected === 'object') expect(result).toMatchObject(expected as object)
      else expect(result).toBe(expected)
    })
  }

  it('returned by middleware', async () => {
    const server = createServer(later)
    server.use(async (_request, next) => ({ ...(await next()), _meta: { seen: true } }))
    server.use((_request, next) => later(next()) as never)
    await using client = await connect(server)
    expect(await client.callTool('tool')).toMatchObject({ text: 'tool', _meta: { seen: true } })
  })

  it('returned by the token verifier and by `principal`', async () => {
    const server = new McpServer(info)
    server.registerTool('who', {}, (_args, ctx) => ctx.auth?.subject ?? ctx.request?.principal ?? 'nobody')
    const auth = { verify: () => later({ subject: 'ann', scopes: [] }), authorizationServers: ['https://as.example'] }
    for (const [options, name] of [
      [{ auth }, 'ann'],
      [{ principal: () => later('bob') }, 'bob'],
    ] as const) {
      const http = await serveHttp(server, { port: 0, exit: false, ...options })
      await using client = await connect(http.url, { auth: bearer('x') })
      expect((await client.callTool('who')).text).toBe(name)
      await client.close()
      await http.close()
    }
  })
})

describe('a thenable that rejects', () => {
  it('fails its tool', async () => {
    const server = new McpServer(info)
    const rejects = new Query((_done, fail) => fail(new Error('No rows')))
    const throws = new Query(() => {
      throw new Error('No connection')
    })
    server.registerTool('rejects', {}, () => rejects as never)
    server.registerTool('throws', {}, () => throws as never)
    await using client = await connect(server)
    expect(await client.callTool('rejects')).toMatchObject({ isError: true, text: 'No rows' })
    expect(await client.callTool('throws')).toMatchObject({ isError: true, text: 'No connection' })
  })
})
