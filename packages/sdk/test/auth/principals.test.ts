import type { ServerResponse } from 'node:http'
import { createMcpHandler, type McpHandler, McpServer } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { jwtVerifier } from '../../src/auth/resource/jwt-verifier.ts'
import type { AuthInfo, AuthOptions } from '../../src/auth/resource/options.ts'
import { requireBearerAuth } from '../../src/transport/http/server/auth-middleware.ts'
import type { NodeRequest } from '../../src/transport/http/server/node-request.ts'
import type { HttpOptions } from '../../src/transport/http/server/options.ts'
import { SSEServerTransport } from '../../src/transport/sse/server.ts'
import { listenWith } from '../kit/serve-http.ts'

import { Issuer } from './resource-support.ts'

type User = 'ann' | 'bob'
type Body = Record<string, unknown>
type Send = (request: Request) => Promise<Response>

/** A way to authenticate callers: serves the server and returns how a user calls it. `login` numbers the user's tokens. */
type Shape = (server: McpServer, options?: HttpOptions) => Promise<(user: User, login?: number) => Promise<Send>>

const origin = 'http://127.0.0.1'
const resource = `${origin}/mcp`
const issuer = 'https://as.example'

/** An authentication layer in front that sets `request.auth`; the token is in the Authorization header. */
const foreign =
  (authOf: (user: User, login: number) => unknown, hasToken = true): Shape =>
  async (server, options) => {
    const handler = handlerOf(server, options)
    return async (user, login = 1) =>
      (request) => {
        if (hasToken) request.headers.set('authorization', `Bearer ${user}-${login}`)
        return handler.fetch(request, { auth: authOf(user, login) as AuthInfo })
      }
  }

/** `auth.verify` of the server itself. */
const verified =
  (infoOf: (user: string) => unknown): Shape =>
  async (server, options) => {
    const verify = (token: string) => infoOf(token.replace(/-\d$/, '')) as AuthInfo
    const handler = handlerOf(server, { ...options, auth: { verify, authorizationServers: [issuer], resource } })
    return async (user, login = 1) => withHeader(handler.fetch, `Bearer ${user}-${login}`)
  }

/** `requireBearerAuth` with a verifier of the official SDK's interface. */
const middleware =
  (extraOf: (user: string) => unknown): Shape =>
  async (server, options) => {
    const handler = handlerOf(server, options)
    const verifyAccessToken = async (token: string) => {
      const user = token.replace(/-\d$/, '')
      return { token, clientId: 'app', scopes: [], ...(extraOf(user) as object) }
    }
    const guard = requireBearerAuth({ verifier: { verifyAccessToken } })
    const { url } = await listening((request, response) =>
      guard(request, response, () => handler.node(request, response)),
    )
    return async (user, login = 1) => withHeader(sendTo(url), `Bearer ${user}-${login}`)
  }

/** `jwtVerifier`; without a subject every token is of the client alone. */
const jwt =
  (claimsOf: (user: User) => object): Shape =>
  async (server, options) => {
    const as = await Issuer.start()
    onTestFinished(() => as[Symbol.asyncDispose]())
    const verify = jwtVerifier({ issuer: as.url })
    const handler = handlerOf(server, { ...options, auth: { verify, authorizationServers: [as.url], resource } })
    return async (user, login = 1) => {
      const claims = { sub: undefined, aud: resource, jti: `${user}-${login}`, ...claimsOf(user) }
      return withHeader(handler.fetch, `Bearer ${await as.token(claims)}`)
    }
  }

