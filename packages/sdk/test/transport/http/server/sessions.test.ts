import { MemoryEventStore } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { gate } from '../../../kit/gate.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { rawPost } from '../../../kit/raw-http.ts'
import { eachRevision, handshakeRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { serve } from '../../../kit/serve-http.ts'
import { movableTimers } from '../../../kit/time.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

/** Takes the principal from a header, as behind an authenticating proxy. */
const byUser = { principal: (request: { header(name: string): string | undefined }) => request.header('x-user') }

const as = (user: string) => ({ headers: { 'x-user': user } })

describe('a session id', () => {
  eachRevision(sessionRevisions, 'is sent only in the response to initialize [SESS-001]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    expect(peer.opening?.headers['mcp-session-id']).toBe(peer.sessionId)
    expect(await peer.textOf('session')).toBe(peer.sessionId)
    const later = await peer.call('echo')
    expect(later.headers['mcp-session-id']).toBeUndefined()
  })

  eachRevision(
    sessionRevisions,
    'is unique, random and consists of visible ASCII [SESS-002, SESS-003, SESS-013]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, revision)
      const ids: string[] = []
      for (let count = 0; count < 100; count++) {
        const answer = await peer.request('initialize', peer.greeting())
        ids.push(answer.headers['mcp-session-id'] ?? '')
      }
      expect(new Set(ids).size).toBe(100)
      for (const id of ids) expect(id).toMatch(/^[\x21-\x7e]+$/)
      const bytes = ids.map((id) => Buffer.from(id, 'base64url'))
      expect(bytes.every(({ length }) => length === 32)).toBe(true)
      // Each of the 256 bits is 0 in some ids and 1 in others; the chance of a false failure is 2^-91.
      for (let bit = 0; bit < 256; bit++) {
        const values = bytes.map((id) => (id[bit >> 3]! >> (bit & 7)) & 1)
        expect(new Set(values).size).toBe(2)
      }
    },
  )

  for (const [what, id] of [
    ['a space', 'a b'],
    ['a tab', 'a\tb'],
    ['a line break', 'a\r\nb: c'],
    ['non-ASCII letters', 'sitzung-ä'],
    ['nothing', ''],
  ] as const) {
    it(`from a generator is rejected if it contains ${what} [SESS-003]`, async () => {
      const errors: unknown[] = []
      const server = workshop({ onError: (error) => errors.push(error) })
      await using http = await serve(server, { sessionIdGenerator: () => id })
      await using peer = new Peer(http.url, '2025-11-25')
      const answer = await peer.request('initialize', peer.greeting())
      expect([answer.status, answer.headers['mcp-session-id']]).toEqual([500, undefined])
      expect(String(errors[0])).toContain('sessionIdGenerator')
    })
  }

  it('can come from a custom generator [SDK-005]', async () => {
    let count = 0
    await using http = await serve(workshop(), { sessionIdGenerator: () => `mine-${++count}!~` })
    await using first = await Peer.open(http.url, '2025-11-25')
    await using second = await Peer.open(http.url, '2025-06-18')
    expect([first.sessionId, second.sessionId]).toEqual(['mine-1!~', 'mine-2!~'])
    expect(await first.textOf('session')).toBe('mine-1!~')
  })

  for (const name of ['Mcp-Session-Id', 'MCP-Session-Id', 'mcp-session-id', 'MCP-SESSION-ID']) {
    eachRevision(sessionRevisions, `is read from a header spelled ${name} [SESS-015]`, async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      const { status, message } = await rawPost(
        http.port,
        [
          `Host: 127.0.0.1:${http.port}`,
          'Content-Type: application/json',
          'Accept: application/json, text/event-stream',
          `${name}: ${peer.sessionId}`,
        ],
        JSON.stringify(peer.message('tools/call', { name: 'session' })),
      )
      expect([status, message.result?.content?.[0]?.text]).toEqual([200, peer.sessionId])
    })
  }

  it('is not sent when initialize fails', async () => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, '2025-11-25')
    const answer = await peer.request('initialize', { protocolVersion: 7 })
    expect([(await answer.json()).error?.code, answer.headers['mcp-session-id']]).toEqual([-32602, undefined])
    expect(http.metrics.sessions.open).toBe(0)
  })
})

describe('requests without a session', () => {
  eachRevision(
    sessionRevisions,
    'POST, GET and DELETE without the header are a 400 with -32000 and id null [SESS-006, SDK-006]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = new Peer(http.url, revision)
      for (const answer of [await peer.call('echo'), await peer.get(), await peer.delete()]) {
        const { id, error } = await answer.json()
        expect([answer.status, id, error?.code]).toEqual([400, null, -32000])
      }
    },
  )

  eachRevision(sessionRevisions, 'POST, GET and DELETE with an unknown id are a 404', async (revision) => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, revision)
    peer.sessionId = 'never-was'
    for (const answer of [await peer.call('echo'), await peer.get(), await peer.delete(), await peer.notify('x')]) {
      expect([answer.status, (await answer.json()).error?.code]).toEqual([404, -32001])
    }
  })
})

