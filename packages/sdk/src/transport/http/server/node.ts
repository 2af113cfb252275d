import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { AuthInfo } from '../../../protocol/auth-info.ts'
import { ByteCollector, decodeUtf8 } from '../../../util/bytes.ts'
import { scheduler } from '../../../util/scheduler.ts'
import {
  type Body,
  type BodyLimits,
  type CallRequest,
  type EventSink,
  type HeaderFields,
  type HttpCall,
  jsonHeaders,
  notUtf8,
  type OutputLimits,
  Refusal,
  toBody,
  tooLarge,
  tooManyBodies,
  tooSlow,
} from './call.ts'
import { countedFromBytes, type IncomingBody } from './incoming-bodies.ts'
import { type UnsentOutput, watchedFromBytes } from './unsent-output.ts'

/** A request as `node:http` gives it; frameworks leave what they found out on it. */
export interface NodeRequest extends IncomingMessage {
  /** What a body parser in front of us made of the body. */
  body?: unknown
  /** The bytes that the parser read, where it kept them. */
  rawBody?: unknown
  auth?: unknown
  /** Express and its like keep the whole path here when they mount a handler under a part of it. */
  originalUrl?: string
}

/** The rim on `node:http`: no `Request`, no `Response`, no web stream. */
export class NodeCall implements HttpCall {
  readonly method: string
  readonly request: CallRequest
  readonly #incoming: NodeRequest
  readonly #response: ServerResponse
  readonly #parsed: unknown
  #limits: OutputLimits | undefined

  /** @param parsed The body, when a framework has read it already. */
  constructor(incoming: NodeRequest, response: ServerResponse, parsed: unknown = incoming.body) {
    this.method = incoming.method ?? 'GET'
    this.request = new NodeRequestFacts(incoming)
    this.#incoming = incoming
    this.#response = response
    this.#parsed = parsed
  }

  get allowedOrigin(): string | undefined {
    const value = this.#response.getHeader('access-control-allow-origin')
    return typeof value === 'string' ? value : undefined
  }

  get exposesHeaders(): boolean {
    return this.#response.hasHeader('access-control-expose-headers')
  }

