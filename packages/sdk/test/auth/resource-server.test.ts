import { Agent, request } from 'node:http'
import { createMcpHandler, serveHttp } from 'tenon/server'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { jwtVerifier } from '../../src/auth/resource/jwt-verifier.ts'
import type { AuthInfo, AuthOptions } from '../../src/auth/resource/options.ts'
import {
  door,
  eachRevision,
  fetchDoor,
  httpRevisions,
  modern,
  onlyModern,
  Peer,
  RawClient,
  SseClient,
  sessionRevisions,
  withProgress,
  workshop,
} from '../transport/http/server/support.ts'
import { challengeOf, guarded, Issuer, now, openWith, protectedServer, withToken } from './resource-support.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

let place: Awaited<ReturnType<typeof protectedServer>>
beforeEach(async () => {
  place = await protectedServer({ auth: { requiredScopes: ['mcp'], impliedScopes: { admin: ['mcp', 'files'] } } })
})
afterEach(() => place[Symbol.asyncDispose]())

describe('a request without permission', () => {
  eachRevision(
    httpRevisions,
    'is a 401 that says where to get a token [AUTH-006] [AUTH-030] [AUTH-031] [AUTH-071]',
    async (revision) => {
      await using peer = new Peer(place.url, revision)
      const answer = await peer.request('initialize', peer.greeting())
      expect(answer.status).toBe(401)
      expect(challengeOf(answer)).toEqual({ scope: 'mcp', resource_metadata: `${place.origin}${wellKnown}/mcp` })
      expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32000 } })
    },
  )

  eachRevision(httpRevisions, 'is refused before its body is looked at [AUTH-012]', async (revision) => {
    await using peer = new Peer(place.url, revision)
    const answer = await peer.send('POST', {}, '{"not json')
    expect(answer.status).toBe(401)
  })

  it('says what is wrong with a token only when there was one [AUTH-012]', async () => {
    await using without = new Peer(place.url, modern)
    await using wrong = new Peer(place.url, modern, withToken('no-such-token'))
    expect(challengeOf(await without.call('who')).error).toBeUndefined()
    expect(challengeOf(await wrong.call('who')).error).toBe('invalid_token')
  })

  it('takes another scheme for no token', async () => {
    await using peer = new Peer(place.url, modern, { headers: { authorization: 'Basic YTpi' } })
    const answer = await peer.call('who')
    expect(answer.status).toBe(401)
    expect(challengeOf(answer).error).toBeUndefined()
  })

  it.each(['POST', 'GET', 'DELETE', 'PUT'])('is refused for %s [AUTH-006] [SESS-012] [HTTP-007]', async (method) => {
    const { status } = await door(place.url)({ method, headers: { accept: 'text/event-stream' } })
    expect(status).toBe(401)
  })

  it('never reaches a handler [AUTH-012]', async () => {
    const seen: string[] = []
    const server = workshop()
    server.use(({ method }, next) => {
      seen.push(method)
      return next()
    })
    await using other = await protectedServer({ server })
    await using peer = new Peer(other.url, modern, withToken(await other.issuer.token({ aud: 'https://b.example' })))
    expect((await peer.call('echo')).status).toBe(401)
    expect(seen).toEqual([])
  })

  it('is told why pages may read it, so that clients in browsers can log in', async () => {
    const cors = { origins: ['https://app.example.com'] }
    await using other = await protectedServer({ cors })
    await using peer = new Peer(other.url, modern, { headers: { origin: 'https://app.example.com' } })
    const { status, headers } = await peer.call('who')
    expect(status).toBe(401)
    expect(headers['access-control-allow-origin']).toBe('https://app.example.com')
    expect(headers['access-control-expose-headers']).toContain('WWW-Authenticate')
  })
})

