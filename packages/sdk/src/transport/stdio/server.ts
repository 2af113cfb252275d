import type { RpcMessage } from '../../jsonrpc/message.ts'
import type { TextSender, Transport, TransportEvents } from '../../jsonrpc/transport.ts'
import { type AuthInfo, userOf } from '../../protocol/auth-info.ts'
import type { HasIdentity, LocalUser } from '../../protocol/transport.ts'
import { warnOnce } from '../../util/warn.ts'
import { createReader, defaultMaxMessageBytes } from './reader.ts'
import { LineWriter, type Sink } from './writer.ts'

/** How long closing waits for a client that does not read. */
const flushMs = 2_000

/** The part of a readable stream that the transport uses. */
export interface Source {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  off(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  /** The number of listeners. Input is paused at the end only if no other program listens. */
  listenerCount?(event: 'data'): number
  pause(): unknown
  resume(): unknown
}

/** Options of `StdioServerTransport`. */
export interface StdioServerOptions {
  /** The stream to read messages from. Default `process.stdin`. */
  stdin?: Source | undefined
  /** The stream to write messages to. Default `process.stdout`; other output to it is redirected to stderr. */
  stdout?: Sink | undefined
  /**
   * The identity of the client, for servers that get credentials from the environment. It is checked against `requiredScopes`.
   * Default: the client is the local user, who may use everything.
   */
  auth?: AuthInfo | undefined
  /** Longer messages are refused. Default 16 MiB. */
  maxMessageBytes?: number | undefined
  /** Unread output above which the client is disconnected. Default 256 MiB. */
  maxQueuedBytes?: number | undefined
}

/** The stdio transport of a server. The client started this process and uses its stdin and stdout. */
export class StdioServerTransport implements Transport, TextSender, HasIdentity, LocalUser {
  onmessage?: Transport['onmessage'] | undefined
  onfault?: TransportEvents['onfault'] | undefined
  onend?: TransportEvents['onend'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  readonly #options: StdioServerOptions
  #stdin: Source | undefined
  #onData: ((chunk: Uint8Array) => void) | undefined
  #writer: LineWriter | undefined
  #guard: { release(): void } | undefined
  #closed = false

  constructor(options?: StdioServerOptions)
  /** The signature of the official SDK. */
  constructor(stdin: Source, stdout?: Sink)
  constructor(options: StdioServerOptions | Source = {}, stdout?: Sink) {
    this.#options = 'on' in options ? { stdin: options, ...(stdout && { stdout }) } : options
  }

  get auth(): AuthInfo | undefined {
    return this.#options.auth
  }

  get principal(): string | undefined {
    return this.auth && userOf(this.auth)
  }

  /** 2025-11-25 authorization: stdio has no tokens. The user who started this process can do everything that it can. */
  get isLocalUser(): boolean {
    return this.auth === undefined
  }

  async start(): Promise<void> {
    if (this.#stdin) throw new TypeError('This StdioServerTransport is started already: server.connect() starts it')
    const stdin = this.#options.stdin ?? process.stdin
    this.#stdin = stdin
    const reader = createReader(this, this.#options.maxMessageBytes ?? defaultMaxMessageBytes)
    this.#onData = (chunk) => reader.push(chunk)
    this.#writer ??= this.#openWriter()
    stdin.on('data', this.#onData)
    stdin.on('end', () => this.onend?.())
    stdin.on('error', (error) => this.onerror?.(error))
  }

  send(message: RpcMessage | RpcMessage[]): void {
    this.sendText(JSON.stringify(message))
  }

  sendText(text: string): void {
    if (this.#closed && !this.#writer) return
    this.#writer ??= this.#openWriter()
    this.#writer.write(text)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#writer?.flushed(flushMs)
    this.#stopReading()
    this.#guard?.release()
    this.onclose?.()
  }

  #stopReading(): void {
    const stdin = this.#stdin
    if (!stdin || !this.#onData) return
    stdin.off('data', this.#onData)
    if ((stdin.listenerCount?.('data') ?? 0) === 0) stdin.pause()
  }

  #openWriter(): LineWriter {
    const { maxQueuedBytes = 256 * 1024 * 1024 } = this.#options
    return new LineWriter(this.#openSink(), {
      maxQueuedBytes,
      onBlocked: (blocked) => {
        // Stops reading requests while the client does not read responses.
        if (blocked) this.#stdin?.pause()
        else if (!this.#closed) this.#stdin?.resume()
      },
    })
  }

  #openSink(): Sink {
    if (this.#options.stdout) return watched(this.#options.stdout, this)
    const guard = guardStdout()
    this.#guard = guard
    watched(process.stdout, this)
    return {
      write: guard.write as Sink['write'],
      once: (event, listener) => process.stdout.once(event, listener),
      get writableLength() {
        return process.stdout.writableLength
      },
    }
  }
}

/** A client that exits breaks the pipe, which only closes this transport. */
function watched(sink: Sink, transport: StdioServerTransport): Sink {
  const stream = sink as { on?(event: 'error', listener: (error: Error) => void): unknown }
  stream.on?.('error', () => void transport.close())
  return sink
}

type Write = typeof process.stdout.write

let holders = 0
let original: Write | undefined

/**
 * Reserves stdout for messages, because a stray `console.log` would break the connection. Until `release` is called, other output
 * goes to stderr; the first time, a warning says where it came from.
 */
export function guardStdout(): { write: Write; release(): void } {
  if (holders++ === 0) {
    original = process.stdout.write
    process.stdout.write = redirect as Write
  }
  const write = original!.bind(process.stdout) as Write
  let held = true
  return {
    write,
    release() {
      if (!held) return
      held = false
      if (--holders === 0) process.stdout.write = original!
    },
  }
}

function redirect(chunk: string | Uint8Array, ...rest: unknown[]): boolean {
  const caller = new Error().stack?.split('\n').find((line) => isUserCode(line))
  warnOnce(
    'stdout',
    `stdout is reserved for MCP messages, so other output is written to stderr.${caller ? ` First seen${caller.replace(/^\s+/, ' ')}` : ''}`,
  )
  return (process.stderr.write as (...args: unknown[]) => boolean)(chunk, ...rest)
}

function isUserCode(line: string): boolean {
  return line.includes('at ') && !line.includes('node:') && !line.includes('redirect')
}
