import { McpError, type RevisionId } from 'tenon'
import { Client } from 'tenon/client'
import { McpServer, Server } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { server as demo } from '../../../../../examples/demo/server.ts'
import { everyPipe } from '../../kit/every-wire.ts'
import type { Message } from '../../kit/message.ts'
import { everyRevision, handshakeRevisions } from '../../kit/revisions.ts'
import { answersIn, clientOf, script, scriptedServer } from './support.ts'

const revision: RevisionId = '2026-07-28'
const modern = { revisions: [revision] }

describe('on 2026-07-28', () => {
  everyPipe(
    'every result has the resultType complete [RPC-041, RPC-042]',
    async (wire) => {
      await using client = await script(wire, demo)
      const answers = await Promise.all([
        client.request('server/discover'),
        client.request('tools/list'),
        client.request('tools/call', { name: 'echo', arguments: { text: 'a' } }),
        client.request('tools/call', { name: 'add', arguments: { a: 1, b: 2 } }),
        client.request('tools/call', { name: 'add', arguments: { a: 'wrong' } }),
        client.request('resources/list'),
        client.request('resources/templates/list'),
        client.request('resources/read', { uri: 'note://today' }),
        client.request('prompts/list'),
        client.request('prompts/get', { name: 'review', arguments: { code: 'x' } }),
        client.request('completion/complete', {
          ref: { type: 'ref/prompt', name: 'review' },
          argument: { name: 'language', value: 't' },
        }),
      ])
      for (const { result } of answers) expect(result?.resultType).toBe('complete')
    },
    modern,
  )

  everyPipe(
    'results of custom methods and ended subscriptions are complete too [RPC-041, RPC-042]',
    async (wire) => {
      const server = new Server({ name: 'custom', version: '1' }, { capabilities: { tools: { listChanged: true } } })
      server.setRequestHandler('custom/any', () => ({ a: 1 }))
      const client = await script(wire, server)
      expect((await client.request('custom/any')).result).toMatchObject({ a: 1, resultType: 'complete' })
      const acknowledged = client.nextNotification('notifications/subscriptions/acknowledged')
      const ended = client.request('subscriptions/listen', { notifications: { toolsListChanged: true } })
      await acknowledged
      await server.close()
      expect((await ended).result?.resultType).toBe('complete')
      await client.close()
    },
    modern,
  )

  everyPipe(
    'a result that requests input has the resultType input_required [RPC-041, RPC-042]',
    async (wire) => {
      const server = new Server({ name: 'asking', version: '1' }, { capabilities: { tools: {} } })
      const inputRequests = {
        name: {
          method: 'elicitation/create',
          params: { mode: 'form', message: 'Who?', requestedSchema: { type: 'object', properties: {} } },
        },
      }
      server.setRequestHandler('tools/call', () => ({ resultType: 'input_required', inputRequests }) as never)
      await using client = await script(wire, server, { capabilities: { elicitation: { form: {} } } })
      const { result } = await client.request('tools/call', { name: 'ask', arguments: {} })
      expect(result).toMatchObject({ resultType: 'input_required', inputRequests })
    },
    modern,
  )

  everyPipe(
    'a server sends responses and notifications but never requests [RPC-038, RPC-040]',
    async (wire) => {
      const server = new McpServer({ name: 'busy', version: '1' })
      const heard: unknown[] = []
      server.server.setNotificationHandler('custom/note', ({ text }) => heard.push(text))
      server.registerTool('work', {}, async (_args, ctx) => {
        ctx.progress(1)
        ctx.log.warning('halfway')
        ctx.progress(2)
        return 'done'
      })
      const logs: unknown[] = []
      await using pair = await wire.connect(server, {
        logLevel: 'debug',
        capabilities: { roots: {}, sampling: {}, elicitation: { form: {} } },
      })
      const { client, transcript } = pair
      client.on('log', (message) => logs.push(message.data))
      const progress: number[] = []
      const listening = await client.listen({ toolsListChanged: true })
      client.notify('custom/note', { text: 'from the client' })
      const result = await client.callTool('work', {}, { onProgress: (event) => progress.push(event.progress) })
      // Both directions work: requests and notifications to the server, responses and notifications back.
      expect(result.text).toBe('done')
      expect(progress).toEqual([1, 2])
      expect(logs).toEqual(['halfway'])
      expect(heard).toEqual(['from the client'])
      const changed = new Promise((resolve) => client.on('toolsChanged', () => resolve('changed')))
      server.registerTool('more', {}, () => 'more')
      expect(await changed).toBe('changed')
      await listening.close()
      await client.ping()
      const said = transcript.from('server') as Message[]
      expect(said.length).toBeGreaterThan(5)
      expect(said.filter(({ method, id }) => method !== undefined && id !== undefined)).toEqual([])
      expect(answersIn(transcript)).toEqual([])
    },
    modern,
  )
})

