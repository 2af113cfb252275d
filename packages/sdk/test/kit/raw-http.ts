import { EventEmitter, once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { expect } from 'vitest'
import type { Message } from './message.ts'
import { type SseEvent, SseReader } from './sse-reader.ts'

/** One value, several values of the same name, or undefined to omit the header. Values are latin1 bytes. */
export type RawHeaders = Record<string, string | readonly string[] | undefined>

/** One HTTP response as received. */
export interface RawResponse {
  readonly status: number
  readonly version: string
  readonly headers: ReadonlyMap<string, string>
  readonly body: Buffer
  readonly text: string
  readonly json: Message
}

/** An HTTP/1 connection that sends exactly the bytes it is given. */
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
    // A connection that the server cuts is an expected outcome.
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

  /** Received bytes that were not consumed yet. */
  get waiting(): Buffer {
    return this.#received
  }

  write(bytes: string | Uint8Array): this {
    if (!this.socket.destroyed) this.socket.write(typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes)
    return this
  }

  /** Reads the next complete response and skips interim ones (1xx). */
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

  /** Reads status and headers only; the body stays unread. */
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

  /** Waits until `look` finds something in the received bytes. */
  async until<T>(look: (bytes: Buffer) => T | undefined): Promise<T> {
    for (;;) {
      const found = look(this.#received)
      if (found !== undefined) return found
      if (this.#ended) throw new Error(`The server closed after ${JSON.stringify(this.#received.toString('latin1'))}`)
      await once(this.#events, 'more')
    }
  }

  /** Resolves when the server closes its side. */
  async closed(): Promise<void> {
    while (!this.#ended) await once(this.#events, 'more')
  }

  destroy(): void {
    this.socket.destroy()
  }

  [Symbol.dispose](): void {
    this.destroy()
  }

  /** Consumes bytes that were already received. */
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

/** An open stream of events. */
export class RawStream {
  readonly connection: RawConnection
  readonly headers: ReadonlyMap<string, string>
  readonly events: SseEvent[] = []
  readonly #reader = new SseReader()
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

  /** Reads until an event matches; undefined at the end of the stream. */
  async next(fits: (event: SseEvent) => boolean = () => true): Promise<SseEvent | undefined> {
    for (;;) {
      const at = this.events.findIndex(fits)
      if (at !== -1) return this.events.splice(0, at + 1)[at]
      if (this.#isOver) return undefined
      const chunk = await this.connection.chunk()
      if (chunk) this.events.push(...this.#reader.push(chunk))
      else this.#isOver = true
    }
  }

  /** Reads until a message matches. */
  async message(fits: (message: Message) => boolean = () => true): Promise<Message> {
    const event = await this.next(({ data }) => Boolean(data) && fits(JSON.parse(data!)))
    if (!event) throw new Error('The stream ended before the message came')
    return JSON.parse(event.data!)
  }

  /** Reads all remaining messages to the end of the stream. */
  async rest(): Promise<Message[]> {
    await this.next(() => false)
    return this.events.splice(0).flatMap(({ data }) => (data ? [JSON.parse(data) as Message] : []))
  }
}

/** The bytes of a request. Without `body` there is no content length either. */
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

/** Sends one POST to /mcp whose header lines are sent as latin1 bytes, and reads the response. */
export async function rawPost(
  port: number,
  lines: readonly string[],
  body: string,
): Promise<{ status: number; message: Message }> {
  using connection = await RawConnection.open(port)
  const length = `content-length: ${Buffer.byteLength(body)}`
  const head = ['POST /mcp HTTP/1.1', 'connection: close', length, ...lines].join('\r\n')
  connection.write(`${head}\r\n\r\n`).write(Buffer.from(body))
  const { status, json } = await connection.response()
  return { status, message: json }
}

/** Resolves when the server accepts no connections any more. */
export async function stopsListening(port: number): Promise<void> {
  for (;;) {
    const connection = await RawConnection.open(port).catch((error: unknown) => String(error))
    if (typeof connection === 'string') {
      if (connection.includes('ECONNREFUSED') || connection.includes('ECONNRESET')) return
      throw new Error(connection)
    }
    connection[Symbol.dispose]()
  }
}
