import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { scheduler } from '../../../util/scheduler.ts'
import {
  type Body,
  type BodyLimits,
  type CallRequest,
  type EventSink,
  type HeaderFields,
  type HttpCall,
  jsonHeaders,
  type OutputLimits,
  type Refusal,
  toBody,
  tooLarge,
} from './call.ts'
import { BodyReader } from './node-body.ts'
import { ConnectionOutput, onSocketClose } from './node-output.ts'
import { type NodeRequest, NodeRequestFacts } from './node-request.ts'
import { watchedFromBytes } from './unsent-output.ts'

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
      this.#response.on('finish', resolve)
      this.#response.on('close', resolve)
      this.onClose(resolve)
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