describe('a token', () => {
  eachRevision(
    httpRevisions,
    'opens the door, and handlers see whose it is [AUTH-003] [AUTH-012]',
    async (revision) => {
      await using peer = await openWith(place.url, revision, await place.token({ scope: 'mcp files' }))
      expect(JSON.parse((await peer.textOf('who'))!)).toMatchObject({
        issuer: place.issuer.url,
        subject: 'ann',
        clientId: 'app',
        scopes: ['mcp', 'files'],
        claims: { aud: place.url },
      })
    },
  )

  eachRevision(
    httpRevisions,
    'is never shown to handlers, so that none can pass it on [AUTH-015]',
    async (revision) => {
      const token = await place.token({ scope: 'mcp' })
      await using peer = await openWith(place.url, revision, token)
      const seen = `${await peer.textOf('headers')} ${await peer.textOf('who')}`
      expect(seen).not.toContain(token)
      expect(seen).toContain('application/json')
      expect(seen).not.toContain('Bearer')
    },
  )

  eachRevision(
    sessionRevisions,
    'is needed for every request, whatever the session says [AUTH-006] [SESS-012]',
    async (revision) => {
      const token = await place.token({ scope: 'mcp' })
      await using peer = await openWith(place.url, revision, token)
      const session = { 'mcp-session-id': peer.sessionId! }
      for (const method of ['POST', 'GET', 'DELETE']) {
        const headers = {
          ...session,
          accept: 'application/json, text/event-stream',
          'content-type': 'application/json',
        }
        const answer = await door(place.url)({ method, headers })
        expect(answer.status).toBe(401)
      }
      expect(await peer.textOf('echo', { text: 'still here' })).toBe('still here')
    },
  )

  eachRevision(httpRevisions, 'that was issued for another server is a 401 [AUTH-013] [AUTH-015]', async (revision) => {
    const token = await place.issuer.token({ aud: 'https://other.example/mcp', scope: 'mcp' })
    await using peer = new Peer(place.url, revision, withToken(token))
    const answer = await peer.request('initialize', peer.greeting())
    expect(answer.status).toBe(401)
    expect(challengeOf(answer)).toMatchObject({ error: 'invalid_token' })
  })

  it('for another port of this machine is not for us, whatever the Host header says [AUTH-013]', async () => {
    const aud = 'http://127.0.0.1:1/mcp'
    const token = await place.issuer.token({ aud, scope: 'mcp' })
    await using peer = new Peer(place.url, modern, withToken(token, { headers: { host: '127.0.0.1:1' } }))
    expect((await peer.call('who')).status).toBe(401)
  })

  it('names us among several audiences, with scheme and host in capitals [AUTH-013] [AUTH-070]', async () => {
    const aud = ['https://other.example', place.url.replace('http://', 'HTTP://')]
    await using peer = new Peer(place.url, modern, withToken(await place.token({ aud, scope: 'mcp' })))
    expect((await peer.call('who')).status).toBe(200)
  })

  it.each([
    ['a query', (url: string) => `${url}?x=1`],
    ['a slash at its end', (url: string) => `${url}/`],
    ['a user name', (url: string) => url.replace('//', '//user@')],
    ['a longer path', (url: string) => `${url}/part`],
    ['a fragment', (url: string) => `${url}#x`],
    ['a detour in its path', (url: string) => url.replace('/mcp', '/x/../mcp')],
    ['a capital in its path', (url: string) => url.replace('/mcp', '/Mcp')],
    ['a line break', (url: string) => url.replace('/mcp', '/m\ncp')],
    ['an encoded letter', (url: string) => url.replace('/mcp', '/%6Dcp')],
    ['nothing but our origin', (url: string) => new URL(url).origin],
  ])('is not for us when its audience is our URL with %s [AUTH-013]', async (_, audienceOf) => {
    await using peer = new Peer(
      place.url,
      modern,
      withToken(await place.token({ aud: audienceOf(place.url), scope: 'mcp' })),
    )
    expect((await peer.call('who')).status).toBe(401)
  })

  eachRevision(httpRevisions, 'that has expired is a 401 [AUTH-006]', async (revision) => {
    await using peer = new Peer(place.url, revision, withToken(await place.token({ exp: now() - 60, scope: 'mcp' })))
    const answer = await peer.request('initialize', peer.greeting())
    expect(answer.status).toBe(401)
    expect(challengeOf(answer).error).toBe('invalid_token')
  })

  it('appears in no answer, also when it is refused', async () => {
    const token = await place.token({ exp: now() - 60 })
    await using peer = new Peer(place.url, modern, withToken(token))
    const answer = await peer.call('who')
    expect(`${await answer.text()} ${JSON.stringify(answer.headers)}`).not.toContain(token)
  })
})

