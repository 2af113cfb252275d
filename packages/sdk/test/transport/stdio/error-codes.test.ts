import { ErrorCode, McpError, PeerError, ProtocolError, TimeoutError } from 'tenon'
import { McpServer, Server } from 'tenon/server'
import { ScriptedServer } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { server as demo } from '../../../../../examples/demo/server.ts'
import { everyPipe } from '../../kit/every-wire.ts'
import type { Answer } from '../../kit/http-client.ts'
import { Peer } from '../../kit/http-peer.ts'
import type { Message } from '../../kit/message.ts'
import { serve } from '../../kit/serve-http.ts'
import { workshop } from '../../kit/workshop.ts'

import { clientOf, script, scriptedServer } from './support.ts'

const modern = { revisions: ['2026-07-28'] as const }
const fromSpecification = new Set([-32700, -32600, -32601, -32602, -32603, -32020, -32021, -32022])
const version = 'io.modelcontextprotocol/protocolVersion'

describe('a server of 2026-07-28', () => {
  everyPipe(
    'sends only error codes that the specification defines [RPC-030, RPC-032, RPC-033, RPC-035]',
    async (wire) => {
      await using client = await script(wire, demo)
      const provoked = [
        ...['no/such', 'initialize', 'ping', 'logging/setLevel', 'resources/subscribe', 'tasks/get', 'roots/list'].map(
          (method) => client.request(method),
        ),
        client.request('tools/call', { name: 'none' }),
        client.request('tools/call', { name: 5 }),
        client.request('tools/list', { cursor: 'made up' }),
        client.request('resources/read', { uri: 'none://there' }),
        client.request('resources/read', { uri: 'note://never' }),
        client.request('resources/read', { uri: 'no uri' }),
        client.request('prompts/get', { name: 'none' }),
        client.request('prompts/get', { name: 'review' }),
        client.request('completion/complete', {
          ref: { type: 'ref/prompt', name: 'x' },
          argument: { name: 'a', value: '' },
        }),
        client.request('subscriptions/listen', {}),
        client.request('tools/list', { _meta: { [version]: '1999-01-01' } }),
        client.request('tools/list', { _meta: { [version]: 5 } }),
        client.send({ jsonrpc: '2.0', id: 'bare', method: 'tools/list' }),
        client.send({
          jsonrpc: '2.0',
          id: 'meta',
          method: 'tools/list',
          params: { _meta: { [version]: '2026-07-28' } },
        }),
        client.send({ jsonrpc: '1.0', id: 'envelope', method: 'tools/list' }),
        client.send({ jsonrpc: '2.0', id: 'params', method: 'tools/list', params: [] }),
      ]
      const codes = (await Promise.all(provoked)).map(({ error }) => error?.code)
      for (const code of codes) expect(fromSpecification).toContain(code)
      expect(new Set(codes)).toEqual(new Set([-32600, -32601, -32602, -32022]))
    },
    modern,
  )

  describe('over HTTP', () => {
    const asking = () => {
      const server = workshop()
      server.registerTool('ask', {}, async (_, ctx) => (await ctx.elicit('Sure?')).action)
      return server
    }
    const call = { name: 'echo', arguments: {} }
    const old = { _meta: { [version]: '1999-01-01' } }
    const faults: Record<string, (peer: Peer) => Promise<Answer>> = {
      'another method in the header': (peer) => peer.request('tools/call', call, { headers: { 'mcp-method': 'ping' } }),
      'another name in the header': (peer) => peer.request('tools/call', call, { headers: { 'mcp-name': 'steps' } }),
      'another version in the header': (peer) =>
        peer.request('tools/call', call, { headers: { 'mcp-protocol-version': '2025-11-25' } }),
      'no method in the header': (peer) => peer.request('tools/call', call, { headers: { 'mcp-method': undefined } }),
      'a capability that the client did not declare': (peer) => peer.call('ask'),
      'an unknown version': (peer) =>
        peer.request('tools/list', old, { headers: { 'mcp-protocol-version': '1999-01-01' } }),
      'an unknown method': (peer) => peer.request('no/such'),
      'an unknown tool': (peer) => peer.call('none'),
      'an unknown resource': (peer) => peer.request('resources/read', { uri: 'none://there' }),
      'malformed params': (peer) => peer.request('tools/list', { cursor: 5 }),
    }

    it.each([
      [-32020, /in the header$/, 'RPC-031'],
      [-32021, /^a capability/, 'RPC-051'],
      [-32022, /^an unknown version$/, 'RPC-052'],
    ])('answers %i to the errors that match %s and to no other [%s]', async (code, kind) => {
      await using http = await serve(asking())
      await using peer = new Peer(http.url, '2026-07-28')
      for (const [fault, provoke] of Object.entries(faults)) {
        const { error } = await (await provoke(peer)).response()
        expect(error, fault).toBeDefined()
        expect(error!.code === code, `${fault}: ${error!.code}`).toBe(kind.test(fault))
      }
    })
  })

  everyPipe(
    'answers -32022 to an unsupported version and to nothing else [RPC-052]',
    async (wire) => {
      await using client = await script(wire, demo)
      const { error } = await client.request('tools/list', { _meta: { [version]: '1999-01-01' } })
      expect(error).toMatchObject({ code: -32022, data: { requested: '1999-01-01' } })
      expect((error?.data as { supported: string[] } | undefined)?.supported).toContain('2026-07-28')
      expect((await client.request('tools/list', { _meta: { [version]: 5 } })).error?.code).toBe(-32602)
    },
    modern,
  )

  everyPipe('answers -32602 to an unknown resource, and -32002 before 2026-07-28 [RPC-035]', async (wire) => {
    await using client = await script(wire, demo)
    for (const uri of ['none://there', 'note://never']) {
      const { error } = await client.request('resources/read', { uri })
      expect(error?.code).toBe(wire.revision.id === '2026-07-28' ? -32602 : -32002)
    }
  })

  everyPipe(
    'does not let a handler send -32002 or -32042, which this revision removed [RPC-035]',
    async (wire) => {
      const server = new McpServer({ name: 'codes', version: '1' }, { onError: () => {} })
      server.registerResource('gone', 'gone://it', {}, () => {
        throw new ProtocolError(ErrorCode.ResourceNotFound, 'It is gone')
      })
      server.registerTool('consent', {}, () => {
        throw new ProtocolError(ErrorCode.UrlElicitationRequired, 'Go there first', { elicitations: [] })
      })
      await using client = await script(wire, server)
      const gone = await client.request('resources/read', { uri: 'gone://it' })
      const consent = await client.request('tools/call', { name: 'consent', arguments: {} })
      expect(gone.error?.code).toBe(-32602)
      expect(consent.error?.code).not.toBe(-32042)
    },
    modern,
  )

  everyPipe(
    'answers -32601 to a method whose capability it did not declare [RPC-027]',
    async (wire) => {
      const server = new McpServer({ name: 'bare', version: '1' }, { logging: false })
      await using client = await script(wire, server)
      const { result } = await client.request('server/discover')
      expect(result?.capabilities).toEqual({})
      const gated = [
        'tools/list',
        'tools/call',
        'prompts/list',
        'prompts/get',
        'resources/list',
        'resources/templates/list',
      ]
      for (const method of [...gated, 'resources/read', 'completion/complete']) {
        const params = {
          name: 'x',
          uri: 'x://y',
          ref: { type: 'ref/prompt', name: 'x' },
          argument: { name: 'a', value: '' },
        }
        expect([method, (await client.request(method, params)).error?.code]).toEqual([method, -32601])
      }
    },
    modern,
  )

  everyPipe(
    'sends error codes of the application unchanged [RPC-036]',
    async (wire) => {
      const server = new Server({ name: 'codes', version: '1' })
      server.setRequestHandler('custom/fail', ({ code }: { code?: number }) => {
        throw new ProtocolError(code!, 'Failed')
      })
      await using client = await script(wire, server)
      for (const code of [1, 1001, -1, -31999, -32769]) {
        expect((await client.request('custom/fail', { code })).error?.code).toBe(code)
      }
    },
    modern,
  )
})

