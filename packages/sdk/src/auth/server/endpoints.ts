import {
  type AuthRoutes,
  basePathOf,
  type EndpointRequest,
  type EndpointResponse,
  jsonResponse,
  pathOf,
} from '../http.ts'
import { authenticateClient } from './authenticate.ts'
import {
  findRedirectTarget,
  type RedirectTarget,
  readAuthorizationRequest,
  readResource,
  redirectBack,
  redirectUrl,
} from './authorization-request.ts'
import type { Backend } from './backend.ts'
import { OAuthError } from './oauth-error.ts'
import { escapeHtml, Pages, stylesheetPath, stylesheetResponse } from './page.ts'
import { type Params, paramsOf, toScopes } from './params.ts'
import { displayHostOf } from './redirect-uris.ts'
import { clientAuthMethods, grantTypes, readRegistration } from './registration.ts'

/** One endpoint. */
export interface Route {
  readonly methods: readonly string[]
  /** Scripts of every origin may request it, because it does not use cookies. */
  readonly isOpen?: boolean | undefined
  /** Shown in a browser, so errors are HTML pages. */
  readonly isPage?: boolean | undefined
  respond(request: EndpointRequest): EndpointResponse | undefined | Promise<EndpointResponse | undefined>
}

/** The endpoints of an authorization server: metadata, authorization, tokens, registration, revocation. */
export class AuthorizationEndpoints implements AuthRoutes {
  readonly #backend: Backend
  readonly #pages: Pages
  readonly #routes: ReadonlyMap<string, Route>

  /** @param more Further endpoints, by their paths below the base. */
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

  async respond(request: EndpointRequest): Promise<EndpointResponse | undefined> {
    const route = this.#routes.get(pathOf(request))
    if (!route) return { status: 404, headers: {}, body: '' }
    const method = request.method === 'HEAD' && route.methods.includes('HEAD') ? 'GET' : request.method
    if (route.isOpen && method === 'OPTIONS') return preflight(route)
    const response = route.methods.includes(method) ? await this.#handle(route, request) : notAllowed(route)
    return response && route.isOpen ? { ...response, headers: { ...openHeaders, ...response.headers } } : response
  }

