import { connect } from 'tenon/client'
import {
  completable,
  elicitationLinks,
  isWithinRoots,
  McpServer,
  ResourceTemplate,
  Suspended,
  stateHandles,
  ToolError,
} from 'tenon/server'
import { afterEach, beforeEach, describe, expect, it, type MockInstance, vi } from 'vitest'
import * as z from 'zod'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, notes, script } from './support.ts'

const info = { name: 'helpers', version: '1' }
const stateKey = 'k'.repeat(32)

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

describe('completion from a list of values', () => {
  everyWire('matches the typed text and returns the most relevant values first [COMP-007]', async (wire) => {
    const server = new McpServer(info)
    const languages = ['javascript', 'typescript', 'scheme', 'script']
    const argsSchema = { language: completable(z.string(), languages), other: z.string() }
    server.registerPrompt('review', { argsSchema, complete: { other: languages } }, () => 'x')
    const template = new ResourceTemplate('lang://{name}', { complete: { name: languages } })
    server.registerResource('language', template, {}, () => 'x')
    await using pair = await wire.connect(server)
    const prompt = { type: 'ref/prompt' as const, name: 'review' }
    const resource = { type: 'ref/resource' as const, uri: 'lang://{name}' }
    for (const [ref, name] of [
      [prompt, 'language'],
      [prompt, 'other'],
      [resource, 'name'],
    ] as const) {
      const { values } = await pair.client.complete({ ref, argument: { name, value: 'Script' } })
      expect(values).toEqual(['script', 'javascript', 'typescript'])
    }
  })
})

describe('an update with partOf', () => {
  for (const revision of ['2025-11-25', '2026-07-28'] as const) {
    it(`notifies the subscribers of the containing resource (${revision}) [RES-020]`, async () => {
      const inner = new McpServer(info)
      inner.registerResource('folder', 'notes://all', {}, () => 'x')
      inner.registerResource('secret', 'notes://all/secret', { requiredScopes: ['admin'] }, () => 'x')
      const server = new McpServer(info).mount(inner, { prefix: 'in' })
      await using client = await script(server, revision)
      const acknowledged = client.nextNotification('notifications/subscriptions/acknowledged')
      if (revision === '2025-11-25') await ask(client, 'resources/subscribe', { uri: 'notes://all' })
      else {
        void ask(client, 'subscriptions/listen', { notifications: { resourceSubscriptions: ['notes://all'] } })
        await acknowledged
      }
      inner.sendResourceUpdated({ uri: 'notes://all/1', partOf: 'notes://all' })
      inner.sendResourceUpdated({ uri: 'notes://all/secret', partOf: 'notes://all' })
      inner.sendResourceUpdated({ uri: 'notes://other/1', partOf: 'notes://other' })
      inner.sendResourceUpdated('notes://all')
      await ask(client, 'resources/list')
      const uris = notes(client.transcript, 'notifications/resources/updated').map(({ params }) => params.uri)
      expect(uris).toEqual(['notes://all/1', 'notes://all'])
    })
  }
})

