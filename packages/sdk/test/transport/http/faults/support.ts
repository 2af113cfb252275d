import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { fileURLToPath } from 'node:url'
import { metaKeys, type RevisionId } from 'tenon'
import { McpServer, type McpServerOptions, type ServeHttpOptions, type ServingHttp, serveHttp } from 'tenon/server'
import { expect, onTestFinished } from 'vitest'
import type { Message } from '../../../kit/message.ts'
import { RawConnection, type RawHeaders, type RawResponse, RawStream, toBytes } from '../../../kit/raw-http.ts'
import { modern } from '../../../kit/revisions.ts'

export const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))

/** A client of one revision that sends exactly what the test specifies, to a server on this machine. */
export class RawClient {
  readonly revision: RevisionId
  readonly port: number
  readonly path: string
  readonly #own: RawHeaders
  sessionId: string | undefined
  #nextId = 1_000

  constructor(port: number, revision: RevisionId, own: RawHeaders = {}, path = '/mcp') {
    this.port = port
    this.revision = revision
    this.path = path
    this.#own = own
  }

  /** Opens a session on revisions that have sessions. */
  static async open(port: number, revision: RevisionId, own: RawHeaders = {}, path = '/mcp'): Promise<RawClient> {
    const client = new RawClient(port, revision, own, path)
    if (revision === modern) return client
    const response = await client.post(client.initialize())
    expect(response.status).toBe(200)
    client.sessionId = response.headers.get('mcp-session-id')
    const ready = await client.post(JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' }))
    expect(ready.status).toBe(202)
    return client
  }

  initialize(id: unknown = 0): string {
    const params = { protocolVersion: this.revision, capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
    return JSON.stringify({ jsonrpc: '2.0', id, method: 'initialize', params })
  }

  params(params: Record<string, unknown> = {}): Record<string, unknown> {
    if (this.revision !== modern) return params
    const meta = { [metaKeys.protocolVersion]: modern, [metaKeys.clientCapabilities]: {} }
    return { ...params, _meta: { ...meta, ...(params._meta as object) } }
  }

  request(id: unknown, method: string, params: Record<string, unknown> = {}): string {
    return JSON.stringify({ jsonrpc: '2.0', id, method, params: this.params(params) })
  }

  call(id: unknown, name: string, args: Record<string, unknown> = {}, more: Record<string, unknown> = {}): string {
    return this.request(id, 'tools/call', { name, arguments: args, ...more })
  }

  /** Returns the headers of a valid POST of this method. */
  headers(method = 'tools/call', name: string | undefined = 'echo', more: RawHeaders = {}): RawHeaders {
    return {
      Host: `127.0.0.1:${this.port}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      'MCP-Protocol-Version': this.sessionId === undefined && this.revision !== modern ? undefined : this.revision,
      'Mcp-Session-Id': this.sessionId,
      ...(this.revision === modern && { 'Mcp-Method': method, 'Mcp-Name': name }),
      ...this.#own,
      ...more,
    }
  }

  /** Sends a POST that is valid except for the headers in `more`. */
  async post(body: string | Uint8Array, more: RawHeaders = {}): Promise<RawResponse> {
    const { method, name } = described(body)
    const headers = this.headers(method, name, { 'Content-Length': String(Buffer.byteLength(body)), ...more })
    return this.exchange(toBytes('POST', this.path, headers, body))
  }

  /** Sends bytes on a new connection and returns the first response. */
  async exchange(bytes: string | Uint8Array, method = 'POST'): Promise<RawResponse> {
    using connection = await RawConnection.open(this.port)
    return await connection.write(bytes).response(method)
  }

  /** Sends a POST that is answered with a stream. */
  async stream(body: string, more: RawHeaders = {}): Promise<RawStream> {
    const { method, name } = described(body)
    const headers = this.headers(method, name, { 'Content-Length': String(Buffer.byteLength(body)), ...more })
    const connection = await RawConnection.open(this.port)
    onTestFinished(() => connection.destroy())
    return RawStream.of(connection.write(toBytes('POST', this.path, headers, body)))
  }

  getHeaders(more: RawHeaders = {}): RawHeaders {
    const { 'Content-Type': _type, ...headers } = this.headers()
    return { ...headers, Accept: 'text/event-stream', ...more }
  }

  async get(more: RawHeaders = {}): Promise<RawResponse> {
    return this.exchange(toBytes('GET', this.path, this.getHeaders(more)))
  }

  /** Sends a GET that is answered with a stream. */
  async listen(more: RawHeaders = {}): Promise<RawStream> {
    const connection = await RawConnection.open(this.port)
    onTestFinished(() => connection.destroy())
    return RawStream.of(connection.write(toBytes('GET', this.path, this.getHeaders(more))))
  }

  async delete(more: RawHeaders = {}): Promise<RawResponse> {
    return this.exchange(toBytes('DELETE', this.path, this.getHeaders(more)))
  }

  /** Checks that the server still serves: a normal call is answered as usual. */
  async stillServes(): Promise<void> {
    const id = this.#nextId++
    const response = await this.post(this.call(id, 'echo', { still: 'here' }))
    expect(response.status).toBe(200)
    expect(response.json.id).toBe(id)
    expect(response.json.result?.content?.[0]?.text).toBe('{"still":"here"}')
  }
}

/** Derives the method and name headers from a body, as far as it can be parsed. */
function described(body: string | Uint8Array): { method?: string; name?: string } {
  try {
    const { method, params } = JSON.parse(Buffer.from(body as string).toString('utf8'))
    return { method, name: params?.name ?? params?.uri }
  } catch {
    return {}
  }
}

/** Expects a status and a JSON-RPC error that reveals no internals. */
export function expectRefusal(response: RawResponse, status: number, code: number): void {
  const { error, ...rest } = response.json
  expect({ status: response.status, code: error?.code }).toEqual({ status, code })
  expect(response.headers.get('content-type')).toBe('application/json')
  expect(rest.jsonrpc).toBe('2.0')
  expect(rest.result).toBeUndefined()
  expect(response.text).not.toMatch(/node_modules|\.ts:|\.js:|\bat [A-Za-z.]+ \(|TypeError|undefined/)
  expect([...response.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([])
}

const anything = { type: 'object', additionalProperties: true } as const

/** Creates a server with the tools that these tests need. */
export function createServer(options: McpServerOptions = {}): McpServer {
  const server = new McpServer({ name: 'faults', version: '1.0.0' }, { listChangedDelayMs: 0, ...options })
  server.registerTool('echo', { inputSchema: anything }, (args) => JSON.stringify(args))
  server.registerTool('polluted', {}, () => String(({} as { polluted?: unknown }).polluted))
  return server
}

/** Starts a server on its own port and closes it after the test. */
export async function serve(server: McpServer, options: ServeHttpOptions = {}): Promise<ServingHttp> {
  const http = await serveHttp(server, { port: 0, exit: false, graceMs: 500, ...options })
  onTestFinished(() => http.close())
  return http
}

/** Pseudo-random numbers that are the same in every run (a linear congruential generator). */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** A client of the HTTP+SSE transport with its own stream. */
export class OldClient {
  readonly port: number
  readonly stream: RawStream
  readonly endpoint: string
  readonly #own: RawHeaders
  #nextId = 1

  private constructor(port: number, stream: RawStream, endpoint: string, own: RawHeaders) {
    this.port = port
    this.stream = stream
    this.endpoint = endpoint
    this.#own = own
  }

  static async open(port: number, own: RawHeaders = {}): Promise<OldClient> {
    const connection = await RawConnection.open(port)
    onTestFinished(() => connection.destroy())
    const headers = { Host: `127.0.0.1:${port}`, Accept: 'text/event-stream', ...own }
    const stream = await RawStream.of(connection.write(toBytes('GET', '/sse', headers)))
    const endpoint = await stream.next(({ event }) => event === 'endpoint')
    const client = new OldClient(port, stream, endpoint!.data!, own)
    const params = { protocolVersion: '2024-11-05', capabilities: {}, clientInfo: { name: 'old', version: '1' } }
    await client.#ask('initialize', params)
    return client
  }

  async get(more: RawHeaders = {}): Promise<RawResponse> {
    return this.exchange('GET', '/sse', { Accept: 'text/event-stream', ...more })
  }

  async post(body: string | Uint8Array, more: RawHeaders = {}, path = this.endpoint): Promise<RawResponse> {
    const own = { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }
    return this.exchange('POST', path, { ...own, ...more }, body)
  }

  async exchange(
    method: string,
    path: string,
    more: RawHeaders = {},
    body?: string | Uint8Array,
  ): Promise<RawResponse> {
    using connection = await RawConnection.open(this.port)
    const headers = { Host: `127.0.0.1:${this.port}`, ...this.#own, ...more }
    return await connection.write(toBytes(method, path, headers, body)).response(method)
  }

  async stillServes(): Promise<void> {
    const answer = await this.#ask('tools/call', { name: 'echo', arguments: { still: 'here' } })
    expect(answer.result?.content?.[0]?.text).toBe('{"still":"here"}')
  }

  async #ask(method: string, params: object): Promise<Message> {
    const id = `old ${this.#nextId++}`
    expect((await this.post(JSON.stringify({ jsonrpc: '2.0', id, method, params }))).status).toBe(202)
    return this.stream.message((message) => message.id === id)
  }
}

/** Starts a bare `node:http` server, closes it after the test, and returns its port. */
export async function listen(answer: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<number> {
  const http = createHttpServer((request, response) => void answer(request, response))
  http.listen(0, '127.0.0.1')
  await once(http, 'listening')
  onTestFinished(async () => {
    http.closeAllConnections()
    await new Promise((resolve) => http.close(resolve))
  })
  return (http.address() as AddressInfo).port
}
