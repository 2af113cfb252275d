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

/** A request as it was received, with its secrets, because this is a tool for tests. */
export interface ReceivedRequest {
  /** Undefined if no endpoint has this path. */
  readonly endpoint: EndpointName | undefined
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** From the query or the form. */
  readonly params: Record<string, string>
  readonly body: string
  /** The status of the response, once it is sent. */
  status?: number | undefined
}

export interface TokenDescription {
  /** Default: the first user. */
  sub?: string | undefined
  /** Default none. */
  scope?: string | undefined
  /** The server or servers that it is for. Default: the issuer. */
  resource?: string | readonly string[] | undefined
  /** Default `test-client`. */
  clientId?: string | undefined
  /** The lifetime in seconds; negative for an expired token. Default: that of the options. */
  expiresIn?: number | undefined
  /** The thumbprint of the key that it is bound to (RFC 9449). */
  jkt?: string | undefined
  /** Claims to add or replace. */
  claims?: JWTPayload | undefined
}

/** A running authorization server. */
export interface TestAuthorizationServer {
  readonly issuer: string
  /** All received requests, in order. */
  readonly requests: ReceivedRequest[]
  /** Its public keys. */
  readonly jwks: JSONWebKeySet
  readonly faults: Faults
  /** Adds a client. Missing members are generated. */
  registerClient(client?: ClientMetadata): RegisteredClient
  /** Removes a client. Its ID is unknown from now on. */
  removeClient(clientId: string): void
  /** Creates an access token without a login. */
  issueToken(token?: TokenDescription): Promise<string>
  /**
   * Signs any JWT with the key of this server: an ID token, an ID-JAG, a workload token. `iss`, `iat`, `exp` and `jti`
   * are added unless the claims contain them.
   */
  signJwt(claims: JWTPayload, header?: Partial<JWTHeaderParameters>): Promise<string>
  /** Signs with a new key from now on. The old keys stay published. */
  rotateKeys(): Promise<void>
  /** With `dpopNonce`: changes the nonce that proofs must contain. */
  rotateDpopNonce(): void
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/**
 * Starts an OAuth 2.1 authorization server on 127.0.0.1, for development and tests. It keeps everything in memory and
 * asks for no passwords, so never make it reachable from other machines.
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
  // Other origins must not read the pages that a browser shows.
  const extra = route?.name === 'authorize' ? {} : corsHeaders
  await send({ ...outcome, headers: { ...extra, ...outcome.headers } }, response)
}

/** Clients in browsers can use every endpoint, as at most authorization servers. */
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

/** Ends a request that was too large, or whose sender disconnected. */
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
      const why = cause.code === 'EADDRINUSE' ? `port ${port} is in use. Pass 0 for a free one.` : cause.message
      reject(new McpError('listen-failed', `The authorization server cannot listen: ${why}`, { cause }))
    })
    http.listen(port, '127.0.0.1', () => resolve((http.address() as AddressInfo).port))
  })
}

async function closeAll(http: Server): Promise<void> {
  const closed = new Promise<void>((resolve) => http.close(() => resolve()))
  // Some requests may hang on purpose.
  http.closeAllConnections()
  await closed
}