describe('a state handle', () => {
  function createServer(options: Parameters<typeof stateHandles>[0] = {}) {
    const carts = stateHandles<string[]>(options)
    const server = new McpServer(info)
    server.registerTool('fill', {}, (_args, ctx) => carts.create(['tea'], ctx))
    const inputSchema = { cart: z.string() }
    server.registerTool('show', { inputSchema }, async ({ cart }, ctx) => (await carts.open(cart, ctx)).join())
    return server
  }

  it('returns the state to the caller without revealing its contents [TOOL-049]', async () => {
    await using client = await connect(createServer(), { auth: { subject: 'ann' } })
    const { text: cart } = await client.callTool('fill')
    expect(atob(cart.replaceAll('-', '+').replaceAll('_', '/'))).not.toContain('tea')
    expect((await client.callTool('fill')).text).not.toBe(cart)
    expect((await client.callTool('show', { cart })).text).toBe('tea')
  })

  it('is rejected with a tool error for another caller, or when it was modified or forged [TOOL-049]', async () => {
    const server = createServer()
    await using ann = await connect(server, { auth: { subject: 'ann' } })
    await using bob = await connect(server, { auth: { subject: 'bob' } })
    await using anonymous = await connect(server)
    const { text: cart } = await ann.callTool('fill')
    const changed = (cart[0] === 'A' ? 'B' : 'A') + cart.slice(1)
    for (const [client, handle] of [
      [bob, cart],
      [anonymous, cart],
      [ann, changed],
      [ann, 'made up'],
      [ann, ''],
      [ann, 'x'.repeat(200_000)],
    ] as const) {
      const result = await client.callTool('show', { cart: handle })
      expect(result).toMatchObject({ isError: true, text: expect.stringContaining('Invalid state handle') })
    }
  })

  it('is rejected with a tool error after it expires [TOOL-049]', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    await using client = await connect(createServer({ ttlMs: 1_000 }))
    const { text: cart } = await client.callTool('fill')
    vi.setSystemTime(Date.now() + 1_001)
    const result = await client.callTool('show', { cart })
    expect(result).toMatchObject({ isError: true, text: 'The state handle has expired. Start again.' })
  })

  it('works in every process that has the key, and in no other', async () => {
    await using first = await connect(createServer({ stateKey }))
    await using second = await connect(createServer({ stateKey }))
    await using other = await connect(createServer({ stateKey: 'o'.repeat(32) }))
    const { text: cart } = await first.callTool('fill')
    expect((await second.callTool('show', { cart })).text).toBe('tea')
    expect((await other.callTool('show', { cart })).isError).toBe(true)
  })

  it('rejects short keys and states that are too large', async () => {
    expect(() => stateHandles({ stateKey: 'short' })).toThrow(/32 random/)
    await using client = await connect(createServer({ maxStateBytes: 3 }))
    expect((await client.callTool('fill')).text).toContain('the limit is 3')
  })
})

describe('a URL elicitation link', () => {
  const links = elicitationLinks({ stateKey, ttlMs: 1_000 })
  const ann = { subject: 'ann', issuer: 'https://as.example' }

  /** Creates the link in a call of the given user. */
  async function linkFor(auth: { subject?: string; issuer?: string }, page = 'https://example.com/connect?a=1 2') {
    const server = new McpServer(info)
    server.registerTool('link', {}, (_args, ctx) => links.create(page, ctx, { account: 7 }))
    await using client = await connect(server, { auth })
    return await client.callTool('link')
  }

  it('opens for the user it was created for and returns its data [ELIC-040]', async () => {
    const { text: url } = await linkFor(ann)
    expect(await links.verify(url, ann)).toEqual({ account: 7 })
    expect(url).not.toContain('account')
  })

  it('is rejected for another user, another URL, after expiry, or when it was modified [ELIC-040]', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const { text } = await linkFor(ann)
    const changed = (change: (url: URL) => void) => {
      const url = new URL(text)
      change(url)
      return url
    }
    const own = new URL((await linkFor({ subject: 'eve' })).text).searchParams.get('ticket')!
    const attempts: [URL | string, { subject: string; issuer?: string }][] = [
      [text, { subject: 'bob', issuer: ann.issuer }],
      [text, { subject: 'ann', issuer: 'https://other.example' }],
      [text, { subject: 'ann' }],
      [changed((url) => url.searchParams.set('a', '2')), ann],
      [changed((url) => url.searchParams.append('admin', '1')), ann],
      [changed((url) => url.searchParams.delete('ticket')), ann],
      [changed((url) => url.searchParams.set('ticket', own)), ann],
      [changed((url) => (url.pathname = '/delete')), ann],
      [changed((url) => (url.host = 'evil.example')), ann],
    ]
    for (const [url, user] of attempts) await expect(links.verify(url, user)).rejects.toThrow(/belongs to another user/)
    expect(await links.verify(text, ann)).toEqual({ account: 7 })
    vi.setSystemTime(Date.now() + 1_000)
    await expect(links.verify(text, ann)).rejects.toThrow(/has expired/)
  })

  it('cannot be created for an unauthenticated caller', async () => {
    expect((await linkFor({})).text).toContain('ctx.auth has no subject')
  })
})