/** Shapes that name the user: another token of the same user is the same principal. */
const withUser: [string, Shape][] = [
  ['express-jwt: { sub }', foreign((user) => ({ iss: issuer, sub: user, azp: 'app' }))],
  ['{ sub } without a token', foreign((user) => ({ sub: user, azp: 'app' }), false)],
  ['express-basic-auth: { user }', foreign((user) => ({ user, password: 'x' }), false)],
  ['{ user: { id } }', foreign((user) => ({ clientId: 'app', user: { id: user } }))],
  ['{ userId }', foreign((user) => ({ userId: user, orgId: 'o' }), false)],
  ['{ payload: { sub } }', foreign((user, login) => ({ payload: { sub: user }, header: {}, token: `t${login}` }))],
  ['official SDK: { extra: { sub } }', foreign((user) => ({ clientId: 'app', scopes: [], extra: { sub: user } }))],
  [
    'official SDK: { extra: { userId } }',
    foreign((user) => ({ clientId: 'app', extra: { userId: user.charCodeAt(0) } })),
  ],
  ['{ claims: { sub } }', foreign((user) => ({ clientId: 'app', scopes: [], claims: { sub: user } }))],
  ['verify: { subject }', verified((subject) => ({ issuer, subject, clientId: 'app', scopes: [] }))],
  ['verify: { sub }', verified((sub) => ({ sub, clientId: 'app', scopes: [] }))],
  ['verify: { extra: { sub } }', verified((sub) => ({ clientId: 'app', scopes: [], extra: { sub } }))],
  ['requireBearerAuth: { extra: { sub } }', middleware((sub) => ({ extra: { sub } }))],
  ['requireBearerAuth: { sub }', middleware((sub) => ({ sub }))],
  ['requireBearerAuth: { extra: { userId: 7 } }', middleware((user) => ({ extra: { userId: user.charCodeAt(0) } }))],
  ['requireBearerAuth: { user }', middleware((user) => ({ user }))],
  ['jwtVerifier with sub', jwt((sub) => ({ sub }))],
]

/** Shapes that name only the client: every token is a principal of its own. */
const withoutUser: [string, Shape][] = [
  [
    'official SDK: { token, clientId, scopes }',
    foreign((user, n) => ({ token: `${user}${n}`, clientId: 'app' }), false),
  ],
  ['{ clientId } beside a bearer token', foreign(() => ({ clientId: 'app', scopes: [] }))],
  ['{ azp } beside a bearer token', foreign(() => ({ iss: issuer, azp: 'app' }))],
  ['{ token: "[redacted]" } beside a bearer token', foreign(() => ({ token: '[redacted]', clientId: 'app' }))],
  ['an empty sub', foreign(() => ({ iss: issuer, sub: '' }))],
  ['a sub that is too large for a number', foreign((user) => ({ sub: 2 ** 53 + (user === 'ann' ? 0 : 1) }))],
  ['a sub that is no text', foreign(() => ({ sub: {} }))],
  ['verify: { clientId, scopes }', verified(() => ({ clientId: 'app', scopes: [] }))],
  ['verify: { issuer, clientId }', verified(() => ({ issuer, clientId: 'app', scopes: [] }))],
  ['requireBearerAuth: { clientId, scopes }', middleware(() => ({}))],
  ['requireBearerAuth: { extra: {} }', middleware(() => ({ extra: { tenant: 't' } }))],
  ['jwtVerifier without sub', jwt(() => ({}))],
]

