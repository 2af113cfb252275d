import { createServer, request as httpRequest, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, connect as connectSocket, type Socket } from 'node:net'
import { metaKeys, type RevisionId, revisionIds } from 'tenon'
import { type McpHandler, McpServer, type McpServerOptions, type ServeHttpOptions, serveHttp } from 'tenon/server'
import { Judge, OfficialSchema } from 'tenon/testing'
import { expect, it } from 'vitest'
import { schemas } from '../../../kit/official-schemas.ts'

export const modern = '2026-07-28'
/** Those with sessions on the one endpoint. */
export const sessionRevisions = ['2025-03-26', '2025-06-18', '2025-11-25'] as const satisfies RevisionId[]
/** All that the one endpoint serves. */
export const httpRevisions = [...sessionRevisions, modern] as const satisfies RevisionId[]
export const handshakes = revisionIds.filter((id) => id !== modern)

export interface Message {
  jsonrpc?: unknown
  id?: unknown
  method?: string
  params?: Record<string, unknown> & { _meta?: Record<string, unknown> }
  result?: Record<string, unknown> & { content?: { text: string }[]; _meta?: Record<string, unknown> }
  error?: { code: number; message: string; data?: Record<string, unknown> }
}

export interface SseEvent {
  event?: string
  id?: string
  data?: string
  retry?: number
}

/** One HTTP request, as exactly as `node:http` can send it. */
export interface Ask {
  method?: string
  path?: string
  headers?: Record<string, string | string[]>
  body?: string
  signal?: AbortSignal
}

/** A way to a server: a socket, or a function call. */
export type Door = (ask: Ask) => Promise<Answer>

/** One test body, once for each revision. */
export function eachRevision<R extends RevisionId>(
  which: readonly R[],
  title: string,
  body: (revision: R) => Promise<void>,
  run: (title: string, body: () => Promise<void>) => void = it,
): void {
  for (const revision of which) run(`${revision}: ${title}`, () => body(revision))
}

/** An answer whose body is read as it comes: as events where it is a stream. */
export class Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly events: SseEvent[] = []
  readonly comments: string[] = []
  raw = ''
  /** Whether the server ended it, or the connection was cut. */
  readonly ended: Promise<'ended' | 'cut'>
  onMessage: ((message: Message | Message[]) => void) | undefined
  readonly #cancel: () => void
  readonly #watchers = new Set<() => void>()
  #rest = ''
  #isOver = false

  constructor(
    status: number,
    headers: Readonly<Record<string, string>>,
    body: AsyncIterable<Uint8Array>,
    cancel: () => void,
  ) {
    this.status = status
    this.headers = headers
    this.#cancel = cancel
    this.ended = this.#read(body)
  }

  get type(): string | undefined {
    return this.headers['content-type']
  }

  get isStream(): boolean {
    return this.type === 'text/event-stream'
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** The messages that came as events so far. */
  get messages(): Message[] {
    return this.events.flatMap(({ data }) => (data ? JSON.parse(data) : []))
  }

  get methods(): (string | undefined)[] {
    return this.messages.map(({ method }) => method)
  }

  get ids(): string[] {
    return this.events.flatMap(({ id }) => id ?? [])
  }

  async text(): Promise<string> {
    await this.ended
    return this.raw
  }

  async json(): Promise<Message> {
    return JSON.parse(await this.text())
  }

  /** The JSON-RPC response, in whichever form it comes. */
  async response(): Promise<Message> {
    if (!this.isStream) return this.json()
    return this.until(() => this.messages.find(({ method }) => method === undefined))
  }

  /** Waits for something that the stream will bring; fails when it is over without. */
  until<T>(look: () => T | undefined | false): Promise<T> {
    return new Promise((resolve, reject) => {
      const watcher = () => {
        const found = look()
        if (found !== undefined && found !== false) resolve(found)
        else if (this.#isOver) reject(new Error(`The answer is over: ${this.status} ${this.raw}`))
        else return
        this.#watchers.delete(watcher)
      }
      this.#watchers.add(watcher)
      watcher()
    })
  }

  /** The nth message of a method. */
  notified(method: string, nth = 1): Promise<Message> {
    return this.until(() => this.messages.filter((message) => message.method === method)[nth - 1])
  }

  /** Goes away, as a client that loses its connection. */
  close(): void {
    this.#cancel()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close()
    await this.ended
  }

  async #read(body: AsyncIterable<Uint8Array>): Promise<'ended' | 'cut'> {
    const decoder = new TextDecoder()
    let how: 'ended' | 'cut' = 'ended'
    try {
      for await (const chunk of body) this.#take(decoder.decode(chunk, { stream: true }))
    } catch {
      how = 'cut'
    }
    this.#isOver = true
    if (!this.isStream && this.raw !== '' && this.type === 'application/json') this.onMessage?.(JSON.parse(this.raw))
    this.#look()
    return how
  }

  #take(text: string): void {
    this.raw += text
    if (!this.isStream) return
    const blocks = (this.#rest + text).split(/\r\n\r\n|\n\n|\r\r/)
    this.#rest = blocks.pop()!
    for (const block of blocks) this.#block(block)
    this.#look()
  }

  #block(block: string): void {
    const event: SseEvent = {}
    for (const line of block.split(/\r\n|\n|\r/)) {
      const [, name = '', value = ''] = /^([^:]*)(?:: ?(.*))?$/.exec(line) ?? []
      if (line.startsWith(':')) this.comments.push(line)
      else if (name === 'data') event.data = event.data === undefined ? value : `${event.data}\n${value}`
      else if (name === 'retry') event.retry = Number(value)
      else if (name === 'id' || name === 'event') event[name] = value
    }
    if (Object.keys(event).length === 0) return
    this.events.push(event)
    if (event.data && event.event !== 'endpoint') this.onMessage?.(JSON.parse(event.data))
  }

  #look(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** By `node:http`, on a connection of its own. */