describe('the roots of a client', () => {
  everyWire('limit which files a tool may read [ROOT-009]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('read', { inputSchema: { path: z.string() } }, async ({ path }, ctx) => {
      if (!isWithinRoots(path, await ctx.roots())) throw new ToolError('Outside of the roots')
      return 'read'
    })
    await using pair = await wire.connect(server, { handlers: { roots: ['file:///home/ann'] } })
    expect((await pair.client.callTool('read', { path: '/home/ann/a.txt' })).text).toBe('read')
    expect((await pair.client.callTool('read', { path: '/home/ann/../bob/a.txt' })).text).toBe('Outside of the roots')
  })

  everyWire('can be taken back, and no longer count [ROOT-009]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('read', { inputSchema: { path: z.string() } }, async ({ path }, ctx) => {
      if (!isWithinRoots(path, await ctx.roots())) throw new ToolError('Outside of the roots')
      return 'read'
    })
    const handlers = { roots: ['file:///home/ann', 'file:///mnt/stick'] }
    await using pair = await wire.connect(server, { handlers })
    const read = async (path: string) => (await pair.client.callTool('read', { path })).text
    expect(await read('/mnt/stick/a.txt')).toBe('read')
    pair.client.setRoots(['file:///home/ann'])
    // The notification is sent before the next call.
    expect(await read('/mnt/stick/a.txt')).toBe('Outside of the roots')
    expect(await read('/home/ann/a.txt')).toBe('read')
    pair.client.setRoots([])
    expect(await read('/home/ann/a.txt')).toBe('Outside of the roots')
  })

  everyWire('can be unavailable for a time, and the server goes on [ROOT-009]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('read', { inputSchema: { path: z.string() } }, async ({ path }, ctx) => {
      const roots = await ctx.roots().catch((error) => {
        if (error instanceof Suspended) throw error
        return []
      })
      if (!isWithinRoots(path, roots)) throw new ToolError('Outside of the roots')
      return 'read'
    })
    let isGone = true
    const roots = () => {
      if (isGone) throw new Error('The list of folders is gone')
      return ['file:///home/ann']
    }
    await using pair = await wire.connect(server, { handlers: { roots } })
    const read = () => pair.client.callTool('read', { path: '/home/ann/a.txt' })
    // On 2026-07-28 it is the client that answers within the call, so its own failure fails the call.
    if (wire.revision.id === '2026-07-28') await expect(read()).rejects.toThrow('The list of folders is gone')
    else expect((await read()).text).toBe('Outside of the roots')
    isGone = false
    expect((await read()).text).toBe('read')
  })
})

describe('filterLog', () => {
  everyWire('lets the operator redact and drop log messages per caller [LOG-016, LOG-020]', async (wire) => {
    const server = new McpServer(info, {
      filterLog: (message, ctx) => {
        if (message.logger === 'internal') return undefined
        return ctx ? { ...message, data: String(message.data).replace(/key=\w+/, 'key=***') } : message
      },
    })
    server.registerTool('work', {}, (_args, ctx) => {
      ctx.log.info('used key=abc123')
      ctx.log.info('secret plan', 'internal')
      server.sendLoggingMessage({ level: 'info', logger: 'internal', data: 'secret plan' })
      return 'x'
    })
    await using pair = await wire.connect(server, { logLevel: 'debug' })
    await pair.client.callTool('work')
    const logged = notes(pair.transcript, 'notifications/message').map(({ params }) => params.data)
    expect(logged).toEqual(['used key=***'])
    expect(pair.transcript.toString()).not.toMatch(/abc123|secret plan/)
  })
})