describe('a malformed presentation of a token is a 400', () => {
  it('in the URL, where it would end up in logs [AUTH-007]', async () => {
    const token = await place.token({ scope: 'mcp' })
    for (const headers of [{}, withToken(token).headers!]) {
      const answer = await door(place.url)({ path: `/mcp?access_token=${token}`, headers })
      expect(answer.status).toBe(400)
      expect(challengeOf(answer).error).toBe('invalid_request')
    }
  })

  it.each(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer "a"', 'bearer a,b'])(
    'as %j [AUTH-007]',
    async (authorization) => {
      await using peer = new Peer(place.url, modern, { headers: { authorization } })
      const answer = await peer.call('who')
      expect(answer.status).toBe(400)
      expect(challengeOf(answer).error).toBe('invalid_request')
    },
  )

  it('twice, where somebody on the way may have looked at the other one [AUTH-007]', async () => {
    const token = await place.token({ scope: 'mcp' })
    await using client = await RawClient.open(place.serving.port)
    const authorization = `authorization: Bearer ${token}`
    expect(await client.post(['host: 127.0.0.1', authorization, authorization], '')).toMatchObject({
      status: 400,
      message: { error: { data: { error: 'invalid_request' } } },
    })
  })
})

describe('a token that allows too little', () => {
  eachRevision(httpRevisions, 'is a 403 that names the scopes [AUTH-007] [AUTH-075]', async (revision) => {
    await using peer = new Peer(place.url, revision, withToken(await place.token({ scope: 'other' })))
    const answer = await peer.request('initialize', peer.greeting())
    expect(answer.status).toBe(403)
    expect(challengeOf(answer)).toMatchObject({
      error: 'insufficient_scope',
      scope: 'mcp',
      resource_metadata: `${place.origin}${wellKnown}/mcp`,
    })
  })

  eachRevision(
    httpRevisions,
    'for one tool is a 403 that names everything the call needs, at once [AUTH-007] [AUTH-075] [AUTH-076] [AUTH-077]',
    async (revision) => {
      await using peer = await openWith(place.url, revision, await place.token({ scope: 'mcp files:read' }))
      const answer = await peer.call('delete', {}, { id: 'd' })
      expect(answer.status).toBe(403)
      expect(challengeOf(answer)).toEqual({
        error: 'insufficient_scope',
        error_description: 'Insufficient scope: the access token does not allow this request.',
        scope: 'mcp files:read files:delete',
        resource_metadata: `${place.origin}${wellKnown}/mcp`,
      })
      expect(await answer.json()).toMatchObject({ id: 'd', error: { data: { error: 'insufficient_scope' } } })
      await using allowed = await openWith(
        place.url,
        revision,
        await place.token({ scope: 'mcp files:read files:delete' }),
      )
      expect(await allowed.textOf('delete')).toBe('deleted')
    },
  )

  eachRevision(httpRevisions, 'is said in the stream when the answer has begun', async (revision) => {
    await using peer = await openWith(place.url, revision, await place.token({ scope: 'mcp' }))
    const answer = await peer.call('delete-late', {}, withProgress)
    expect(answer.status).toBe(200)
    expect((await answer.response()).error?.data).toEqual({ error: 'insufficient_scope', scopes: ['files:delete'] })
  })

  eachRevision(httpRevisions, 'has the scopes that come with a larger one [AUTH-078]', async (revision) => {
    await using peer = await openWith(place.url, revision, await place.token({ scope: 'admin' }))
    expect(JSON.parse((await peer.textOf('who'))!).scopes).toEqual(['admin', 'mcp', 'files'])
  })

  it('does not make an answer a refusal that only mentions it', async () => {
    await using peer = await openWith(place.url, modern, await place.token({ scope: 'mcp' }))
    const text = '{"error":"insufficient_scope","data":{"error":"insufficient_scope","scopes":["x"]}}'
    const answer = await peer.call('echo', { text })
    expect(answer.status).toBe(200)
    expect((await answer.response()).result?.content?.[0]?.text).toBe(text)
  })

  it('is no reason to refuse a whole batch of 2025-03-26', async () => {
    await using peer = await openWith(place.url, '2025-03-26', await place.token({ scope: 'mcp' }))
    const answer = await peer.post([
      peer.message('tools/call', { name: 'delete', arguments: {} }),
      peer.message('tools/call', { name: 'echo', arguments: { text: 'x' } }),
    ])
    expect(answer.status).toBe(200)
  })
})

