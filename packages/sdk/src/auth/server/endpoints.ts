import { type AuthCall, type AuthReply, type AuthRoutes, basePathOf, json, pathOf } from '../http.ts'
import { authenticate } from './authenticate.ts'
import {
  findWayBack,
  readAuthorizationRequest,
  readResource,
  sendBack,
  type WayBack,
  wayBackUrl,
} from './authorization-request.ts'
import type { Backend } from './backend.ts'
import { OAuthError } from './oauth-error.ts'
import { escaped, Pages, stylesheetPath, stylesheetReply } from './page.ts'
import { type Params, paramsOf, toScopes } from './params.ts'
import { placeOf } from './redirect-uris.ts'
import { clientAuthMethods, grantTypes, readRegistration } from './registration.ts'

/** What answers at one path. */
export interface Route {
  readonly methods: readonly string[]
  /** Pages of every origin may read it: it does not look at cookies. */
  readonly isOpen?: boolean | undefined
  /** A person looks at it: what goes wrong is told on a page. */
  readonly isPage?: boolean | undefined
  answer(call: AuthCall): AuthReply | undefined | Promise<AuthReply | undefined>
}

/** The endpoints of an authorization server: metadata, authorization, tokens, registration, revocation. */
export class AuthorizationEndpoints implements AuthRoutes {
  readonly #backend: Backend
  readonly #pages: Pages
  readonly #routes: ReadonlyMap<string, Route>

  /** @param more Further ones, by their paths below the base. */
  constructor(backend: Backend, more: Readonly<Record<string, Route>> = {}) {
    this.#backend = backend
    this.#pages = new Pages(backend.baseUrl)
    const base = basePathOf(backend.baseUrl)
    const below = Object.entries({ ...this.#ownRoutes(), ...more })
    this.#routes = new Map([
      ...below.map(([path, route]) => [base + path, route] as const),
      ...metadataPaths(backend.issuer).map((path) => [path, this.#metadataRoute()] as const),
    ])
  }

  handles(path: string): boolean {
    return this.#routes.has(path)
  }

  async answer(call: AuthCall): Promise<AuthReply | undefined> {
    const route = this.#routes.get(pathOf(call))
    if (!route) return { status: 404, headers: {}, body: '' }
    const method = call.method === 'HEAD' && route.methods.includes('HEAD') ? 'GET' : call.method
    if (route.isOpen && method === 'OPTIONS') return preflight(route)
    const reply = route.methods.includes(method) ? await this.#attempt(route, call) : notAllowed(route)
    return reply && route.isOpen ? { ...reply, headers: { ...openHeaders, ...reply.headers } } : reply
  }

  async #attempt(route: Route, call: AuthCall): Promise<AuthReply | undefined> {
    try {
      return await route.answer(call)
    } catch (error) {
      const refusal = this.#toRefusal(error)
      return route.isPage ? this.#refusalPage(refusal) : refusal.toReply()
    }
  }

  /** @param more HTML. Nobody signs in on this page, so that 401 and its challenge would be out of place. */
  #refusalPage({ message, status, headers }: OAuthError, more = ''): AuthReply {
    return status === 401
      ? this.#pages.error(`${message}.`, 400, more)
      : this.#pages.error(`${message}.`, status, more, headers)
  }