describe('a client of 2026-07-28', () => {
  it('does not answer requests of a server [RPC-039]', async () => {
    const server = scriptedServer(revision, { barrier: () => ({ result: { resultType: 'complete' } }) })
    await using client = await clientOf(server, revision, { capabilities: { roots: {}, sampling: {} } })
    let asked = 0
    client.setRequestHandler('roots/list', () => {
      asked++
      return { roots: [] }
    })
    for (const [id, method] of ['ping', 'roots/list', 'no/such', 'elicitation/create'].entries()) {
      server.say({ jsonrpc: '2.0', id, method, params: {} })
    }
    await client.request('barrier')
    expect(answersIn(server.transcript)).toEqual([])
    expect(asked).toBe(0)
  })

  it.each([
    ['a request with the id null', { jsonrpc: '2.0', id: null, method: 'ping' }],
    ['a request with a fractional id', { jsonrpc: '2.0', id: 1.5, method: 'ping' }],
    ['a method that is not a string', { jsonrpc: '2.0', id: 'm', method: 5 }],
    ['another version of JSON-RPC', { jsonrpc: '1.0', id: 'v', method: 'ping' }],
    ['a batch', [{ jsonrpc: '2.0', id: 'b', method: 'ping' }]],
    ['a response with result and error', { jsonrpc: '2.0', id: 'r', result: {}, error: { code: 1, message: 'x' } }],
    ['a response with neither', { jsonrpc: '2.0', id: 'n' }],
    ['a bare value', 'text'],
  ])('does not answer an invalid message: %s [RPC-039]', async (_what, message) => {
    const server = scriptedServer(revision, { barrier: () => ({ result: { resultType: 'complete' } }) })
    await using client = await clientOf(server, revision)
    server.say(message)
    await client.request('barrier')
    expect(answersIn(server.transcript)).toEqual([])
  })

  it('treats a result without resultType as complete [RPC-043]', async () => {
    const server = scriptedServer(
      revision,
      {
        any: () => ({ result: { a: 1 } }),
        'tools/call': () => ({ result: { content: [{ type: 'text', text: 'old' }] } }),
        'tools/list': () => ({ result: { tools: [] } }),
      },
      { tools: {} },
    )
    await using client = await clientOf(server, revision)
    expect(await client.request('any')).toEqual({ a: 1 })
    expect((await client.callTool('any')).text).toBe('old')
    expect(await client.listTools().all()).toEqual([])
  })

  it.each(['partial', '', 'COMPLETE', 5, null, { a: 1 }, ['complete']])(
    'rejects a result with the resultType %j as an invalid response [RPC-044]',
    async (resultType) => {
      const server = scriptedServer(revision, {
        any: () => ({ result: { resultType, a: 1 } }),
        'tools/call': () => ({ result: { resultType, content: [] } }),
        'tools/list': () => ({ result: { resultType, tools: [], ttlMs: 0, cacheScope: 'private' } }),
      })
      await using client = await clientOf(server, revision)
      for (const call of [() => client.request('any'), () => client.callTool('x'), () => client.listTools().all()]) {
        const error = await call().then(
          () => 'success',
          (reason) => reason,
        )
        expect(error).toBeInstanceOf(McpError)
        expect(error).toMatchObject({ code: 'invalid-response' })
      }
    },
  )

  it('rejects a discovery result with an unknown resultType [RPC-044]', async () => {
    const server = scriptedServer(revision, {
      'server/discover': () => ({
        result: {
          resultType: 'partial',
          supportedVersions: [revision],
          capabilities: {},
          ttlMs: 0,
          cacheScope: 'private',
        },
      }),
    })
    const client = new Client({ name: 'test', version: '1' }, { revision })
    await expect(client.connect(server.transport)).rejects.toBeInstanceOf(McpError)
  })

  it('accepts the result types of an extension that it declared [RPC-046]', async () => {
    const server = scriptedServer(
      revision,
      { any: () => ({ result: { resultType: 'task', taskId: 'a' } }) },
      { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    )
    await using client = await clientOf(server, revision, {
      capabilities: { extensions: { 'io.modelcontextprotocol/tasks': {} } },
    })
    expect(await client.request('any')).toMatchObject({ resultType: 'task', taskId: 'a' })
  })
})

describe('a server of 2026-07-28 with an extension', () => {
  everyPipe(
    'can answer with a result type of that extension [RPC-046]',
    async (wire) => {
      const extensions = { 'com.example/later': {} }
      const server = new Server({ name: 'extended', version: '1' }, { capabilities: { extensions } })
      server.setRequestHandler('custom/any', () => ({ resultType: 'later', ticket: 5 }))
      await using client = await script(wire, server, { capabilities: { extensions } })
      expect((await client.request('custom/any')).result).toMatchObject({ resultType: 'later', ticket: 5 })
    },
    modern,
  )
})

describe('before 2026-07-28', () => {
  everyRevision(
    'resultType is an ordinary member of a result [RPC-015]',
    async (older) => {
      const server = scriptedServer(older, { any: () => ({ result: { resultType: 'whatever', a: 1 } }) })
      await using client = await clientOf(server, older)
      expect(await client.request('any')).toMatchObject({ a: 1 })
    },
    handshakeRevisions,
  )
})
