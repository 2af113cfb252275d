import { metaKeys } from 'tenon'
import type { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import type { Answer } from '../../../kit/http-client.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { modern } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'
import { acknowledgement, registerLogging } from './streams-support.ts'

describe(`subscriptions/listen on ${modern}`, () => {
  const everything = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: ['note://a'],
  }

  function changeEverything(server: McpServer): void {
    server.sendResourceUpdated('note://a')
    server.sendResourceUpdated('note://b')
    server.sendToolListChanged()
    server.sendPromptListChanged()
    server.sendResourceListChanged()
  }

  const subscriptionOf = ({ params, result }: Answer['messages'][number]) =>
    (params?._meta ?? result?._meta)?.[metaKeys.subscriptionId]

  it('is answered with a stream that stays open and delivers changes [SUB-015, HTTP-051]', async () => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const stream = await peer.listen(everything)
    expect([stream.status, stream.type, stream.headers['x-accel-buffering']]).toEqual([200, 'text/event-stream', 'no'])
    await stream.notified(acknowledgement)
    for (let round = 1; round <= 3; round++) {
      server.sendResourceUpdated('note://a')
      await stream.notified('notifications/resources/updated', round)
    }
    expect(stream.isOver).toBe(false)
  })

  it('sends the acknowledgement first, even during many changes [SUB-003]', async () => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const rain = setInterval(() => server.sendResourceUpdated('note://a'), 0)
    try {
      for (let count = 0; count < 10; count++) {
        const stream = await peer.listen(everything)
        await stream.notified('notifications/resources/updated')
        expect(stream.methods[0]).toBe(acknowledgement)
        expect(stream.methods.filter((method) => method === acknowledgement)).toHaveLength(1)
        stream.close()
      }
    } finally {
      clearInterval(rain)
    }
  })

  for (const id of [7, 0, 'seven', '7']) {
    it(`sends the id ${JSON.stringify(id)} of the request in every message [SUB-007]`, async () => {
      const server = workshop()
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, modern)
      const stream = await peer.listen(everything, id)
      await stream.notified(acknowledgement)
      changeEverything(server)
      await stream.notified('notifications/resources/list_changed')
      await http.close()
      await stream.ended
      expect(stream.messages.length).toBeGreaterThanOrEqual(6)
      for (const message of stream.messages) expect(subscriptionOf(message)).toBe(id)
    })
  }

  for (const [wish, method] of [
    [{ toolsListChanged: true }, 'notifications/tools/list_changed'],
    [{ promptsListChanged: true }, 'notifications/prompts/list_changed'],
    [{ resourcesListChanged: true }, 'notifications/resources/list_changed'],
    [{ resourceSubscriptions: ['note://a'] }, 'notifications/resources/updated'],
  ] as const) {
    it(`delivers only ${Object.keys(wish)[0]} if that was requested [SUB-002, SUB-005]`, async () => {
      const server = workshop()
      await using http = await serve(server)
      await using peer = await Peer.open(http.url, modern)
      const stream = await peer.listen(wish)
      const all = await peer.listen(everything)
      expect((await stream.notified(acknowledgement)).params?.notifications).toEqual(wish)
      await all.notified(acknowledgement)
      changeEverything(server)
      await all.notified('notifications/resources/list_changed')
      await stream.notified(method)
      expect(stream.methods).toEqual([acknowledgement, method])
    })
  }

  it('honours only what the server supports [SUB-005]', async () => {
    const server = workshop({ capabilities: { tools: { listChanged: false }, resources: { subscribe: false } } })
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const stream = await peer.listen(everything)
    expect((await stream.notified(acknowledgement)).params?.notifications).toEqual({
      promptsListChanged: true,
      resourcesListChanged: true,
    })
    changeEverything(server)
    await stream.notified('notifications/resources/list_changed')
    expect(stream.methods.slice(1).sort()).toEqual([
      'notifications/prompts/list_changed',
      'notifications/resources/list_changed',
    ])
  })

  it('does not deliver progress and logs of requests, which have their own streams [HTTP-050, HTTP-049]', async () => {
    const server = workshop()
    registerLogging(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const listening = await peer.listen(everything)
    await listening.notified(acknowledgement)
    const meta = { progressToken: 1, [metaKeys.logLevel]: 'debug' }
    const calls = [await peer.call('steps', {}, { meta }), await peer.call('logs', {}, { meta })]
    for (const call of calls) await call.ended
    expect(calls.map(({ methods }) => methods[0])).toEqual(['notifications/progress', 'notifications/message'])
    server.sendLoggingMessage({ level: 'error', data: 'to every session' })
    server.sendToolListChanged()
    await listening.notified('notifications/tools/list_changed')
    expect(listening.methods).toEqual([acknowledgement, 'notifications/tools/list_changed'])
  })

  it('delivers changes only on its own stream, not on those of other requests [HTTP-049]', async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const listening = await peer.listen(everything)
    const call = await peer.call('slow', {}, withProgress)
    await slow.began
    changeEverything(server)
    await listening.notified('notifications/resources/list_changed')
    slow.finish('done')
    await call.ended
    expect(call.methods).toEqual(['notifications/progress', 'notifications/progress', undefined])
  })

  it('ends when its stream is closed, and the server keeps nothing of it [SUB-011, HTTP-054, HTTP-056]', async () => {
    const server = workshop()
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, modern)
    const [leaving, staying] = [await peer.listen(everything, 1), await peer.listen(everything, 1)]
    await leaving.notified(acknowledgement)
    await staying.notified(acknowledgement)
    leaving.close()
    await eventually(() => http.metrics.streams === 1)
    changeEverything(server)
    await staying.notified('notifications/resources/list_changed')
    expect(leaving.methods).toEqual([acknowledgement])
    expect(http.metrics).toMatchObject({ streams: 1, calls: 1 })
  })

  it('is completed with its result before the stream ends when the server closes [SUB-012]', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, modern)
    const stream = await peer.listen(everything, 'long')
    await stream.notified(acknowledgement)
    await http.close()
    expect(await stream.ended).toBe('ended')
    expect(stream.messages.at(-1)).toMatchObject({
      id: 'long',
      result: { resultType: 'complete', _meta: { [metaKeys.subscriptionId]: 'long' } },
    })
    expect(stream.methods).toEqual([acknowledgement, undefined])
  })

  it('rejects an invalid filter with an error and no stream', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, modern)
    const answer = await peer.request('subscriptions/listen', { notifications: 'all' })
    expect([answer.type, (await answer.json()).error?.code]).toEqual(['application/json', -32602])
    expect(http.metrics).toMatchObject({ streams: 0, calls: 0 })
  })
})