describe('protected resource metadata', () => {
  it.each([`${wellKnown}/mcp`, wellKnown])(
    'is served at %s for anyone [AUTH-027] [AUTH-028] [AUTH-031]',
    async (path) => {
      const answer = await door(place.url)({ method: 'GET', path, headers: { origin: 'https://anywhere.example' } })
      expect(answer.status).toBe(200)
      expect(answer.headers['access-control-allow-origin']).toBe('*')
      expect(answer.headers['cache-control']).toMatch(/public, max-age=\d+/)
      expect(await answer.json()).toEqual({
        resource: place.url,
        authorization_servers: [place.issuer.url],
        scopes_supported: ['mcp'],
        bearer_methods_supported: ['header'],
      })
    },
  )

  it('names the server as the client called it, of the names of this machine', async () => {
    const host = `localhost:${place.serving.port}`
    const answer = await door(place.url)({ method: 'GET', path: wellKnown, headers: { host } })
    expect(await answer.json()).toMatchObject({ resource: `http://${host}/mcp` })
    const other = await door(place.url)({ method: 'GET', path: wellKnown, headers: { host: 'evil.example' } })
    expect(await other.json()).toMatchObject({ resource: place.url })
  })

  it('lets browsers ask first, and is only read', async () => {
    const headers = { origin: 'https://a.example', 'access-control-request-headers': 'mcp-protocol-version' }
    const asked = await door(place.url)({ method: 'OPTIONS', path: wellKnown, headers })
    expect(asked.status).toBe(204)
    expect(asked.headers['access-control-allow-headers']).toBe('mcp-protocol-version')
    expect((await door(place.url)({ method: 'POST', path: wellKnown })).status).toBe(405)
  })

  it('says everything that it was told, and never offline_access [AUTH-101]', async () => {
    await using other = await protectedServer({
      auth: {
        resource: 'https://mcp.example.com',
        requiredScopes: ['mcp', 'offline_access'],
        scopesSupported: ['mcp', 'files:read', 'offline_access'],
        resourceName: 'Files',
        resourceDocumentation: 'https://docs.example.com/',
      },
    })
    const answer = await door(other.url)({ method: 'GET', path: wellKnown })
    expect(await answer.json()).toMatchObject({
      resource: 'https://mcp.example.com',
      scopes_supported: ['mcp', 'files:read'],
      resource_name: 'Files',
      resource_documentation: 'https://docs.example.com/',
    })
    await using peer = new Peer(other.url, modern)
    const refused = await peer.call('who')
    expect(challengeOf(refused)).toEqual({ scope: 'mcp', resource_metadata: `https://mcp.example.com${wellKnown}` })
  })

  it('is there with a path of its own where the server has one behind a proxy', async () => {
    await using other = await protectedServer({ auth: { resource: 'https://mcp.example.com/v1/mcp' } })
    for (const path of [`${wellKnown}/v1/mcp`, `${wellKnown}/mcp`, wellKnown]) {
      const answer = await door(other.url)({ method: 'GET', path })
      expect(await answer.json()).toMatchObject({ resource: 'https://mcp.example.com/v1/mcp' })
    }
    expect((await door(other.url)({ method: 'GET', path: `${wellKnown}/else` })).status).toBe(404)
  })

  it('is not served where anyone may call', async () => {
    await using serving = await serveHttp(workshop(), { port: 0, exit: false })
    expect((await door(serving.url)({ method: 'GET', path: wellKnown })).status).toBe(404)
  })
})

