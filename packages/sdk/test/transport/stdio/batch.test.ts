import type { RevisionId } from 'tenon'
import { InMemoryTransport, McpServer } from 'tenon/server'
import { record } from 'tenon/testing'
import { describe, expect, it } from 'vitest'
import { server as demo } from '../../../../../examples/demo/server.ts'
import { everyPipe, everyWire } from '../../kit/every-wire.ts'
import type { Message } from '../../kit/message.ts'
import { everyRevision } from '../../kit/revisions.ts'
import { answersIn, clientOf, script, scriptedServer } from './support.ts'

const batching: RevisionId[] = ['2025-03-26']
const without: RevisionId[] = ['2024-11-05', '2025-06-18', '2025-11-25', '2026-07-28']
const isArray = (message: unknown) => Array.isArray(message)
const call = (id: unknown, name = 'echo', args: object = { text: String(id) }) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: args },
})

describe('a server of 2025-03-26', () => {
  everyPipe(
    'answers every request of a batch in one batch [RPC-020, RPC-021, STDIO-003]',
    async (wire) => {
      await using client = await script(wire, demo)
      const answer = client.next(isArray) as Promise<Message[]>
      client.say([
        call('a'),
        { jsonrpc: '2.0', id: 2, method: 'ping' },
        { jsonrpc: '2.0', method: 'notifications/no-such' },
        call('slow', 'sleep', { ms: 20 }),
        { jsonrpc: '2.0', id: 'unknown', method: 'no/such' },
        { jsonrpc: '2.0', id: 'bad', method: 5 },
        { jsonrpc: '2.0', id: 99, result: {} },
        'text',
        [],
      ])
      const members = await answer
      const byId = Object.fromEntries(members.map((member) => [String(member.id), member]))
      expect(Object.keys(byId).sort()).toEqual(['2', 'a', 'bad', 'null', 'slow', 'unknown'])
      expect(members).toHaveLength(7)
      expect(byId.a?.result?.content?.[0]?.text).toBe('a')
      expect(byId.slow?.result?.content?.[0]?.text).toBe('Slept 20 ms.')
      expect(byId[2]?.result).toEqual({})
      expect(byId.unknown?.error?.code).toBe(-32601)
      expect(byId.bad?.error?.code).toBe(-32600)
      expect(members.filter(({ id }) => id === null).map(({ error }) => error?.code)).toEqual([-32600, -32600])
      expect((await client.request('ping')).result).toEqual({})
      // One array and nothing else.
      expect(client.transcript.lines.filter(({ from }) => from === 'server')).toHaveLength(3)
    },
    { revisions: batching },
  )

  everyPipe(
    'answers a batch with one request with a batch of one response [RPC-020]',
    async (wire) => {
      await using client = await script(wire, demo)
      const answer = client.next(isArray)
      client.say([call(1)])
      expect(await answer).toEqual([{ jsonrpc: '2.0', id: 1, result: { content: [{ type: 'text', text: '1' }] } }])
    },
    { revisions: batching },
  )

  everyPipe(
    'does not answer a batch that contains only notifications [RPC-018, RPC-020]',
    async (wire) => {
      await using client = await script(wire, demo)
      client.say([
        { jsonrpc: '2.0', method: 'notifications/no-such' },
        { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 5 } },
      ])
      client.say([{ jsonrpc: '2.0', id: 5, result: {} }])
      await client.request('ping')
      expect(client.transcript.from('server').map((message) => (message as Message).id)).toEqual([1, 2])
    },
    { revisions: batching },
  )

  everyPipe(
    'handles the notifications of a batch [RPC-020]',
    async (wire) => {
      const server = new McpServer({ name: 'hears', version: '1' })
      const heard: unknown[] = []
      server.server.setNotificationHandler('custom/note', ({ text }) => heard.push(text))
      await using client = await script(wire, server)
      client.say(['a', 'b'].map((text) => ({ jsonrpc: '2.0', method: 'custom/note', params: { text } })))
      await client.request('ping')
      expect(heard).toEqual(['a', 'b'])
    },
    { revisions: batching },
  )

  everyPipe(
    'rejects an empty batch with one error [RPC-025]',
    async (wire) => {
      await using client = await script(wire, demo)
      const answer = client.next(() => true)
      client.say([])
      expect(await answer).toEqual({ jsonrpc: '2.0', id: null, error: { code: -32600, message: expect.any(String) } })
      expect((await client.request('ping')).result).toEqual({})
    },
    { revisions: batching },
  )

  everyPipe(
    'rejects initialize inside a batch and handles the other requests [RPC-022]',
    async (wire) => {
      await using client = await script(wire, demo)
      const answer = client.next(isArray) as Promise<Message[]>
      const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'b', version: '1' } }
      client.say([{ jsonrpc: '2.0', id: 'init', method: 'initialize', params }, call('other')])
      const members = await answer
      expect(members.find(({ id }) => id === 'init')?.error?.code).toBe(-32600)
      expect(members.find(({ id }) => id === 'other')?.result).toBeDefined()
    },
    { revisions: batching },
  )

  it('rejects initialize inside a batch before the handshake too [RPC-022]', async () => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    const transcript = record(ours)
    await demo.connect(theirs)
    ours.onmessage = () => {}
    await ours.start()
    const params = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'b', version: '1' } }
    const initialize = { jsonrpc: '2.0' as const, id: 'init', method: 'initialize', params }
    ours.send([initialize])
    ours.send({ jsonrpc: '2.0', id: 'list', method: 'tools/list' })
    ours.send({ ...initialize, id: 'alone' })
    while (transcript.from('server').length < 3) await Promise.resolve()
    const [refused, list, alone] = transcript.from('server') as Message[]
    expect(refused?.error?.code).toBe(-32600)
    expect(list?.error).toBeDefined()
    expect(alone).toMatchObject({ id: 'alone', result: { protocolVersion: '2025-03-26' } })
    await ours.close()
  })

  everyPipe(
    'answers the other requests of a batch when one is cancelled [RPC-020]',
    async (wire) => {
      await using client = await script(wire, demo)
      const answer = client.next(isArray) as Promise<Message[]>
      client.say([call('slow', 'sleep', { ms: 60_000 }), call('quick')])
      client.notify('notifications/cancelled', { requestId: 'slow' })
      expect((await answer).map(({ id }) => id)).toEqual(['quick'])
    },
    { revisions: batching },
  )

  everyPipe(
    'rejects an id that occurs twice in a batch and answers the first request [RPC-020]',
    async (wire) => {
      await using client = await script(wire, demo)
      const answer = client.next(isArray) as Promise<Message[]>
      client.say([call('twice', 'sleep', { ms: 10 }), call('twice')])
      const members = await answer
      expect(members.map(({ id }) => id)).toEqual(['twice', 'twice'])
      expect(members.map(({ error }) => error?.code)).toEqual([-32600, undefined])
      expect(members[1]?.result?.content?.[0]?.text).toBe('Slept 10 ms.')
    },
    { revisions: batching },
  )

  everyPipe(
    'rejects a batch of more than 100 messages as a whole',
    async (wire) => {
      await using client = await script(wire, demo)
      const answer = client.next(() => true)
      client.say(Array.from({ length: 101 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })))
      expect(await answer).toMatchObject({ id: null, error: { code: -32600 } })
      const full = client.next(isArray)
      client.say(Array.from({ length: 100 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'ping' })))
      expect(await full).toHaveLength(100)
    },
    { revisions: batching },
  )
})

