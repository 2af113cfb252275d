import { Agent, request } from 'node:http'
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import type { AuthInfo, AuthOptions } from '../../src/auth/resource/options.ts'
import { overHttp } from '../kit/http-client.ts'
import { Peer } from '../kit/http-peer.ts'
import { rawPost } from '../kit/raw-http.ts'
import { eachRevision, httpRevisions, modern, sessionRevisions } from '../kit/revisions.ts'
import { SseClient } from '../kit/sse-peer.ts'
import { onlyModern, withProgress, workshop } from '../kit/workshop.ts'
import { challengeOf, guarded, now, openWith, protectedServer, withToken } from './resource-support.ts'

const wellKnown = '/.well-known/oauth-protected-resource'

let place: Awaited<ReturnType<typeof protectedServer>>
beforeEach(async () => {
  place = await protectedServer({ auth: { requiredScopes: ['mcp'], impliedScopes: { admin: ['mcp', 'files'] } } })
})
afterEach(() => place[Symbol.asyncDispose]())

describe('requests without authorization', () => {
  eachRevision(
    httpRevisions,
    'answers 401 and says where to get a token [AUTH-006] [AUTH-030] [AUTH-031] [AUTH-071]',
    async (revision) => {
      await using peer = new Peer(place.url, revision)
      const answer = await peer.request('initialize', peer.greeting())
      expect(answer.status).toBe(401)
      expect(challengeOf(answer)).toEqual({ scope: 'mcp', resource_metadata: `${place.origin}${wellKnown}/mcp` })
      expect(await answer.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32000 } })
    },
  )

  eachRevision(
    httpRevisions,
    'refuses an unauthorized request before it reads the body [AUTH-012]',
    async (revision) => {
      await using peer = new Peer(place.url, revision)
      const answer = await peer.send('POST', {}, '{"not json')
      expect(answer.status).toBe(401)
    },
  )

  it('describes a token error only when a token was sent [AUTH-012]', async () => {
    await using without = new Peer(place.url, modern)
    await using wrong = new Peer(place.url, modern, withToken('no-such-token'))
    expect(challengeOf(await without.call('who')).error).toBeUndefined()
    expect(challengeOf(await wrong.call('who')).error).toBe('invalid_token')
  })

  it('treats another authorization scheme as no token', async () => {
    await using peer = new Peer(place.url, modern, { headers: { authorization: 'Basic YTpi' } })
    const answer = await peer.call('who')
    expect(answer.status).toBe(401)
    expect(challengeOf(answer).error).toBeUndefined()
  })

  it.each(['POST', 'GET', 'DELETE', 'PUT'])(
    'refuses %s without a token [AUTH-006] [SESS-012] [HTTP-007]',
    async (method) => {
      const { status } = await overHttp(place.url)({ method, headers: { accept: 'text/event-stream' } })
      expect(status).toBe(401)
    },
  )

  it('never calls a handler without authorization [AUTH-012]', async () => {
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

  it('allows CORS on the 401, so that browser clients can log in', async () => {
    const cors = { origins: ['https://app.example.com'] }
    await using other = await protectedServer({ cors })
    await using peer = new Peer(other.url, modern, { headers: { origin: 'https://app.example.com' } })
    const { status, headers } = await peer.call('who')
    expect(status).toBe(401)
    expect(headers['access-control-allow-origin']).toBe('https://app.example.com')
    expect(headers['access-control-expose-headers']).toContain('WWW-Authenticate')
  })
})