describe.each([...withUser, ...withoutUser])('two users of one client, distinguished by %s', (_name, shape) => {
  it('never share a session [SESS-014]', async () => {
    const as = await shape(newServer())
    const [ann, bob] = [await as('ann'), await as('bob')]
    const id = await openSession(ann)
    for (const method of ['POST', 'GET', 'DELETE']) {
      expect((await bob(toRequest({ method: 'ping' }, { 'mcp-session-id': id }, method))).status).toBe(404)
    }
    expect((await ann(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(200)
  })

  it('never share a task [TASK-049, XTASK-039]', async () => {
    const as = await shape(newServer())
    const [ann, bob] = [await as('ann'), await as('bob')]
    const { taskId } = (await call(ann, 'tools/call', { name: 'ask' })).result as { taskId: string }
    const unknown = await call(bob, 'tasks/get', { taskId: 'unknown' })
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel']) {
      expect((await call(bob, method, { taskId, inputResponses: {} })).error).toEqual(unknown.error)
    }
    expect(await listTasks(bob)).toEqual([])
    expect((await call(ann, 'tasks/get', { taskId })).result).toMatchObject({ taskId })
    expect(await listTasks(ann)).toEqual([taskId])
  })

  it('never share the state of a call [SEC-012]', async () => {
    const as = await shape(newServer())
    const [ann, bob] = [await as('ann'), await as('bob')]
    const { requestState, inputRequests } = (await call(ann, 'tools/call', { name: 'confirm' })).result as Body
    const [key] = Object.keys(inputRequests as object)
    const retry = { name: 'confirm', requestState, inputResponses: { [key!]: { action: 'accept', content: {} } } }
    expect((await call(bob, 'tools/call', retry)).error).toBeDefined()
    expect((await call(ann, 'tools/call', retry)).result).toMatchObject({ content: [{ text: 'accept' }] })
  })

  it('never share a rate limit', async () => {
    const as = await shape(newServer(), { rateLimit: { perSecond: 0.001, burst: 1 } })
    const [ann, bob] = [await as('ann'), await as('bob')]
    const statusOf = async (send: Send) => (await send(toRequest({ method: 'ping' }))).status
    expect(await statusOf(ann)).not.toBe(429)
    expect(await statusOf(ann)).toBe(429)
    expect(await statusOf(bob)).not.toBe(429)
  })
})

describe.each(withUser)('a user identified by %s', (_name, shape) => {
  it('keeps sessions and tasks when the token is refreshed [SESS-014]', async () => {
    const as = await shape(newServer())
    const [before, after] = [await as('ann', 1), await as('ann', 2)]
    const id = await openSession(before)
    const { taskId } = (await call(before, 'tools/call', { name: 'ask' })).result as { taskId: string }
    expect((await after(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(200)
    expect((await call(after, 'tasks/get', { taskId })).result).toMatchObject({ taskId })
  })
})

describe('ctx.auth.subject', () => {
  it.each([
    ['subject', { subject: 'ann' }, 'ann'],
    ['sub', { sub: 'ann' }, 'ann'],
    ['extra.sub', { extra: { sub: 'ann' } }, 'ann'],
    ['claims.sub', { claims: { sub: 'ann' } }, 'ann'],
    ['a number', { subject: 7 }, 7],
    ['no user', {}, undefined],
  ])('is what the verifier reports as the user: %s', async (_name, info, subject) => {
    const server = newServer()
    server.registerTool('who', {}, (_args, ctx) => JSON.stringify([ctx.auth?.subject]))
    const as = await verified(() => ({ clientId: 'app', scopes: [], ...info }))(server)
    const { result } = await call(await as('ann'), 'tools/call', { name: 'who' })
    expect(result).toMatchObject({ content: [{ text: JSON.stringify([subject]) }] })
  })
})

describe('users with the same id', () => {
  it.each([
    ['of two issuers', { iss: issuer, sub: '7' }, { iss: 'https://other.example', sub: '7' }],
    ['of two kinds', { sub: '7' }, { user: '7' }],
    ['as text and as number', { userId: '7' }, { userId: 7 }],
    ['that is split in another place', { iss: 'a","subject', sub: 'b' }, { iss: 'a', sub: 'subject","b' }],
    ['as the digest of a token', { sub: 'x' }, { token: 'x' }],
    ['in one of two members', { user: 'app', userId: 'a' }, { user: 'app', userId: 'b' }],
    ['behind one placeholder for tokens, of two clients', { token: '-', clientId: 'a' }, { token: '-', clientId: 'b' }],
    ['with another address behind one token', { token: 'x', email: 'a@x' }, { token: 'x', extra: { email: 'b@x' } }],
  ])('%s never share a session [SESS-014]', async (_how, one, other) => {
    const as = await foreign((user) => (user === 'ann' ? one : other), false)(newServer())
    const [ann, bob] = [await as('ann'), await as('bob')]
    const id = await openSession(ann)
    expect((await bob(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(404)
    expect((await ann(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(200)
  })
})

describe('users with the same id of two issuers', () => {
  const issuerOf = (user: string) => `https://${user}.example`
  const shapes: [string, (user: string) => object][] = [
    ['{ sub, iss }', (user) => ({ sub: '7', iss: issuerOf(user) })],
    ['{ subject, issuer }', (user) => ({ subject: '7', issuer: issuerOf(user) })],
    ['{ userId, iss }', (user) => ({ userId: '7', iss: issuerOf(user) })],
    ['{ payload }', (user) => ({ payload: { sub: '7', iss: issuerOf(user) } })],
    ['{ user }', (user) => ({ user: { sub: '7', iss: issuerOf(user) } })],
    ['{ extra }', (user) => ({ extra: { sub: '7', iss: issuerOf(user) } })],
    ['{ claims }', (user) => ({ claims: { sub: '7', iss: issuerOf(user) } })],
    ['{ extra, claims }', (user) => ({ extra: { org: 'o' }, claims: { sub: '7', iss: issuerOf(user) } })],
    ['{ extra, payload }', (user) => ({ extra: {}, payload: { sub: '7', iss: issuerOf(user) } })],
    ['{ sub } and { payload: { iss } }', (user) => ({ sub: '7', payload: { iss: issuerOf(user) } })],
    ['a URL as issuer', (user) => ({ subject: '7', issuer: new URL(issuerOf(user)) })],
    ['a URL as payload.iss', (user) => ({ payload: { sub: '7', iss: new URL(issuerOf(user)) } })],
  ]
  const paths: [string, (infoOf: (user: string) => object) => Shape][] = [
    ['request.auth', (infoOf) => foreign(infoOf)],
    ['auth.verify', (infoOf) => verified((user) => ({ scopes: [], ...infoOf(user) }))],
    ['requireBearerAuth', middleware],
  ]

  it.each(shapes.flatMap(([name, infoOf]) => paths.map(([path, toShape]) => [name, path, toShape(infoOf)] as const)))(
    'never share a session when %s arrives through %s [SESS-014]',
    async (_name, _path, shape) => {
      const as = await shape(newServer())
      const [ann, again, bob] = [await as('ann', 1), await as('ann', 2), await as('bob')]
      const id = await openSession(ann)
      expect((await bob(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(404)
      expect((await again(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(200)
    },
  )

  it.each(shapes)('exposes the issuer as text in ctx.auth when verify returns %s', async (_name, infoOf) => {
    const server = newServer()
    server.registerTool('issuer', {}, (_args, ctx) => String(typeof ctx.auth?.issuer === 'string' && ctx.auth.issuer))
    const as = await verified((user) => ({ scopes: [], ...infoOf(user) }))(server)
    const { result } = await call(await as('ann'), 'tools/call', { name: 'issuer' })
    expect((result as { content: { text: string }[] }).content[0]!.text).toMatch(/^https:\/\/ann\.example\/?$/)
  })
})

it('distinguishes users by every id that a verifier of requireBearerAuth returns [SESS-014]', async () => {
  const as = await middleware((userId) => ({ user: 'app', payload: { userId } }))(newServer())
  const [ann, bob] = [await as('ann'), await as('bob')]
  const id = await openSession(ann)
  expect((await bob(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(404)
})

describe('a gateway that sends one bearer token for all users', () => {
  it('distinguishes its users by what the gateway reports about them [SESS-014]', async () => {
    const handler = handlerOf(newServer())
    const as = (auth: object) => (request: Request) => {
      request.headers.set('authorization', 'Bearer of-the-gateway')
      return handler.fetch(request, { auth: { clientId: 'app', ...auth } as never })
    }
    for (const [one, other] of [
      [{ token: 'ann' }, { token: 'bob' }],
      [{ email: 'ann@x' }, { email: 'bob@x' }],
      [{ extra: { username: 'ann' } }, { extra: { username: 'bob' } }],
    ] as const) {
      const id = await openSession(as(one))
      expect((await as(other)(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(404)
      expect((await as(one)(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(200)
    }
  })
})

it('does not count a user whose name is an IP address against that address', async () => {
  const { url } = await listening((request, response) => handler.node(request, response))
  const handler = handlerOf(newServer(), {
    rateLimit: { perSecond: 0.001, burst: 1 },
    principal: ({ headers }) => headers['x-user'],
  })
  const statusAs = async (headers: Record<string, string>) =>
    (await sendTo(url)(toRequest({ method: 'ping' }, headers))).status
  for (const address of ['127.0.0.1', '::ffff:127.0.0.1', '::1']) await statusAs({ 'x-user': address })
  expect(await statusAs({ 'x-user': '127.0.0.1' })).toBe(429)
  expect(await statusAs({})).not.toBe(429)
})

describe('callers known only by their client', () => {
  it('treats them as anonymous, hides their tasks from each other and warns the operator [TASK-050]', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {})
    onTestFinished(() => warn.mockRestore())
    const as = await foreign(() => ({ clientId: 'app', scopes: [] }), false)(newServer())
    const [ann, bob] = [await as('ann'), await as('bob')]
    const annTasks = await createLegacyTask(ann)
    expect(annTasks).toHaveLength(1)
    expect(await listTasks(bob)).toEqual([])
    expect(warn.mock.calls.flat().join()).toContain('Set `principal`')
  })

  it('distinguishes them from callers with a user', async () => {
    const as = await foreign((user) => ({ clientId: 'app', ...(user === 'bob' && { sub: 'bob' }) }), false)(newServer())
    const [ann, bob] = [await as('ann'), await as('bob')]
    const id = await openSession(ann)
    expect((await bob(toRequest({ method: 'ping' }, { 'mcp-session-id': id }))).status).toBe(404)
  })
})

describe('`principal`', () => {
  it('treats an empty principal as anonymous instead of as one user [SESS-014]', async () => {
    const handler = handlerOf(newServer(), { principal: ({ headers }) => headers['x-user'] ?? '' })
    const [ann, bob] = [handler.fetch, handler.fetch]
    await createLegacyTask(ann)
    expect(await listTasks(bob)).toEqual([])
  })
})

it('SSEServerTransport accepts messages only from the user who opened the stream [SESS-014]', async () => {
  let transport: SSEServerTransport | undefined
  await using http = await listenWith((request: NodeRequest, response: ServerResponse) => {
    request.auth = { clientId: 'app', scopes: [] }
    if (request.method === 'POST') return void transport?.handlePostMessage(request, response)
    transport = new SSEServerTransport('/messages', response)
    void transport.start()
  })
  const headers = { authorization: 'Bearer ann', accept: 'text/event-stream', 'content-type': 'application/json' }
  const stream = await fetch(http.url, { headers })
  onTestFinished(() => stream.body!.cancel())
  const post = (authorization: string) =>
    fetch(http.url, {
      method: 'POST',
      headers: { ...headers, authorization },
      body: JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }),
    })
  expect((await post('Bearer bob')).status).toBe(404)
  expect((await post('Bearer ann')).status).toBe(202)
})

function newServer(): McpServer {
  const server = new McpServer({ name: 'lab', version: '1.0.0' }, { tasks: tasks() })
  server.registerTool('ask', { execution: { taskSupport: 'required' } }, async (_args, ctx) => {
    return (await ctx.elicit('Sure?')).action
  })
  server.registerTool('confirm', {}, async (_args, ctx) => (await ctx.elicit('Sure?')).action)
  return server
}

function handlerOf(server: McpServer, options: HttpOptions = {}): McpHandler {
  const handler = createMcpHandler(server, options as HttpOptions & { auth?: AuthOptions })
  onTestFinished(() => handler.close(0))
  return handler
}

async function listening(answer: (request: NodeRequest, response: ServerResponse) => void) {
  const http = await listenWith(answer)
  onTestFinished(() => http[Symbol.asyncDispose]())
  return http
}

function sendTo(url: string): Send {
  return async (request) => {
    const body = request.method === 'POST' ? await request.text() : null
    return fetch(url, { method: request.method, headers: request.headers, body })
  }
}

function withHeader(send: Send, authorization: string): Send {
  return (request) => {
    request.headers.set('authorization', authorization)
    return send(request)
  }
}

function toRequest(body: object, headers: Record<string, string> = {}, method = 'POST'): Request {
  return new Request(resource, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    ...(method === 'POST' && { body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }) }),
  })
}

const capabilities = {
  elicitation: { form: {} },
  extensions: { 'io.modelcontextprotocol/tasks': {} },
}

/** One request of 2026-07-28. */
async function call(send: Send, method: string, params: Body): Promise<{ result?: Body; error?: Body }> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'c', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
  }
  const name = String(params.taskId ?? params.name)
  const headers = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': method, 'mcp-name': name }
  const response = await send(toRequest({ method, params: { ...params, _meta } }, headers))
  return (await response.json()) as { result?: Body; error?: Body }
}

async function openSession(send: Send): Promise<string> {
  const params = { protocolVersion: '2025-11-25', capabilities, clientInfo: { name: 'c', version: '1' } }
  const response = await send(toRequest({ method: 'initialize', params }))
  const id = response.headers.get('mcp-session-id')
  if (id === null) throw new Error(`initialize answered ${response.status}: ${await response.text()}`)
  await send(toRequest({ id: undefined, method: 'notifications/initialized' }, { 'mcp-session-id': id }))
  return id
}

/** The ids of the tasks that 2025-11-25 lists in a new session. */
async function listTasks(send: Send): Promise<string[]> {
  return listIn(send, await openSession(send))
}

async function createLegacyTask(send: Send): Promise<string[]> {
  const id = await openSession(send)
  const headers = { 'mcp-session-id': id }
  await send(toRequest({ method: 'tools/call', params: { name: 'ask', task: {} } }, headers))
  return listIn(send, id)
}

async function listIn(send: Send, sessionId: string): Promise<string[]> {
  const response = await send(toRequest({ method: 'tasks/list', params: {} }, { 'mcp-session-id': sessionId }))
  const { result } = (await response.json()) as { result: { tasks: { taskId: string }[] } }
  return result.tasks.map(({ taskId }) => taskId)
}
