import type { RevisionId } from 'tenon'
import { Client, type PingOptions } from 'tenon/client'
import { InMemoryTransport, record, ScriptedClient } from 'tenon/testing'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { everyWire } from '../kit/every-wire.ts'
import { RestartableTransport } from '../kit/restartable-transport.ts'
import { handshakeRevisions, modern } from '../kit/revisions.ts'
import { scripted, scriptedClient } from '../kit/scripted-server.ts'
import { heard, methodsOf, type Said, said } from '../kit/transcript.ts'
import { testServer, watchStates } from './support.ts'

const skipModern = (wire: { revision: { id: string } }) => (wire.revision.id === modern ? 'ping is gone' : undefined)

describe('ping', () => {
  everyWire(
    'answers a client ping without params with an empty result [PING-001, PING-002]',
    async (wire) => {
      await using pair = await wire.connect(testServer().server)
      await pair.client.ping()
      const asked = said(pair.transcript, 'client', 'ping')[0]!
      expect(asked).not.toHaveProperty('params')
      const answer = said(pair.transcript, 'server').find(({ id, method }) => id === asked.id && !method)
      expect(answer?.result).toEqual({})
    },
    { skip: skipModern },
  )

  it.each(handshakeRevisions)(
    'answers a server ping without params with an empty result (%s) [PING-001, PING-002]',
    async (revision) => {
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      const link = await testServer().server.connect(theirs)
      const transcript = record(ours)
      const client = new Client({ name: 'c', version: '1' }, { revision })
      await client.connect(ours)
      expect(await link.request('ping')).toEqual({})
      expect(said(transcript, 'server', 'ping')[0]).not.toHaveProperty('params')
      await client.close()
    },
  )

  it.each(handshakeRevisions)(
    'answers a ping immediately while the server is busy (%s) [PING-001]',
    async (revision) => {
      const { server, started, release } = testServer()
      await using caller = await ScriptedClient.connect(server, { revision })
      await caller.open()
      const slow = caller.request('tools/call', { name: 'wait' })
      await started
      expect(((await caller.request('ping')) as Said).result).toEqual({})
      release()
      expect(((await slow) as Said).result).toMatchObject({ content: [{ text: 'waited' }] })
    },
  )

  it.each(handshakeRevisions)('answers a ping before and during the handshake (%s) [PING-001]', async (revision) => {
    await using caller = await ScriptedClient.connect(testServer().server, { revision })
    expect(((await caller.request('ping')) as Said).result).toEqual({})
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    await caller.send({ jsonrpc: '2.0', id: 'init', method: 'initialize', params })
    expect(((await caller.request('ping')) as Said).result).toEqual({})
  })

  it.each(handshakeRevisions)(
    'answers a server ping immediately, also while the client waits or connects (%s) [PING-001]',
    async (revision) => {
      const server = scripted(revision, { initialize: () => undefined, 'tools/call': () => undefined })
      const client = new Client({ name: 'c', version: '1' }, { revision })
      const connecting = client.connect(server.transport)
      const greeting = await heard(server.transcript, 'client', 'initialize')
      const answerTo = (id: string) =>
        new Promise<Said>((resolve) =>
          server.transcript.onLine(({ from, message }) => {
            if (from === 'client' && (message as Said).id === id) resolve(message as Said)
          }),
        )
      const early = answerTo('early')
      server.say({ jsonrpc: '2.0', id: 'early', method: 'ping' })
      expect((await early).result).toEqual({})
      const result = { protocolVersion: revision, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }
      server.say({ jsonrpc: '2.0', id: greeting.id, result })
      await connecting
      const waiting = client.callTool('never').catch(() => 'closed')
      const busy = answerTo('busy')
      server.say({ jsonrpc: '2.0', id: 'busy', method: 'ping', params: {} })
      expect((await busy).result).toEqual({})
      await client.close()
      expect(await waiting).toBe('closed')
    },
  )

  it.each(handshakeRevisions)(
    'times out an unanswered ping, and the caller can close the connection (%s) [PING-003]',
    async (revision) => {
      const server = scripted(revision, { ping: () => undefined })
      const client = await scriptedClient(server, { revision })
      const error = await errorOf(client.ping({ timeoutMs: 10 }))
      expect(error.code).toBe('timeout')
      await client.close()
      expect(client.state).toBe('closed')
    },
  )

  it.each(handshakeRevisions)(
    'times out an unanswered server ping, and the connection can be closed (%s) [PING-003]',
    async (revision) => {
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      const link = await testServer().server.connect(theirs)
      const caller = await ScriptedClient.connect(ours, { revision })
      await caller.open()
      const error = await errorOf(link.request('ping', undefined, { timeoutMs: 10 }))
      expect(error.code).toBe('timeout')
      await link.close()
      expect(link.closed).toBe(true)
    },
  )
})

