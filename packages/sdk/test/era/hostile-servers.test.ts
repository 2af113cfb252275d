import { type Client, Client as ClientClass, McpError } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { describe, expect, it, vi } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { RestartableTransport } from '../kit/restartable-transport.ts'
import { allRevisions, handshakeRevisions, modern } from '../kit/revisions.ts'
import { scripted, scriptedClient, shaped } from '../kit/scripted-server.ts'
import { connected, inMemory, watchStates } from './support.ts'

const keys = ['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'then', 'length']

describe('servers that use names of Object.prototype', () => {
  it.each(keys)('refuses the result type %s', async (resultType) => {
    for (const tasks of [true, undefined]) {
      const server = scripted(modern, { 'tools/call': () => ({ result: { resultType, content: [] } }) })
      const client = await scriptedClient(server, { tasks })
      const error = await errorOf(client.callTool('any'))
      expect(error).toBeInstanceOf(McpError)
      expect(error.code).toBe('invalid-response')
      await client.close()
    }
  })

  it.each([[null], [7], [[]], [{}], [['task']], [{ toString: 'x' }]])(
    'refuses the result type %j',
    async (resultType) => {
      const server = scripted(modern, { 'tools/call': () => ({ result: { resultType, content: [] } as never }) })
      const client = await scriptedClient(server, { tasks: true })
      expect((await errorOf(client.callTool('any'))).code).toBe('invalid-response')
      await client.close()
    },
  )

  it.each(allRevisions)('lists tools, prompts and resources with these names like any other (%s)', async (revision) => {
    const tools = keys.map((name) => ({ name, inputSchema: { type: 'object' }, outputSchema: { type: 'object' } }))
    const server = scripted(revision, {
      'tools/list': () => shaped(revision, { tools }),
      'prompts/list': () => shaped(revision, { prompts: keys.map((name) => ({ name })) }),
      'resources/list': () => shaped(revision, { resources: keys.map((name) => ({ name, uri: `note:${name}` })) }),
      'tools/call': () => shaped(revision, { content: [], structuredContent: {} }),
    })
    const client = await scriptedClient(server, { revision })
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(keys)
    expect((await client.listPrompts().all()).map(({ name }) => name)).toEqual(keys)
    expect((await client.listResources().all()).map(({ name }) => name)).toEqual(keys)
    for (const name of keys) expect((await client.callTool(name)).structuredContent).toEqual({})
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
    await client.close()
  })

  it.each(allRevisions)('is not confused by members of a result with these names (%s)', async (revision) => {
    const hostile = JSON.parse('{"__proto__":{"polluted":true},"constructor":"x","text":"forged","toString":"y"}')
    const content = [{ type: 'text', text: 'real' }]
    const server = scripted(revision, { 'tools/call': () => shaped(revision, { ...hostile, content }) })
    const client = await scriptedClient(server, { revision })
    const result = await client.callTool('any')
    expect(result.text).toBe('real')
    expect((result as { polluted?: unknown }).polluted).toBeUndefined()
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    await client.close()
  })
})

describe('servers with malformed descriptions', () => {
  const odd: [string, Record<string, unknown>][] = [
    ['a name that is no string', { serverInfo: { name: 7, version: null } }],
    ['no info', { serverInfo: undefined }],
    ['info that is a string', { serverInfo: 'evil' }],
    ['info that is a list', { serverInfo: ['evil'] }],
    ['capabilities that are a list', { capabilities: [] }],
    ['capabilities that are a string', { capabilities: 'all' }],
    ['instructions that are an object', { instructions: { toString: 1 } }],
  ]
  it.each(handshakeRevisions.flatMap((revision) => odd.map(([what, more]) => [revision, what, more] as const)))(
    'connects and ignores unusable parts of the description (%s, %s)',
    async (revision, _what, more) => {
      const result = { protocolVersion: revision, capabilities: {}, serverInfo: { name: 's', version: '1' }, ...more }
      const client = await scriptedClient(scripted(revision, { initialize: () => ({ result }) }), { revision })
      const { info, capabilities, instructions } = client.server
      expect(info === undefined || (typeof info === 'object' && !Array.isArray(info))).toBe(true)
      expect(typeof capabilities).toBe('object')
      expect(Array.isArray(capabilities)).toBe(false)
      expect(instructions).toBeUndefined()
      await client.close()
    },
  )

  it('shortens a very long list of versions in the error', async () => {
    const supportedVersions = Array.from({ length: 100_000 }, (_, index) => `version-${index}`)
    const server = scripted(modern, {
      'server/discover': () => ({ result: { resultType: 'complete', supportedVersions, capabilities: {} } }),
    })
    const error = await errorOf(scriptedClient(server))
    expect(error.code).toBe('no-common-revision')
    expect(error.message.length).toBeLessThan(1_000)
  })
})

describe('servers that change', () => {
  it('uses the new schema of a tool after a list change notification', async () => {
    const server = new McpServer({ name: 's', version: '1' }, { listChangedDelayMs: 0 })
    const tool = server.registerTool('t', { outputSchema: { type: 'object', required: ['old'] } }, () => ({
      structuredContent: { old: 1 },
    }))
    for (const revision of allRevisions.slice(2)) {
      const client = await connected(server, { revision })
      await client.listTools()
      const listening = await client.listen({ toolsListChanged: true })
      const changed = new Promise<void>((resolve) => client.on('toolsChanged', () => resolve()))
      tool.update({
        outputSchema: { type: 'object', required: ['new'] },
        handler: () => ({ structuredContent: { new: 1 } }) as never,
      } as never)
      await changed
      expect((await client.callTool('t')).structuredContent).toEqual({ new: 1 })
      tool.update({
        outputSchema: { type: 'object', required: ['old'] },
        handler: () => ({ structuredContent: { old: 1 } }) as never,
      } as never)
      await listening.close()
      await client.close()
    }
  })

  it('uses the listed schema of a tool that changed without a notification', async () => {
    let required = 'old'
    const server = scripted(modern, {
      'tools/list': () =>
        shaped(modern, {
          tools: [
            { name: 't', inputSchema: { type: 'object' }, outputSchema: { type: 'object', required: [required] } },
          ],
        }),
      'tools/call': () => shaped(modern, { content: [], structuredContent: { new: 1 } }),
    })
    const client = await scriptedClient(server)
    await client.listTools()
    required = 'new'
    expect((await errorOf(client.callTool('t'))).code).toBe('invalid-output')
    await client.close()
  })

  it('checks output even if the server reports a tool change in the meantime', async () => {
    const server = scripted(modern, {
      'tools/list': () =>
        shaped(modern, {
          tools: [{ name: 't', inputSchema: { type: 'object' }, outputSchema: { type: 'object', required: ['a'] } }],
        }),
      'tools/call': () => shaped(modern, { content: [], structuredContent: {} }),
    })
    const client = await scriptedClient(server)
    await client.listTools()
    server.say({ jsonrpc: '2.0', method: 'notifications/tools/list_changed' })
    await client.ping()
    expect((await errorOf(client.callTool('t'))).code).toBe('invalid-output')
    await client.close()
  })

  it.each(allRevisions)('forgets everything about the old server after a restart (%s)', async (revision) => {
    const first = new McpServer({ name: 'first', version: '1' })
    first.registerTool('a', {}, () => '1')
    const second = new McpServer({ name: 'second', version: '2' })
    second.registerPrompt('b', {}, () => 'x')
    const inner: { close(): Promise<void> }[] = []
    const transport = new RestartableTransport(async (start) => {
      const made = await inMemory(start === 1 ? first : second)
      inner.push(made)
      return made
    })
    const client: Client = new ClientClass({ name: 'c', version: '1' }, { revision })
    const states = watchStates(client)
    await client.connect(transport)
    expect((await client.listTools().all()).map(({ name }) => name)).toEqual(['a'])
    await inner[0]!.close()
    await states.reached('ready', 2)
    expect(client.server.info?.name).toBe('second')
    expect((await errorOf(client.callTool('a'))).code).toBe('capability-missing')
    expect((await client.listPrompts().all()).map(({ name }) => name)).toEqual(['b'])
    await client.close()
  })
})

describe('servers that continue after the client is closed', () => {
  it.each(allRevisions)('ignores messages that arrive after close (%s)', async (revision) => {
    const server = scripted(revision, { 'tools/call': () => undefined })
    const client = await scriptedClient(server, { revision, handlers: { elicit: () => ({ action: 'decline' }) } })
    const heard: string[] = []
    for (const name of ['log', 'toolsChanged', 'resourceUpdated', 'warning', 'error', 'cancelled', 'task'] as const)
      client.on(name, () => heard.push(name))
    const handler = vi.fn()
    client.setNotificationHandler('notifications/custom', handler)
    client.setRequestHandler('custom/ask', handler)
    const call = errorOf(client.callTool('never'))
    await client.close()
    expect((await call).code).toBe('closed')
    heard.length = 0
    const send = (message: object) => {
      try {
        server.say({ jsonrpc: '2.0', ...message } as never)
      } catch {
        // The transport may throw because it is closed.
      }
    }
    send({ method: 'notifications/tools/list_changed' })
    send({ method: 'notifications/message', params: { level: 'error', data: 'x' } })
    send({ method: 'notifications/resources/updated', params: { uri: 'note://a' } })
    send({ method: 'notifications/custom' })
    send({ id: 1, method: 'custom/ask' })
    send({ id: 1, result: { content: [] } })
    send({ jsonrpc: '1.0' })
    await new Promise((resolve) => setImmediate(resolve))
    expect(heard).toEqual([])
    expect(handler).not.toHaveBeenCalled()
    expect(client.state).toBe('closed')
    expect((await errorOf(client.callTool('any'))).code).toBe('not-connected')
    expect((await errorOf((async () => client.notify('notifications/custom'))())).code).toBe('not-connected')
    await client.close()
  })
})
