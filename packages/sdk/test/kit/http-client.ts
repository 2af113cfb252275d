import { request as httpRequest } from 'node:http'
import type { McpHandler } from 'tenon/server'
import type { Message } from './message.ts'
import { type SseEvent, SseReader } from './sse-reader.ts'

/** One HTTP request, sent by `node:http` exactly as given. */
export interface HttpRequest {
  method?: string
  path?: string
  headers?: Record<string, string | string[]>
  body?: string
  signal?: AbortSignal
}

/** Sends a request to a server: over a socket, or by a function call. */
export type SendHttp = (request: HttpRequest) => Promise<Answer>

/** A response whose body is read while it arrives; an event stream is parsed into events. */
export class Answer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly events: SseEvent[] = []
  raw = ''
  /** Settles when the server ends the response or the connection is cut. */
  readonly ended: Promise<'ended' | 'cut'>
  onMessage: ((message: Message | Message[]) => void) | undefined
  readonly #cancel: () => void
  readonly #watchers = new Set<() => void>()
  readonly #reader = new SseReader()
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

  /** The comment lines of a stream so far. */
  get comments(): readonly string[] {
    return this.#reader.comments
  }

  get isOver(): boolean {
    return this.#isOver
  }

  /** The messages that arrived as events so far. */
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

  /** The JSON-RPC response, as JSON or from the stream. */
  async response(): Promise<Message> {
    if (!this.isStream) return this.json()
    return this.until(() => this.messages.find(({ method }) => method === undefined))
  }

  /** Waits until `look` finds something in the stream; rejects if the stream ends first. */
  until<T>(look: () => T | undefined | false): Promise<T> {
    return new Promise((resolve, reject) => {
      const watcher = () => {
        const found = look()
        if (found !== undefined && found !== false) resolve(found)
        else if (this.#isOver) reject(new Error(`The response ended: ${this.status} ${this.raw}`))
        else return
        this.#watchers.delete(watcher)
      }
      this.#watchers.add(watcher)
      watcher()
    })
  }

  /** The nth message with this method. */
  notified(method: string, nth = 1): Promise<Message> {
    return this.until(() => this.messages.filter((message) => message.method === method)[nth - 1])
  }

  /** Drops the connection, as a client that disappears does. */
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
    for (const event of this.#reader.push(text)) {
      this.events.push(event)
      if (event.data && event.event !== 'endpoint') this.onMessage?.(JSON.parse(event.data))
    }
    this.#look()
  }

  #look(): void {
    for (const watcher of [...this.#watchers]) watcher()
  }
}

/** Sends each request by `node:http` on a new connection. */
export function overHttp(url: string): SendHttp {
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

/** Sends each request through `handler.fetch`, without a socket. */
export function overFetch(handler: Pick<McpHandler, 'fetch'>, origin = 'http://localhost'): SendHttp {
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
