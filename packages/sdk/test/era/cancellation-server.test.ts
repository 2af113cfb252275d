import type { RevisionId } from 'tenon'
import { Client } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { InMemoryTransport, ScriptedClient } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { gate } from '../kit/gate.ts'
import { allRevisions, handshakeRevisions, modern } from '../kit/revisions.ts'
import { scripted, scriptedClient, shaped } from '../kit/scripted-server.ts'
import { heard, methodsOf, type Said, said } from '../kit/transcript.ts'
import { testServer } from './support.ts'

const sampling = { messages: [], maxTokens: 1 }

/** Connects a server to a scripted client that has completed the handshake, and returns both ends. */
async function link(revision: RevisionId) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const own = await testServer().server.connect(theirs)
  const caller = await ScriptedClient.connect(ours, { revision, capabilities: { sampling: {} } })
  await caller.open()
  return { link: own, caller }
}

describe('a server that receives a cancellation', () => {
  it.each(allRevisions)(
    'accepts a cancellation with or without a reason, and sends no response (%s) [CANC-002, CANC-005]',
    async (revision) => {
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
    },
  )

  it.each(allRevisions)(
    'sends nothing more for a cancelled request: no progress, no log, no error (%s) [CANC-005]',
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
      await started.opened
      const before = said(caller.transcript, 'server').length
      caller.notify('notifications/cancelled', { requestId: 'x' })
      await ended.opened
      await caller.request('tools/list')
      expect(said(caller.transcript, 'server').length).toBe(before + 1)
      expect(reported).toEqual([])
    },
  )

  it.each(allRevisions)('allows the id of a cancelled request to be reused (%s) [CANC-005]', async (revision) => {
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

  it.each(allRevisions)(
    'ignores a cancellation that is malformed or of an unknown or finished request (%s) [CANC-006, CANC-009]',
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

  it.each(handshakeRevisions)(
    'does not allow initialize to be cancelled (%s) [CANC-003, CANC-006]',
    async (revision) => {
      await using caller = await ScriptedClient.connect(testServer().server, { revision })
      const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'x', version: '1' } }
      const answer = caller.next((message) => (message as Said).id === 'init')
      caller.say({ jsonrpc: '2.0', id: 'init', method: 'initialize', params })
      caller.notify('notifications/cancelled', { requestId: 'init' })
      expect(((await answer) as Said).result?.protocolVersion).toBe(revision)
    },
  )

  it.each(allRevisions)(
    'sends one response or none when a cancellation races with it (%s) [CANC-008]',
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

  it.each(allRevisions)('aborts running handlers when the connection closes (%s) [CANC-005]', async (revision) => {
    const { server, started, seen } = testServer()
    const caller = await ScriptedClient.connect(server, { revision })
    await caller.open()
    caller.say({ jsonrpc: '2.0', id: 'x', method: 'tools/call', params: caller.params({ name: 'wait' }) })
    await started
    await caller.close()
    expect(seen.signal?.aborted).toBe(true)
  })
})

describe('requests sent by a server', () => {
  it.each(handshakeRevisions)('cancels its own request by id (%s) [CANC-001, CANC-002, CANC-007]', async (revision) => {
    const { link: own, caller } = await link(revision)
    const stop = new AbortController()
    const call = errorOf(own.request('sampling/createMessage', sampling, { signal: stop.signal }))
    const asked = (await heard(caller.transcript, 'server', 'sampling/createMessage')) as Said
    stop.abort('No longer needed')
    expect((await call).code).toBe('cancelled')
    const cancelled = await heard(caller.transcript, 'server', 'notifications/cancelled')
    expect(cancelled.params).toEqual({ requestId: asked.id, reason: 'No longer needed' })
    // A late response has no effect.
    caller.say({
      jsonrpc: '2.0',
      id: asked.id,
      result: { role: 'assistant', content: { type: 'text', text: 'late' }, model: 'm' },
    })
    await caller.request('ping')
    expect(own.closed).toBe(false)
    await caller.close()
  })

  it.each(handshakeRevisions)(
    'aborts the client’s handler without a response when the server cancels (%s) [CANC-005, CANC-006, CANC-008, CANC-009]',
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
      await started.opened
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

  it('does not confuse server and client requests, which both count from 1 [CANC-001]', async () => {
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
    await started.opened
    // The server cancels its own request, whose id equals that of the client's call.
    server.say({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: asked.id } })
    await client.ping()
    expect(isStopped).toBe(true)
    expect(outcome).toBe('pending')
    await client.close()
    await call
    expect(outcome).toBe('closed')
  })
})

describe('cancellation on 2026-07-28', () => {
  it('sends a cancellation only for subscriptions that the server closes [CANC-014, CANC-015]', async () => {
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

  it('ignores a cancellation that a server may not send [CANC-009, CANC-015]', async () => {
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
  it('answers the other members of a batch when one is cancelled [CANC-005]', async () => {
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
