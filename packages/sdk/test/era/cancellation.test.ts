import type { RevisionId } from 'tenon'
import { Client } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { InMemoryTransport, ScriptedClient, ScriptedServer } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import { everyWire } from '../kit/every-wire.ts'
import {
  errorOf,
  everyRevision,
  gate,
  handshakes,
  heard,
  methodsOf,
  modern,
  type Said,
  said,
  scripted,
  scriptedClient,
  shaped,
  testServer,
} from './support.ts'

/** A server's link to a scripted client that has shaken hands. */
async function link(revision: RevisionId) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const own = await testServer().server.connect(theirs)
  const caller = await ScriptedClient.connect(ours, { revision, capabilities: { sampling: {} } })
  await caller.open()
  return { link: own, caller }
}

/** Why nothing is said about a request that is given up, if so. */
function closesInstead(transport: string, era: string): string | undefined {
  return transport === 'http' && era === 'stateless' ? 'closing the stream says it' : undefined
}

const sampling = { messages: [], maxTokens: 1 }

describe('the reason of a cancellation', () => {
  everyWire(
    'is handed to the log of both sides when a client cancels [CANC-010]',
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

  it.each(handshakes)('is handed to the log of both sides when a server cancels (%s) [CANC-010]', async (revision) => {
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
    await asked.promise
    stop.abort('No longer needed')
    await question
    await client.ping()
    const cancellation = { method: 'sampling/createMessage', id: expect.any(Number), reason: 'No longer needed' }
    expect(onCancelled.mock.calls).toEqual([[{ ...cancellation, by: 'local' }]])
    expect(heardBy.mock.calls).toEqual([[{ ...cancellation, by: 'remote' }]])
    await client.close()
  })

  it('is cut off when it is very long, and a log that fails harms nobody', async () => {
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

describe('a client that gives up', () => {
  everyWire(
    'names its own request, with the reason, and the handler stops [CANC-001, CANC-002, CANC-005, CANC-012, CANC-013]',
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
      // The handler has ended by now; nothing was answered.
      await pair.client.ping()
      expect(said(pair.transcript, 'server').filter(({ id }) => id === asked.id)).toEqual([])
    },
    { skip: ({ transport, revision }) => closesInstead(transport, revision.era) },
  )

  everyWire(
    'on HTTP closes the stream of its request instead, and the handler stops [CANC-001, HTTP-054, HTTP-055, HTTP-056]',
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

  it.each(everyRevision)('before it asked sends nothing at all (%s) [CANC-001, CANC-013]', async (revision) => {
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
  })

  it.each(everyRevision)(
    'after the answer came sends nothing: there is nothing left to cancel (%s) [CANC-001, CANC-008, CANC-013]',
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

  it.each(everyRevision)(
    'ignores the answer that still comes, be it a result or an error (%s) [CANC-007, CANC-008]',
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

  it.each(everyRevision)(
    'in the moment the answer arrives gets one outcome, not two (%s) [CANC-008]',
    async (revision) => {
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
    },
  )

  it('never cancels initialize, even when it closes [CANC-003]', async () => {
    for (const revision of handshakes) {
      const server = new ScriptedServer({ '*': () => undefined })
      const client = new Client({ name: 'c', version: '1' }, { revision })
      const connecting = errorOf(client.connect(server.transport))
      await heard(server.transcript, 'client', 'initialize')
      await client.close()
      expect((await connecting).code).toBe('closed')
      expect(methodsOf(server.transcript, 'client')).toEqual(['initialize'])
    }
  })

  it('of 2026-07-28 cancels its other requests too: reads, prompts, lists and subscriptions [CANC-012, CANC-013]', async () => {
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

describe('a server that is told to stop', () => {
  it.each(everyRevision)('takes a reason or none, and answers nothing (%s) [CANC-002, CANC-005]', async (revision) => {
    for (const [reason, expected] of [
      ['Out of patience', 'Out of patience'],
      [undefined, expect.any(String)],
    ]) {
      const { server, started, seen } = testServer()
      await using caller = await ScriptedClient.connect(server, { revision })
      await caller.open()
      caller.say({ jsonrpc: '2.0', id: 'slow', method: 'tools/call', params: caller.params({ name: 'wait' }) })
      await started
      caller.notify('notifications/cancelled', { requestId: 'slow', ...(reason && { reason }) })
      await caller.request('tools/list')
      expect(seen.signal?.aborted).toBe(true)
      expect(seen.signal?.reason).toEqual(expected)
      await caller.request('tools/list')
      expect(said(caller.transcript, 'server').filter(({ id }) => id === 'slow')).toEqual([])
    }
  })

  it.each(everyRevision)(
    'sends nothing more for the request: no progress, no log, no failure (%s) [CANC-005]',
    async (revision) => {
      const reported: unknown[] = []
      const server = new McpServer({ name: 's', version: '1' }, { onError: (error) => reported.push(error) })
      const started = gate()
      const ended = gate()
      server.registerTool('stubborn', {}, async (_, ctx) => {
        started.open()
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
        ctx.progress(1)
        ctx.log.emergency('still here')
        ctx.notify('notifications/custom', {})
        queueMicrotask(() => ended.open())
        throw new Error('aborted')
      })
      await using caller = await ScriptedClient.connect(server, { revision })
      await caller.open()
      const _meta = { progressToken: 'p', ...(revision === modern && { 'io.modelcontextprotocol/logLevel': 'debug' }) }
      const params = caller.params({ name: 'stubborn', _meta })
      caller.say({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params })
      await started.promise
      const before = said(caller.transcript, 'server').length
      caller.notify('notifications/cancelled', { requestId: 'x' })
      await ended.promise
      await caller.request('tools/list')
      expect(said(caller.transcript, 'server').length).toBe(before + 1)
      expect(reported).toEqual([])
    },
  )

  it.each(everyRevision)('frees the id: it can be used again (%s) [CANC-005]', async (revision) => {
    const { server, started } = testServer()
    await using caller = await ScriptedClient.connect(server, { revision })
    await caller.open()
    caller.say({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: caller.params({ name: 'wait' }) })
    await started
    caller.notify('notifications/cancelled', { requestId: 'x' })
    const params = caller.params({ name: 'echo', arguments: { text: 'again' } })
    const answer = (await caller.send({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params })) as Said
    expect(answer.result).toMatchObject({ content: [{ text: 'again' }] })
  })

  it.each(everyRevision)(
    'ignores what makes no sense: unknown, finished, malformed (%s) [CANC-006, CANC-009]',
    async (revision) => {
      const { server, started, release } = testServer()
      await using caller = await ScriptedClient.connect(server, { revision })
      await caller.open()
      const finished = caller.params({ name: 'echo', arguments: { text: 'x' } })
      await caller.send({ jsonrpc: '2.0', id: 'finished', method: 'tools/call', params: finished })
      const slow = caller.send({
        jsonrpc: '2.0',
        id: 77,
        method: 'tools/call',
        params: caller.params({ name: 'wait' }),
      })
      await started
      const before = said(caller.transcript, 'server').length
      for (const params of [
        { requestId: 'unknown' },
        { requestId: 'finished' },
        { requestId: 123456 },
        { requestId: '77' },
        { requestId: null },
        { requestId: {} },
        { requestId: [77] },
        { requestId: 77.5 },
        {},
        { requestId: '__proto__' },
        { reason: 'no id' },
        { requestId: 'unknown', reason: 5 },
        { requestId: 'unknown', _meta: 'x' },
      ]) {
        caller.notify('notifications/cancelled', params as Record<string, unknown>)
      }
      caller.notify('notifications/cancelled')
      await caller.request('tools/list')
      expect(said(caller.transcript, 'server').length).toBe(before + 1)
      release()
      expect(((await slow) as Said).result).toMatchObject({ content: [{ text: 'waited' }] })
    },
  )

  it.each(handshakes)('does not let initialize be cancelled (%s) [CANC-003, CANC-006]', async (revision) => {
    await using caller = await ScriptedClient.connect(testServer().server, { revision })
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    const answer = caller.next((message) => (message as Said).id === 'init')
    caller.say({ jsonrpc: '2.0', id: 'init', method: 'initialize', params })
    caller.notify('notifications/cancelled', { requestId: 'init' })
    expect(((await answer) as Said).result?.protocolVersion).toBe(revision)
  })

  it.each(everyRevision)(
    'in the moment it answers sends one answer or none, and goes on (%s) [CANC-008]',
    async (revision) => {
      const { server } = testServer()
      await using caller = await ScriptedClient.connect(server, { revision })
      await caller.open()
      for (let round = 0; round < 20; round++) {
        const params = caller.params({ name: 'echo', arguments: { text: 'x' } })
        caller.say({ jsonrpc: '2.0', id: `r${round}`, method: 'tools/call', params })
        for (let wait = 0; wait < round; wait++) await Promise.resolve()
        caller.notify('notifications/cancelled', { requestId: `r${round}` })
      }
      await caller.request('tools/list')
      for (let round = 0; round < 20; round++) {
        const answers = said(caller.transcript, 'server').filter(({ id }) => id === `r${round}`)
        expect(answers.length).toBeLessThanOrEqual(1)
        for (const answer of answers) expect(answer.error).toBeUndefined()
      }
    },
  )

  it.each(everyRevision)('stops what is running when the connection goes away (%s) [CANC-005]', async (revision) => {
    const { server, started, seen } = testServer()
    const caller = await ScriptedClient.connect(server, { revision })
    await caller.open()
    caller.say({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: caller.params({ name: 'wait' }) })
    await started
    await caller.close()
    expect(seen.signal?.aborted).toBe(true)
  })
})

describe('requests of a server', () => {
  it.each(handshakes)('are given up by naming them (%s) [CANC-001, CANC-002, CANC-007]', async (revision) => {
    const { link: own, caller } = await link(revision)
    const stop = new AbortController()
    const call = errorOf(own.request('sampling/createMessage', sampling, { signal: stop.signal }))
    const asked = (await heard(caller.transcript, 'server', 'sampling/createMessage')) as Said
    stop.abort('No longer needed')
    expect((await call).code).toBe('cancelled')
    const cancelled = await heard(caller.transcript, 'server', 'notifications/cancelled')
    expect(cancelled.params).toEqual({ requestId: asked.id, reason: 'No longer needed' })
    // The answer that still comes changes nothing.
    caller.say({
      jsonrpc: '2.0',
      id: asked.id,
      result: { role: 'assistant', content: { type: 'text', text: 'late' }, model: 'm' },
    })
    await caller.request('ping')
    expect(own.closed).toBe(false)
    await caller.close()
  })

  it.each(handshakes)(
    'are stopped by a client that is told so, without an answer (%s) [CANC-005, CANC-006, CANC-008, CANC-009]',
    async (revision) => {
      const server = scripted(revision)
      const client = new Client({ name: 'c', version: '1' }, { revision, capabilities: { sampling: {} } })
      const started = gate()
      let reason: unknown
      client.setRequestHandler('sampling/createMessage', async (_, { signal }) => {
        started.open()
        await new Promise((resolve) => signal.addEventListener('abort', resolve))
        reason = signal.reason
        return { role: 'assistant', content: { type: 'text', text: 'late' }, model: 'm' }
      })
      await client.connect(server.transport)
      server.say({ jsonrpc: '2.0', id: 'ask', method: 'sampling/createMessage', params: sampling })
      await started.promise
      for (const params of [{ requestId: 'other' }, { requestId: 5 }, {}, { requestId: null }]) {
        server.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
      }
      await client.ping()
      expect(reason).toBeUndefined()
      server.say({
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 'ask', reason: 'Changed my mind' },
      })
      await client.ping()
      expect(reason).toBe('Changed my mind')
      await client.ping()
      expect(said(server.transcript, 'client').filter(({ id }) => id === 'ask')).toEqual([])
      expect(client.state).toBe('ready')
      await client.close()
    },
  )

  it('cannot be confused with those of the client: both count from 1 [CANC-001]', async () => {
    const server = scripted('2025-11-25', { 'tools/call': () => undefined })
    const client = new Client({ name: 'c', version: '1' }, { revision: '2025-11-25', capabilities: { sampling: {} } })
    const started = gate()
    let isStopped = false
    client.setRequestHandler('sampling/createMessage', async (_, { signal }) => {
      signal.addEventListener('abort', () => {
        isStopped = true
      })
      started.open()
      await new Promise(() => {})
    })
    await client.connect(server.transport)
    let outcome = 'pending'
    const call = client.callTool('x').catch((error: { code: string }) => {
      outcome = error.code
    })
    const asked = await heard(server.transcript, 'client', 'tools/call')
    server.say({ jsonrpc: '2.0', id: asked.id, method: 'sampling/createMessage', params: sampling })
    await started.promise
    // The server cancels its own request, which has the number of the client's call.
    server.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: asked.id } })
    await client.ping()
    expect(isStopped).toBe(true)
    expect(outcome).toBe('pending')
    await client.close()
    await call
    expect(outcome).toBe('closed')
  })
})

describe('a server of 2026-07-28', () => {
  it('cancels subscriptions when it closes them, and nothing else, ever [CANC-014, CANC-015]', async () => {
    const { server, started } = testServer({ listChangedDelayMs: 0 })
    server.registerTool('fails', {}, () => {
      throw new Error('no')
    })
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const own = await server.connect(theirs)
    const caller = await ScriptedClient.connect(ours)
    for (const id of ['sub', 7]) {
      const acknowledged = caller.nextNotification('notifications/subscriptions/acknowledged')
      const params = caller.params({ notifications: { toolsListChanged: true } })
      caller.say({ jsonrpc: '2.0', id, method: 'subscriptions/listen', params })
      await acknowledged
    }
    await caller.request('tools/call', { name: 'fails' })
    await caller.request('tools/call', { name: 'nope' })
    caller.say({ jsonrpc: '2.0', id: 'given up', method: 'tools/call', params: caller.params({ name: 'wait' }) })
    await started
    caller.notify('notifications/cancelled', { requestId: 'given up' })
    await caller.request('tools/list')
    caller.say({ jsonrpc: '2.0', id: 'open', method: 'tools/call', params: caller.params({ name: 'wait' }) })
    await caller.request('tools/list')
    expect(methodsOf(caller.transcript, 'server')).not.toContain('notifications/cancelled')
    await own.close(1)
    const cancelled = said(caller.transcript, 'server', 'notifications/cancelled').map(
      ({ params }) => params?.requestId,
    )
    expect(cancelled).toEqual(['sub', 7])
  })

  it('that cancels something else does not disturb the client [CANC-009, CANC-015]', async () => {
    const server = scripted(modern, { 'tools/call': () => undefined })
    const client = await scriptedClient(server)
    const call = client.callTool('x')
    const asked = await heard(server.transcript, 'client', 'tools/call')
    server.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: asked.id } })
    server.say({
      jsonrpc: '2.0',
      id: asked.id,
      ...shaped(modern, { content: [{ type: 'text', text: 'still valid' }] }),
    })
    expect((await call).text).toBe('still valid')
    await client.close()
  })
})

describe('cancellation in a batch', () => {
  it('of one member lets the others be answered [CANC-005]', async () => {
    const { server, started } = testServer()
    await using caller = await ScriptedClient.connect(server, { revision: '2025-03-26' })
    await caller.open()
    const answer = caller.next((message) => Array.isArray(message))
    caller.say([
      { jsonrpc: '2.0', id: 'a', method: 'tools/call', params: { name: 'wait' } },
      { jsonrpc: '2.0', id: 'b', method: 'tools/call', params: { name: 'echo', arguments: { text: 'b' } } },
    ])
    await started
    caller.notify('notifications/cancelled', { requestId: 'a' })
    expect(((await answer) as Said[]).map(({ id }) => id)).toEqual(['b'])
  })
})
