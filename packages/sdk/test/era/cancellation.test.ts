import { Client } from 'tenon/client'
import { InMemoryTransport, ScriptedClient, ScriptedServer } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { everyWire } from '../kit/every-wire.ts'
import { gate } from '../kit/gate.ts'
import { allRevisions, handshakeRevisions, modern } from '../kit/revisions.ts'
import { scripted, scriptedClient, shaped } from '../kit/scripted-server.ts'
import { heard, methodsOf, said } from '../kit/transcript.ts'
import { testServer } from './support.ts'

const sampling = { messages: [], maxTokens: 1 }

/** Returns a skip reason for wires that close the stream instead of sending a cancellation. */
function closesInstead(transport: string, era: string): string | undefined {
  return transport === 'http' && era === 'stateless' ? 'closing the stream says it' : undefined
}

describe('the reason of a cancellation', () => {
  everyWire(
    'passes the reason to the log of both sides when a client cancels [CANC-010]',
    async (wire) => {
      const logged: unknown[] = []
      const { server, started } = testServer({ onCancelled: (cancellation) => logged.push(cancellation) })
      await using pair = await wire.connect(server)
      const own: unknown[] = []
      pair.client.on('cancelled', (cancellation) => own.push(cancellation))
      const stop = new AbortController()
      const call = pair.client.callTool('wait', {}, { signal: stop.signal })
      await started
      stop.abort('The user closed the window')
      await errorOf(call)
      await pair.client.ping()
      const { id } = said(pair.transcript, 'client', 'tools/call')[0]!
      const cancellation = { method: 'tools/call', id, reason: 'The user closed the window' }
      expect(own).toEqual([{ ...cancellation, by: 'local' }])
      expect(logged).toEqual([{ ...cancellation, by: 'remote' }])
    },
    { skip: ({ transport, revision }) => closesInstead(transport, revision.era) },
  )

  it.each(handshakeRevisions)(
    'passes the reason to the log of both sides when a server cancels (%s) [CANC-010]',
    async (revision) => {
      const onCancelled = vi.fn()
      const [ours, theirs] = InMemoryTransport.createLinkedPair()
      const own = await testServer({ onCancelled }).server.connect(theirs)
      const asked = gate()
      const sample = () => {
        asked.open()
        return new Promise<never>(() => {})
      }
      const client = new Client({ name: 'c', version: '1' }, { revision, handlers: { sample } })
      const heardBy = vi.fn()
      client.on('cancelled', heardBy)
      await client.connect(ours)
      const stop = new AbortController()
      const question = errorOf(own.request('sampling/createMessage', sampling, { signal: stop.signal }))
      await asked.opened
      stop.abort('No longer needed')
      await question
      await client.ping()
      const cancellation = { method: 'sampling/createMessage', id: expect.any(Number), reason: 'No longer needed' }
      expect(onCancelled.mock.calls).toEqual([[{ ...cancellation, by: 'local' }]])
      expect(heardBy.mock.calls).toEqual([[{ ...cancellation, by: 'remote' }]])
      await client.close()
    },
  )

  it('truncates a very long reason and survives a log that throws', async () => {
    const onError = vi.fn()
    const reasons: string[] = []
    const onCancelled = ({ reason }: { reason: string }) => {
      reasons.push(reason)
      throw new Error('The disk is full')
    }
    const { server, started } = testServer({ onCancelled, onError })
    await using caller = await ScriptedClient.connect(server, { revision: '2025-11-25' })
    await caller.open()
    const params = { name: 'wait', arguments: {} }
    caller.say({ jsonrpc: '2.0', id: 'long', method: 'tools/call', params })
    await started
    const cancelled = { requestId: 'long', reason: 'x'.repeat(100_000) }
    caller.notify('notifications/cancelled', cancelled)
    await caller.request('ping')
    expect(reasons).toEqual(['x'.repeat(1_000)])
    expect(onError).toHaveBeenCalledWith(expect.objectContaining({ message: 'The disk is full' }))
  })
})