describe('ending a session', () => {
  eachRevision(sessionRevisions, 'DELETE ends it, and every later request is a 404 [SESS-008]', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    expect((await peer.delete()).status).toBe(200)
    for (const answer of [await peer.call('echo'), await peer.get(), await peer.delete(), await peer.notify('x')]) {
      expect([answer.status, (await answer.json()).error?.code]).toEqual([404, -32001])
    }
    expect(http.metrics.sessions.open).toBe(0)
  })

  eachRevision(
    sessionRevisions,
    'initialize with the id of an ended session is a 404 too [SESS-008]',
    async (revision) => {
      await using http = await serve(workshop())
      await using peer = await Peer.open(http.url, revision)
      await peer.delete()
      expect((await peer.request('initialize', peer.greeting())).status).toBe(404)
    },
    it,
  )

  eachRevision(sessionRevisions, 'a new initialize opens another session', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    const first = peer.sessionId
    await peer.delete()
    peer.sessionId = undefined
    await peer.initialize()
    expect(peer.sessionId).not.toBe(first)
    expect(await peer.textOf('echo', { text: 'again' })).toBe('again')
  })

  eachRevision(
    sessionRevisions,
    'an idle session expires, and later requests are a 404 [SESS-007, SESS-008]',
    async (revision) => {
      using time = movableTimers()
      const closed = gate<string>()
      const onSession = (event: 'opened' | 'closed', id: string) => event === 'closed' && closed.open(id)
      await using http = await serve(workshop(), { sessionIdleMs: 60_000, onSession })
      await using peer = await Peer.open(http.url, revision)
      await time.advance(90_000)
      expect(await closed.opened).toBe(peer.sessionId)
      expect((await peer.call('echo')).status).toBe(404)
      expect(http.metrics.sessions).toMatchObject({ open: 0, opened: 1, expired: 1 })
    },
  )

  eachRevision(sessionRevisions, 'a session with an open stream or pending call does not expire', async (revision) => {
    using time = movableTimers()
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server, { sessionIdleMs: 20_000 })
    await using listener = await Peer.open(http.url, revision)
    await listener.get()
    await using caller = await Peer.open(http.url, revision)
    const call = caller.call('slow')
    await slow.began
    await using idle = await Peer.open(http.url, revision)
    // Less than the 60 s after which a gateway in front of the server gives up.
    await time.advance(30_000)
    expect((await idle.call('echo')).status).toBe(404)
    expect(http.metrics.sessions.open).toBe(2)
    slow.finish('done')
    expect((await (await call).response()).result?.content?.[0]?.text).toBe('done')
    expect(await listener.textOf('echo', { text: 'here' })).toBe('here')
  })

  eachRevision(sessionRevisions, 'closes its streams and cancels its calls', async (revision) => {
    const server = workshop()
    const slow = registerSlow(server)
    await using http = await serve(server)
    await using peer = await Peer.open(http.url, revision)
    const listening = await peer.get()
    const call = await peer.call('slow', {}, withProgress)
    await slow.began
    await peer.delete()
    expect([await listening.ended, await call.ended]).toEqual(['ended', 'ended'])
    await slow.aborted
    slow.finish('too late')
    expect(call.messages.every(({ method }) => method !== undefined)).toBe(true)
    expect(http.metrics).toMatchObject({ streams: 0, sessions: { open: 0 } })
  })

  it('an expired session leaves no events in the store', async () => {
    using time = movableTimers()
    const eventStore = new MemoryEventStore()
    await using http = await serve(workshop(), { sessionIdleMs: 60_000, eventStore })
    await using peer = await Peer.open(http.url, '2025-11-25')
    await (await peer.call('steps', {}, withProgress)).ended
    expect(eventStore.usage.events).toBeGreaterThan(0)
    await time.advance(90_000)
    expect([http.metrics.sessions.open, eventStore.usage.events]).toEqual([0, 0])
  })

  it('DELETE removes its events from the store, and no others', async () => {
    const eventStore = new MemoryEventStore()
    await using http = await serve(workshop(), { eventStore })
    await using staying = await Peer.open(http.url, '2025-11-25')
    await (await staying.call('steps', {}, withProgress)).ended
    const before = eventStore.usage
    await using leaving = await Peer.open(http.url, '2025-11-25')
    await (await leaving.call('steps', {}, withProgress)).ended
    expect(eventStore.usage.events).toBeGreaterThan(before.events)
    await leaving.delete()
    expect(eventStore.usage).toEqual(before)
  })

  eachRevision(sessionRevisions, 'DELETE is a 405 without sessions [SESS-011, HTTP-030]', async (revision) => {
    await using http = await serve(workshop(), { sessions: false })
    await using peer = new Peer(http.url, revision)
    const answer = await peer.delete()
    expect([answer.status, answer.headers.allow]).toEqual([405, 'POST'])
  })

  it('calls onSession, as opening a session does [SDK-005]', async () => {
    const told: string[] = []
    await using http = await serve(workshop(), { onSession: (event, id) => told.push(`${event} ${id}`) })
    await using first = await Peer.open(http.url, '2025-11-25')
    await using second = await Peer.open(http.url, '2025-03-26')
    await first.delete()
    expect(told).toEqual([`opened ${first.sessionId}`, `opened ${second.sessionId}`, `closed ${first.sessionId}`])
    await http.close()
    expect(told.at(-1)).toBe(`closed ${second.sessionId}`)
  })
})

