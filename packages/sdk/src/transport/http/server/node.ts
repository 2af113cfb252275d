import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { scheduler } from '../../../util/scheduler.ts'
import {
  type Body,
  type BodyLimits,
  type CallRequest,
  type EventSink,
  eventHeaders,
  type HeaderFields,
  type HttpCall,
  jsonHeaders,
  type OutputLimits,
  type Refusal,
  toBody,
  tooLarge,
} from './call.ts'
import { BodyReader, type NodeRequest, NodeRequestFacts } from './node-request.ts'
import { type UnsentOutput, watchedFromBytes } from './unsent-output.ts'

/** Adapts `node:http` to `HttpCall` without building a `Request`, a `Response` or a web stream. */
export class NodeCall implements HttpCall {
  readonly method: string
  readonly request: CallRequest
  readonly #incoming: NodeRequest
  readonly #response: ServerResponse
  readonly #parsed: unknown
  #limits: OutputLimits | undefined

  /** @param parsed The body, if a framework has read it already. */
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
    else new BodyReader(this.request, this.#incoming, limits, (body) => this.isGone || done(body))
  }

  reply(status: number, headers: HeaderFields, body: string | Uint8Array = ''): void {
    const response = this.#response
    if (response.headersSent || this.isGone) return
    // A long text is encoded once here. Node would measure it first and join it to the headers later.
    const content = typeof body === 'string' && body.length > longText ? Buffer.from(body) : body
    response.writeHead(status, status === 204 ? headers : withLength(headers, Buffer.byteLength(content)))
    sendAtEndOfTurn({ response, content, call: this })
  }

  /** Whether the client can no longer be answered. A pipelined response that waits for another one cannot tell by itself. */
  get isGone(): boolean {
    return this.#response.destroyed || this.#incoming.socket.destroyed
  }

  limitOutput(limits: OutputLimits): void {
    this.#limits = limits
  }

  /** The unsent output on the connection of this call. */
  output(): ConnectionOutput | undefined {
    return this.#limits && outputOf(this.#incoming.socket, this.#limits)
  }

  stream(headers: HeaderFields): EventSink {
    const response = this.#response
    response.writeHead(200, headers)
    response.flushHeaders()
    // Events are small and must not be delayed until more data is there.
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

  /** Resolves when the response was sent or the client is gone. */
  finished(): Promise<void> {
    return new Promise((resolve) => {
      if (this.isGone) return resolve()
      const forget = onSocketClose(this.#incoming.socket, resolve)
      const done = () => {
        forget()
        resolve()
      }
      this.#response.on('finish', done)
      this.#response.on('close', done)
    })
  }
}

const outputs = new WeakMap<Socket, ConnectionOutput>()

function outputOf(socket: Socket, limits: OutputLimits): ConnectionOutput {
  const output = outputs.get(socket) ?? new ConnectionOutput(socket, limits)
  outputs.set(socket, output)
  return output
}

interface PendingReply {
  readonly response: ServerResponse
  readonly content: string | Uint8Array
  readonly call: NodeCall
}

/** Replies of the current turn of the event loop. */
let pendingReplies: PendingReply[] = []

/**
 * Sends the replies of one turn of the event loop together, at its end. Each write wakes the reader at the other end; a write
 * while the reader is awake already costs a third.
 */
function sendAtEndOfTurn(reply: PendingReply): void {
  if (pendingReplies.push(reply) === 1) scheduler.setImmediate(sendPendingReplies)
}

function sendPendingReplies(): void {
  const replies = pendingReplies
  pendingReplies = []
  for (const { response, content, call } of replies) {
    // An earlier reply may have exceeded the limit of this connection and closed it.
    if (call.isGone) continue
    response.end(content)
    if (content.length > watchedFromBytes && response.writableLength > 0) call.output()?.add(response, content.length)
  }
}

const longText = 16_384

/** A literal for almost every reply, because Node needs twice as long for an object made by a spread. */
function withLength(headers: HeaderFields, length: number): Record<string, string | number> {
  if (headers === jsonHeaders) return { 'content-type': 'application/json', 'content-length': length }
  if (headers === eventHeaders) {
    return {
      'content-type': 'text/event-stream',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      'content-length': length,
    }
  }
  return { ...headers, 'content-length': length }
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
    if (!response.write(text)) this.#output?.add(response, text.length)
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

/** The unread output of one connection: with pipelining, that of several responses. */
export class ConnectionOutput implements UnsentOutput {
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

  /** Bytes that the operating system has not accepted. Node uses the same number for its socket timeouts. */
  get inFlight(): number {
    const { _handle } = this.#socket as { _handle?: { writeQueueSize?: number } | null }
    return _handle?.writeQueueSize ?? 0
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** Counts bytes that were written to a response and could not be sent at once. */
  add(response: ServerResponse, bytes: number): void {
    if (!this.#responses.has(response)) {
      this.#responses.add(response)
      response.on('finish', () => this.#sent(response))
    }
    this.#limits.unsentOutputs.add(this, bytes)
    // A single response may have any size, but the client decides how many of them it lets wait.
    if (this.#responses.size > 1 && this.unsentBytes > this.#limits.maxQueuedBytes) this.destroy()
  }

  #sent(response: ServerResponse): void {
    this.#responses.delete(response)
    if (this.#responses.size === 0) this.#limits.unsentOutputs.delete(this)
  }

  #closed(): void {
    for (const response of this.#responses) discard(response)
    this.#responses.clear()
    this.#limits.unsentOutputs.delete(this)
  }
}

/** Listeners for the end of each socket. One `close` listener on the socket serves all of them. */
const listenersOf = new WeakMap<Socket, Set<() => void>>()

/**
 * Calls `listener` when the socket closes. A pipelined response that waits for another one gets no `close` event of its own.
 * Returns a function that removes the listener.
 */
export function onSocketClose(socket: Socket, listener: () => void): () => void {
  const listeners = listenersOf.get(socket) ?? watch(socket)
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

function watch(socket: Socket): Set<() => void> {
  const listeners = new Set<() => void>()
  listenersOf.set(socket, listeners)
  socket.on('close', () => {
    for (const listener of [...listeners]) listener()
  })
  return listeners
}

/** Node keeps the output of a response that never got a socket for as long as any handler of its connection runs. */
function discard(response: ServerResponse): void {
  response.destroy()
  const output = response as { outputData?: unknown[]; outputSize?: number }
  output.outputData = []
  output.outputSize = 0
}