  body(limits: BodyLimits, done: (body: Body | Refusal) => void): void {
    if (this.isGone) return
    if (this.#parsed !== undefined) return done(toBody(this.#parsed, this.#incoming.rawBody, limits.maxBodyBytes))
    const length = Number(this.request.header('content-length') ?? 0)
    if (length > limits.maxBodyBytes) done(tooLarge(limits.maxBodyBytes))
    else new BodyReader(this, this.#incoming, limits, (body) => this.isGone || done(body))
  }

  reply(status: number, headers: HeaderFields, body: string | Uint8Array = ''): void {
    const response = this.#response
    if (response.headersSent || this.isGone) return
    // A long text is encoded once here, rather than measured first and joined to the headers then.
    const content = typeof body === 'string' && body.length > longText ? Buffer.from(body) : body
    response.writeHead(status, status === 204 ? headers : withLength(headers, Buffer.byteLength(content)))
    leave({ response, content, call: this })
  }

  /** Whether the client can no longer be answered. A response that is queued behind another one (pipelining) does not know. */
  get isGone(): boolean {
    return this.#response.destroyed || this.#incoming.socket.destroyed
  }

  limitOutput(limits: OutputLimits): void {
    this.#limits = limits
  }

  /** What waits on the connection of this call. */
  output(): ConnectionOutput | undefined {
    return this.#limits && outputOf(this.#incoming.socket, this.#limits)
  }

  stream(headers: HeaderFields): EventSink {
    const response = this.#response
    response.writeHead(200, headers)
    response.flushHeaders()
    // Events are small and must not wait for company.
    response.socket?.setNoDelay(true)
    return new NodeSink(response, this)
  }

  onClose(listener: () => void): void {
    const response = this.#response
    const { socket } = this.#incoming
    if (this.isGone) return listener()
    const forget = onSocketClose(socket, listener)
    response.on('close', () => {
      forget()
      if (!response.writableFinished) listener()
    })
    response.on('finish', forget)
  }

  /** Settles when the response was sent, or its client is gone. */
  finished(): Promise<void> {
    return new Promise((resolve) => {
      this.#response.on('finish', resolve)
      this.#response.on('close', resolve)
      this.onClose(resolve)
    })
  }
}

/** Those who wait for the end of a socket; one listener of it serves all. */
const waiting = new WeakMap<Socket, Set<() => void>>()

/**
 * A response that is queued behind another on its connection (pipelining) does not hear that the connection is gone.
 * Gives the way to wait no longer.
 */
function onSocketClose(socket: Socket, listener: () => void): () => void {
  let listeners = waiting.get(socket)
  if (!listeners) {
    const all = new Set<() => void>()
    listeners = all
    waiting.set(socket, all)
    socket.on('close', () => {
      for (const each of [...all]) each()
    })
  }
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** What waits on one connection: the responses that were written and not read, which several are with pipelining. */
class ConnectionOutput implements UnsentOutput {
  readonly #socket: Socket
  readonly #limits: OutputLimits
  readonly #responses = new Set<ServerResponse>()
  readonly #peer: string | undefined

  constructor(socket: Socket, limits: OutputLimits) {
    this.#socket = socket
    this.#peer = socket.remoteAddress
    this.#limits = limits
    onSocketClose(socket, () => this.#closed())
  }

  get unsentBytes(): number {
    let sum = 0
    for (const response of this.#responses) sum += response.writableLength
    return sum
  }

  get peer(): string | undefined {
    return this.#peer
  }

  /** What the operating system has not taken. Node looks at the same number for its socket timeouts. */
  get inFlight(): number {
    const { _handle } = this.#socket as { _handle?: { writeQueueSize?: number } | null }
    return _handle?.writeQueueSize ?? 0
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Bytes were written to a response and could not be sent at once. */
  waits(response: ServerResponse, bytes: number): void {
    if (!this.#responses.has(response)) {
      this.#responses.add(response)
      response.on('finish', () => this.#sent(response))
    }
    this.#limits.backlogs.add(this, bytes)
    // One response may be as large as it is; that more and more of them wait is up to the client.
    if (this.#responses.size > 1 && this.unsentBytes > this.#limits.maxQueuedBytes) this.destroy()
  }

  #sent(response: ServerResponse): void {
    this.#responses.delete(response)
    if (this.#responses.size === 0) this.#limits.backlogs.delete(this)
  }

  #closed(): void {
    for (const response of this.#responses) discard(response)
    this.#responses.clear()
    this.#limits.backlogs.delete(this)
  }
}

/** Node keeps the output of a response that never got a socket, for as long as any handler of its connection runs. */
function discard(response: ServerResponse): void {
  response.destroy()
  const output = response as { outputData?: unknown[]; outputSize?: number }
  output.outputData = []
  output.outputSize = 0
}

const outputs = new WeakMap<Socket, ConnectionOutput>()

function outputOf(socket: Socket, limits: OutputLimits): ConnectionOutput {
  const output = outputs.get(socket) ?? new ConnectionOutput(socket, limits)
  outputs.set(socket, output)
  return output
}

interface Leaving {
  readonly response: ServerResponse
  readonly content: string | Uint8Array
  readonly call: NodeCall
}

/** Answers of this turn of the event loop. */
let leaving: Leaving[] = []

/**
 * Answers leave together, at the end of the turn in which their requests came in. Each write wakes whoever reads at the
 * other end; while that one is awake already, a write costs a third.
 */
function leave(answer: Leaving): void {
  if (leaving.push(answer) === 1) scheduler.setImmediate(sendLeaving)
}

function sendLeaving(): void {
  const answers = leaving
  leaving = []
  for (const { response, content, call } of answers) {
    // An answer of this turn may have been one too many for its connection.
    if (call.isGone) continue
    response.end(content)
    if (content.length > watchedFromBytes && response.writableLength > 0) call.output()?.waits(response, content.length)
  }
}

const longText = 16_384

/** As a literal for nearly every answer: Node takes twice as long over an object that was spread. */
function withLength(headers: HeaderFields, length: number): Record<string, string | number> {
  if (headers === jsonHeaders) return { 'content-type': 'application/json', 'content-length': length }
  return { ...headers, 'content-length': length }
}

class NodeRequestFacts implements CallRequest {
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
    if (value === undefined) return this.#otherCase(name)
    if (keptOnce.has(name) && isRepeated(this.#incoming.rawHeaders, name)) return twice
    return typeof value === 'string' ? value : value.join(', ')
  }

  #otherCase(name: string): string | undefined {
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

/** Names and values. Node drops what is beyond, give or take a few, without a word, unless its server is told otherwise. */
const maxHeaders = 2_000

/** Headers that decide, and of which Node shows only the first. */
const keptOnce: ReadonlySet<string> = new Set(['host', 'content-type', 'authorization'])

/** In place of a header that came more than once, while someone on the way may have looked at another one: no valid value. */
const twice = ', '

function isRepeated(rawHeaders: readonly string[], name: string): boolean {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    if (rawHeaders[index]!.length === name.length && rawHeaders[index]!.toLowerCase() === name) count++
  }
  return count > 1
}

class NodeSink implements EventSink {
  readonly #response: ServerResponse
  readonly #call: NodeCall
  readonly #output: ConnectionOutput | undefined

  constructor(response: ServerResponse, call: NodeCall) {
    this.#response = response
    this.#call = call
    this.#output = call.output()
  }

  write(text: string): void {
    const response = this.#response
    if (response.writableEnded || this.#call.isGone) return
    if (!response.write(text)) this.#output?.waits(response, text.length)
  }

  get waiting(): number {
    return this.#response.writableLength
  }

  drained(): Promise<void> | undefined {
    const response = this.#response
    if (!response.writableNeedDrain || response.destroyed) return undefined
    return new Promise((resolve) => {
      const done = () => {
        response.off('drain', done)
        response.off('close', done)
        resolve()
      }
      response.on('drain', done)
      response.on('close', done)
    })
  }

  end(): void {
    if (!this.#response.writableEnded) this.#response.end()
  }

  destroy(): void {
    this.#response.destroy()
  }
}

/** Reads the body of one request as text. */
class BodyReader implements IncomingBody {
  readonly #request: CallRequest
  readonly #incoming: IncomingMessage
  readonly #limits: BodyLimits
  readonly #done: (body: string | Refusal) => void
  readonly #collected = new ByteCollector()
  readonly #onDeadline = () => this.#finish(tooSlow(this.#limits.bodyTimeoutMs))
  #isCounted = false
  #isDone = false

  constructor(call: NodeCall, incoming: IncomingMessage, limits: BodyLimits, done: (body: string | Refusal) => void) {
    this.#request = call.request
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
    // The client may go away before the body has arrived.
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
