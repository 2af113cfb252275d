import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type OAuthOptions, oauth } from 'tenon/auth/client'
import { type Broker, type BrokerOptions, broker, providers, type UpstreamProvider } from 'tenon/auth/server'
import { connect } from 'tenon/client'
import { createMcpHandler, type HttpOptions, McpServer } from 'tenon/server'
import { type AuthorizationServerOptions, startAuthorizationServer, type TestAuthorizationServer } from 'tenon/testing'
import { expect } from 'vitest'

export const redirectUri = 'http://127.0.0.1:7/callback'
export const secret = 'a secret of more than thirty-two characters'
export const scopes = { 'notes:read': 'Read your notes', 'notes:write': 'Change your notes' }

/** What a verifier is told of a request that is all right. */
export const anyRequest = { method: 'POST', urls: [], header: () => undefined, isFor: () => true }

/** PKCE of a client in the tests. */
export const verifier = 'v'.repeat(43)
export const challenge = Buffer.from(
  await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier)),
).toString('base64url')

export interface Setup {
  broker?: Partial<BrokerOptions>
  upstream?: AuthorizationServerOptions
  http?: Omit<HttpOptions, 'auth'>
}

/** A port with a server on it, before it is known what it serves. */
export async function listen() {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = (_, response) => response.end()
  const http = createServer((request, response) => handle(request, response))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  return {
    origin: `http://127.0.0.1:${(http.address() as AddressInfo).port}`,
    serve: (handler: typeof handle) => {
      handle = handler
    },
    async [Symbol.asyncDispose]() {
      http.closeAllConnections()
      await new Promise((resolve) => http.close(resolve))
    },
  }
}

/** The provider that stands behind a broker, with the one client that the broker is there. */
export async function startProvider(origin: string, options: AuthorizationServerOptions = {}) {
  const as = await startAuthorizationServer({ requireResource: false, registration: false, ...options })
  const client = as.registerClient({
    client_id: 'the-one',
    client_secret: 'the-secret',
    redirect_uris: [`${origin}/callback`],
    token_endpoint_auth_method: 'client_secret_basic',
  })
  const upstream = providers.oidc({
    issuer: as.issuer,
    name: 'Example ID',
    clientId: client.client_id,
    clientSecret: client.client_secret,
  })
  return { as, upstream }
}

/** An MCP server behind a broker, with the provider behind that. */
export class Place {
  readonly origin: string
  readonly as: TestAuthorizationServer
  readonly upstream: UpstreamProvider
  readonly auth: Broker
  readonly errors: Error[]
  readonly #dispose: () => Promise<void>

  static async start(setup: Setup = {}): Promise<Place> {
    const port = await listen()
    const { as, upstream } = await startProvider(port.origin, setup.upstream)
    const errors: Error[] = []
    const auth = broker({
      resource: `${port.origin}/mcp`,
      upstream,
      scopes,
      secrets: [secret],
      onError: (error) => errors.push(error),
      ...setup.broker,
    })
    const handler = createMcpHandler(notes(auth), { ...setup.http, auth })
    port.serve(handler.node)
    return new Place(port.origin, as, upstream, auth, errors, async () => {
      await handler.close(0)
      await port[Symbol.asyncDispose]()
      await as.close()
    })
  }

  private constructor(
    origin: string,
    as: TestAuthorizationServer,
    upstream: UpstreamProvider,
    auth: Broker,
    errors: Error[],
    dispose: () => Promise<void>,
  ) {
    this.origin = origin
    this.as = as
    this.upstream = upstream
    this.auth = auth
    this.errors = errors
    this.#dispose = dispose
  }

  get url(): string {
    return `${this.origin}/mcp`
  }

  async register(metadata: object = {}): Promise<{ client_id: string; client_secret: string }> {
    const answer = await this.post('/register', {
      client_name: 'Agent',
      redirect_uris: [redirectUri],
      token_endpoint_auth_method: 'none',
      grant_types: ['authorization_code', 'refresh_token'],
      ...metadata,
    })
    expect(answer.status).toBe(201)
    return answer.body
  }

  /** The page that a client sends its user to. */
  page(clientId: string, params: Record<string, string | undefined> = {}): URL {
    const url = new URL('/authorize', this.origin)
    const all: Record<string, string | undefined> = {
      response_type: 'code',
      client_id: clientId,
      redirect_uri: redirectUri,
      code_challenge: challenge,
      code_challenge_method: 'S256',
      state: 'client-state',
      scope: 'notes:read',
      resource: this.url,
      ...params,
    }
    for (const [name, value] of Object.entries(all)) if (value !== undefined) url.searchParams.set(name, value)
    return url
  }

  /** What a client that registered and whose user agreed comes back with. */
  async authorize(params: Record<string, string | undefined> = {}, browser = new Browser()) {
    const { client_id: clientId } = await this.register()
    const back = await browser.agree(this.page(clientId, params))
    return { clientId, back, code: back.searchParams.get('code')! }
  }

  redeem(clientId: string, code: string, more: Record<string, string> = {}) {
    return this.token({ grant_type: 'authorization_code', client_id: clientId, code, code_verifier: verifier, ...more })
  }

  refresh(clientId: string, token: string, more: Record<string, string> = {}) {
    return this.token({ grant_type: 'refresh_token', client_id: clientId, refresh_token: token, ...more })
  }