describe('periodic client pings', () => {
  afterEach(() => vi.useRealTimers())

  /** Creates a server that counts pings and answers those for which `answers` returns true. */
  function pinged(revision: RevisionId, answers: (count: number) => boolean) {
    const seen = { count: 0 }
    const answer = (result: Record<string, unknown>) => () => (answers(++seen.count) ? { result } : undefined)
    const server = scripted(revision, { ping: answer({}), 'tools/call': () => undefined })
    return { server, seen }
  }

  it.each(handshakeRevisions)('sends no periodic pings by default (%s) [PING-004]', async (revision) => {
    vi.useFakeTimers()
    const { server, seen } = pinged(revision, () => true)
    const client = await scriptedClient(server, { revision })
    await vi.advanceTimersByTimeAsync(3_600_000)
    expect(seen.count).toBe(0)
    await client.close()
  })

  it.each(handshakeRevisions)(
    'sends periodic pings at the chosen interval until the client is closed (%s) [PING-004]',
    async (revision) => {
      vi.useFakeTimers()
      const { server, seen } = pinged(revision, () => true)
      const client = await scriptedClient(server, { revision, ping: { intervalMs: 5_000 } })
      await vi.advanceTimersByTimeAsync(4_999)
      expect(seen.count).toBe(0)
      await vi.advanceTimersByTimeAsync(20_001)
      expect(seen.count).toBe(5)
      expect(client.state).toBe('ready')
      await client.close()
      await vi.advanceTimersByTimeAsync(60_000)
      expect(seen.count).toBe(5)
      expect(vi.getTimerCount()).toBe(0)
    },
  )

  it('does not send a ping while another is unanswered [PING-004]', async () => {
    vi.useFakeTimers()
    const { server, seen } = pinged('2025-11-25', () => false)
    const ping = { intervalMs: 1_000, timeoutMs: 60_000 }
    const client = await scriptedClient(server, { revision: '2025-11-25', ping })
    await vi.advanceTimersByTimeAsync(30_000)
    expect(seen.count).toBe(1)
    await client.close()
  })

  it.each(handshakeRevisions)('reports each ping that times out (%s) [PING-005]', async (revision) => {
    vi.useFakeTimers()
    const { server } = pinged(revision, (count) => count === 3)
    const ping = { intervalMs: 1_000, timeoutMs: 200, maxFailures: 3 }
    const client = await scriptedClient(server, { revision, ping })
    const errors: (Error & { code?: string })[] = []
    client.on('error', ({ error }) => errors.push(error as Error))
    await vi.advanceTimersByTimeAsync(3_000)
    expect(errors.map(({ code, message }) => `${code}: ${message}`)).toEqual([
      'timeout: The server did not answer a ping (1 of 3)',
      'timeout: The server did not answer a ping (2 of 3)',
    ])
    // The third ping is answered, so counting starts over.
    await vi.advanceTimersByTimeAsync(2_900)
    expect(errors.at(-1)?.message).toContain('(2 of 3)')
    expect(client.state).toBe('ready')
    await client.close()
  })

  it('writes failed pings to stderr if there is no error listener [PING-005]', async () => {
    vi.useFakeTimers()
    const log = vi.spyOn(console, 'error').mockImplementation(() => {})
    const { server } = pinged('2025-11-25', () => false)
    const ping = { intervalMs: 1_000, timeoutMs: 200, maxFailures: 5 }
    const client = await scriptedClient(server, { revision: '2025-11-25', ping })
    await vi.advanceTimersByTimeAsync(1_200)
    expect(log).toHaveBeenCalledWith('[tenon] The connection failed:', expect.objectContaining({ code: 'timeout' }))
    log.mockRestore()
    await client.close()
  })

  it('accepts an error response as a sign of life', async () => {
    vi.useFakeTimers()
    const refuse = () => ({ error: { code: -32601, message: 'Method not found' } })
    const server = scripted('2025-11-25', { ping: refuse })
    const client = await scriptedClient(server, { revision: '2025-11-25', ping: { intervalMs: 100 } })
    const errors: unknown[] = []
    client.on('error', ({ error }) => errors.push(error))
    await vi.advanceTimersByTimeAsync(10_000)
    expect([client.state, errors]).toEqual(['ready', []])
    await client.close()
  })

  it.each(handshakeRevisions)('reconnects after several failed pings in a row (%s) [PING-006]', async (revision) => {
    vi.useFakeTimers()
    const servers = [pinged(revision, () => false), pinged(revision, () => true)]
    const transport = new RestartableTransport((start) => servers[start - 1]!.server.transport)
    const ping = { intervalMs: 1_000, timeoutMs: 200, maxFailures: 2 }
    const client = new Client({ name: 'c', version: '1' }, { revision, ping })
    client.on('error', () => {})
    const { changes } = watchStates(client)
    await client.connect(transport)
    const lost = client.callTool('never').catch((error) => error.code)
    await vi.advanceTimersByTimeAsync(2_400)
    expect(changes.at(-1)).toMatchObject({
      state: 'reconnecting',
      reason: 'The server did not answer 2 pings in a row',
    })
    expect(await lost).toBe('closed')
    await vi.advanceTimersByTimeAsync(5_000)
    expect(client.state).toBe('ready')
    expect(transport.starts).toBe(2)
    expect(servers[1]!.seen.count).toBeGreaterThan(1)
    await client.close()
  })

  it('closes a connection that cannot be restarted after failed pings [PING-006]', async () => {
    vi.useFakeTimers()
    const { server } = pinged('2025-11-25', () => false)
    const ping = { intervalMs: 1_000, timeoutMs: 200, maxFailures: 1 }
    const client = await scriptedClient(server, { revision: '2025-11-25', ping })
    client.on('error', () => {})
    await vi.advanceTimersByTimeAsync(1_200)
    expect(client.state).toBe('closed')
    await expect(client.ping()).rejects.toThrow('The server did not answer 1 ping')
  })

  it.each([0, -1, Number.NaN, 2 ** 31])('refuses a ping interval of %s ms', async (intervalMs) => {
    const client = new Client({ name: 'c', version: '1' }, { ping: { intervalMs } })
    await expect(client.connect(scripted('2025-11-25').transport)).rejects.toThrow('ping.intervalMs')
    await client.close()
  })
})