describe('a warning at registration', () => {
  let warn: MockInstance<typeof console.warn>
  const warnings = () => warn.mock.calls.map(([text]) => String(text))

  beforeEach(() => {
    vi.resetModules()
    warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
  })

  /** Imports the library again: each warning is given once per process. */
  const fresh = async () => (await import('tenon/server')).McpServer

  it('is given for an extension name without a reverse-DNS prefix [VER-039]', async () => {
    const Fresh = await fresh()
    for (let times = 0; times < 2; times++) {
      new Fresh(info, { capabilities: { extensions: { 'example.com/x': {}, 'acme/y': {}, 'com.example/z': {} } } })
    }
    expect(warnings()).toEqual([
      expect.stringContaining(
        'Extension "example.com/x": use a reversed domain name that you control as prefix, such as com.example/.',
      ),
      expect.stringContaining('Extension "acme/y"'),
    ])
  })

  it('is given for a _meta prefix that is not in reverse-DNS order [META-004]', async () => {
    const server = new (await fresh())(info)
    server.registerTool('t', { _meta: { 'shop.example.org/a': 1, 'org.example.shop/a': 1, plain: 1 } }, () => 'x')
    server.registerPrompt('p', { _meta: { 'example.io/a': 1 } }, () => 'x')
    server.registerResource('r', 'a://b', { _meta: { 'example.dev/a': 1 } }, () => 'x')
    expect(warnings()).toEqual([
      expect.stringContaining('Tool "t", _meta key "shop.example.org/a"'),
      expect.stringContaining('Prompt "p", _meta key "example.io/a"'),
      expect.stringContaining('Resource "r", _meta key "example.dev/a"'),
    ])
  })

  it('is given for a sensitive argument that is mirrored in a header [HDR-046]', async () => {
    const server = new (await fresh())(info)
    const field = (header: string) => ({ type: 'string', 'x-mcp-header': header })
    const properties = { apiKey: field('Key'), region: field('Region'), tokenCount: field('Count') }
    server.registerTool('t', { inputSchema: { type: 'object', properties } as never }, () => 'x')
    expect(warnings()).toEqual([expect.stringContaining('Tool "t": the argument "apiKey" looks like a secret')])
  })

  it('is given for embedded resources on a server without resources [TOOL-027]', async () => {
    const Fresh = await fresh()
    const embed = () => ({ content: [{ type: 'resource' as const, resource: { uri: 'a://b', text: 'x' } }] })
    const withResources = new Fresh(info)
    withResources.registerTool('embed', {}, embed)
    withResources.registerResource('b', 'a://b', {}, () => 'x')
    await using quiet = await connect(withResources)
    await quiet.callTool('embed')
    expect(warnings()).toEqual([])
    const without = new Fresh(info)
    without.registerTool('embed', {}, embed)
    await using client = await connect(without)
    await client.callTool('embed')
    await client.callTool('embed')
    expect(warnings()).toEqual([expect.stringContaining('Tool "embed" embeds a resource')])
  })

  it('is given for a web address that clients cannot load themselves [RES-028]', async () => {
    const { McpServer: Fresh, ResourceTemplate } = await import('tenon/server')
    const server = new Fresh(info)
    const add = (uri: string, config = {}) => server.registerResource(uri, uri, config, () => 'x')
    for (const uri of ['https://docs.example.com/a', 'https://8.8.8.8/', 'docs://localhost/a', 'file:///a']) add(uri)
    server.registerResource('page', new ResourceTemplate('https://docs.example.com/{page}'), {}, () => 'x')
    server.registerResource('any', new ResourceTemplate('https://{host}/x'), {}, () => 'x')
    expect(warnings()).toEqual([])
    const unreachable = [
      'https://localhost:8080/a',
      'http://intranet/a',
      'https://10.0.0.7/',
      'https://[::1]:3/',
      'https://wiki.corp.internal/a',
    ]
    for (const uri of unreachable) add(uri)
    add('https://docs.example.com/guarded', { requiredScopes: ['read'] })
    server.registerResource('box', new ResourceTemplate('https://nas.local/{file}'), {}, () => 'x')
    expect(warnings()).toHaveLength(unreachable.length + 2)
    expect(warnings()[0]).toContain(
      'Resource "https://localhost:8080/a": clients may load "https://localhost:8080/a" from the web instead of asking this server, and cannot. Use another scheme',
    )
    expect(warnings().slice(-2)).toEqual([expect.stringContaining('/guarded'), expect.stringContaining('nas.local')])
  })

  it('is given for a form that contains a URL [ELIC-042]', async () => {
    const server = new (await fresh())(info)
    const schema = z.object({ name: z.string().describe('See https://example.com/help') })
    server.registerTool(
      'fine',
      {},
      async (_args, ctx) => (await ctx.elicit('Your name?', z.object({ a: z.string() }))).action,
    )
    server.registerTool('linked', {}, async (_args, ctx) => (await ctx.elicit('Your name?', schema)).action)
    const handlers = { elicit: () => ({ action: 'decline' as const }) }
    await using client = await connect(server, { handlers })
    await client.callTool('fine')
    expect(warnings()).toEqual([])
    await client.callTool('linked')
    expect(warnings()).toEqual([expect.stringContaining('A form contains the URL https://example.com/help.')])
  })
})
