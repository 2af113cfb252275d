import { metaKeys } from 'tenon'
import { McpServer } from 'tenon/server'
import { describe, expect } from 'vitest'
import { everyPipe } from '../../kit/every-wire.ts'
import type { Message } from '../../kit/message.ts'
import { everyRevision, handshakeRevisions } from '../../kit/revisions.ts'
import { clientOf, script, scriptedServer } from './support.ts'

describe('the base protocol', () => {
  everyPipe(
    'is supported by client and server: handshake, operation and orderly shutdown [RPC-047]',
    async (wire) => {
      const server = new McpServer({ name: 'small', version: '1' })
      server.registerTool('hello', {}, () => 'hello')
      await using pair = await wire.connect(server)
      const { client, transcript } = pair
      expect(client.revision).toBe(wire.revision.id)
      expect(client.getServerVersion()).toMatchObject({ name: 'small', version: '1' })
      expect((await client.callTool('hello')).text).toBe('hello')
      await client.ping()
      const methods = (transcript.from('client') as Message[]).map(({ method }) => method)
      expect(methods.slice(0, 2)).toEqual(['initialize', 'notifications/initialized'])
      await client.close()
      expect(client.state).toBe('closed')
      await expect(client.ping()).rejects.toMatchObject({ code: 'not-connected' })
    },
    { revisions: handshakeRevisions },
  )

  everyPipe(
    'is supported by client and server: discovery, a version in every request, and the message patterns [RPC-048]',
    async (wire) => {
      const server = new McpServer({ name: 'small', version: '1' })
      let stopped: (() => void) | undefined
      const cancelled = new Promise<void>((resolve) => {
        stopped = resolve
      })
      server.registerTool('hello', {}, () => 'hello')
      server.registerTool('wait', {}, (_args, ctx) => {
        ctx.progress(1)
        return new Promise((_resolve, reject) => {
          ctx.signal.addEventListener('abort', () => {
            stopped?.()
            reject(new Error('stopped'))
          })
        })
      })
      await using pair = await wire.connect(server)
      const { client, transcript } = pair
      // Request and response.
      expect((await client.callTool('hello')).text).toBe('hello')
      // Progress and cancellation.
      const stop = new AbortController()
      const wait = client.callTool('wait', {}, { signal: stop.signal, onProgress: () => stop.abort() })
      await expect(wait).rejects.toMatchObject({ code: 'cancelled' })
      await cancelled
      // Subscription.
      const changed = new Promise<string>((resolve) => client.on('toolsChanged', () => resolve('changed')))
      const listening = await client.listen({ toolsListChanged: true })
      expect(listening.honoured).toEqual({ toolsListChanged: true })
      server.registerTool('another', {}, () => 'another')
      expect(await changed).toBe('changed')
      const requests = (transcript.from('client') as Message[]).filter(({ id }) => id !== undefined)
      expect(requests[0]?.method).toBe('server/discover')
      for (const { params } of requests) {
        expect(params?._meta).toMatchObject({
          [metaKeys.protocolVersion]: '2026-07-28',
          [metaKeys.clientCapabilities]: {},
        })
      }
    },
    { revisions: ['2026-07-28'] },
  )

  everyPipe('is sufficient for a server that declares no capabilities [RPC-049]', async (wire) => {
    await using pair = await wire.connect(new McpServer({ name: 'empty', version: '1' }, { logging: false }))
    const { client } = pair
    expect(client.getServerCapabilities()).toEqual({})
    await client.ping()
    await expect(client.request('tools/list')).rejects.toMatchObject({ code: 'peer', rpcCode: -32601 })
    await expect(client.listTools().all()).rejects.toMatchObject({ code: 'capability-missing', capability: 'tools' })
  })

  everyRevision('is sufficient for a client that declares no capabilities [RPC-049]', async (revision) => {
    const server = scriptedServer(revision, { barrier: () => ({ result: { resultType: 'complete' } }) }, {})
    await using client = await clientOf(server, revision)
    await client.request('barrier')
    const first = server.transcript.from('client')[0] as Message
    const meta = first.params?._meta as Record<string, unknown> | undefined
    expect(meta?.[metaKeys.clientCapabilities] ?? first.params?.capabilities).toEqual({})
  })
})

describe('unknown capabilities', () => {
  const unknown = { tools: {}, 'com.example.future': { a: [1] }, experimental: { x: {} }, odd: true, none: null }

  everyRevision('are ignored by a client when a server declares them [LIFE-030, RPC-050]', async (revision) => {
    const answers = {
      'tools/list': () => ({ result: { resultType: 'complete', tools: [], ttlMs: 0, cacheScope: 'private' } }),
    }
    const server = scriptedServer(revision, answers, unknown)
    await using client = await clientOf(server, revision)
    expect(client.getServerCapabilities()).toEqual(unknown)
    expect(await client.listTools().all()).toEqual([])
  })

  everyPipe('are ignored by a server when a client declares them [LIFE-030, RPC-050]', async (wire) => {
    const server = new McpServer({ name: 'small', version: '1' })
    let seen: unknown
    server.registerTool('hello', {}, (_args, ctx) => {
      seen = ctx.caller.capabilities
      return 'hello'
    })
    await using client = await script(wire, server, { capabilities: unknown as never })
    const { result } = await client.request('tools/call', { name: 'hello', arguments: {} })
    expect(result?.content).toEqual([{ type: 'text', text: 'hello' }])
    expect(seen).toEqual(unknown)
  })
})