describe('what belongs to somebody', () => {
  eachRevision(
    sessionRevisions,
    'a session is its user’s, also with another token, and nobody else’s [SESS-014]',
    async (revision) => {
      await using ann = await openWith(place.url, revision, await place.token({ scope: 'mcp' }))
      await using later = ann.at(place.url, withToken(await place.token({ scope: 'mcp files' })).headers)
      expect(await later.textOf('session')).toBe(ann.sessionId)
      const strangers = [{ sub: 'bob' }, { sub: undefined, client_id: 'ann' }]
      for (const claims of strangers) {
        await using stranger = ann.at(place.url, withToken(await place.token({ scope: 'mcp', ...claims })).headers)
        expect((await stranger.call('echo')).status).toBe(404)
        expect((await stranger.get()).status).toBe(404)
        expect((await stranger.delete()).status).toBe(404)
      }
      expect((await ann.delete()).status).toBe(200)
    },
  )

  it('a state handle is its user’s and nobody else’s [SEC-011] [SEC-012]', async () => {
    const server = guarded()
    server.registerTool('ask', {}, async (_, ctx) => (await ctx.elicit('Sure?')).action)
    await using other = await protectedServer({ server })
    const capabilities = { elicitation: {} }
    const ask = async (sub: string, more: Record<string, unknown>) => {
      await using peer = new Peer(other.url, modern, withToken(await other.token({ sub }), { capabilities }))
      return (await peer.request('tools/call', { name: 'ask', arguments: {}, ...more })).response()
    }
    const { requestState, inputRequests } = (await ask('ann', {})).result!
    const [key] = Object.keys(inputRequests as object)
    const inputResponses = { [key!]: { action: 'accept', content: {} } }
    expect((await ask('bob', { requestState, inputResponses })).error).toBeDefined()
    expect((await ask('ann', { requestState, inputResponses })).result?.content?.[0]?.text).toBe('accept')
  })

  it('`principal` has the last word on who somebody is', async () => {
    await using other = await protectedServer({
      principal: ({ auth }) => String((auth as AuthInfo | undefined)?.claims?.team),
    })
    const claims = { team: 'blue' } as object
    await using ann = await openWith(other.url, '2025-11-25', await other.token({ ...claims }))
    await using bob = ann.at(other.url, withToken(await other.token({ sub: 'bob', ...claims })).headers)
    expect(await bob.textOf('session')).toBe(ann.sessionId)
  })

  it('whoever has neither a user nor a client is told by the token, such as a key of one’s own [AUTH-005]', async () => {
    const verify: AuthOptions['verify'] = (token) => (token.startsWith('key-') ? { scopes: [] } : undefined)
    await using other = await protectedServer({ auth: { verify } })
    await using one = await openWith(other.url, '2025-11-25', 'key-1')
    await using two = one.at(other.url, withToken('key-2').headers)
    expect((await two.call('echo')).status).toBe(404)
    expect(await one.textOf('echo', { text: 'x' })).toBe('x')
  })
})