describe('periodic server pings', () => {
  afterEach(() => vi.useRealTimers())

  async function serving(revision: RevisionId, ping: PingOptions, answers: boolean) {
    const onError = vi.fn()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const link = await testServer({ ping, onError }).server.connect(theirs)
    const transcript = record(ours)
    if (answers) {
      const client = new Client({ name: 'c', version: '1' }, { revision })
      await client.connect(ours)
    } else await (await ScriptedClient.connect(ours, { revision })).open()
    return { link, transcript, onError }
  }

  it.each(handshakeRevisions)(
    'sends periodic pings to clients at the chosen interval (%s) [PING-004]',
    async (revision) => {
      vi.useFakeTimers()
      const { link, transcript, onError } = await serving(revision, { intervalMs: 1_000 }, true)
      await vi.advanceTimersByTimeAsync(3_000)
      expect(said(transcript, 'server', 'ping')).toHaveLength(3)
      expect(onError).not.toHaveBeenCalled()
      await link.close()
      await vi.advanceTimersByTimeAsync(10_000)
      expect(said(transcript, 'server', 'ping')).toHaveLength(3)
    },
  )

  it.each(handshakeRevisions)(
    'reports unanswered server pings and finally closes the connection (%s) [PING-005, PING-006]',
    async (revision) => {
      vi.useFakeTimers()
      const ping = { intervalMs: 1_000, timeoutMs: 100, maxFailures: 2 }
      const { link, onError } = await serving(revision, ping, false)
      await vi.advanceTimersByTimeAsync(1_100)
      expect(onError).toHaveBeenCalledWith(
        expect.objectContaining({ code: 'timeout', message: 'The client did not answer a ping (1 of 2)' }),
      )
      expect(link.closed).toBe(false)
      await vi.advanceTimersByTimeAsync(1_100)
      expect(link.closed).toBe(true)
    },
  )

  it('sends no pings to a client of 2026-07-28 [PING-007]', async () => {
    vi.useFakeTimers()
    const { link, transcript } = await serving(modern, { intervalMs: 1_000 }, true)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(said(transcript, 'server', 'ping')).toEqual([])
    expect(link.closed).toBe(false)
    await link.close()
  })
})

describe('ping on 2026-07-28', () => {
  it('uses server/discover instead of ping, also periodically [PING-007]', async () => {
    vi.useFakeTimers()
    const server = scripted(modern)
    const client = await scriptedClient(server, { ping: { intervalMs: 1_000 } })
    await vi.advanceTimersByTimeAsync(2_000)
    expect(methodsOf(server.transcript, 'client')).toEqual(['server/discover', 'server/discover', 'server/discover'])
    await client.close()
    vi.useRealTimers()
  })

  everyWire(
    'sends server/discover when the client is asked to ping [PING-007]',
    async (wire) => {
      await using pair = await wire.connect(testServer().server)
      await pair.client.ping()
      expect(methodsOf(pair.transcript, 'client')).toEqual(['server/discover', 'server/discover'])
    },
    { revisions: [modern] },
  )

  it('answers ping with an unknown method error [PING-007]', async () => {
    for (const revisions of [undefined, [modern]]) {
      const { server } = testServer(revisions ? { revisions } : {})
      await using caller = await ScriptedClient.connect(server)
      expect(((await caller.request('ping')) as Said).error?.code).toBe(-32601)
    }
  })

  it('does not answer a ping from a server [PING-007]', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    const server = scripted(modern)
    const client = await scriptedClient(server)
    server.say({ jsonrpc: '2.0', id: 'forbidden', method: 'ping' })
    await client.ping()
    expect(said(server.transcript, 'client').filter(({ id }) => id === 'forbidden')).toEqual([])
    await client.close()
    warn.mockRestore()
  })
})
