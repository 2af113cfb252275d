import { StreamableHTTPServerTransport, type StreamableHTTPServerTransportOptions } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { gate } from '../../../kit/gate.ts'
import { Peer } from '../../../kit/http-peer.ts'
import { eachRevision, httpRevisions, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

const withSession = (options: StreamableHTTPServerTransportOptions = {}) =>
  new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID(), ...options })

describe('await transport.handleRequest(request, response)', () => {
  eachRevision(
    httpRevisions,
    'resolves after the response was sent, so that closing afterwards loses nothing [SDK-003]',
    async (revision) => {
      const server = workshop()
      await using http = await listenWith(async (request, response) => {
        const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
        await server.connect(transport)
        await transport.handleRequest(request, response)
        await transport.close()
      })
      await using peer = new Peer(http.url, revision, { headers: { 'mcp-protocol-version': revision } })
      for (const [tool, text] of [
        ['echo', 'hello'],
        ['steps', 'three steps'],
      ] as const) {
        const answer = await peer.call(tool, { text: 'hello' }, withProgress)
        expect([answer.status, (await answer.response()).result?.content?.[0]?.text]).toEqual([200, text])
      }
    },
  )

  eachRevision(sessionRevisions, 'resolves for a GET when its stream ends', async (revision) => {
    const transport = withSession()
    await workshop().connect(transport)
    const handled: string[] = []
    const over = gate()
    await using http = await listenWith(async (request, response) => {
      await transport.handleRequest(request, response)
      handled.push(`${request.method}`)
      if (request.method === 'GET') over.open()
    })
    await using peer = await Peer.open(http.url, revision)
    const stream = await peer.get()
    expect(await peer.textOf('echo', { text: 'meanwhile' })).toBe('meanwhile')
    expect(handled).not.toContain('GET')
    stream.close()
    await over.opened
  })

  eachRevision(httpRevisions, 'resolves when the client disconnects before the response', async (revision) => {
    const server = workshop()
    const slow = registerSlow(server)
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await server.connect(transport)
    const over = gate()
    await using http = await listenWith(async (request, response) => {
      await transport.handleRequest(request, response)
      over.open()
    })
    await using peer = new Peer(http.url, revision, { headers: { 'mcp-protocol-version': revision } })
    const answer = await peer.call('slow', {}, withProgress)
    answer.close()
    await over.opened
    slow.finish('too late')
    await transport.close()
  })

  it('resolves for a request that is rejected', async () => {
    const over = gate()
    const transport = new StreamableHTTPServerTransport({})
    await using http = await listenWith(async (request, response) => {
      await transport.handleRequest(request, response)
      over.open()
    })
    await using peer = new Peer(http.url, '2026-07-28')
    expect((await peer.call('echo')).status).toBe(500)
    await over.opened
  })
})

const failures: Record<string, () => void | Promise<void>> = {
  throws: () => {
    throw new Error('no room in the database')
  },
  rejects: async () => {
    throw new Error('no room in the database')
  },
}

describe.each(Object.entries(failures))('a session callback that %s', (_how, fail) => {
  /** A transport whose callbacks fail until they are repaired. */
  async function failing(which: 'onsessioninitialized' | 'onsessionclosed') {
    const errors: unknown[] = []
    const closed: string[] = []
    let isBroken = true
    const server = workshop({ onError: (error) => errors.push(error) })
    const transport = withSession({
      onsessionclosed: (id) => void closed.push(id),
      [which]: () => (isBroken ? fail() : undefined),
    })
    await server.connect(transport)
    const http = await listenWith((request, response) => void transport.handleRequest(request, response))
    const repair = () => {
      isBroken = false
    }
    return { ...http, transport, errors, closed, repair }
  }

  eachRevision(
    sessionRevisions,
    'as onsessioninitialized rejects the session and is reported [SDK-005]',
    async (revision) => {
      await using http = await failing('onsessioninitialized')
      await using peer = new Peer(http.url, revision)
      const answer = await peer.request('initialize', peer.greeting(), { id: 'first' })
      expect([answer.status, answer.headers['mcp-session-id']]).toEqual([400, undefined])
      expect(await answer.json()).toMatchObject({ id: 'first', error: { code: -32000 } })
      expect(answer.raw).not.toContain('database')
      expect(http.errors).toMatchObject([{ message: 'no room in the database' }])
      // The session never existed, so onsessionclosed is not called, and the transport can be used for another attempt.
      expect([http.closed, http.transport.sessionId]).toEqual([[], undefined])
      http.repair()
      await using again = await Peer.open(http.url, revision)
      expect(await again.textOf('echo', { text: 'works' })).toBe('works')
    },
  )

  eachRevision(sessionRevisions, 'as onsessionclosed fails the DELETE and is reported [SDK-005]', async (revision) => {
    await using http = await failing('onsessionclosed')
    await using peer = await Peer.open(http.url, revision)
    const answer = await peer.delete()
    expect([answer.status, (await answer.json()).error?.code]).toEqual([500, -32603])
    expect(http.errors).toMatchObject([{ message: 'no room in the database' }])
    // The session has ended nevertheless.
    expect((await peer.call('echo')).status).toBe(404)
  })
})
