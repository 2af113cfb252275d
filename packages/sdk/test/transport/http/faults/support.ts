import { EventEmitter, once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, type Socket } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { metaKeys, type RevisionId } from 'tenon'
import { McpServer, type McpServerOptions, type ServeHttpOptions, type ServingHttp, serveHttp } from 'tenon/server'
import { expect, onTestFinished } from 'vitest'

export const fixture = (name: string) => fileURLToPath(new URL(`./fixtures/${name}`, import.meta.url))
export const modern = '2026-07-28'
/** Those that have Streamable HTTP and sessions. */
export const sessionRevisions = ['2025-03-26', '2025-06-18', '2025-11-25'] as const
export const httpRevisions = [...sessionRevisions, modern] as const
export type HttpRevision = (typeof httpRevisions)[number]

export interface Message {
  jsonrpc?: unknown
  id?: unknown
  method?: string
  params?: Record<string, unknown>
  result?: Record<string, unknown> & { content?: { text: string }[] }
  error?: { code: number; message: string; data?: unknown }
}

/** A value, several of the same name, or undefined to leave a header out. Values are bytes, as latin1. */
export type RawHeaders = Record<string, string | readonly string[] | undefined>

/** One HTTP response as it came. */
export interface RawResponse {
  readonly status: number
  readonly version: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  readonly text: string
  readonly json: Message
}

/** An HTTP/1 connection on which every byte is ours. */
export class RawConnection {
  readonly socket: Socket
  readonly #events = new EventEmitter()
  #received: Buffer = Buffer.alloc(0)
  #ended = false

  private constructor(socket: Socket) {
    this.socket = socket
    this.#events.setMaxListeners(0)
    socket.on('data', (chunk) => {
      this.#received = this.#received.length === 0 ? chunk : Buffer.concat([this.#received, chunk])
      this.#events.emit('more')
    })
    const end = () => {
      this.#ended = true
      this.#events.emit('more')
    }
    socket.on('end', end)
    socket.on('close', end)
    // What the server cuts is a part of these tests.
    socket.on('error', end)
  }

