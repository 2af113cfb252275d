import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http'
import type { AddressInfo } from 'node:net'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { JSONWebKeySet, JWTHeaderParameters, JWTPayload } from 'jose'
import type { EndpointResponse } from '../../auth/http.ts'
import { OAuthError } from '../../auth/server/oauth-error.ts'
import { toScopes } from '../../auth/server/params.ts'
import { McpError } from '../../errors.ts'
import { random } from '../../util/random.ts'
import { AuthorizationRequests } from './authorization-requests.ts'
import { authorize } from './authorize.ts'
import { type ClientMetadata, Clients, type RegisteredClient } from './clients.ts'
import { Proofs } from './dpop.ts'
import { Faults, type Outcome, withFault } from './faults.ts'
import { type Call, readCall } from './http.ts'
import { introspect } from './introspect.ts'
import { Keys } from './keys.ts'
import { jwks, metadata, metadataPaths } from './metadata.ts'
import { type AuthorizationServerOptions, resolveOptions, type Settings } from './options.ts'
import { register } from './register.ts'
import { revoke } from './revoke.ts'
import type { Endpoint, EndpointName, State } from './state.ts'
import { token } from './token.ts'
import { Tokens } from './tokens.ts'

/** A request that came, as it came: with its secrets, because this is a tool for tests. */
export interface ReceivedRequest {
  /** Undefined where nothing is served. */
  readonly endpoint: EndpointName | undefined
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** From the query or the form. */
  readonly params: Record<string, string>
  readonly body: string
  /** Of the answer, once there is one. */
  status?: number | undefined
}

export interface TokenDescription {
  /** Default: the first user. */
  sub?: string | undefined
  /** Default none. */
  scope?: string | undefined
  /** The server, or servers, that it is for. Default: the issuer. */
  resource?: string | readonly string[] | undefined
  /** Default `test-client`. */
  clientId?: string | undefined
  /** In seconds; less than nothing for a token whose time is over. Default that of the options. */
  expiresIn?: number | undefined
  /** The thumbprint of the key that it is bound to (RFC 9449). */
  jkt?: string | undefined
  /** Claims to add, or to replace. */
  claims?: JWTPayload | undefined
}

