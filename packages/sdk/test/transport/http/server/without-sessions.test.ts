import { describe, expect, it } from 'vitest'
import { eventually } from '../../../kit/eventually.ts'
import { gate } from '../../../kit/gate.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, handshakeRevisions, httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

const withoutSessions = { sessions: false }

/** Sends its version in the header, like a client after a handshake without a session id. */
function claiming(url: string, revision: (typeof handshakeRevisions)[number]): Peer {
  return new Peer(url, revision, { headers: { 'mcp-protocol-version': revision } })
}

describe('a server without sessions', () => {
  eachRevision(
    handshakeRevisions,
    'answers initialize without a session id, and every request independently',
    async (revision) => {
      await using http = await serve(workshop(), withoutSessions)
      await using peer = await Peer.open(http.url, revision)
      expect(peer.sessionId).toBeUndefined()
      await using claimed = claiming(http.url, revision)
      expect(await claimed.textOf('echo', { text: 'alone' })).toBe('alone')
      expect(await claimed.textOf('session')).toBe('none')
      expect(http.metrics).toMatchObject({ calls: 0, sessions: { open: 0, opened: 0 } })
    },
  )

  eachRevision(handshakeRevisions, 'serves each request with the version in its header', async (revision) => {
    await using http = await serve(workshop(), withoutSessions)
    await using peer = claiming(http.url, revision)
    expect(await peer.textOf('revision')).toBe(revision)
  })

  it(`serves ${modern} unchanged`, async () => {
    await using http = await serve(workshop(), withoutSessions)
    await using peer = new Peer(http.url, modern)
    expect(await peer.textOf('revision')).toBe(modern)
  })

  eachRevision(sessionRevisions, 'ignores a session id', async (revision) => {
    await using http = await serve(workshop(), withoutSessions)
    await using peer = claiming(http.url, revision)
    peer.sessionId = 'of-old'
    const answer = await peer.call('session')
    expect((await answer.json()).result?.content?.[0]?.text).toBe('none')
    expect(answer.headers['mcp-session-id']).toBeUndefined()
  })

  eachRevision(sessionRevisions, 'has no GET stream [HTTP-029, HTTP-030]', async (revision) => {
    await using http = await serve(workshop(), withoutSessions)
    await using peer = claiming(http.url, revision)
    const answer = await peer.get()
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
  })

  eachRevision(sessionRevisions, 'answers notifications and responses with 202 [HTTP-013]', async (revision) => {
    await using http = await serve(workshop({ onError: () => {} }), withoutSessions)
    await using peer = claiming(http.url, revision)
    for (const answer of [
      await peer.notify('notifications/initialized'),
      await peer.post({ jsonrpc: '2.0', id: 1, result: {} }),
    ]) {
      expect([answer.status, await answer.text()]).toEqual([202, ''])
    }
    expect(http.metrics.calls).toBe(0)
  })

  eachRevision(
    httpRevisions,
    'does not mix up callers that use the same request id at the same time [SDK-003]',
    async (revision) => {
      const server = workshop()
      const all = gate()
      let waiting = 0
      server.registerTool(
        'meet',
        { inputSchema: { type: 'object', properties: { who: { type: 'string' } } } },
        async (args, ctx) => {
          ctx.progress(1, { message: String((args as { who: string }).who) })
          // No call returns before all have arrived.
          if (++waiting === 50) all.open()
          await all.opened
          return String((args as { who: string }).who)
        },
      )
      await using http = await serve(server, withoutSessions)
      const clients = await Promise.all(
        Array.from({ length: 50 }, async (_, index) => {
          await using peer = revision === modern ? new Peer(http.url, modern) : claiming(http.url, revision)
          const answer = await peer.call('meet', { who: `client ${index}` }, { id: 1, meta: { progressToken: 1 } })
          const response = await answer.response()
          return [answer.methods.length, response.id, response.result?.content?.[0]?.text]
        }),
      )
      expect(clients).toEqual(Array.from({ length: 50 }, (_, index) => [2, 1, `client ${index}`]))
      expect(http.metrics.calls).toBe(0)
    },
  )

  eachRevision(sessionRevisions, 'streams progress in events without ids', async (revision) => {
    await using http = await serve(workshop(), withoutSessions)
    await using peer = claiming(http.url, revision)
    const stream = await peer.call('steps', {}, withProgress)
    expect(await stream.ended).toBe('ended')
    expect(stream.methods).toEqual([...Array(3).fill('notifications/progress'), undefined])
    expect(stream.ids).toEqual([])
  })

  eachRevision(sessionRevisions, 'does not treat a lost connection as a cancellation [HTTP-025]', async (revision) => {
    const server = workshop()
    const slow = registerSlow(server)
    const done = gate<boolean>()
    server.use(async ({ ctx }, next) => {
      const result = await next()
      done.open(ctx.signal.aborted)
      return result
    })
    await using http = await serve(server, withoutSessions)
    await using peer = claiming(http.url, revision)
    const stream = await peer.call('slow', {}, withProgress)
    await stream.notified('notifications/progress')
    stream.close()
    await eventually(() => http.metrics.streams === 0)
    slow.finish('all the same')
    expect(await done.opened).toBe(false)
    await eventually(() => http.metrics.calls === 0)
  })

  eachRevision(
    ['2025-06-18', '2025-11-25'],
    'rejects an invalid version header with 400 [HTTP-040]',
    async (revision) => {
      await using http = await serve(workshop(), withoutSessions)
      await using peer = new Peer(http.url, revision, { headers: { 'mcp-protocol-version': 'nonsense' } })
      expect((await peer.call('echo')).status).toBe(400)
    },
  )

  it('assumes 2025-03-26 without a version header, on the same URL as other versions [HTTP-039]', async () => {
    await using http = await serve(workshop(), withoutSessions)
    await using silent = new Peer(http.url, '2025-03-26')
    await using claimed = claiming(http.url, '2025-11-25')
    expect([await silent.textOf('revision'), await claimed.textOf('revision')]).toEqual(['2025-03-26', '2025-11-25'])
  })

  it('assumes a supported revision if 2025-03-26 is not supported', async () => {
    await using http = await serve(workshop({ revisions: ['2025-06-18', '2025-11-25'] }), withoutSessions)
    await using silent = new Peer(http.url, '2025-11-25')
    expect(await silent.textOf('revision')).toBe('2025-11-25')
  })
})