describe('a client that cancels', () => {
  everyWire(
    'names its own request and the reason, and the handler stops [CANC-001, CANC-002, CANC-005, CANC-012, CANC-013]',
    async (wire) => {
      const { server, started, seen } = testServer()
      await using pair = await wire.connect(server)
      const stop = new AbortController()
      const call = pair.client.callTool('wait', {}, { signal: stop.signal })
      await started
      stop.abort('Enough')
      const error = await errorOf(call)
      expect(error).toMatchObject({ code: 'cancelled', cause: 'Enough' })
      await pair.client.ping()
      const asked = said(pair.transcript, 'client', 'tools/call')[0]!
      const cancelled = said(pair.transcript, 'client', 'notifications/cancelled')
      expect(cancelled).toEqual([
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: asked.id, reason: 'Enough' } },
      ])
      expect(seen.signal?.aborted).toBe(true)
      expect(seen.signal?.reason).toBe('Enough')
      // The handler has ended by now without a response.
      await pair.client.ping()
      expect(said(pair.transcript, 'server').filter(({ id }) => id === asked.id)).toEqual([])
    },
    { skip: ({ transport, revision }) => closesInstead(transport, revision.era) },
  )

  everyWire(
    'closes the stream of its request over HTTP, and the handler stops [CANC-001, HTTP-054, HTTP-055, HTTP-056]',
    async (wire) => {
      const { server, started, seen } = testServer()
      await using pair = await wire.connect(server)
      const stop = new AbortController()
      const call = pair.client.callTool('wait', {}, { signal: stop.signal })
      await started
      stop.abort('Enough')
      expect(await errorOf(call)).toMatchObject({ code: 'cancelled', cause: 'Enough' })
      const asked = said(pair.transcript, 'client', 'tools/call')[0]!
      if (!seen.signal!.aborted) await new Promise((resolve) => seen.signal!.addEventListener('abort', resolve))
      await pair.client.ping()
      expect(said(pair.transcript, 'client', 'notifications/cancelled')).toEqual([])
      expect(said(pair.transcript, 'server').filter(({ id }) => id === asked.id)).toEqual([])
    },
    { transports: ['http', 'http-stateless'], revisions: ['2026-07-28'] },
  )

  it.each(allRevisions)(
    'sends nothing if it is aborted before the request (%s) [CANC-001, CANC-013]',
    async (revision) => {
      const server = scripted(revision)
      const client = await scriptedClient(server, { revision })
      const before = server.transcript.lines.length
      const error = await errorOf(client.callTool('x', {}, { signal: AbortSignal.abort('never mind') }))
      expect(error).toMatchObject({ code: 'cancelled', cause: 'never mind' })
      await client.ping()
      expect(methodsOf(server.transcript, 'client')).not.toContain('tools/call')
      expect(methodsOf(server.transcript, 'client')).not.toContain('notifications/cancelled')
      expect(server.transcript.lines.length).toBe(before + 2)
      await client.close()
    },
  )

  it.each(allRevisions)(
    'sends no cancellation after the response (%s) [CANC-001, CANC-008, CANC-013]',
    async (revision) => {
      const server = scripted(revision, { 'tools/call': () => shaped(revision, { content: [] }) })
      const client = await scriptedClient(server, { revision })
      const stop = new AbortController()
      await client.callTool('x', {}, { signal: stop.signal })
      stop.abort()
      await client.ping()
      expect(methodsOf(server.transcript, 'client')).not.toContain('notifications/cancelled')
      await client.close()
    },
  )

  it.each(allRevisions)(
    'ignores a result or an error that arrives after cancellation (%s) [CANC-007, CANC-008]',
    async (revision) => {
      const server = scripted(revision, { 'tools/call': () => undefined })
      const client = await scriptedClient(server, { revision })
      const problems: unknown[] = []
      client.on('error', ({ error }) => problems.push(error))
      client.on('warning', ({ message }) => problems.push(message))
      const late = [
        shaped(revision, { content: [{ type: 'text', text: 'late' }] }),
        { error: { code: -32603, message: 'late' } },
      ]
      for (const [round, body] of late.entries()) {
        const stop = new AbortController()
        let settled = 0
        const call = client.callTool('x', {}, { signal: stop.signal }).finally(() => settled++)
        const asked = await heard(server.transcript, 'client', 'tools/call', round + 1)
        stop.abort()
        expect((await errorOf(call)).code).toBe('cancelled')
        server.say({ jsonrpc: '2.0', id: asked.id, ...body })
        await client.ping()
        expect(settled).toBe(1)
      }
      expect(problems).toEqual([])
      expect(client.state).toBe('ready')
      await client.close()
    },
  )

  it.each(allRevisions)('settles once when the abort races with the response (%s) [CANC-008]', async (revision) => {
    const server = scripted(revision, { 'tools/call': () => undefined })
    const client = await scriptedClient(server, { revision })
    const stop = new AbortController()
    const call = client.callTool('x', {}, { signal: stop.signal }).then(
      () => 'answered',
      (error: { code: string }) => error.code,
    )
    const asked = await heard(server.transcript, 'client', 'tools/call')
    server.say({ jsonrpc: '2.0', id: asked.id, ...shaped(revision, { content: [] }) })
    stop.abort()
    expect(['answered', 'cancelled']).toContain(await call)
    await client.ping()
    expect(client.state).toBe('ready')
    await client.close()
  })

  it('never cancels initialize, even when it closes [CANC-003]', async () => {
    for (const revision of handshakeRevisions) {
      const server = new ScriptedServer({ '*': () => undefined })
      const client = new Client({ name: 'c', version: '1' }, { revision })
      const connecting = errorOf(client.connect(server.transport))
      await heard(server.transcript, 'client', 'initialize')
      await client.close()
      expect((await connecting).code).toBe('closed')
      expect(methodsOf(server.transcript, 'client')).toEqual(['initialize'])
    }
  })

  it('cancels reads, prompts, lists and custom requests on 2026-07-28 [CANC-012, CANC-013]', async () => {
    const server = scripted(modern, { '*': () => undefined })
    const client = await scriptedClient(server)
    for (const call of [
      (options: { signal: AbortSignal }) => client.readResource('a://b', options),
      (options: { signal: AbortSignal }) => client.getPrompt('x', {}, options),
      (options: { signal: AbortSignal }) => client.listTools({}, options),
      (options: { signal: AbortSignal }) => client.request('custom/method', {}, options),
    ]) {
      const stop = new AbortController()
      const given = errorOf(call({ signal: stop.signal }))
      await Promise.resolve()
      stop.abort(new Error('an error as reason'))
      expect((await given).code).toBe('cancelled')
    }
    const asked = said(server.transcript, 'client').filter(
      ({ id, method }) => id !== undefined && method !== 'server/discover',
    )
    const cancelled = said(server.transcript, 'client', 'notifications/cancelled')
    expect(asked).toHaveLength(4)
    expect(cancelled.map(({ params }) => params?.requestId)).toEqual(asked.map(({ id }) => id))
    await client.close()
  })
})
