import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { RevisionId } from 'tenon'
import { AuthError, type OAuthOptions, oauth } from 'tenon/auth/client'
import { type Client, connect } from 'tenon/client'
import { createMcpHandler, McpServer } from 'tenon/server'
import type { ReceivedRequest, TestAuthorizationServer } from '../../src/testing/authorization-server/server.ts'

export const redirectUrl = 'http://127.0.0.1:7/callback'

export const wellKnown = '/.well-known/oauth-protected-resource'

/** A request that came to a site. */
export interface Visit {
  readonly method: string
  /** With the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export interface Answer {
  status?: number | undefined
  headers?: Record<string, string | string[]> | undefined
  /** Text as it is; anything else becomes JSON. */
  body?: unknown
}

/** Says what is answered; undefined: nothing is there. */
export type Route = (visit: Visit) => Answer | undefined

type Fallback = (visit: Visit, request: IncomingMessage, response: ServerResponse) => void

/** A small server on this machine that remembers who came. */
export class Site {
  readonly visits: Visit[] = []
  origin = ''
  readonly #server = createServer()

  static async start(route: Route, fallback: Fallback = notFound): Promise<Site> {
    const site = new Site()
    site.#server.on('request', async (request, response) => {
      const visit = await readVisit(request)
      site.visits.push(visit)
      const answer = route(visit)
      if (answer) reply(response, answer)
      else fallback(visit, request, response)
    })
    await new Promise<void>((resolve) => site.#server.listen(0, '127.0.0.1', resolve))
    site.origin = `http://127.0.0.1:${(site.#server.address() as AddressInfo).port}`
    return site
  }

  paths(): string[] {
    return this.visits.map(({ path }) => path)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

export interface GateOptions {
  authorizationServers?: readonly string[] | undefined
  /** Default `/mcp`. */
  path?: string | undefined
  /** Where the metadata of the resource is. Default: at the well-known place with the path. */
  places?: readonly string[] | undefined
}

/** An MCP server that lets in whom the test wants, and says of itself what the test wants. */
export class Gate {
  readonly url: URL
  /** Members of the resource metadata to replace. */
  metadata: Record<string, unknown> = {}
  authorizationServers: readonly string[]
  /** The `WWW-Authenticate` of a 401; undefined for none. */
  challenge: string | string[] | undefined
  /** An answer instead of the server's; undefined lets the request in. Default: whoever has a token is let in. */
  judge: (token: string | undefined, visit: Visit) => Answer | undefined = (token) =>
    token === undefined ? this.refusal : undefined
  readonly site: Site
  readonly #dispose: () => Promise<void>

  static async start(options: GateOptions = {}): Promise<Gate> {
    const { path = '/mcp', places = [wellKnown + path] } = options
    const mcp = new McpServer({ name: 'gate', version: '1.0.0' })
    mcp.registerTool('ping', {}, () => 'pong')
    mcp.registerTool('write', {}, () => 'written')
    const handler = createMcpHandler(mcp)
    const gate: { current?: Gate } = {}
    const site = await Site.start(
      (visit) => gate.current?.answer(visit, places),
      ({ body, path: at }, request, response) => {
        if (at.split('?')[0] !== path) return reply(response, { status: 404 })
        handler.node(request, response, body === '' ? undefined : JSON.parse(body))
      },
    )
    gate.current = new Gate(site, path, places, options.authorizationServers ?? [], async () => {
      await site[Symbol.asyncDispose]()
      await handler.close(0)
    })
    return gate.current
  }

  private constructor(
    site: Site,
    path: string,
    places: readonly string[],
    servers: readonly string[],
    dispose: () => Promise<void>,
  ) {
    this.site = site
    this.url = new URL(path, site.origin)
    this.authorizationServers = servers
    this.challenge = places[0] === undefined ? 'Bearer' : `Bearer resource_metadata="${site.origin}${places[0]}"`
    this.#dispose = dispose
  }

  get refusal(): Answer {
    return { status: 401, headers: this.challenge === undefined ? {} : { 'www-authenticate': this.challenge } }
  }

  /** Requests to the MCP server itself. */
  get calls(): Visit[] {
    return this.site.visits.filter(({ path }) => path.split('?')[0] === this.url.pathname)
  }

  answer(visit: Visit, places: readonly string[]): Answer | undefined {
    if (places.includes(visit.path)) {
      const known = { resource: this.url.href, authorization_servers: this.authorizationServers }
      return { body: { ...known, ...this.metadata } }
    }
    return visit.path.split('?')[0] === this.url.pathname ? this.judge(tokenOf(visit), visit) : undefined
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#dispose()
  }
}

/** Says yes to everything, at once; a person would look at the page first. */
export class User {
  readonly pages: URL[] = []
  /** Changes what the user comes back with. */
  alter: (back: URL) => void | Promise<void> = () => {}

  readonly authorize = async (page: URL): Promise<URL> => {
    this.pages.push(page)
    const { headers, status } = await fetch(page, { redirect: 'manual' })
    const location = headers.get('location')
    if (location === null) throw new Error(`The page does not lead back: HTTP ${status}`)
    const back = new URL(location)
    await this.alter(back)
    return back
  }

  auth(options: OAuthOptions = {}) {
    return oauth({ redirectUrl, authorize: this.authorize, ...options })
  }

  /** The scopes that each page asked for. */
  get scopes(): (string | null)[] {
    return this.pages.map(({ searchParams }) => searchParams.get('scope'))
  }
}

export function join(
  gate: Pick<Gate, 'url'>,
  auth: ReturnType<typeof oauth>,
  revision: RevisionId = '2025-11-25',
): Promise<Client> {
  return connect(gate.url, { revision, auth })
}

/** What an authorization failed with, from under the error of the transport. */
export async function failureOf(work: Promise<unknown>): Promise<AuthError> {
  const reason = await work.then(
    () => undefined,
    (error: unknown) => error,
  )
  for (let error = reason; error instanceof Error; error = error.cause) if (error instanceof AuthError) return error
  throw new Error('It did not fail for want of permission', { cause: reason })
}

export function at(as: TestAuthorizationServer, endpoint: ReceivedRequest['endpoint']): ReceivedRequest[] {
  return as.requests.filter((request) => request.endpoint === endpoint)
}

export function grants(as: TestAuthorizationServer, grant: string): ReceivedRequest[] {
  return at(as, 'token').filter(({ params }) => params.grant_type === grant)
}

export function tokenOf({ headers }: Visit): string | undefined {
  return /^(?:Bearer|DPoP) (.+)$/.exec(headers.authorization ?? '')?.[1]
}

/** Forbids what needs more, as RFC 6750 says. */
export function forbidden(scope: string): Answer {
  return { status: 403, headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` } }
}

export function scopeOf(token: string): string[] {
  const { scope = '' } = JSON.parse(Buffer.from(token.split('.')[1]!, 'base64url').toString())
  return scope.split(' ')
}

async function readVisit(request: IncomingMessage): Promise<Visit> {
  let body = ''
  for await (const chunk of request) body += chunk
  return { method: request.method!, path: request.url!, headers: request.headers, body }
}

function reply(response: ServerResponse, { status = 200, headers = {}, body }: Answer): void {
  const isText = body === undefined || typeof body === 'string'
  response.writeHead(status, { ...(!isText && { 'content-type': 'application/json' }), ...headers })
  response.end(isText ? body : JSON.stringify(body))
}

function notFound(_visit: Visit, _request: IncomingMessage, response: ServerResponse): void {
  reply(response, { status: 404 })
}