  #toRefusal(error: unknown): OAuthError {
    if (error instanceof OAuthError) {
      if (error.cause !== undefined) this.#backend.reportError(error.cause)
      return error
    }
    this.#backend.reportError(error)
    return new OAuthError('server_error', 'Something went wrong here', 500)
  }

  #ownRoutes(): Record<string, Route> {
    const { register, revoke } = this.#backend
    return {
      '/authorize': { methods: ['GET', 'POST'], isPage: true, answer: (call) => this.#authorize(call) },
      [stylesheetPath]: { methods: ['GET', 'HEAD'], answer: stylesheetReply },
      '/token': { methods: ['POST'], isOpen: true, answer: (call) => this.#token(call) },
      ...(register && { '/register': { methods: ['POST'], isOpen: true, answer: (call) => this.#register(call) } }),
      ...(revoke && { '/revoke': { methods: ['POST'], isOpen: true, answer: (call) => this.#revoke(call) } }),
    }
  }

  async #authorize(call: AuthCall): Promise<AuthReply | undefined> {
    const backend = this.#backend
    const params = paramsOf(call)
    const way = await findWayBack(params, backend)
    try {
      return await backend.authorize(readAuthorizationRequest(way, params, backend), call)
    } catch (error) {
      return this.#refuse(way, this.#toRefusal(error))
    }
  }

  #refuse(way: WayBack, refusal: OAuthError): AuthReply {
    const { hasIssParameter, issuer, showsErrors } = this.#backend
    const answer = { error: refusal.errorCode, error_description: refusal.message }
    const iss = hasIssParameter ? issuer : undefined
    if (!showsErrors) return sendBack(way, answer, iss)
    const link = `<a href="${escaped(wayBackUrl(way, answer, iss))}">Go back to the application</a>`
    const place = `<strong>${escaped(placeOf(way.redirectUri))}</strong>`
    return this.#refusalPage(refusal, `<p>${link}, which says that it is at ${place}.</p>`)
  }

  async #token(call: AuthCall): Promise<AuthReply> {
    const params = paramsOf(call)
    const grantType = params.need('grant_type')
    if (!grantTypes.includes(grantType)) {
      throw new OAuthError('unsupported_grant_type', `grant_type is one of ${grantTypes.join(', ')}`)
    }
    const client = await authenticate(call, params, this.#backend)
    const resource = readResource(params, this.#backend)
    if (grantType === 'refresh_token') {
      const scope = params.get('scope')
      const scopes = scope === undefined ? undefined : toScopes(scope)
      const refreshToken = params.need('refresh_token')
      return json(await this.#backend.refresh(client, { refreshToken, scopes, resource }))
    }
    const redirectUri = params.get('redirect_uri')
    const request = { code: params.need('code'), codeVerifier: verifierIn(params), redirectUri, resource }
    return json(await this.#backend.exchangeCode(client, request))
  }

  async #register({ body }: AuthCall): Promise<AuthReply> {
    return json(await this.#backend.register!(readRegistration(body, this.#backend.redirectSchemes)), 201)
  }

  async #revoke(call: AuthCall): Promise<AuthReply> {
    const params = paramsOf(call)
    const client = await authenticate(call, params, this.#backend)
    await this.#backend.revoke!(client, params.need('token'), params.get('token_type_hint'))
    return { status: 200, headers: { 'cache-control': 'no-store' }, body: '' }
  }

  #metadataRoute(): Route {
    const document = toMetadata(this.#backend)
    const headers = { 'cache-control': 'public, max-age=300' }
    return { methods: ['GET', 'HEAD'], isOpen: true, answer: () => json(document, 200, headers) }
  }
}

/** The document about this authorization server (RFC 8414). */
export function toMetadata(backend: Backend): { issuer: string } & Record<string, unknown> {
  const { issuer, register, revoke, scopesSupported, hasIssParameter, metadata } = backend
  const base = backend.baseUrl.replace(/\/$/, '')
  return {
    issuer,
    authorization_endpoint: `${base}/authorize`,
    token_endpoint: `${base}/token`,
    ...(register && { registration_endpoint: `${base}/register` }),
    ...(revoke && {
      revocation_endpoint: `${base}/revoke`,
      revocation_endpoint_auth_methods_supported: clientAuthMethods,
    }),
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: grantTypes,
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: clientAuthMethods,
    ...(scopesSupported && scopesSupported.length > 0 && { scopes_supported: scopesSupported }),
    ...(hasIssParameter && { authorization_response_iss_parameter_supported: true }),
    ...metadata,
  }
}

/** RFC 8414, 3.1; and the root, where clients of 2025-03-26 look. */
function metadataPaths(issuer: string): string[] {
  const wellKnown = '/.well-known/oauth-authorization-server'
  return [...new Set([wellKnown + basePathOf(issuer), wellKnown])]
}

/** RFC 7636, 4.1. */
function verifierIn(params: Params): string {
  const verifier = params.need('code_verifier')
  if (/^[\w.~-]{43,128}$/.test(verifier)) return verifier
  throw new OAuthError('invalid_request', 'code_verifier has 43 to 128 letters, digits and -._~')
}

/** Clients in browsers may use what needs no cookie, as they may at most authorization servers. */
const openHeaders = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'www-authenticate' }

function preflight({ methods }: Route): AuthReply {
  const headers = {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
    'access-control-max-age': '86400',
  }
  return { status: 204, headers, body: '' }
}

function notAllowed({ methods }: Route): AuthReply {
  return { status: 405, headers: { allow: methods.join(', '), 'cache-control': 'no-store' }, body: '' }
}
