import type { TracedHttpRequest, TracedHttpResponse, TraceEvent } from 'tenon/client'
import { isObject, type JsonObject } from 'tenon/internal'
import { textOf } from '../contract/json.ts'
import type { AuthStep } from './protocol.ts'

/** What a request says about the authorization of a server: what was expected, and what was found. */
export type AuthFinding = Pick<AuthStep, 'title' | 'outcome' | 'expected' | 'found' | 'http' | 'issuer' | 'scope'>

/**
 * Explains the authorization of a server. Pass every event of `trace` to the function that it returns, in order. Findings
 * contain no secrets.
 */
export function createAuthExplainer(server: URL): (event: TraceEvent) => AuthFinding | undefined {
  const explainer = new AuthExplainer(server)
  return (event) => explainer.explain(event)
}

class AuthExplainer {
  readonly #server: string
  readonly #requests = new Map<string, TracedHttpRequest>()
  #authorizationServers: readonly string[] = []
  #registrationEndpoint: string | undefined
  #isAccepted = false

  constructor({ origin, pathname }: URL) {
    this.#server = origin + pathname
  }

  explain(event: TraceEvent): AuthFinding | undefined {
    switch (event.type) {
      case 'http-request':
        this.#requests.set(event.http, event)
        return undefined
      case 'http-response': {
        const request = this.#requests.get(event.http)
        if (!request) return undefined
        const finding = event.purpose === 'auth' ? this.#authResponse(request, event) : this.#response(request, event)
        return finding && { ...finding, http: event.http }
      }
      case 'http-end': {
        const request = this.#requests.get(event.http)
        this.#requests.delete(event.http)
        if (!request || event.purpose !== 'auth' || event.outcome !== 'failed') return undefined
        const title = this.#titleOf(request)
        const found = `no response from ${withoutQuery(request.url)}: ${event.error ?? 'failed'}`
        return { title, outcome: 'failed', expected: 'an HTTP response', found, http: event.http }
      }
      default:
        return undefined
    }
  }

  /** A response of the MCP server itself. */
  #response(request: TracedHttpRequest, { status, headers }: TracedHttpResponse): AuthFinding | undefined {
    const hasToken = request.headers.authorization !== undefined
    if (status === 401) {
      this.#isAccepted = false
      return hasToken ? rejected(headers) : challenged(headers)
    }
    if (status === 403) return forbidden(headers)
    if (!hasToken || this.#isAccepted || status >= 400) return undefined
    this.#isAccepted = true
    return { title: 'Token', outcome: 'ok', expected: 'the server accepts the token', found: `HTTP ${status}` }
  }