describe('when a token expires', () => {
  /** The token `short` is valid for a moment after it was presented, every other one for ever. */
  const verify: AuthOptions['verify'] = (token) => {
    const expiresAt = token === 'short' ? Date.now() / 1000 + 0.3 : undefined
    return { subject: 'ann', scopes: [], expiresAt }
  }
  const short = withToken('short').headers

  eachRevision(sessionRevisions, 'a stream that it opened ends, and can be resumed with another', async (revision) => {
    await using other = await protectedServer({ auth: { verify } })
    await using peer = await openWith(other.url, revision, 'long')
    await using listener = peer.at(other.url, short)
    const stream = await listener.get()
    expect(stream.status).toBe(200)
    expect(await stream.ended).toBe('ended')
    await using again = await peer.get()
    expect(again.status).toBe(200)
    expect(other.serving.metrics.streams).toBe(1)
  })

  it('a subscription of 2026-07-28 ends as if the server had closed it', async () => {
    await using other = await protectedServer({ auth: { verify } })
    await using peer = new Peer(other.url, modern, withToken('short'))
    const stream = await peer.listen({ toolsListChanged: true }, 'l')
    expect(await stream.ended).toBe('ended')
    expect(stream.messages.at(-1)).toMatchObject({ id: 'l', result: {} })
    expect(other.serving.metrics).toMatchObject({ streams: 0, calls: 0 })
  })

  eachRevision(httpRevisions, 'a call that is under way is answered all the same', async (revision) => {
    const server = guarded()
    await using other = await protectedServer({ server, auth: { verify } })
    await using peer = await openWith(other.url, revision, 'long')
    await using brief = peer.at(other.url, short)
    const answer = await brief.call('slow', {}, withProgress)
    await server.slow.began
    // Opened later, so the token of the call has expired when this ends.
    const later = revision === modern ? await brief.listen({}) : await brief.get()
    expect(await later.ended).toBe('ended')
    server.slow.finish('done')
    expect((await answer.response()).result?.content?.[0]?.text).toBe('done')
  })

  it('the one stream of the old transport stays: it is the session, whose every message is checked', async () => {
    await using other = await protectedServer({ sse: true, auth: { verify } })
    await using client = await SseClient.open(other.url, { headers: short! })
    let hasEnded = false
    void client.stream.ended.then(() => {
      hasEnded = true
    })
    // Opened later, so the token of the old transport has expired when this ends.
    await using peer = new Peer(other.url, modern, { headers: short! })
    expect(await (await peer.listen({})).ended).toBe('ended')
    expect(hasEnded).toBe(false)
  })
})