describe('access tokens', () => {
  eachRevision(
    httpRevisions,
    'accepts a valid token and tells handlers whose it is [AUTH-003] [AUTH-012]',
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
    'hides the token from handlers, so that none can forward it [AUTH-015]',
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
    'requires a token with every request of a session [AUTH-006] [SESS-012]',
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
        const answer = await overHttp(place.url)({ method, headers })
        expect(answer.status).toBe(401)
      }
      expect(await peer.textOf('echo', { text: 'still here' })).toBe('still here')
    },
  )

  eachRevision(
    httpRevisions,
    'answers 401 to a token issued for another server [AUTH-013] [AUTH-015]',
    async (revision) => {
      const token = await place.issuer.token({ aud: 'https://other.example/mcp', scope: 'mcp' })
      await using peer = new Peer(place.url, revision, withToken(token))
      const answer = await peer.request('initialize', peer.greeting())
      expect(answer.status).toBe(401)
      expect(challengeOf(answer)).toMatchObject({ error: 'invalid_token' })
    },
  )

  it('refuses a token for another port, whatever the Host header says [AUTH-013]', async () => {
    const aud = 'http://127.0.0.1:1/mcp'
    const token = await place.issuer.token({ aud, scope: 'mcp' })
    await using peer = new Peer(place.url, modern, withToken(token, { headers: { host: '127.0.0.1:1' } }))
    expect((await peer.call('who')).status).toBe(401)
  })

  it('accepts a token with several audiences, and scheme and host in capitals [AUTH-013] [AUTH-070]', async () => {
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
  ])('refuses a token whose audience is our URL with %s [AUTH-013]', async (_, audienceOf) => {
    await using peer = new Peer(
      place.url,
      modern,
      withToken(await place.token({ aud: audienceOf(place.url), scope: 'mcp' })),
    )
    expect((await peer.call('who')).status).toBe(401)
  })

  eachRevision(httpRevisions, 'answers 401 to an expired token [AUTH-006]', async (revision) => {
    await using peer = new Peer(place.url, revision, withToken(await place.token({ exp: now() - 60, scope: 'mcp' })))
    const answer = await peer.request('initialize', peer.greeting())
    expect(answer.status).toBe(401)
    expect(challengeOf(answer).error).toBe('invalid_token')
  })

  it('includes the token in no response, also when it is refused', async () => {
    const token = await place.token({ exp: now() - 60 })
    await using peer = new Peer(place.url, modern, withToken(token))
    const answer = await peer.call('who')
    expect(`${await answer.text()} ${JSON.stringify(answer.headers)}`).not.toContain(token)
  })
})

describe('malformed authorization', () => {
  it('answers 400 to a token in the URL [AUTH-007]', async () => {
    const token = await place.token({ scope: 'mcp' })
    for (const headers of [{}, withToken(token).headers!]) {
      const answer = await overHttp(place.url)({ path: `/mcp?access_token=${token}`, headers })
      expect(answer.status).toBe(400)
      expect(challengeOf(answer).error).toBe('invalid_request')
    }
  })

  it.each(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer "a"', 'bearer a,b'])(
    'answers 400 to the authorization %j [AUTH-007]',
    async (authorization) => {
      await using peer = new Peer(place.url, modern, { headers: { authorization } })
      const answer = await peer.call('who')
      expect(answer.status).toBe(400)
      expect(challengeOf(answer).error).toBe('invalid_request')
    },
  )

  it('answers 400 to duplicate Authorization headers [AUTH-007]', async () => {
    const token = await place.token({ scope: 'mcp' })
    const authorization = `authorization: Bearer ${token}`
    expect(await rawPost(place.serving.port, ['host: 127.0.0.1', authorization, authorization], '')).toMatchObject({
      status: 400,
      message: { error: { data: { error: 'invalid_request' } } },
    })
  })
})

