import { createHash, timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createMcpHandler, type Server } from 'tenon/server'
import { type ListenAddress, listen } from '../listen.ts'

/** Options of `serveEndpoint`. */
export interface EndpointOptions extends ListenAddress {
  /** The token that every request must have; undefined if everyone may call. */
  readonly token: string | undefined
  /** Names under which clients reach this machine, besides its addresses and `localhost`. */
  readonly allowedHosts: readonly string[]
}

/** A running endpoint. */
export interface HttpEndpoint {
  readonly url: string
  /** Finishes running calls, and stops listening. */
  close(): Promise<void>
}

/** Serves a server over HTTP, to callers with the token. */
export async function serveEndpoint(server: Server, options: EndpointOptions): Promise<HttpEndpoint> {
  const { host, token, allowedHosts } = options
  const handler = createMcpHandler(
    server,
    allowedHosts.length === 0 ? {} : { allowedHosts: [...ownHosts, ...allowedHosts] },
  )
  const isAllowed = token === undefined ? () => true : tokenCheck(token)
  const http = createServer({ headersTimeout, requestTimeout }, (request, response) => {
    if (request.url?.split('?')[0] !== path) refuse(response, 404, `Not found: the MCP endpoint is ${path}`)
    else if (!isAllowed(request)) refuse(response, 401, 'A token is required: send "Authorization: Bearer <token>"')
    else handler.node(request, response)
  })
  await listen(http, options)
  const { port } = http.address() as AddressInfo
  return {
    url: `http://${nameOf(host)}:${port}${path}`,
    close: async () => {
      http.close()
      await handler.close(graceMs)
      http.closeAllConnections()
    },
  }
}

const path = '/mcp'
const ownHosts = ['localhost', '127.0.0.1', '[::1]']
/** Deadlines for slow senders. */
const headersTimeout = 15_000
const requestTimeout = 30_000
/** How long running calls may go on after the end was asked for. */
const graceMs = 5_000

/** Compares digests, which takes the same time for every token. */
function tokenCheck(token: string): (request: IncomingMessage) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  const expected = digest(token)
  return ({ headers: { authorization = '' } }) => {
    const given = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
    return given !== undefined && timingSafeEqual(digest(given), expected)
  }
}

function refuse(response: ServerResponse, status: number, message: string): void {
  const challenge = status === 401 ? { 'www-authenticate': 'Bearer' } : {}
  response.writeHead(status, { 'content-type': 'application/json', ...challenge })
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }))
}

/** A wildcard address can be listened on, but not connected to. */
function nameOf(host: string): string {
  if (host === '0.0.0.0' || host === '::') return 'localhost'
  return host.includes(':') ? `[${host}]` : host
}