  async #handle(route: Route, request: EndpointRequest): Promise<EndpointResponse | undefined> {
    try {
      return await route.respond(request)
    } catch (error) {
      const oauthError = this.#toOAuthError(error)
      return route.isPage ? this.#errorPage(oauthError) : oauthError.toResponse()
    }
  }

  /** @param more HTML. A 401 becomes a 400, because browsers would ask for a password. */
  #errorPage({ message, status, headers }: OAuthError, more = ''): EndpointResponse {
    return status === 401 ? this.#pages.error(message, 400, more) : this.#pages.error(message, status, more, headers)
  }

  #toOAuthError(error: unknown): OAuthError {
    if (error instanceof OAuthError) {
      if (error.cause !== undefined) this.#backend.reportError(error.cause)
      return error
    }
    this.#backend.reportError(error)
    return new OAuthError('server_error', 'Internal server error.', 500)
  }

  #ownRoutes(): Record<string, Route> {
    const { register, revoke } = this.#backend
    return {
      '/authorize': { methods: ['GET', 'POST'], isPage: true, respond: (request) => this.#authorize(request) },
      [stylesheetPath]: { methods: ['GET', 'HEAD'], respond: stylesheetResponse },
      '/token': { methods: ['POST'], isOpen: true, respond: (request) => this.#token(request) },
      ...(register && {
        '/register': { methods: ['POST'], isOpen: true, respond: (request) => this.#register(request) },
      }),
      ...(revoke && { '/revoke': { methods: ['POST'], isOpen: true, respond: (request) => this.#revoke(request) } }),
    }
  }

  async #authorize(request: EndpointRequest): Promise<EndpointResponse | undefined> {
    const backend = this.#backend
    const params = paramsOf(request)
    const target = await findRedirectTarget(params, backend)
    try {
      return await backend.authorize(readAuthorizationRequest(target, params, backend), request)
    } catch (error) {
      return this.#redirectError(target, this.#toOAuthError(error))
    }
  }

  #redirectError(target: RedirectTarget, error: OAuthError): EndpointResponse {
    const { hasIssParameter, issuer, showsErrors } = this.#backend
    const response = { error: error.errorCode, error_description: error.message }
    const iss = hasIssParameter ? issuer : undefined
    if (!showsErrors) return redirectBack(target, response, iss)
    const link = `<a href="${escapeHtml(redirectUrl(target, response, iss))}">Go back to the application</a>`
    const host = `<strong>${escapeHtml(displayHostOf(target.redirectUri))}</strong>`
    return this.#errorPage(error, `<p>${link} at ${host}.</p>`)
  }

  async #token(request: EndpointRequest): Promise<EndpointResponse> {
    const params = paramsOf(request)
    const grantType = params.require('grant_type')
    if (!grantTypes.includes(grantType)) {
      throw new OAuthError('unsupported_grant_type', `The grant_type must be one of ${grantTypes.join(', ')}.`)
    }
    const client = await authenticateClient(request, params, this.#backend)
    const resource = readResource(params, this.#backend)
    if (grantType === 'refresh_token') {
      const scope = params.get('scope')
      const scopes = scope === undefined ? undefined : toScopes(scope)
      const refreshToken = params.require('refresh_token')
      return jsonResponse(await this.#backend.refresh(client, { refreshToken, scopes, resource }))
    }
    const redirectUri = params.get('redirect_uri')
    const codeRequest = { code: params.require('code'), codeVerifier: verifierIn(params), redirectUri, resource }
    return jsonResponse(await this.#backend.exchangeCode(client, codeRequest))
  }

  async #register({ body }: EndpointRequest): Promise<EndpointResponse> {
    return jsonResponse(await this.#backend.register!(readRegistration(body, this.#backend.redirectSchemes)), 201)
  }

  async #revoke(request: EndpointRequest): Promise<EndpointResponse> {
    const params = paramsOf(request)
    const client = await authenticateClient(request, params, this.#backend)
    await this.#backend.revoke!(client, params.require('token'), params.get('token_type_hint'))
    return { status: 200, headers: { 'cache-control': 'no-store' }, body: '' }
  }

  #metadataRoute(): Route {
    const document = toMetadata(this.#backend)
    const headers = { 'cache-control': 'public, max-age=300' }
    return { methods: ['GET', 'HEAD'], isOpen: true, respond: () => jsonResponse(document, 200, headers) }
  }
}

/** Returns the metadata document of an authorization server (RFC 8414). */
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

/** The path of RFC 8414, 3.1, and the root, where clients of 2025-03-26 look. */
function metadataPaths(issuer: string): string[] {
  const wellKnown = '/.well-known/oauth-authorization-server'
  return [...new Set([wellKnown + basePathOf(issuer), wellKnown])]
}

/** RFC 7636, 4.1. */
function verifierIn(params: Params): string {
  const verifier = params.require('code_verifier')
  if (/^[\w.~-]{43,128}$/.test(verifier)) return verifier
  throw new OAuthError('invalid_request', 'The code_verifier must be 43 to 128 characters of A-Z, a-z, 0-9 and -._~.')
}

/** Clients in browsers may request endpoints that do not use cookies, as at most authorization servers. */
const openHeaders = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'www-authenticate' }

function preflight({ methods }: Route): EndpointResponse {
  const headers = {
    'access-control-allow-origin': '*',
    'access-control-allow-methods': methods.join(', '),
    'access-control-allow-headers': 'authorization, content-type, mcp-protocol-version',
    'access-control-max-age': '86400',
  }
  return { status: 204, headers, body: '' }
}

function notAllowed({ methods }: Route): EndpointResponse {
  return { status: 405, headers: { allow: methods.join(', '), 'cache-control': 'no-store' }, body: '' }
}
