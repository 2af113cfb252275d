import type { RpcMessage } from '../../jsonrpc/message.ts'
import type { TextSender, Transport, TransportEvents } from '../../jsonrpc/transport.ts'
import { type AuthInfo, userOf } from '../../protocol/auth-info.ts'
import type { HasIdentity, LocalUser } from '../../protocol/transport.ts'
import { warnOnce } from '../../util/warn.ts'
import { createReader, defaultMaxMessageBytes, type LineSplitter } from './reader.ts'
import { LineWriter, type Sink } from './writer.ts'

/** How long a client that does not read may hold up the end. */
const flushMs = 2_000

/** What we need of a readable stream. */
export interface Source {
  on(event: 'data', listener: (chunk: Uint8Array) => void): unknown
  on(event: 'end' | 'close', listener: () => void): unknown
  on(event: 'error', listener: (error: Error) => void): unknown
  removeAllListeners(event: 'data'): unknown
  pause(): unknown
  resume(): unknown
}

export interface StdioServerOptions {
  /** Where messages come from. Default `process.stdin`. */
  stdin?: Source | undefined
  /** Where messages go. Default `process.stdout`, which is kept clear of everything else. */
  stdout?: Sink | undefined
  /**
   * The identity of the client, for servers that learn it from credentials in the environment. Checked against
   * `requiredScopes`. Default: the client is the local user, who may use everything.
   */
  auth?: AuthInfo | undefined
  /** Longer messages are refused. Default 16 MiB. */
  maxMessageBytes?: number | undefined
  /** Answers that the client leaves unread before the server gives up on it. Default 256 MiB. */
  maxQueuedBytes?: number | undefined
}

/** A server's end of stdio: the client started this process and speaks through its stdin and stdout. */
export class StdioServerTransport implements Transport, TextSender, HasIdentity, LocalUser {
  onmessage?: Transport['onmessage'] | undefined
  onfault?: TransportEvents['onfault'] | undefined
  onend?: TransportEvents['onend'] | undefined
  onclose?: Transport['onclose'] | undefined
  onerror?: Transport['onerror'] | undefined
  readonly #options: StdioServerOptions
  #stdin: Source | undefined
  #reader: LineSplitter | undefined
  #writer: LineWriter | undefined
  #guard: { release(): void } | undefined
  #closed = false

  constructor(options?: StdioServerOptions)
  /** The form that other SDKs have. */
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

  /** 2025-11-25 authorization: stdio has no tokens. Whoever started this process can do all that it can. */
  get isLocalUser(): boolean {
    return this.auth === undefined
  }

  async start(): Promise<void> {
    if (this.#stdin) throw new TypeError('This StdioServerTransport was started already; connect() does that')
    const stdin = this.#options.stdin ?? process.stdin
    const { maxMessageBytes = defaultMaxMessageBytes, maxQueuedBytes = 256 * 1024 * 1024 } = this.#options
    this.#stdin = stdin
    this.#reader = createReader(this, maxMessageBytes)
    this.#writer = new LineWriter(this.#openSink(), {
      maxQueuedBytes,
      onBlocked: (blocked) => {
        // A client that does not read its answers is asked for no more questions.
        if (blocked) stdin.pause()
        else if (!this.#closed) stdin.resume()
      },
    })
    stdin.on('data', (chunk) => this.#reader!.push(chunk))
    stdin.on('end', () => this.onend?.())
    stdin.on('error', (error) => this.onerror?.(error))
  }

  send(message: RpcMessage | RpcMessage[]): void {
    this.sendText(JSON.stringify(message))
  }

  sendText(text: string): void {
    this.#writer?.write(text)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await this.#writer?.flushed(flushMs)
    this.#stdin?.removeAllListeners('data')
    this.#stdin?.pause()
    this.#guard?.release()
    this.onclose?.()
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

/** A client that went away breaks the pipe; that ends this connection and nothing else. */
function watched(sink: Sink, transport: StdioServerTransport): Sink {
  const stream = sink as { on?(event: 'error', listener: (error: Error) => void): unknown }
  stream.on?.('error', () => void transport.close())
  return sink
}

type Write = typeof process.stdout.write

let holders = 0
let original: Write | undefined

/**
 * Keeps stdout for messages: a stray `console.log` would break the stream for the client. While the guard is held such
 * output goes to stderr, and the first time it says where it came from.
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
    `Something wrote to stdout, which carries MCP messages; it goes to stderr instead.${caller ? ` First seen${caller.replace(/^\s+/, ' ')}` : ''}`,
  )
  return (process.stderr.write as (...args: unknown[]) => boolean)(chunk, ...rest)
}

function isUserCode(line: string): boolean {
  return line.includes('at ') && !line.includes('node:') && !line.includes('redirect')
}