describe('the old transport', () => {
  it('is closed to callers without a token, on both endpoints [AUTH-006]', async () => {
    await using other = await protectedServer({ sse: true })
    for (const [method, path] of [
      ['GET', '/sse'],
      ['POST', '/messages'],
    ] as const) {
      const answer = await door(other.url)({ method, path, headers: { accept: 'text/event-stream' } })
      expect(answer.status).toBe(401)
      expect(challengeOf(answer).resource_metadata).toBe(`${other.origin}${wellKnown}/sse`)
    }
    const metadata = await door(other.url)({ method: 'GET', path: `${wellKnown}/sse` })
    expect(await metadata.json()).toMatchObject({ resource: `${other.origin}/sse` })
  })

  it('takes tokens for its own URL, and posts of the user who opened the stream alone', async () => {
    await using other = await protectedServer({ sse: true })
    const headers = async (sub: string) => {
      const token = await other.token({ sub, aud: `${other.origin}/sse` })
      return { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    }
    await using ann = await SseClient.open(other.url, { headers: await headers('ann') })
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
    const post = async (sub: string) => door(other.url)({ path: ann.endpoint, body, headers: await headers(sub) })
    expect((await post('bob')).status).toBe(404)
    expect((await post('ann')).status).toBe(202)
  })
})

describe('handlers on the old transport', () => {
  it('see who posted, and can demand more', async () => {
    await using other = await protectedServer({ sse: true })
    const authorization = `Bearer ${await other.token({ aud: `${other.origin}/sse`, scope: 'files:read' })}`
    await using client = await SseClient.open(other.url, { headers: { authorization } })
    await client.initialize()
    expect(JSON.parse((await client.textOf('who'))!)).toMatchObject({ subject: 'ann', scopes: ['files:read'] })
    const { error } = await client.request(9, 'tools/call', { name: 'delete', arguments: {} })
    expect(error?.data).toMatchObject({ error: 'insufficient_scope' })
  })
})

describe('createMcpHandler', () => {
  const resource = 'https://mcp.example.com/mcp'

  it('checks tokens and serves metadata over fetch [AUTH-006] [AUTH-013] [AUTH-027]', async () => {
    await using issuer = await Issuer.start()
    const verify = jwtVerifier({ issuer: issuer.url })
    const handler = createMcpHandler(guarded(), {
      allowedHosts: ['mcp.example.com'],
      auth: { verify, resource, authorizationServers: [issuer.url] },
    })
    const way = fetchDoor(handler, 'https://mcp.example.com')
    await using without = new Peer(way, modern)
    expect(challengeOf(await without.call('who')).resource_metadata).toBe(`https://mcp.example.com${wellKnown}/mcp`)
    await using peer = new Peer(way, modern, withToken(await issuer.token({ aud: resource })))
    expect(JSON.parse((await peer.textOf('who'))!)).toMatchObject({ subject: 'ann' })
    const metadata = await way({ method: 'GET', path: `${wellKnown}/mcp` })
    expect(await metadata.json()).toMatchObject({ resource })
    const token = await issuer.token({ aud: resource })
    const joined = await way({ headers: { authorization: `Bearer ${token}, Bearer ${token}` } })
    expect(joined.status).toBe(400)
  })

  it('wants to know its own URL, and says so at once', () => {
    const auth = { verify: () => undefined, authorizationServers: ['https://as.example'] }
    expect(() => createMcpHandler(workshop(), { auth })).toThrow('auth.resource is required')
  })
})

describe('mistakes in `auth`', () => {
  const good: AuthOptions = { verify: () => undefined, authorizationServers: ['https://as.example'] }

  it.each([
    [{ ...good, authorizationServers: [] }, 'auth.authorizationServers'],
    [{ ...good, authorizationServers: ['as.example'] }, 'auth.authorizationServers'],
    [{ ...good, resource: 'mcp.example.com' }, 'auth.resource'],
    [{ ...good, resource: 'https://mcp.example.com/#a' }, 'fragment'],
    [{ ...good, requiredScopes: ['a b'] }, 'auth.requiredScopes'],
    [{ ...good, requiredScopes: ['a"b'] }, 'auth.requiredScopes'],
    [{ ...good, verify: undefined as never }, 'auth.verify'],
  ])('are told before anything is served: %j [AUTH-028]', async (auth, message) => {
    await expect(serveHttp(workshop(), { port: 0, exit: false, auth })).rejects.toThrow(message)
  })

  it.each([{ host: '0.0.0.0' }, { allowedHosts: ['mcp.example.com'] }, { allowAnyHost: true }])(
    'a server that is called from elsewhere (%j) has to be told its URL',
    async (options) => {
      const serving = serveHttp(workshop(), { port: 0, exit: false, auth: good, ...options })
      await expect(serving).rejects.toThrow('auth.resource is required')
    },
  )

  it('scopes that are no array are no scopes', async () => {
    const errors: unknown[] = []
    const server = workshop({ onError: (error) => void errors.push(error) })
    const verify = () => ({ clientId: 'c', scopes: 'mcp' as never })
    await using other = await protectedServer({ server, auth: { verify } })
    await using peer = new Peer(other.url, modern, withToken('x'))
    expect((await peer.call('echo')).status).toBe(500)
    expect(String(errors[0])).toContain('auth.verify must return `scopes`')
  })
})

describe('a check that fails', () => {
  it('is a 503 and reported, since the token may be good', async () => {
    const errors: unknown[] = []
    const server = workshop({ onError: (error) => void errors.push(error) })
    const verify = () => Promise.reject(new Error('database is down'))
    await using other = await protectedServer({ server, auth: { verify } })
    await using peer = new Peer(other.url, modern, withToken('x'))
    const answer = await peer.call('echo')
    expect(answer.status).toBe(503)
    expect(answer.headers['retry-after']).toBeDefined()
    expect(answer.headers['www-authenticate']).toBeUndefined()
    expect(await answer.text()).not.toContain('database')
    expect(errors).toEqual([new Error('database is down')])
  })

  it.each([{ errorCode: 'invalid_token' }, { code: 'ERR_JWT_EXPIRED' }, { code: 'ERR_JWS_INVALID' }])(
    'because the token is invalid, as %j says, is a 401 [AUTH-006]',
    async (details) => {
      const verify = () => Promise.reject(Object.assign(new Error('no'), details))
      await using other = await protectedServer({ auth: { verify } })
      await using peer = new Peer(other.url, modern, withToken('x'))
      expect((await peer.call('echo')).status).toBe(401)
    },
  )

  it('a token of a verifier that leaves it to us is checked for expiry and resource [AUTH-006] [AUTH-013]', async () => {
    const found: Record<string, object> = {
      good: { scopes: [], clientId: 'c', expiresAt: now() + 60 },
      old: { scopes: [], clientId: 'c', expiresAt: now() - 1 },
      odd: { scopes: [], clientId: 'c', expiresAt: Number.NaN },
      foreign: { scopes: [], clientId: 'c', resource: new URL('https://b.example/mcp') },
    }
    await using other = await protectedServer({ auth: { verify: (token) => found[token] as never } })
    for (const [token, status] of [
      ['good', 200],
      ['old', 401],
      ['odd', 401],
      ['foreign', 401],
    ] as const) {
      await using peer = new Peer(other.url, modern, withToken(token))
      expect((await peer.call('echo')).status).toBe(status)
    }
  })
})

describe('without authorization', () => {
  it('a server serves anyone, and knows nobody [AUTH-002]', async () => {
    await using serving = await serveHttp(guarded(), { port: 0, exit: false, graceMs: 100 })
    await using peer = new Peer(serving.url, modern, withToken('whatever'))
    expect(await peer.textOf('who')).toBe('null')
    expect((await (await peer.call('delete')).response()).error?.data).toMatchObject({ error: 'insufficient_scope' })
  })
})

it('authenticates and authorizes every request of 2026-07-28 on its own, whatever came before it [LIFE-029] [HTTP-007]', async () => {
  const server = workshop()
  server.registerTool('admin', { requiredScopes: ['admin'] }, () => 'done')
  await using other = await protectedServer({ server })
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  // One connection for all of them, so that nothing can be remembered of those who called before.
  const send = async (method: string, params: object, token?: string) => {
    const name = (params as { name?: string }).name
    const meta = {
      'io.modelcontextprotocol/protocolVersion': modern,
      'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': modern,
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
    }
    return new Promise<number | undefined>((resolve, reject) => {
      const call = request(other.url, { method: 'POST', agent, headers }, (response) => {
        response.resume().on('end', () => resolve(response.statusCode))
      })
      call.on('error', reject)
      call.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }))
    })
  }
  const [user, admin] = [await other.token({ scope: 'mcp' }), await other.token({ scope: 'mcp admin' })]
  const call = { name: 'admin', arguments: {} }
  expect(await send('tools/call', call, admin)).toBe(200)
  for (const [method, params] of [
    ['server/discover', {}],
    ['tools/list', {}],
    ['tools/call', { name: 'echo', arguments: { text: 'x' } }],
    ['subscriptions/listen', { notifications: { toolsListChanged: true } }],
    ['tools/call', call],
  ] as const) {
    expect([method, await send(method, params)]).toEqual([method, 401])
  }
  expect(await send('tools/call', call, user)).toBe(403)
  expect(await send('tools/list', {}, user)).toBe(200)
  expect(await send('tools/call', call, admin)).toBe(200)
})

it('works where only 2026-07-28 is spoken [AUTH-006]', async () => {
  await using other = await protectedServer({ server: workshop(onlyModern) })
  await using peer = new Peer(other.url, modern)
  expect((await peer.call('echo')).status).toBe(401)
  await using known = new Peer(other.url, modern, withToken(await other.token()))
  expect(await known.textOf('echo', { text: 'in' })).toBe('in')
})