describe('a client of 2025-03-26', () => {
  it('handles a batch from a server: requests, notifications and responses [RPC-020, RPC-021]', async () => {
    const server = scriptedServer('2025-03-26', {
      slow: (_params, { id }) => {
        server.say([
          { jsonrpc: '2.0', id: 'q1', method: 'ping' },
          { jsonrpc: '2.0', method: 'notifications/custom', params: { text: 'hello' } },
          { jsonrpc: '2.0', id, result: { inside: 'a batch' } },
          { jsonrpc: '2.0', id: 'q2', method: 'no/such' },
        ])
        return undefined
      },
    })
    await using client = await clientOf(server, '2025-03-26')
    const heard: unknown[] = []
    client.setNotificationHandler('notifications/custom', ({ text }) => heard.push(text))
    expect(await client.request('slow')).toEqual({ inside: 'a batch' })
    await client.ping()
    expect(heard).toEqual(['hello'])
    const batches = server.transcript.lines.filter(({ from, message }) => from === 'client' && Array.isArray(message))
    expect(batches).toHaveLength(1)
    expect(batches[0]?.message).toHaveLength(2)
    expect(batches[0]?.message).toEqual(
      expect.arrayContaining([
        { jsonrpc: '2.0', id: 'q1', result: {} },
        { jsonrpc: '2.0', id: 'q2', error: { code: -32601, message: expect.any(String) } },
      ]),
    )
  })

  everyWire(
    'sends initialize alone, never in a batch [RPC-022]',
    async (wire) => {
      await using pair = await wire.connect(demo)
      await Promise.all([pair.client.ping(), pair.client.listTools()])
      const sent = pair.transcript.lines.filter(({ from }) => from === 'client')
      const greetings = sent.filter(({ message }) => JSON.stringify(message).includes('"initialize"'))
      expect(greetings.map(({ message }) => message)).toEqual([expect.objectContaining({ method: 'initialize' })])
    },
    { revisions: batching, transports: ['memory', 'stdio', 'http', 'http-stateless', 'sse'] },
  )
})

describe('revisions without batches', () => {
  everyPipe(
    'reject an array and never send one [RPC-023, RPC-025, STDIO-003]',
    async (wire) => {
      await using client = await script(wire, demo)
      for (const batch of [[], [call('a')], [call('a'), call('b')], [[call('a')]]]) {
        const answer = client.next(() => true) as Promise<Message>
        client.say(batch)
        const { id, error } = await answer
        expect(id ?? null).toBeNull()
        expect(error?.code).toBe(-32600)
      }
      expect((await client.request('tools/list')).result?.tools).toHaveLength(7)
      expect(client.transcript.lines.filter(({ from, message }) => from === 'server' && isArray(message))).toEqual([])
      expect(JSON.stringify(client.transcript.from('server'))).not.toContain('"id":"a"')
    },
    { revisions: without },
  )

  everyRevision(
    'make a client reject an array and ignore its contents [RPC-023]',
    async (revision) => {
      const server = scriptedServer(revision, { barrier: () => ({ result: { resultType: 'complete' } }) })
      await using client = await clientOf(server, revision)
      const heard: unknown[] = []
      client.setNotificationHandler('notifications/custom', () => heard.push(1))
      server.say([
        { jsonrpc: '2.0', id: 'q', method: 'ping' },
        { jsonrpc: '2.0', method: 'notifications/custom' },
      ])
      await client.request('barrier')
      expect(heard).toEqual([])
      const answers = answersIn(server.transcript)
      // A 2026-07-28 client sends no responses at all; results.test.ts tests that.
      if (revision !== '2026-07-28') expect(answers.map(({ error }) => error?.code)).toEqual([-32600])
      expect(answers.filter(({ id }) => id === 'q')).toEqual([])
      expect(server.transcript.lines.filter(({ from, message }) => from === 'client' && isArray(message))).toEqual([])
    },
    without,
  )
})