describe('the library', () => {
  it('defines no error codes of its own [RPC-030, RPC-032, RPC-036]', () => {
    // -32002 and -32042 belong to earlier revisions.
    const known = new Set([...fromSpecification, -32002, -32042])
    expect(Object.values(ErrorCode).filter((code) => !known.has(code))).toEqual([])
  })
})

describe('a client of 2026-07-28', () => {
  afterEach(() => void vi.useRealTimers())

  it('attaches no meaning to codes between -32000 and -32019 [RPC-034]', async () => {
    for (let code = -32000; code >= -32019; code--) {
      const server = scriptedServer('2026-07-28', { fail: () => ({ error: { code, message: 'Why', data: { a: 1 } } }) })
      await using client = await clientOf(server, '2026-07-28')
      const error = await client.request('fail').catch((reason) => reason)
      expect(error).toBeInstanceOf(PeerError)
      expect(error).toMatchObject({ code: 'peer', rpcCode: code, message: 'Why', data: { a: 1 } })
      expect(client.state).toBe('ready')
      const retried = (server.transcript.from('client') as Message[]).filter(({ method }) => method === 'fail')
      expect(retried).toHaveLength(1)
    }
  })

  it('falls back to the handshake when discovery fails with -32601 or -32000 to -32019 [RPC-034]', async () => {
    for (const code of [-32601, -32000, -32001, -32002, -32003, -32004, -32010, -32019]) {
      const server = new ScriptedServer({
        'server/discover': () => ({ error: { code, message: 'What?' } }),
        initialize: () => ({
          result: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'old', version: '1' } },
        }),
      })
      await using client = await clientOf(server, '2026-07-28', { revision: undefined } as never)
      expect(client.revision).toBe('2025-11-25')
    }
  })

  it('distinguishes its own errors from errors of the server [RPC-037]', async () => {
    vi.useFakeTimers()
    const server = scriptedServer('2026-07-28', {
      silent: () => undefined,
      fail: () => ({ error: { code: -32001, message: 'Request timed out' } }),
    })
    const client = await clientOf(server, '2026-07-28')
    const slow = client.request('silent', {}, { timeoutMs: 50 }).catch((reason) => reason)
    await vi.advanceTimersByTimeAsync(60)
    const timeout = await slow
    expect(timeout).toBeInstanceOf(TimeoutError)
    expect(timeout).toMatchObject({ code: 'timeout', timeoutMs: 50 })
    expect(timeout).not.toHaveProperty('rpcCode')
    const told = await client.request('fail').catch((reason) => reason)
    expect(told).toBeInstanceOf(PeerError)
    expect(told).not.toBeInstanceOf(TimeoutError)
    expect(told).toMatchObject({ code: 'peer', rpcCode: -32001 })
    const stop = new AbortController()
    const given = client.request('silent', {}, { signal: stop.signal }).catch((reason) => reason)
    stop.abort()
    const cancelled = await given
    expect(cancelled).toBeInstanceOf(McpError)
    expect(cancelled).toMatchObject({ code: 'cancelled' })
    expect(cancelled).not.toHaveProperty('rpcCode')
    await client.close()
    const closed = await client.request('silent').catch((reason) => reason)
    expect(closed).toMatchObject({ code: 'not-connected' })
    expect(closed).not.toHaveProperty('rpcCode')
  })
})