export function door(url: string): Door {
  return ({ method = 'POST', path, headers = {}, body, signal }) =>
    new Promise((resolve, reject) => {
      const target = path === undefined ? new URL(url) : new URL(path, url)
      const request = httpRequest(target, { method, headers, agent: false, ...(signal && { signal }) }, (response) => {
        const { statusCode = 0, headers: fields } = response
        const joined = Object.entries(fields).map(([name, value]) => [name, String(value)])
        resolve(new Answer(statusCode, Object.fromEntries(joined), response, () => request.destroy()))
      })
      request.on('error', reject)
      request.end(body)
    })
}

/** By `handler.fetch`, without any socket. */
export function fetchDoor(handler: Pick<McpHandler, 'fetch'>, origin = 'http://localhost'): Door {
  return async ({ method = 'POST', path = '/mcp', headers = {}, body }) => {
    const abort = new AbortController()
    const fields = Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)])
    const request = new Request(new URL(path, origin), {
      method,
      headers: fields,
      signal: abort.signal,
      ...(body !== undefined && { body }),
    })
    const response = await handler.fetch(request)
    const content = (response.body ?? new Response('').body!) as ReadableStream<Uint8Array>
    const reader = content.getReader()
    const chunks = async function* () {
      for (;;) {
        const { done, value } = await reader.read()
        if (done) return
        yield value
      }
    }
    return new Answer(response.status, Object.fromEntries(response.headers), chunks(), () => {
      void reader.cancel().catch(() => {})
    })
  }
}

export interface PeerOptions {
  /** Sent with every request, over those that the revision wants. */
  headers?: Record<string, string>
  capabilities?: Record<string, unknown>
}

export interface RequestOptions {
  id?: string | number
  /** Undefined leaves one out. */
  headers?: Record<string, string | undefined>
}

const both = 'application/json, text/event-stream'

/**
 * A client of one revision that says exactly what it is told, with the headers that the revision wants. What the server says
 * is checked against the official schema when it is done with.
 */