  #authResponse(request: TracedHttpRequest, response: TracedHttpResponse): AuthFinding {
    const title = this.#titleOf(request)
    const path = new URL(request.url).pathname
    if (path.includes(resourcePath)) return { title, ...this.#resourceMetadata(request, response) }
    if (isServerMetadata(path)) return { title, ...this.#serverMetadata(request, response) }
    if (request.url === this.#registrationEndpoint) return { title, ...registered(response) }
    if (isTokenRequest(request)) return { title, ...issued(response) }
    const found = `HTTP ${response.status} from ${withoutQuery(request.url)}`
    return { title, outcome: response.status < 400 ? 'ok' : 'failed', expected: 'HTTP 200', found }
  }

  #titleOf(request: TracedHttpRequest): string {
    const { pathname } = new URL(request.url)
    if (pathname.includes(resourcePath)) return 'Protected resource metadata'
    if (isServerMetadata(pathname)) return 'Authorization server metadata'
    if (request.url === this.#registrationEndpoint) return 'Client registration'
    if (!isTokenRequest(request)) return `${request.method} ${withoutQuery(request.url)}`
    return (request.body ?? '').includes('grant_type=refresh_token') ? 'Token refresh' : 'Token request'
  }

  /** RFC 9728. */
  #resourceMetadata(request: TracedHttpRequest, response: TracedHttpResponse): Judgement {
    const expected = `"resource": "${this.#server}" and at least one of "authorization_servers"`
    const document = jsonOf(response)
    if (!document) return missing(expected, request, response)
    const { resource, authorization_servers: servers } = document
    this.#authorizationServers = Array.isArray(servers) ? servers.filter((server) => typeof server === 'string') : []
    const problems = [
      ...(isSameUrl(resource, this.#server) ? [] : [`"resource" is ${show(resource)}`]),
      ...(this.#authorizationServers.length > 0 ? [] : ['"authorization_servers" is missing or empty']),
    ]
    const [issuer] = this.#authorizationServers
    const judgement = judge(expected, problems, `authorization server ${this.#authorizationServers.join(', ')}`)
    return { ...judgement, ...(judgement.outcome === 'ok' && { issuer }) }
  }

  /** RFC 8414 and OpenID Connect Discovery. */
  #serverMetadata(request: TracedHttpRequest, response: TracedHttpResponse): Judgement {
    const issuers = this.#authorizationServers
    const expected = `"issuer": ${issuers.map((issuer) => `"${issuer}"`).join(' or ') || 'the URL that was asked'}, endpoints, and PKCE with S256`
    const document = jsonOf(response)
    if (!document) return missing(expected, request, response)
    const { issuer, code_challenge_methods_supported: methods } = document
    this.#registrationEndpoint = textOf(document.registration_endpoint)
    const problems = [
      ...(issuers.length === 0 || issuers.some((known) => isSameUrl(issuer, known))
        ? []
        : [`"issuer" is ${show(issuer)}`]),
      ...['authorization_endpoint', 'token_endpoint']
        .filter((name) => !textOf(document[name]))
        .map((name) => `"${name}" is missing`),
      ...(Array.isArray(methods) && methods.includes('S256')
        ? []
        : [`"code_challenge_methods_supported" is ${show(methods)}`]),
    ]
    const canRegister =
      this.#registrationEndpoint !== undefined || document.client_id_metadata_document_supported === true
    const judged = judge(expected, problems, `issuer ${show(issuer)}`)
    const judgement = { ...judged, ...(judged.outcome === 'ok' && { issuer: textOf(issuer) }) }
    if (judgement.outcome !== 'ok' || canRegister) return judgement
    const found = `${judgement.found}; clients cannot register, so you need a client id from its operator`
    return { ...judgement, outcome: 'warning', found }
  }
}

type Judgement = Pick<AuthFinding, 'outcome' | 'expected' | 'found' | 'issuer'>

const resourcePath = '/.well-known/oauth-protected-resource'

function isServerMetadata(path: string): boolean {
  return path.includes('/.well-known/oauth-authorization-server') || path.includes('/.well-known/openid-configuration')
}

function isTokenRequest({ method, body }: TracedHttpRequest): boolean {
  return method === 'POST' && /(^|&)grant_type=/.test(body ?? '')
}

/** 2025-11-25 authorization, protected resource metadata discovery. */
function challenged(headers: TracedHttpResponse['headers']): AuthFinding {
  const title = 'Authorization required'
  const expected = 'HTTP 401 with WWW-Authenticate: Bearer resource_metadata="..."'
  const challenge = headers['www-authenticate']
  if (challenge === undefined)
    return {
      title,
      outcome: 'warning',
      expected,
      found: 'HTTP 401 without WWW-Authenticate. Well-known URLs are tried',
    }
  const outcome = /resource_metadata=/i.test(challenge) ? 'ok' : 'warning'
  const scope = /[\s,]scope="([^"]*)"/i.exec(challenge)?.[1]
  const found = `HTTP 401, WWW-Authenticate: ${cut(challenge)}`
  return { title, outcome, expected, found, ...(scope && { scope: cut(scope) }) }
}

function rejected(headers: TracedHttpResponse['headers']): AuthFinding {
  const said = headers['www-authenticate']
  const found = `HTTP 401${said === undefined ? '' : `, WWW-Authenticate: ${cut(said)}`}`
  return { title: 'Token', outcome: 'failed', expected: 'the server accepts the token', found }
}

function forbidden(headers: TracedHttpResponse['headers']): AuthFinding {
  const said = headers['www-authenticate']
  const expected = 'a token with the scopes that the request needs'
  const found = said === undefined ? 'HTTP 403 without WWW-Authenticate' : `HTTP 403, WWW-Authenticate: ${cut(said)}`
  return { title: 'Permission', outcome: 'failed', expected, found }
}

/** RFC 7591. */
function registered(response: TracedHttpResponse): Judgement {
  const expected = 'HTTP 201 with "client_id"'
  const document = jsonOf(response, 201) ?? jsonOf(response)
  if (!document) return { outcome: 'failed', expected, found: failureOf(response) }
  const clientId = textOf(document.client_id)
  return judge(expected, clientId === undefined ? ['"client_id" is missing'] : [], `client id ${clientId}`)
}

function issued(response: TracedHttpResponse): Judgement {
  const expected = 'HTTP 200 with "access_token" and "token_type"'
  const document = jsonOf(response)
  if (!document) return { outcome: 'failed', expected, found: failureOf(response) }
  const type = textOf(document.token_type)
  const problems = ['access_token', 'token_type']
    .filter((name) => !textOf(document[name]))
    .map((name) => `"${name}" is missing`)
  const details = [
    `a ${type} token`,
    ...(typeof document.expires_in === 'number' ? [`valid for ${document.expires_in} s`] : []),
    ...(textOf(document.scope) === undefined ? [] : [`scope ${show(document.scope)}`]),
    textOf(document.refresh_token) === undefined ? 'no refresh token' : 'with a refresh token',
  ]
  return judge(expected, problems, details.join(', '))
}

function judge(expected: string, problems: readonly string[], found: string): Judgement {
  if (problems.length === 0) return { outcome: 'ok', expected, found: cut(found) }
  return { outcome: 'failed', expected, found: cut(problems.join('; ')) }
}

/** Several URLs are tried, so a missing document is not a failure yet. */
function missing(expected: string, request: TracedHttpRequest, response: TracedHttpResponse): Judgement {
  const outcome = response.status >= 500 || response.status === 200 ? 'failed' : 'warning'
  return { outcome, expected, found: `${failureOf(response)} from ${withoutQuery(request.url)}` }
}

function failureOf(response: TracedHttpResponse): string {
  const { error, error_description: description } = parse(response.body) ?? {}
  const said = [textOf(error), textOf(description)].filter((part) => part !== undefined).join(': ')
  const what = response.status === 200 && !said ? ', but not a JSON object' : said && `: ${cut(said)}`
  return `HTTP ${response.status}${what}`
}

function jsonOf({ status, body }: TracedHttpResponse, expected = 200): JsonObject | undefined {
  return status === expected ? parse(body) : undefined
}

function parse(body: string | undefined): JsonObject | undefined {
  try {
    const value: unknown = JSON.parse(body ?? '')
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** A slash after a bare origin makes no difference. */
function isSameUrl(value: unknown, other: string): boolean {
  if (typeof value !== 'string' || !URL.canParse(value) || !URL.canParse(other)) return false
  return value === other || new URL(value).href === new URL(other).href
}

/** The query may contain secrets. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url)
  return origin + pathname
}

function show(value: unknown): string {
  return value === undefined ? 'missing' : cut(JSON.stringify(value))
}

const maxChars = 500

function cut(text: string): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}…`
}