  /** Tokens of somebody who signed in. */
  async signIn(params: Record<string, string | undefined> = {}) {
    const { clientId, code } = await this.authorize(params)
    const { status, body } = await this.redeem(clientId, code)
    expect(status).toBe(200)
    return { clientId, code, access: body.access_token as string, refresh: body.refresh_token as string, body }
  }

  token(form: Record<string, string>, headers: Record<string, string> = {}) {
    return this.post('/token', new URLSearchParams(form), headers)
  }

  async post(path: string, body: object, headers: Record<string, string> = {}) {
    const isForm = body instanceof URLSearchParams
    const response = await fetch(this.origin + path, {
      method: 'POST',
      headers: { ...(!isForm && { 'content-type': 'application/json' }), ...headers },
      body: isForm ? body : JSON.stringify(body),
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, body: text === '' ? undefined : JSON.parse(text) }
  }

  /** The status of a call with a token. */
  async call(token: string): Promise<number> {
    const response = await fetch(this.url, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${token}`,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'initialize',
        params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
      }),
    })
    await response.text()
    return response.status
  }

  connect(browser: Browser, options: OAuthOptions = {}) {
    const authorize = (page: URL) => browser.agree(page)
    return connect(this.url, { auth: oauth({ redirectUrl: redirectUri, clientName: 'Agent', authorize, ...options }) })
  }

  tokenRequests(grant: string) {
    return this.as.requests.filter(({ endpoint, params }) => endpoint === 'token' && params.grant_type === grant)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#dispose()
  }
}

/** A page, as a browser has it. */
export interface Shown {
  readonly url: URL
  readonly status: number
  readonly headers: Headers
  readonly html: string
}

/** As much of a browser as a login needs: cookies, redirects, forms. It stops where a client takes over. */
export class Browser {
  readonly cookies = new Map<string, string>()
  readonly setCookies: string[] = []
  readonly visited: string[] = []

  /** Follows redirects; gives the page that they end at, or the place of the client. */
  async open(target: string | URL, init: RequestInit = {}): Promise<Shown> {
    let url = new URL(target)
    let request = init
    for (let hops = 0; hops < 10; hops++) {
      this.visited.push(`${url.origin}${url.pathname}`)
      if (url.href.startsWith(redirectUri) || !/^https?:$/.test(url.protocol)) return shownAt(url)
      const response = await fetch(url, { ...request, redirect: 'manual', headers: this.#headers(url, request) })
      this.#keep(url, response)
      const location = response.headers.get('location')
      if (location === null) {
        return { url, status: response.status, headers: response.headers, html: await response.text() }
      }
      url = new URL(location, url)
      request = {}
    }
    throw new Error('Too many redirects')
  }

  /** Presses a button of the consent page. */
  answer(page: Shown, decision: 'allow' | 'deny', headers: Record<string, string> = {}): Promise<Shown> {
    const [, action = ''] = /<form method="post" action="([^"]*)"/.exec(page.html) ?? []
    const body = new URLSearchParams({ form: formIn(page), decision })
    return this.open(new URL(action, page.url), {
      method: 'POST',
      body,
      // What Chrome sends from a page without referrer.
      headers: { origin: 'null', 'sec-fetch-site': 'same-origin', ...headers },
    })
  }

  /** Says yes to everything, and gives the place of the client where it ends. */
  async agree(target: string | URL): Promise<URL> {
    const page = await this.open(target)
    if (page.status !== 200 || !page.html.includes('value="allow"')) return page.url
    const { url } = await this.answer(page, 'allow')
    return url
  }

  #headers(url: URL, { headers }: RequestInit): Record<string, string> {
    const own = [...this.cookies].filter(([key]) => key.startsWith(`${url.host} `))
    const cookie = own.map(([key, value]) => `${key.split(' ')[1]}=${value}`).join('; ')
    return { ...(headers as Record<string, string>), ...(cookie !== '' && { cookie }) }
  }

  #keep(url: URL, response: Response): void {
    for (const line of response.headers.getSetCookie()) {
      this.setCookies.push(line)
      const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!
      if (/max-age=0/i.test(line)) this.cookies.delete(`${url.host} ${name}`)
      else this.cookies.set(`${url.host} ${name}`, value!)
    }
  }
}

export function formIn({ html }: Shown): string {
  return /name="form" value="([^"]*)"/.exec(html)?.[1] ?? ''
}

/** Where the link on a page that says what is wrong leads. */
export function wayBackOn({ html }: Shown): URL {
  return new URL(/<a href="([^"]*)"/.exec(html)![1]!.replaceAll('&amp;', '&'))
}

/** What a page says, without its markup. */
export function textOf({ html }: Shown): string {
  return html
    .replace(/<[^>]*>/g, ' ')
    .replace(/\s+/g, ' ')
    .trim()
}

function shownAt(url: URL): Shown {
  return { url, status: 0, headers: new Headers(), html: '' }
}

function notes(auth: Broker): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' })
  server.registerTool('whoami', {}, (_, ctx) => `${ctx.auth?.subject} ${ctx.auth?.scopes.join('+')}`)
  server.registerTool('who', {}, (_, ctx) => JSON.stringify(ctx.auth))
  server.registerTool('upstream', {}, (_, ctx) => auth.upstreamToken(ctx.auth))
  return server
}