/** An authorization server that runs. */
export interface TestAuthorizationServer {
  readonly issuer: string
  /** Everything that came, in order. */
  readonly requests: ReceivedRequest[]
  /** The public half of its keys. */
  readonly jwks: JSONWebKeySet
  readonly faults: Faults
  /** Adds a client; what is not said is made up. */
  registerClient(client?: ClientMetadata): RegisteredClient
  /** Forgets a client: from now on its id is unknown. */
  removeClient(clientId: string): void
  /** An access token, without a login. */
  issueToken(token?: TokenDescription): Promise<string>
  /**
   * Any JWT at all, signed by this server: an ID token, an ID-JAG, a workload's. `iss`, `iat`, `exp` and `jti` are there unless
   * the claims have others.
   */
  signJwt(claims: JWTPayload, header?: Partial<JWTHeaderParameters>): Promise<string>
  /** Signs with a new key from now on; the keys so far stay published. */
  rotateKeys(): Promise<void>
  /** With `dpopNonce`: proofs need another one from now on. */
  rotateDpopNonce(): void
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts an OAuth 2.1 authorization server on 127.0.0.1, for development and tests. It keeps everything in memory and asks
 * for no passwords: never let others reach it.
 *
 * @example
 * await using as = await startAuthorizationServer({ login: 'page', users: ['alice', 'bob'] })
 * console.log(as.issuer) // http://127.0.0.1:41234
 */
export async function startAuthorizationServer(
  options: AuthorizationServerOptions = {},
): Promise<TestAuthorizationServer> {
  const settings = resolveOptions(options)
  const keys = await Keys.create(settings.algorithm)
  const http = createServer()
  const port = await listen(http, settings.port)
  const state = createState(settings, `http://127.0.0.1:${port}${settings.issuerPath}`, keys)
  const requests: ReceivedRequest[] = []
  const routes = routesOf(state)
  http.on('request', (request, response) => {
    serve(request, response, routes, state, requests).catch((error) => giveUp(error, response))
  })
  const close = () => closeAll(http)
  return {
    issuer: state.issuer,
    requests,
    get jwks() {
      return keys.jwks
    },
    faults: state.faults,
    registerClient: (client = {}) => state.clients.add(client),
    removeClient: (clientId) => state.clients.remove(clientId),
    issueToken: (description = {}) => issueToken(description, state),
    signJwt: (claims, header) => signJwt(claims, header, state),
    rotateKeys: () => keys.rotate(),
    rotateDpopNonce: () => state.proofs.rotateNonce(),
    close,
    [Symbol.asyncDispose]: close,
  }
}

interface Route {
  readonly name: EndpointName
  readonly methods: readonly string[]
  readonly endpoint: Endpoint
}

function createState(settings: Settings, issuer: string, keys: Keys): State {
  const faults = new Faults()
  return {
    settings,
    issuer,
    keys,
    faults,
    clients: new Clients(settings),
    requests: new AuthorizationRequests(settings),
    tokens: new Tokens(settings, issuer, keys, faults),
    proofs: new Proofs(settings),
    usedAssertions: new Set(),
  }
}

function routesOf(state: State): ReadonlyMap<string, Route> {
  const { issuerPath, registration } = state.settings
  const routes: Route[] = [
    { name: 'jwks', methods: ['GET'], endpoint: jwks },
    { name: 'authorize', methods: ['GET', 'POST'], endpoint: authorize },
    { name: 'token', methods: ['POST'], endpoint: token },
    { name: 'introspect', methods: ['POST'], endpoint: introspect },
    { name: 'revoke', methods: ['POST'], endpoint: revoke },
    ...(registration ? [{ name: 'register', methods: ['POST'], endpoint: register } as const] : []),
  ]
  const document: Route = { name: 'metadata', methods: ['GET'], endpoint: metadata }
  return new Map([
    ...routes.map((route) => [`${issuerPath}/${route.name}`, route] as const),
    ...metadataPaths(state).map((path) => [path, document] as const),
  ])
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  routes: ReadonlyMap<string, Route>,
  state: State,
  requests: ReceivedRequest[],
): Promise<void> {
  const call = await readCall(request)
  const route = routes.get(call.path)
  if (call.method === 'OPTIONS') return send({ status: 204, headers: corsHeaders, body: '' }, response)
  const { method, url, headers, body } = call
  const received: ReceivedRequest = {
    endpoint: route?.name,
    method,
    url,
    headers,
    params: call.params.toRecord(),
    body,
  }
  requests.push(received)
  const fault = route && state.faults.take(route.name)
  const outcome = await withFault(fault, () => answer(call, route, state))
  if (outcome === 'hang') return
  if (outcome === 'reset') return void request.socket.resetAndDestroy()
  received.status = outcome.status
  // Pages that a browser shows are nobody else's to read.
  const extra = route?.name === 'authorize' ? {} : corsHeaders
  await send({ ...outcome, headers: { ...extra, ...outcome.headers } }, response)
}

/** Clients in browsers may use every endpoint, as they may at most authorization servers. */
const corsHeaders = {
  'access-control-allow-origin': '*',
  'access-control-allow-headers': 'authorization, content-type, dpop, mcp-protocol-version',
  'access-control-allow-methods': 'GET, POST',
  'access-control-expose-headers': 'dpop-nonce, www-authenticate',
}

async function answer(call: Call, route: Route | undefined, state: State): Promise<EndpointResponse> {
  if (!route) return { status: 404, headers: {}, body: '' }
  if (!route.methods.includes(call.method)) {
    return { status: 405, headers: { allow: route.methods.join(', ') }, body: '' }
  }
  try {
    return await route.endpoint(call, state)
  } catch (error) {
    if (error instanceof OAuthError) return error.toResponse()
    return { status: 500, headers: { 'content-type': 'text/plain' }, body: String(error) }
  }
}

/** The request was too large, or whoever sent it went away. */
function giveUp(error: unknown, response: ServerResponse): void {
  if (error instanceof OAuthError && !response.headersSent) void send(error.toResponse(), response)
  else response.destroy()
}

async function send({ status, headers, body }: Exclude<Outcome, string>, response: ServerResponse): Promise<void> {
  response.writeHead(status, headers)
  if (typeof body === 'string') response.end(body)
  else await pipeline(Readable.from(body), response)
}

function issueToken(description: TokenDescription, { settings, tokens }: State): Promise<string> {
  const { sub = settings.users[0]!, scope, resource = [], clientId = 'test-client', ...rest } = description
  const grant = { sub, clientId, scope: toScopes(scope), resource: [resource].flat() }
  return tokens.issueAccessToken({ grant, isRevoked: false }, { ...grant, ...rest })
}

function signJwt(claims: JWTPayload, header: Partial<JWTHeaderParameters> | undefined, state: State): Promise<string> {
  const iat = state.tokens.now
  const exp = iat + state.settings.accessTokenSeconds
  return state.keys.sign({ iss: state.issuer, iat, exp, jti: random.uuid(), ...claims }, header)
}

function listen(http: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    http.once('error', (cause: NodeJS.ErrnoException) => {
      const why = cause.code === 'EADDRINUSE' ? `port ${port} is taken; 0 is any that is free` : cause.message
      reject(new McpError('listen-failed', `The authorization server cannot listen: ${why}`, { cause }))
    })
    http.listen(port, '127.0.0.1', () => resolve((http.address() as AddressInfo).port))
  })
}

async function closeAll(http: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => http.close(() => resolve()))
  // Some may be left hanging on purpose.
  http.closeAllConnections()
  await closed
}
