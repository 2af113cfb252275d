import type { IncomingMessage } from 'node:http'
import type { AuthInfo } from '../../../protocol/auth-info.ts'
import { ByteCollector, decodeUtf8 } from '../../../util/bytes.ts'
import { type BodyLimits, type CallRequest, notUtf8, Refusal, tooLarge, tooManyBodies, tooSlow } from './call.ts'
import { countedFromBytes, type IncomingBody } from './incoming-bodies.ts'

/** A request of `node:http`, with the properties that frameworks add to it. */
export interface NodeRequest extends IncomingMessage {
  /** The body as a body parser in front of us parsed it. */
  body?: unknown
  /** The bytes that the parser read, if it kept them. */
  rawBody?: unknown
  auth?: unknown
  /** The whole path. Express keeps it here when a handler is mounted under a part of it. */
  originalUrl?: string
}

/** The headers, URL and caller of a `node:http` request. */
export class NodeRequestFacts implements CallRequest {
  readonly #incoming: NodeRequest
  readonly #headers: IncomingMessage['headers']
  #peer: string | undefined
  principal: string | undefined

  constructor(incoming: NodeRequest) {
    this.#incoming = incoming
    this.#headers = incoming.headers
  }

  get url(): string {
    const { originalUrl, url = '/', socket } = this.#incoming
    const path = originalUrl ?? url
    if (!path.startsWith('/')) return path
    return `${'encrypted' in socket ? 'https' : 'http'}://${this.#headers.host ?? 'localhost'}${path}`
  }

  header(name: string): string | undefined {
    const value = this.#headers[name]
    if (value === undefined) return this.#inLowerCase(name)
    if (keptOnce.has(name) && isRepeated(this.#incoming.rawHeaders, name)) return repeated
    return typeof value === 'string' ? value : value.join(', ')
  }

  #inLowerCase(name: string): string | undefined {
    const lower = name.toLowerCase()
    return lower === name ? undefined : this.header(lower)
  }

  get headers(): Readonly<Record<string, string>> {
    const entries = Object.entries(this.#headers)
    return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value!]))
  }

  get auth(): AuthInfo | undefined {
    return this.#incoming.auth as AuthInfo | undefined
  }

  get truncated(): boolean {
    return this.#incoming.rawHeaders.length > maxHeaders
  }

  get peer(): string | undefined {
    return this.#peer ?? this.#incoming.socket.remoteAddress
  }

  set peer(address: string | undefined) {
    this.#peer = address
  }
}

/** Names and values. Node silently drops further headers, unless its server is configured otherwise. */
const maxHeaders = 2_000

/** Headers that decide who may call, and of which Node shows only the first. */
const keptOnce: ReadonlySet<string> = new Set(['host', 'content-type', 'authorization'])

/** The value of a header that was sent more than once. It is invalid everywhere, because a proxy may have read the other one. */
const repeated = ', '

function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.length === name.length && rawHeaders[index]!.toLowerCase() === name) count++
  }
  return count > 1
}

/** Reads the body of one request as text. */
export class BodyReader implements IncomingBody {
  readonly #request: CallRequest
  readonly #incoming: IncomingMessage
  readonly #limits: BodyLimits
  readonly #done: (body: string | Refusal) => void
  readonly #collected = new ByteCollector()
  readonly #onDeadline = () => this.#finish(tooSlow(this.#limits.bodyTimeoutMs))
  #isCounted = false
  #isDone = false

  constructor(
    request: CallRequest,
    incoming: IncomingMessage,
    limits: BodyLimits,
    done: (body: string | Refusal) => void,
  ) {
    this.#request = request
    this.#incoming = incoming
    this.#limits = limits
    this.#done = done
    limits.deadlines?.add(this.#onDeadline)
    incoming.on('data', (chunk: Buffer) => this.#isDone || this.#push(chunk))
    incoming.on('end', () => this.#isDone || this.#finish(decodeUtf8(this.#collected.take()) ?? notUtf8()))
  }

  get peer(): string | undefined {
    return this.#request.peer
  }

  refuse(): void {
    this.#finish(tooManyBodies())
  }

  #push(chunk: Buffer): void {
    const { maxBodyBytes } = this.#limits
    this.#collected.push(chunk)
    if (this.#collected.length > maxBodyBytes) this.#finish(tooLarge(maxBodyBytes))
    else if (this.#collected.length > countedFromBytes) this.#count()
  }

  #count(): void {
    const { incoming } = this.#limits
    // The client may disconnect before the body has arrived.
    if (!this.#isCounted) this.#incoming.on('close', () => incoming?.delete(this))
    this.#isCounted = true
    incoming?.update(this, this.#collected.length)
  }

  #finish(body: string | Refusal): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#limits.deadlines?.delete(this.#onDeadline)
    if (this.#isCounted) this.#limits.incoming?.delete(this)
    if (body instanceof Refusal) this.#incoming.pause()
    this.#done(body)
  }
}