describe('insufficient scope', () => {
  eachRevision(httpRevisions, 'answers 403 and names the scopes [AUTH-007] [AUTH-075]', async (revision) => {
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
    'answers 403 for one tool and names all scopes that the call needs [AUTH-007] [AUTH-075] [AUTH-076] [AUTH-077]',
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

  eachRevision(
    httpRevisions,
    'reports insufficient scope in the stream when the response has begun',
    async (revision) => {
      await using peer = await openWith(place.url, revision, await place.token({ scope: 'mcp' }))
      const answer = await peer.call('delete-late', {}, withProgress)
      expect(answer.status).toBe(200)
      expect((await answer.response()).error?.data).toEqual({ error: 'insufficient_scope', scopes: ['files:delete'] })
    },
  )

  eachRevision(httpRevisions, 'grants implied scopes of a larger scope [AUTH-078]', async (revision) => {
    await using peer = await openWith(place.url, revision, await place.token({ scope: 'admin' }))
    expect(JSON.parse((await peer.textOf('who'))!).scopes).toEqual(['admin', 'mcp', 'files'])
  })

  it('does not turn a result that mentions insufficient scope into a 403', async () => {
    await using peer = await openWith(place.url, modern, await place.token({ scope: 'mcp' }))
    const text = '{"error":"insufficient_scope","data":{"error":"insufficient_scope","scopes":["x"]}}'
    const answer = await peer.call('echo', { text })
    expect(answer.status).toBe(200)
    expect((await answer.response()).result?.content?.[0]?.text).toBe(text)
  })

  it('does not refuse a whole batch of 2025-03-26 for one member', async () => {
    await using peer = await openWith(place.url, '2025-03-26', await place.token({ scope: 'mcp' }))
    const answer = await peer.post([
      peer.message('tools/call', { name: 'delete', arguments: {} }),
      peer.message('tools/call', { name: 'echo', arguments: { text: 'x' } }),
    ])
    expect(answer.status).toBe(200)
  })
})

describe('ownership by user', () => {
  eachRevision(
    sessionRevisions,
    'binds a session to its user across tokens, and to no other user [SESS-014]',
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

  it('binds a state handle to its user [SEC-011] [SEC-012]', async () => {
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

  it('lets `principal` override the identity', async () => {
    await using other = await protectedServer({
      principal: ({ auth }) => String((auth as AuthInfo | undefined)?.claims?.team),
    })
    const claims = { team: 'blue' } as object
    await using ann = await openWith(other.url, '2025-11-25', await other.token({ ...claims }))
    await using bob = ann.at(other.url, withToken(await other.token({ sub: 'bob', ...claims })).headers)
    expect(await bob.textOf('session')).toBe(ann.sessionId)
  })

  it('identifies a caller without user or client by the token itself [AUTH-005]', async () => {
    const verify: AuthOptions['verify'] = (token) => (token.startsWith('key-') ? { scopes: [] } : undefined)
    await using other = await protectedServer({ auth: { verify } })
    await using one = await openWith(other.url, '2025-11-25', 'key-1')
    await using two = one.at(other.url, withToken('key-2').headers)
    expect((await two.call('echo')).status).toBe(404)
    expect(await one.textOf('echo', { text: 'x' })).toBe('x')
  })
})

describe('token expiry', () => {
  /** The token `short` is valid for a moment after it was presented, every other one for ever. */
  const verify: AuthOptions['verify'] = (token) => {
    const expiresAt = token === 'short' ? Date.now() / 1000 + 0.3 : undefined
    return { subject: 'ann', scopes: [], expiresAt }
  }
  const short = withToken('short').headers

  eachRevision(
    sessionRevisions,
    'ends a stream when its token expires, and resumes it with another',
    async (revision) => {
      await using other = await protectedServer({ auth: { verify } })
      await using peer = await openWith(other.url, revision, 'long')
      await using listener = peer.at(other.url, short)
      const stream = await listener.get()
      expect(stream.status).toBe(200)
      expect(await stream.ended).toBe('ended')
      await using again = await peer.get()
      expect(again.status).toBe(200)
      expect(other.serving.metrics.streams).toBe(1)
    },
  )

  it('ends a subscription of 2026-07-28 as if the server had closed it', async () => {
    await using other = await protectedServer({ auth: { verify } })
    await using peer = new Peer(other.url, modern, withToken('short'))
    const stream = await peer.listen({ toolsListChanged: true }, 'l')
    expect(await stream.ended).toBe('ended')
    expect(stream.messages.at(-1)).toMatchObject({ id: 'l', result: {} })
    expect(other.serving.metrics).toMatchObject({ streams: 0, calls: 0 })
  })

  eachRevision(httpRevisions, 'completes a call in progress when its token expires', async (revision) => {
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

  it('keeps the SSE stream, whose messages are each checked', async () => {
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

it('authenticates and authorizes every request of 2026-07-28 on its own [LIFE-029] [HTTP-007]', async () => {
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

it('works on a server of 2026-07-28 only [AUTH-006]', async () => {
  await using other = await protectedServer({ server: workshop(onlyModern) })
  await using peer = new Peer(other.url, modern)
  expect((await peer.call('echo')).status).toBe(401)
  await using known = new Peer(other.url, modern, withToken(await other.token()))
  expect(await known.textOf('echo', { text: 'in' })).toBe('in')
})