  static async open(port: number, allowHalfOpen = false): Promise<RawConnection> {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true, allowHalfOpen })
    await once(socket, 'connect')
    return new RawConnection(socket)
  }

  /** True once the server has closed its side. */
  get ended(): boolean {
    return this.#ended
  }

  /** All that came and was not taken yet. */
  get waiting(): Buffer {
    return this.#received
  }

  write(bytes: string | Uint8Array): this {
    if (!this.socket.destroyed) this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  /** The next whole response; an interim one (1xx) is skipped. */
  async response(method = 'POST'): Promise<RawResponse> {
    const head = await this.head()
    if (head.status < 200) return this.response(method)
    const length = head.headers.get('content-length')
    const hasBody = method !== 'HEAD' && head.status !== 204
    let body: Buffer = Buffer.alloc(0)
    if (!hasBody) body = Buffer.alloc(0)
    else if (head.headers.get('transfer-encoding') === 'chunked') body = await this.#chunked()
    else if (length !== undefined) body = await this.#take(Number(length))
    else body = await this.#rest()
    const text = body.toString('utf8')
    return {
      ...head,
      body,
      text,
      get json() {
        return JSON.parse(text) as Message
      },
    }
  }

  /** Status and headers only; what follows stays to be read. */
  async head(): Promise<Pick<RawResponse, 'status' | 'version' | 'headers'>> {
    const end = await this.until((bytes) => {
      const at = bytes.indexOf('\r\n\r\n')
      return at === -1 ? undefined : at
    })
    const [first = '', ...lines] = (await this.#take(end + 4)).toString('latin1').trimEnd().split('\r\n')
    const headers = new Map<string, string>()
    for (const line of lines) {
      const colon = line.indexOf(':')
      const name = line.slice(0, colon).toLowerCase()
      const value = line.slice(colon + 1).trim()
      headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value)
    }
    const [version = '', status = ''] = first.split(' ')
    return { version, status: Number(status), headers }
  }

  /** Waits until what came so far is enough for an answer. */
  async until<T>(look: (bytes: Buffer) => T | undefined): Promise<T> {
    for (;;) {
      const found = look(this.#received)
      if (found !== undefined) return found
      if (this.#ended) throw new Error(`The server closed after ${JSON.stringify(this.#received.toString('latin1'))}`)
      await once(this.#events, 'more')
    }
  }

  /** The server closes its side. */
  async closed(): Promise<void> {
    while (!this.#ended) await once(this.#events, 'more')
  }

  destroy(): void {
    this.socket.destroy()
  }

  [Symbol.dispose](): void {
    this.destroy()
  }

  /** Takes bytes that are there. */
  take(length: number): Buffer {
    const taken = this.#received.subarray(0, length)
    this.#received = this.#received.subarray(length)
    return taken
  }

  async #take(length: number): Promise<Buffer> {
    await this.until((bytes) => (bytes.length >= length ? true : undefined))
    return this.take(length)
  }

  async #rest(): Promise<Buffer> {
    await this.closed()
    return this.#take(this.#received.length)
  }

  async #chunked(): Promise<Buffer> {
    const chunks: Buffer[] = []
    for (;;) {
      const chunk = await this.chunk()
      if (!chunk) return Buffer.concat(chunks)
      chunks.push(chunk)
    }
  }

  /** The next chunk of a chunked body; undefined at its end. */
  async chunk(): Promise<Buffer | undefined> {
    const at = await this.until((bytes) => {
      const found = bytes.indexOf('\r\n')
      return found === -1 ? undefined : found
    })
    const length = Number.parseInt((await this.#take(at + 2)).toString('latin1'), 16)
    const chunk = await this.#take(length)
    await this.#take(2)
    return length === 0 ? undefined : chunk
  }
}

/** An SSE event as it came. */
export interface SseEvent {
  readonly id?: string
  readonly event?: string
  readonly data?: string
  readonly retry?: string
}

/** Cuts bytes into SSE events; what has no end yet stays. Comments are left out. */
export class SseParser {
  #held = ''
  readonly #decoder = new TextDecoder()

  push(bytes: Uint8Array): SseEvent[] {
    const blocks = (this.#held + this.#decoder.decode(bytes, { stream: true })).split('\n\n')
    this.#held = blocks.pop()!
    return blocks.map(toEvent).filter((event) => Object.keys(event).length > 0)
  }
}

function toEvent(block: string): SseEvent {
  const event: Record<string, string> = {}
  for (const line of block.split('\n')) {
    const match = /^(id|event|data|retry): ?(.*)$/.exec(line)
    if (match) event[match[1]!] = match[2]!
  }
  return event
}

/** An open stream of events. */
export class RawStream {
  readonly connection: RawConnection
  readonly headers: ReadonlyMap<string, string>
  readonly events: SseEvent[] = []
  readonly #parser = new SseParser()
  #isOver = false

  private constructor(connection: RawConnection, headers: ReadonlyMap<string, string>) {
    this.connection = connection
    this.headers = headers
  }

  static async of(connection: RawConnection): Promise<RawStream> {
    const { status, headers } = await connection.head()
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('text/event-stream')
    return new RawStream(connection, headers)
  }

  /** Reads on until an event fits, or to the end of the stream. */
  async next(fits: (event: SseEvent) => boolean = () => true): Promise<SseEvent | undefined> {
    for (;;) {
      const at = this.events.findIndex(fits)
      if (at !== -1) return this.events.splice(0, at + 1)[at]
      if (this.#isOver) return undefined
      const chunk = await this.connection.chunk()
      if (chunk) this.events.push(...this.#parser.push(chunk))
      else this.#isOver = true
    }
  }

  /** The next message that fits. */
  async message(fits: (message: Message) => boolean = () => true): Promise<Message> {
    const event = await this.next(({ data }) => Boolean(data) && fits(JSON.parse(data!)))
    if (!event) throw new Error('The stream ended before the message came')
    return JSON.parse(event.data!)
  }

  /** Everything that is left, to the end of the stream. */
  async rest(): Promise<Message[]> {
    await this.next(() => false)
    return this.events.splice(0).flatMap(({ data }) => (data ? [JSON.parse(data) as Message] : []))
  }
}

/** The bytes of a request. `body` undefined: none, and no length either. */
export function toBytes(method: string, path: string, headers: RawHeaders, body?: string | Uint8Array): Buffer {
  return Buffer.concat([toHead(method, path, headers), typeof body === 'string' ? Buffer.from(body) : (body ?? empty)])
}

const empty = Buffer.alloc(0)

export function toHead(method: string, path: string, headers: RawHeaders, version = '1.1'): Buffer {
  const lines = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined ? [] : [value].flat().map((each) => `${name}: ${each}\r\n`),
  )
  return Buffer.from(`${method} ${path} HTTP/${version}\r\n${lines.join('')}\r\n`, 'latin1')
}

/** A client of one revision that says exactly what it is told to, to a server on this machine. */
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

  /** With a session, where the revision has those. */
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

  /** What an honest client sends with a POST of this method. */
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

  /** A POST with a body of this text, honest but for what `more` says. */
  async post(body: string | Uint8Array, more: RawHeaders = {}): Promise<RawResponse> {
    const { method, name } = described(body)
    const headers = this.headers(method, name, { 'Content-Length': String(Buffer.byteLength(body)), ...more })
    return this.exchange(toBytes('POST', this.path, headers, body))
  }

  /** Any bytes on a connection of their own, and the first response to them. */
  async exchange(bytes: string | Uint8Array, method = 'POST'): Promise<RawResponse> {
    using connection = await RawConnection.open(this.port)
    return await connection.write(bytes).response(method)
  }

  /** A POST that is answered with a stream. */
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

  /** A GET that is answered with a stream. */
  async listen(more: RawHeaders = {}): Promise<RawStream> {
    const connection = await RawConnection.open(this.port)
    onTestFinished(() => connection.destroy())
    return RawStream.of(connection.write(toBytes('GET', this.path, this.getHeaders(more))))
  }

  async delete(more: RawHeaders = {}): Promise<RawResponse> {
    return this.exchange(toBytes('DELETE', this.path, this.getHeaders(more)))
  }

  /** Proves that the server still serves: a normal call is answered as ever. */
  async stillServes(): Promise<void> {
    const id = this.#nextId++
    const response = await this.post(this.call(id, 'echo', { still: 'here' }))
    expect(response.status).toBe(200)
    expect(response.json.id).toBe(id)
    expect(response.json.result?.content?.[0]?.text).toBe('{"still":"here"}')
  }
}

/** What the headers of a body must say, as far as it can be read. */
function described(body: string | Uint8Array): { method?: string; name?: string } {
  try {
    const { method, params } = JSON.parse(Buffer.from(body as string).toString('utf8'))
    return { method, name: params?.name ?? params?.uri }
  } catch {
    return {}
  }
}

/** A refusal has a status, a JSON-RPC error and nothing of our inside in it. */
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

/** A definition with the tools that these tests need. */
export function createServer(options: McpServerOptions = {}): McpServer {
  const server = new McpServer({ name: 'faults', version: '1.0.0' }, { listChangedDelayMs: 0, ...options })
  server.registerTool('echo', { inputSchema: anything }, (args) => JSON.stringify(args))
  server.registerTool('polluted', {}, () => String(({} as { polluted?: unknown }).polluted))
  return server
}

/** A server on a port of its own that is closed with the test. */
export async function serve(server: McpServer, options: ServeHttpOptions = {}): Promise<ServingHttp> {
  const http = await serveHttp(server, { port: 0, exit: false, graceMs: 500, ...options })
  onTestFinished(() => http.close())
  return http
}

/** Looks until it is so, or fails: for what the other side does without telling us. */
export async function eventually(isSo: () => boolean, withinMs = 30_000): Promise<void> {
  for (const end = Date.now() + withinMs; !isSo(); await sleep(5)) {
    if (Date.now() > end) throw new Error(`Timed out waiting for ${isSo}`)
  }
}

/** Numbers that look random and are the same in every run (a linear congruential generator). */
export function seeded(seed: number): (below: number) => number {
  let state = seed >>> 0
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** A client of the old transport, with a stream of its own. */
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

/** A bare `node:http` server that is closed with the test; gives its port. */
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