describe('an onSession callback that throws', () => {
  it('is reported, and the client still gets a response', async () => {
    const errors: unknown[] = []
    const onSession = () => {
      throw new Error('the callback failed')
    }
    await using http = await serve(workshop({ onError: (error) => errors.push(error) }), { onSession })
    await using peer = new Peer(http.url, '2025-11-25')
    // Without a response this waits until the test times out.
    await peer.request('initialize', peer.greeting())
    expect(String(errors[0])).toContain('the callback failed')
  })
})

describe('concurrent sessions', () => {
  eachRevision(sessionRevisions, 'have their own subscriptions', async (revision) => {
    const server = workshop()
    await using http = await serve(server)
    await using first = await Peer.open(http.url, revision)
    await using second = await Peer.open(http.url, revision)
    await (await first.request('resources/subscribe', { uri: 'note://a' })).json()
    const [one, two] = [await first.get(), await second.get()]
    server.sendResourceUpdated('note://a')
    server.sendToolListChanged()
    await two.notified('notifications/tools/list_changed')
    await one.notified('notifications/tools/list_changed')
    expect(one.methods).toEqual(['notifications/resources/updated', 'notifications/tools/list_changed'])
    expect(two.methods).toEqual(['notifications/tools/list_changed'])
  })

  it('do not mix up equal request ids', async () => {
    const server = workshop()
    const slow = [registerSlow(server, 'first'), registerSlow(server, 'second')]
    await using http = await serve(server)
    await using first = await Peer.open(http.url, '2025-11-25')
    await using second = await Peer.open(http.url, '2025-11-25')
    const one = first.call('first', {}, { id: 7 })
    const two = second.call('second', {}, { id: 7 })
    await Promise.all(slow.map(({ began }) => began))
    await first.notify('notifications/cancelled', { requestId: 7 })
    await slow[0]!.aborted
    slow[1]!.finish('mine')
    expect((await (await two).response()).result?.content?.[0]?.text).toBe('mine')
    expect(await (await one).text()).toBe('')
  })

  it('reject a second initialize and continue', async () => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, '2025-11-25')
    const answer = await peer.request('initialize', peer.greeting())
    expect([answer.status, (await answer.json()).error?.code]).toEqual([400, -32600])
    expect(await peer.textOf('session')).toBe(peer.sessionId)
  })
})

describe('the owner of a session', () => {
  eachRevision(
    sessionRevisions,
    'is the only caller who can use its id; for others it is a 404 [SESS-012, SESS-014]',
    async (revision) => {
      await using http = await serve(workshop(), byUser)
      await using alice = await Peer.open(http.url, revision, as('alice'))
      const stream = await alice.get()
      for (const headers of [{ 'x-user': 'mallory' }, {}] as Record<string, string>[]) {
        await using thief = new Peer(http.url, revision, { headers })
        thief.sessionId = alice.sessionId
        const answers = [await thief.call('echo'), await thief.get(), await thief.notify('x'), await thief.delete()]
        expect(answers.map(({ status }) => status)).toEqual([404, 404, 404, 404])
      }
      expect(await alice.textOf('session')).toBe(alice.sessionId)
      expect(stream.isOver).toBe(false)
    },
  )

  eachRevision(sessionRevisions, 'is checked on every request of the session [SESS-012]', async (revision) => {
    let asked = 0
    const principal = async () => {
      asked++
      return 'alice'
    }
    await using http = await serve(workshop(), { principal })
    await using peer = await Peer.open(http.url, revision)
    expect(asked).toBe(2)
    await peer.call('echo')
    await peer.get()
    await peer.delete()
    expect(asked).toBe(5)
  })

  it('cannot be determined when principal throws: the request is rejected', async () => {
    const errors: unknown[] = []
    const principal = () => {
      throw new Error('the directory is down')
    }
    await using http = await serve(workshop({ onError: (error) => errors.push(error) }), { principal })
    await using peer = new Peer(http.url, modern)
    const answer = await peer.call('echo')
    expect([answer.status, (await answer.json()).error]).toEqual([500, { code: -32603, message: 'Internal error' }])
    expect(String(errors[0])).toContain('the directory is down')
  })
})

describe('ctx.sessionId in a handler', () => {
  eachRevision(handshakeRevisions, 'is the session of the caller', async (revision) => {
    await using http = await serve(workshop())
    await using peer = await Peer.open(http.url, revision)
    expect(await peer.textOf('session')).toBe(peer.sessionId)
  })

  it(`${modern}: is undefined`, async () => {
    await using http = await serve(workshop())
    await using peer = new Peer(http.url, modern)
    expect(await peer.textOf('session')).toBe('none')
  })
})
