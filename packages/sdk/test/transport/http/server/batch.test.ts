import { describe, expect, it } from 'vitest'
import { gate } from '../../../kit/gate.ts'
import { Peer } from '../../../kit/http-peer.ts'
import type { Message } from '../../../kit/message.ts'
import { eachRevision, modern } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { workshop } from '../../../kit/workshop.ts'

const revision = '2025-03-26'

const call = (id: string | number, text: string, meta?: object): Message => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'echo', arguments: { text }, ...(meta && { _meta: meta as Record<string, unknown> }) },
})
const steps = (id: string | number): Message => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'steps', arguments: {}, _meta: { progressToken: `of ${id}` } },
})
const notification: Message = { jsonrpc: '2.0', method: 'notifications/x' }
const response: Message = { jsonrpc: '2.0', id: 99, result: {} }

const byId = (answers: readonly Message[]) =>
  Object.fromEntries(answers.map(({ id, result, error }) => [id, result?.content?.[0]?.text ?? error?.code]))

describe(`batches on ${revision}`, () => {
  for (const [title, sessions] of [
    ['in a session', true],
    ['without sessions', false],
  ] as const) {
    it(`${title}: answers several requests with as many responses [HTTP-016, HTTP-018]`, async () => {
      await using http = await serve(workshop(), { sessions })
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.post([call(1, 'one'), call('two', 'two'), { jsonrpc: '2.0', id: 3, method: 'no/such' }])
      expect([answer.status, answer.type]).toEqual([200, 'application/json'])
      const answers = JSON.parse(await answer.text()) as Message[]
      expect(answers).toHaveLength(3)
      expect(byId(answers)).toEqual({ 1: 'one', two: 'two', 3: -32601 })
    })

    it(`${title}: answers only notifications and responses with 202 and no body [HTTP-013]`, async () => {
      await using http = await serve(workshop({ onError: () => {} }), { sessions })
      await using peer = await Peer.open(http.url, revision)
      for (const batch of [[notification, notification], [response], [notification, response]]) {
        const answer = await peer.post(batch)
        expect([answer.status, await answer.text()]).toEqual([202, ''])
      }
    })

    it(`${title}: rejects only invalid responses with 400 [HTTP-014]`, async () => {
      await using http = await serve(workshop({ onError: () => {} }), { sessions })
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.post([{ jsonrpc: '2.0', id: 1.5, result: {} }] as unknown as Message[])
      expect(answer.status).toBe(400)
    })

    it(`${title}: answers only the requests among notifications`, async () => {
      await using http = await serve(workshop({ onError: () => {} }), { sessions })
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.post([notification, call(1, 'one'), response, notification])
      expect(byId(JSON.parse(await answer.text()))).toEqual({ 1: 'one' })
    })

    it(`${title}: sends every response of a batch before its stream ends [HTTP-018, HTTP-020, HTTP-024]`, async () => {
      await using http = await serve(workshop(), { sessions })
      await using peer = await Peer.open(http.url, revision)
      const stream = await peer.post([steps(1), call(2, 'plain'), steps(3)])
      expect([stream.status, stream.type, await stream.ended]).toEqual([200, 'text/event-stream', 'ended'])
      const answers = stream.messages.filter(({ method }) => method === undefined)
      expect(byId(answers)).toEqual({ 1: 'three steps', 2: 'plain', 3: 'three steps' })
      const tokens = stream.messages.flatMap(({ params }) => params?.progressToken ?? [])
      expect(tokens.sort()).toEqual([...Array(3).fill('of 1'), ...Array(3).fill('of 3')])
    })

    it(`${title}: rejects an empty batch with 400`, async () => {
      await using http = await serve(workshop(), { sessions })
      await using peer = await Peer.open(http.url, revision)
      const answer = await peer.post([])
      expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32600])
    })
  }

  it('a slow request delays the response of its batch, but not other requests [HTTP-018]', async () => {
    const server = workshop()
    const finish = gate()
    server.registerTool('late', {}, async () => {
      await finish.opened
      return 'late'
    })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const late = { jsonrpc: '2.0', id: 101, method: 'tools/call', params: { name: 'late', arguments: {} } }
    const batch = peer.post([late, call(102, 'soon')])
    expect(await peer.textOf('echo', { text: 'meanwhile' })).toBe('meanwhile')
    finish.open()
    expect(byId(JSON.parse(await (await batch).text()))).toEqual({ 101: 'late', 102: 'soon' })
  })

  it('a cancelled request is left out, and the others are answered', async () => {
    const server = workshop()
    const began = gate()
    server.registerTool('forever', {}, (_, ctx) => {
      began.open()
      return new Promise<string>((_resolve, reject) => ctx.signal.addEventListener('abort', () => reject(new Error())))
    })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const forever = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'forever', arguments: {} } }
    const batch = peer.post([forever, call(2, 'here')])
    await began.opened
    await peer.notify('notifications/cancelled', { requestId: 1 })
    expect(byId(JSON.parse(await (await batch).text()))).toEqual({ 2: 'here' })
  })

  it('initialize is rejected in a batch and opens no session [RPC-022]', async () => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, revision)
    const answer = await peer.post([peer.message('initialize', peer.greeting()), notification])
    expect(answer.status).toBe(400)
    expect(answer.headers['mcp-session-id']).toBeUndefined()
    expect(http.metrics.sessions.opened).toBe(0)
  })
})

describe('batches on other revisions', () => {
  eachRevision(
    ['2025-06-18', '2025-11-25', modern],
    'are rejected with 400, and none of their requests is executed',
    async (other) => {
      const server = workshop()
      let calls = 0
      server.use((_, next) => {
        calls++
        return next()
      })
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, other)
      for (const batch of [[peer.message('tools/list')], [peer.message('tools/list'), notification], [notification]]) {
        const answer = await peer.send('POST', {}, JSON.stringify(batch))
        expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32600])
      }
      expect(calls).toBe(0)
    },
  )
})
