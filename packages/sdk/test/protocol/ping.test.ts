import { Client } from 'tenon/client'
import { InMemoryTransport, record, ScriptedClient } from 'tenon/testing'
import { describe, expect, it, vi } from 'vitest'
import { everyWire } from '../support/every-wire.ts'
import {
  errorOf,
  handshakes,
  heard,
  methodsOf,
  modern,
  type Said,
  said,
  scripted,
  scriptedClient,
  testServer,
} from './support.ts'

const skipModern = (wire: { revision: { id: string } }) => (wire.revision.id === modern ? 'ping is gone' : undefined)

describe('ping', () => {
  everyWire(
    'of a client needs no params and is answered with nothing in it [PING-001, PING-002]',
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

  it.each(handshakes)(
    'of a server needs no params and is answered with nothing in it (%s) [PING-001, PING-002]',
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

  it.each(handshakes)(
    'is answered by a server at once, whatever else it is busy with (%s) [PING-001]',
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

  it.each(handshakes)(
    'is answered by a server before the handshake, and between its steps (%s) [PING-001]',
    async (revision) => {
      await using caller = await ScriptedClient.connect(testServer().server, { revision })
      expect(((await caller.request('ping')) as Said).result).toEqual({})
      const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'x', version: '1' } }
      await caller.send({ jsonrpc: '2.0', id: 'init', method: 'initialize', params })
      expect(((await caller.request('ping')) as Said).result).toEqual({})
    },
  )

  it.each(handshakes)(
    'is answered by a client at once, even while it waits and while it is greeted (%s) [PING-001]',
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

  it.each(handshakes)(
    'left without answer fails in time, and the caller may drop the connection (%s) [PING-003]',
    async (revision) => {
      const server = scripted(revision, { ping: () => undefined })
      const client = await scriptedClient(server, { revision })
      const error = await errorOf(client.ping({ timeoutMs: 10 }))
      expect(error.code).toBe('timeout')
      await client.close()
      expect(client.state).toBe('closed')
    },
  )

  it.each(handshakes)(
    'of a server left without answer fails in time, and the connection can be dropped (%s) [PING-003]',
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

describe('ping on 2026-07-28', () => {
  everyWire(
    'is not sent: the client asks what the server is instead [PING-007]',
    async (wire) => {
      await using pair = await wire.connect(testServer().server)
      await pair.client.ping()
      expect(methodsOf(pair.transcript, 'client')).toEqual(['server/discover', 'server/discover'])
    },
    { revisions: [modern] },
  )

  it('is an unknown method to a server [PING-007]', async () => {
    for (const revisions of [undefined, [modern]]) {
      const { server } = testServer(revisions ? { revisions } : {})
      await using caller = await ScriptedClient.connect(server)
      expect(((await caller.request('ping')) as Said).error?.code).toBe(-32601)
    }
  })

  it('is not answered by a client [PING-007]', async () => {
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