export class Peer {
  readonly revision: RevisionId
  readonly door: Door
  sessionId: string | undefined
  /** The answer to `initialize`. */
  opening: Answer | undefined
  readonly #options: PeerOptions
  readonly #judge: Judge | undefined
  readonly #answers: Answer[] = []
  #nextId = 1

  constructor(where: string | Door, revision: RevisionId, options: PeerOptions = {}) {
    this.revision = revision
    this.door = typeof where === 'string' ? door(where) : where
    this.#options = options
    const schema = schemas === undefined ? undefined : OfficialSchema.load(schemas, revision)
    this.#judge = schema && new Judge(schema)
  }

  /** Shakes hands where the revision has that. */
  static async open(where: string | Door, revision: RevisionId, options: PeerOptions = {}): Promise<Peer> {
    const peer = new Peer(where, revision, options)
    if (revision !== modern) await peer.initialize()
    return peer
  }

  /** The same session from somewhere else. */
  at(where: string | Door, headers: Record<string, string> = {}): Peer {
    const peer = new Peer(where, this.revision, { ...this.#options, headers: { ...this.#options.headers, ...headers } })
    peer.sessionId = this.sessionId
    return peer
  }

  async initialize(): Promise<void> {
    this.opening = await this.request('initialize', this.greeting())
    expect((await this.opening.json()).result?.protocolVersion).toBe(this.revision)
    this.sessionId = this.opening.headers['mcp-session-id']
    expect((await this.notify('notifications/initialized')).status).toBe(202)
  }

  greeting(): Record<string, unknown> {
    const clientInfo = { name: 'test', version: '1.0.0' }
    return { protocolVersion: this.revision, capabilities: this.#options.capabilities ?? {}, clientInfo }
  }

  params(params: Record<string, unknown> = {}): Record<string, unknown> {
    if (this.revision !== modern) return params
    const meta = {
      [metaKeys.protocolVersion]: modern,
      [metaKeys.clientInfo]: { name: 'test', version: '1.0.0' },
      [metaKeys.clientCapabilities]: this.#options.capabilities ?? {},
    }
    return { ...params, _meta: { ...meta, ...(params._meta as object) } }
  }

  message(method: string, params?: Record<string, unknown>, id: string | number = this.#nextId++): Message {
    return { jsonrpc: '2.0', id, method, params: this.params(params) }
  }

  request(method: string, params: Record<string, unknown> = {}, { id, headers }: RequestOptions = {}): Promise<Answer> {
    return this.post(this.message(method, params, id), headers)
  }

  call(name: string, args: Record<string, unknown> = {}, options: RequestOptions & { meta?: object } = {}) {
    const { meta, ...rest } = options
    return this.request('tools/call', { name, arguments: args, ...(meta && { _meta: meta }) }, rest)
  }

  /** Calls a tool for its text. */
  async textOf(name: string, args: Record<string, unknown> = {}): Promise<string | undefined> {
    return (await (await this.call(name, args)).response()).result?.content?.[0]?.text
  }

  notify(method: string, params?: Record<string, unknown>): Promise<Answer> {
    return this.post({ jsonrpc: '2.0', method, ...(params && { params }) })
  }

  /** One message, or several where the revision has batches. */
  async post(message: Message | Message[], headers: Record<string, string | undefined> = {}): Promise<Answer> {
    this.#judge?.hear({ from: 'client', message: message as never })
    const mirrored = this.revision === modern && !Array.isArray(message) ? mirror(message) : {}
    return this.send('POST', { ...mirrored, ...headers }, JSON.stringify(message))
  }

  get(headers: Record<string, string | undefined> = {}): Promise<Answer> {
    return this.send('GET', { accept: 'text/event-stream', 'content-type': undefined, ...headers })
  }

  /** Goes on with a stream after one of its events. */
  resume(lastEventId: string): Promise<Answer> {
    return this.get({ 'last-event-id': lastEventId })
  }

  delete(): Promise<Answer> {
    return this.send('DELETE', { 'content-type': undefined })
  }

  listen(notifications: Record<string, unknown>, id?: string | number): Promise<Answer> {
    return this.request('subscriptions/listen', { notifications }, id === undefined ? {} : { id })
  }

  async send(method: string, headers: Record<string, string | undefined>, body?: string): Promise<Answer> {
    const all = { ...this.#headers(), ...this.#options.headers, ...headers }
    const present = Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined)
    const answer = await this.door({
      method,
      headers: Object.fromEntries(present),
      ...(body !== undefined && { body }),
    })
    answer.onMessage = (message) => {
      // The transport pages allow a refusal without id, for which the older schemas have no form.
      if (answer.status < 400 || 'id' in message) this.#judge?.hear({ from: 'server', message: message as never })
    }
    this.#answers.push(answer)
    return answer
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const answer of this.#answers) await answer[Symbol.asyncDispose]()
    expect(this.#judge?.problems.filter((problem) => problem.startsWith('server'))).toEqual(this.#judge && [])
  }

  #headers(): Record<string, string> {
    const headers: Record<string, string> = { accept: both, 'content-type': 'application/json' }
    if (this.sessionId !== undefined) headers['mcp-session-id'] = this.sessionId
    // 2025-03-26 has no such header yet; afterwards it follows the handshake.
    if (this.revision === modern || (this.sessionId !== undefined && this.revision > '2025-03-26')) {
      headers['mcp-protocol-version'] = this.revision
    }
    return headers
  }
}

function mirror({ method, params }: Message): Record<string, string> {
  const name = params?.name ?? params?.uri
  return {
    ...(method !== undefined && { 'mcp-method': method }),
    ...(typeof name === 'string' && { 'mcp-name': name }),
  }
}

/** A server on a port of its own. */
export function serve(server: McpServer, options: ServeHttpOptions = {}) {
  return serveHttp(server, { port: 0, exit: false, graceMs: 100, ...options })
}

/** A bare `node:http` server on a port of its own, as someone has who routes requests themselves. */
export async function listenWith(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const onlyModern: McpServerOptions = { revisions: [modern] }

/** A server with one of each, whose changes go out soon. */
export function workshop(options: McpServerOptions = {}): McpServer {
  const server = new McpServer({ name: 'workshop', version: '1.0.0' }, { listChangedDelayMs: 0, ...options })
  server.registerTool('echo', { inputSchema: { type: 'object', properties: { text: { type: 'string' } } } }, (args) =>
    String((args as { text?: string }).text ?? ''),
  )
  server.registerTool('revision', {}, (_, ctx) => ctx.caller.revision)
  server.registerTool('session', {}, (_, ctx) => ctx.sessionId ?? 'none')
  server.registerTool('steps', {}, (_, ctx) => {
    for (const step of [1, 2, 3]) ctx.progress(step, { total: 3 })
    return 'three steps'
  })
  server.registerPrompt('greet', {}, () => 'Hello')
  server.registerResource('note', 'note://a', {}, () => 'A note')
  return server
}

/** Wants progress, so that the answer becomes a stream. */
export const withProgress = { meta: { progressToken: 'p' } }

/** A promise that a test fulfils when it is time. */
export function gate<T = void>() {
  let open!: (value: T) => void
  const opened = new Promise<T>((resolve) => {
    open = resolve
  })
  return { open, opened }
}

/** A tool that says on its stream that it has begun, and answers when the gate is opened or the caller is gone. */
export function registerSlow(server: McpServer, name = 'slow') {
  const finish = gate<string>()
  const aborted = gate<unknown>()
  const began = gate()
  server.registerTool(name, {}, async (_, ctx) => {
    ctx.signal.addEventListener('abort', () => aborted.open(ctx.signal.reason))
    ctx.progress(1)
    began.open()
    const text = await finish.opened
    ctx.progress(2)
    return text
  })
  return { finish: finish.open, aborted: aborted.opened, began: began.opened }
}

/** A connection on which bytes are sent as they are. */
export class RawClient {
  readonly #socket: Socket
  readonly #closed: Promise<void>
  received = ''

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.setEncoding('latin1').on('data', (text: string) => {
      this.received += text
    })
    socket.on('error', () => {})
    this.#closed = new Promise((resolve) => socket.once('close', () => resolve()))
  }

  static open(port: number): Promise<RawClient> {
    return new Promise((resolve, reject) => {
      const socket = connectSocket(port, '127.0.0.1', () => resolve(new RawClient(socket)))
      socket.once('error', reject)
    })
  }

  /** Sends a request whose head is given line by line, and gives the whole answer. */
  async post(lines: readonly string[], body: string): Promise<{ status: number; message: Message }> {
    const length = `content-length: ${Buffer.byteLength(body)}`
    const head = ['POST /mcp HTTP/1.1', 'connection: close', length, ...lines].join('\r\n')
    this.#socket.write(Buffer.from(`${head}\r\n\r\n`, 'latin1'))
    this.#socket.write(body)
    await this.#closed
    const [, status = '0'] = /^HTTP\/1\.1 (\d+)/.exec(this.received) ?? []
    const start = this.received.indexOf('\r\n\r\n')
    return { status: Number(status), message: JSON.parse(this.received.slice(start + 4)) }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#socket.destroy()
    await this.#closed
  }
}

/** A client of the old transport: a stream to listen on, and an address to post to that the stream names. */
export class SseClient {
  readonly stream: Answer
  readonly endpoint: string
  readonly #door: Door
  readonly #headers: Record<string, string>
  readonly #posts: Answer[] = []

  private constructor(stream: Answer, endpoint: string, way: Door, headers: Record<string, string>) {
    this.stream = stream
    this.endpoint = endpoint
    this.#door = way
    this.#headers = headers
  }

  static async open(url: string, { path = '/sse', headers = {} as Record<string, string> } = {}): Promise<SseClient> {
    const way = door(url)
    const stream = await way({ method: 'GET', path, headers: { accept: 'text/event-stream', ...headers } })
    const first = await stream.until(() => stream.events[0])
    return new SseClient(stream, first.data ?? '', way, headers)
  }

  async post(message: Message | Message[], headers: Record<string, string> = {}): Promise<Answer> {
    const answer = await this.#door({
      path: this.endpoint,
      headers: { 'content-type': 'application/json', ...this.#headers, ...headers },
      body: JSON.stringify(message),
    })
    this.#posts.push(answer)
    return answer
  }

  /** Asks, and gives what the stream answers. */
  async request(id: string | number, method: string, params: Record<string, unknown> = {}): Promise<Message> {
    await this.post({ jsonrpc: '2.0', id, method, params })
    return this.answerTo(id)
  }

  answerTo(id: string | number): Promise<Message> {
    const isAnswer = (message: Message) => message.id === id && message.method === undefined
    return this.stream.until(() => responses(this.stream).find(isAnswer))
  }

  async initialize(protocolVersion = '2024-11-05'): Promise<Message> {
    const clientInfo = { name: 'old', version: '1' }
    const answer = await this.request('hello', 'initialize', { protocolVersion, capabilities: {}, clientInfo })
    await this.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return answer
  }

  async textOf(name: string, args: Record<string, unknown> = {}, id: string | number = name) {
    return (await this.request(id, 'tools/call', { name, arguments: args })).result?.content?.[0]?.text
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const answer of [this.stream, ...this.#posts]) await answer[Symbol.asyncDispose]()
  }
}

/** The messages of a stream whose first event is an address. */
export function responses({ events }: Answer): Message[] {
  return events.flatMap(({ event, data }) => (event === 'message' && data ? JSON.parse(data) : []))
}

/** Looks until it is so, or fails: for what a server does without telling anyone. */
export async function eventually(isSo: () => boolean, withinMs = 30_000): Promise<void> {
  for (const end = Date.now() + withinMs; !isSo(); await new Promise((resolve) => setTimeout(resolve, 2))) {
    if (Date.now() > end) throw new Error(`Timed out waiting for ${isSo}`)
  }
}
