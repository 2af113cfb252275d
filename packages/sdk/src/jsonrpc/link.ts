import { type CloseDetail, ClosedError, McpError, PeerError } from '../errors.ts'
import { isThenable } from '../util/maybe-async.ts'
import { scheduler } from '../util/scheduler.ts'
import { warnOnce } from '../util/warn.ts'
import { Batch, type BatchMember, classifyReceived, type ReceivedKind } from './batch.ts'
import { Exchange } from './exchange.ts'
import { InFlight } from './in-flight.ts'
import { jsonProblem } from './json-problem.ts'
import {
  encodeRequest,
  encodeResult,
  Fault,
  isNotification,
  isRequest,
  isResponse,
  type Params,
  Prepared,
  type RequestId,
  type ResultObject,
  type RpcErrorBody,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from './message.ts'
import { PendingRequests, type RequestOptions } from './pending.ts'
import type { ReplyStream, Transport } from './transport.ts'

/** The side that answers: a server, or a client for what servers ask. */
export interface Receiver {
  request(exchange: Exchange): void
  notification(notification: RpcNotification, link: Link): void
  /** The link is about to end: finish what would otherwise stay open for ever. */
  drain?(link: Link): void
  closed?(link: Link, detail: CloseDetail | undefined): void
  /** Messages that the peer sent of its own accord may have been lost on the way. */
  gap?(): void
  /** A request was cancelled before it was answered. */
  cancelled?(cancellation: Cancellation): void
  /** A result cannot be written as JSON: the error to answer with instead. */
  unsendable?(request: RpcRequest, result: unknown, error: unknown): RpcErrorBody
  /** Takes what went wrong on our side and cannot be told to the peer. */
  error(error: unknown): void
}

/** A request that one of the two sides no longer wants. */
export interface Cancellation {
  readonly method: string
  readonly id: RequestId
  /** As the side that cancelled it says; at most 1,000 characters. Text of a peer is untrusted. */
  readonly reason: string
  /** `local`: we cancelled a request of ours. `remote`: the other side cancelled a request of its own. */
  readonly by: 'local' | 'remote'
}

/** Characters of a reason that are handed on. */
const maxReason = 1_000

/** What a request may need besides what callers can say. */
export interface SendOptions extends RequestOptions {
  /** Ask for progress even if nobody but the timeout listens to it. */
  progress?: boolean | undefined
  /** Takes the id that the request went out with. */
  onSent?: ((id: number) => void) | undefined
  /** Members that every request carries in `_meta`, as JSON text without braces. */
  meta?: string | undefined
  /** The stream of the peer's request that this one belongs to. */
  stream?: ReplyStream | undefined
  /** For HTTP: headers that this request alone carries. */
  headers?: Readonly<Record<string, string>> | undefined
  /** Receives the authorization context of the request each time it is sent, where the transport has several. */
  onAuthorized?: ((context: string) => void) | undefined
}

export interface LinkLimits {
  /** Requests of one peer that may be worked on at a time. Default 10,000. */
  maxInFlight?: number | undefined
  /** Messages in one batch. Default 100. */
  maxBatch?: number | undefined
}

/**
 * One peer: receives its messages, matches answers to requests, and is the way back to it. All tables live here and
 * die with it, so equal ids of different peers never meet.
 */
export class Link {
  readonly transport: Transport
  readonly #receiver: Receiver
  readonly #limits: LinkLimits
  /** Made on first use: a link of one HTTP call asks nothing. */
  #pending: PendingRequests | undefined
  readonly #inFlight = new InFlight()
  #running = 0
  #closed: CloseDetail | true | undefined
  #onIdle: (() => void) | undefined

  /** Set by an era: whether what cannot be read is answered with an error. A client of 2026-07-28 never answers. */
  answersFaults = true
  /** Set by an era: whether this peer may send batches. */
  batching = false
  /** Set by an era: whether an error about an unreadable request goes without id (2025-11-25 on) or with `id: null`. */
  omitsUnknownId = true
  /** What an era remembers about this peer. */
  session: unknown
  /** What our requests are numbered from. */
  firstId = 1
  /** Among the links of its server. */
  place = -1

  constructor(transport: Transport, receiver: Receiver, limits: LinkLimits = {}) {
    this.transport = transport
    this.#receiver = receiver
    this.#limits = limits
  }

  get closed(): boolean {
    return this.#closed !== undefined
  }

  async open(): Promise<void> {
    const { transport } = this
    transport.onmessage = (message, stream, kind) => this.receive(message, stream, kind)
    transport.onfault = (fault, stream) => this.refuse(fault, stream)
    transport.onerror = (error) => this.#receiver.error(error)
    transport.onend = () => void this.close()
    transport.ongap = () => this.#receiver.gap?.()
    transport.onwait = () => this.pauseTimeouts()
    transport.onclose = (detail) => this.ended(detail)
    await transport.start()
  }

  request(method: string, params?: Params, options?: SendOptions): Promise<ResultObject> {
    if (this.#closed) return Promise.reject(this.#closedError(method))
    if (options?.stream && (this.#pending?.size ?? 0) >= maxQuestions) return Promise.reject(tooManyQuestions(method))
    return this.#waiting().add(method, options, (id) => {
      options?.onSent?.(id)
      const text = toText(method, () => encodeRequest(id, method, params, metaOf(id, options)))
      const { transport } = this
      if (options?.stream) {
        if (options.stream.sendText(text, false) === false) throw noWayBack(method)
      } else if (transport.sendRequest) {
        const sent = transport.sendRequest(text, {
          id,
          method,
          params,
          headers: options?.headers,
          onAuthorized: options?.onAuthorized,
        })
        if (isThenable(sent)) sent.then(undefined, (error) => this.#pending!.fail(id, error))
      } else if (transport.sendText && !isWatched(transport)) transport.sendText(text)
      else this.#sendMessage(JSON.parse(text), undefined, (error) => this.#pending!.fail(id, error))
    })
  }

  /** Whether the message is for what this process asked, or is doing for the peer. */
  concerns(message: RpcNotification | RpcResponse): boolean {
    if (!('method' in message)) return this.#pending?.wasOurs(message.id!) ?? false
    if (message.method === 'notifications/cancelled') {
      return this.#inFlight.get(message.params?.requestId as RequestId) !== undefined
    }
    const token = message.params?.progressToken as RequestId
    return message.method === 'notifications/progress' && (this.#pending?.wasOurs(token) ?? false)
  }

  /** While a question of the peer is being answered, the time for our own requests stands still. */
  pauseTimeouts(): () => void {
    return this.#pending?.pause() ?? (() => {})
  }

  #waiting(): PendingRequests {
    this.#pending ??= new PendingRequests(
      (id, method, reason, options) => this.#giveUp(id, method, reason, options),
      (error) => this.#receiver.error(error),
      this.firstId,
    )
    return this.#pending
  }

  /** @param stream The stream of the request that it belongs to, if it belongs to one. */
  notify(method: string, params?: Params, stream?: ReplyStream): void {
    if (this.#closed) return
    this.#sendMessage({ jsonrpc: '2.0', method, ...(params && { params }) }, stream)
  }

  /** Ends gracefully: what is in flight gets `graceMs` to be answered, then the rest is cancelled. */
  async close(graceMs = 2_000): Promise<void> {
    if (this.#closed) return
    this.#receiver.drain?.(this)
    if (this.#inFlight.size > 0 && graceMs > 0) await this.#idle(graceMs)
    await this.transport.close()
    this.ended()
  }

  /** For exchanges only. */
  sendResult(exchange: Exchange, result: ResultObject | Prepared): void {
    const { batch, stream, request } = exchange
    if (batch) return batch.settle(this.#toResponse(request, result))
    if (this.#closed) return
    if (result instanceof Prepared && stream?.sendPrepared?.(request.id, result)) return
    if (!stream && (!this.transport.sendText || isWatched(this.transport))) return this.#sendObject(exchange, result)
    let text: string
    try {
      text = encodeResult(request.id, result)
    } catch (error) {
      return this.sendError(exchange, this.#unsendable(request, result, error))
    }
    if (stream) stream.sendText(text, true)
    else this.#sendText(text)
  }

  #sendObject(exchange: Exchange, result: ResultObject | Prepared): void {
    const { request } = exchange
    const failed = (error: unknown) => this.#receiver.error(error)
    try {
      this.#sendMessage({ jsonrpc: '2.0', id: request.id, result: materialise(result) }, undefined, failed)
    } catch (error) {
      if (jsonProblem(result) === undefined) return failed(error)
      this.sendError(exchange, this.#unsendable(request, result, error))
    }
  }

  /** One member that cannot be sent must not take the others of its batch with it. */
  #toResponse(request: RpcRequest, result: ResultObject | Prepared): RpcResponse {
    try {
      return JSON.parse(encodeResult(request.id, result))
    } catch (error) {
      return { jsonrpc: '2.0', id: request.id, error: this.#unsendable(request, result, error) }
    }
  }

  #unsendable(request: RpcRequest, result: unknown, error: unknown): RpcErrorBody {
    if (this.#receiver.unsendable) return this.#receiver.unsendable(request, result, error)
    this.#receiver.error(error)
    return { code: -32603, message: 'Internal error' }
  }

  /** For exchanges only. */
  sendError(exchange: Exchange, error: RpcErrorBody): void {
    const response: RpcResponse = { jsonrpc: '2.0', id: exchange.request.id, error }
    if (exchange.batch) exchange.batch.settle(response)
    else if (!this.#closed) this.#sendMessage(response, exchange.stream)
  }

  /** For exchanges only: a cancelled member must not hold back the answers of its batch, nor an HTTP call stay open. */
  sendNothing(exchange: Exchange): void {
    if (exchange.batch) exchange.batch.settle(undefined)
    else exchange.stream?.end()
  }

  /** For exchanges only. A handler goes on after its request was cancelled, and counts until it ends. */
  handled(): void {
    this.#running--
  }

  /** For exchanges only. */
  forget(exchange: Exchange): void {
    this.#inFlight.delete(exchange)
    if (this.#onIdle && this.#inFlight.size === 0) this.#onIdle()
  }

  /** For transports: classifies a message, or an array that may be a batch, before it is received. */
  classify(value: unknown): ReceivedKind {
    return classifyReceived(value, this)
  }

  /**
   * For transports: takes one message, or an array that may be a batch.
   * @param kind Given by a transport that has classified the message already.
   */
  receive(value: unknown, stream?: ReplyStream, kind: ReceivedKind = this.classify(value)): void {
    if (isRequest(value, kind)) this.#startExchange(value, stream)
    else if (isNotification(value, kind)) this.#notified(value)
    else if (isResponse(value, kind)) this.#answered(value)
    else if (kind instanceof Fault) this.refuse(kind, stream)
    else if (typeof kind === 'object') this.#receiveBatch(kind, stream)
  }

  #startExchange(request: RpcRequest, stream: ReplyStream | undefined, batch?: Batch): void {
    const problem = this.#problemWith(request)
    // Not as the answer to the other request of this id, which may be a member of a batch.
    if (problem) return this.#sendMessage(errorResponse(request.id, -32600, problem), stream)
    const exchange = new Exchange(request, this, stream, batch)
    this.#inFlight.add(exchange)
    this.#running++
    this.#receiver.request(exchange)
  }

  #problemWith(request: RpcRequest): string | undefined {
    if (this.#inFlight.get(request.id)) return 'A request with this id is still in progress'
    if (this.#running >= (this.#limits.maxInFlight ?? 10_000)) return 'Too many requests in progress'
    return undefined
  }

  #notified(notification: RpcNotification): void {
    const { method, params } = notification
    if (method === 'notifications/progress') this.#pending?.progress(params ?? {})
    else if (method === 'notifications/cancelled') this.#cancelled(params ?? {})
    this.#receiver.notification(notification, this)
  }

  /** Unknown, finished and malformed cancellations are ignored (2025-11-25 cancellation, error handling). */
  #cancelled(params: Params): void {
    const exchange = this.#inFlight.get(params.requestId as RequestId)
    if (!exchange || exchange.request.method === 'initialize') return
    const reason = typeof params.reason === 'string' ? params.reason : 'The peer cancelled the request'
    exchange.cancel(reason)
    const { id, method } = exchange.request
    this.#receiver.cancelled?.({ id, method, reason: reason.slice(0, maxReason), by: 'remote' })
  }

  #answered(response: RpcResponse): void {
    const { id, error } = response
    const pending = this.#pending
    if (pending && id !== undefined && id !== null) {
      const known = error
        ? pending.fail(id, new PeerError(error.code, error.message, error.data))
        : pending.settle(id, response.result!)
      // An answer that comes after its request was given up is normal; one that nobody asked for is worth a word.
      if (known || pending.wasOurs(id)) return
    }
    if (error) this.#receiver.error(new PeerError(error.code, error.message, error.data))
    else warnOnce('response-to-nobody', 'The peer answered a request that was never made; the answer is ignored.')
  }

  get maxBatch(): number {
    return this.#limits.maxBatch ?? 100
  }

  #receiveBatch(members: readonly BatchMember[], stream: ReplyStream | undefined): void {
    const batch = new Batch((answers) => {
      if (answers.length > 0) this.#sendMessage(answers, stream)
      else stream?.end()
    })
    for (const member of members) this.#receiveMember(member, batch, stream)
    batch.seal()
  }

  #receiveMember({ message, kind }: BatchMember, batch: Batch, stream: ReplyStream | undefined): void {
    if (kind instanceof Fault && kind.meant === 'answer' && !stream) return this.refuse(kind)
    if (kind instanceof Fault) return batch.answer(this.#faultResponse(kind))
    if (!isRequest(message, kind)) return this.receive(message, undefined, kind)
    if (message.method === 'initialize') {
      return batch.answer(errorResponse(message.id, -32600, 'initialize cannot be part of a batch'))
    }
    const problem = this.#problemWith(message)
    if (problem) return batch.answer(errorResponse(message.id, -32600, problem))
    batch.expect()
    this.#startExchange(message, stream, batch)
  }

  /** For transports: something came that is no message. */
  refuse(fault: Fault, stream?: ReplyStream): void {
    if (this.#closed || this.#failsWaiting(fault)) return
    if (!stream && (fault.meant === 'answer' || !this.answersFaults)) this.#receiver.error(unreadable(fault))
    else this.#sendMessage(this.#faultResponse(fault), stream)
  }

  /** Whoever waits for an answer that turned out unreadable is told at once. */
  #failsWaiting(fault: Fault): boolean {
    if (fault.meant === 'request' || fault.id === undefined || !this.#pending) return false
    return this.#pending.fail(fault.id, unreadable(fault))
  }

  #faultResponse(fault: Fault): RpcResponse {
    if (fault.id !== undefined) return errorResponse(fault.id, fault.code, fault.message)
    const response = errorResponse(null, fault.code, fault.message)
    if (this.omitsUnknownId) delete response.id
    return response
  }

  #giveUp(id: number, method: string, reason: string, options: SendOptions | undefined): void {
    this.#receiver.cancelled?.({ id, method, reason: reason.slice(0, maxReason), by: 'local' })
    // 2025-11-25 cancellation: initialize is never cancelled.
    if (this.transport.cancelRequest?.(id)) return
    if (method !== 'initialize') this.notify('notifications/cancelled', { requestId: id, reason }, options?.stream)
  }

  /** @param onFailure Takes a failure that comes later; without it, every failure is reported and nothing thrown. */
  #sendMessage(message: RpcMessage | RpcMessage[], stream?: ReplyStream, onFailure?: (error: unknown) => void): void {
    const failed = onFailure ?? ((error: unknown) => this.#receiver.error(error))
    try {
      if (stream) return void stream.sendText(JSON.stringify(message), isLast(message), errorOf(message))
      if (this.transport.sendText && !isWatched(this.transport)) {
        return this.transport.sendText(JSON.stringify(message))
      }
      const sent = this.transport.send(message)
      if (isThenable(sent)) sent.then(undefined, failed)
    } catch (error) {
      if (onFailure) throw error
      failed(error)
    }
  }

  /** A peer that cannot be sent an answer, because it does not read, is given up. */
  #sendText(text: string): void {
    try {
      this.transport.sendText!(text)
    } catch (error) {
      this.#receiver.error(error)
      this.ended()
      void this.transport.close()
    }
  }

  #idle(graceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = scheduler.setTimeout(resolve, graceMs)
      this.#onIdle = () => {
        scheduler.clearTimeout(timer)
        resolve()
      }
    })
  }

  /** For transports: the connection is over. */
  ended(detail?: CloseDetail): void {
    if (this.#closed) return
    this.#closed = detail ?? true
    if (this.#inFlight.size > 0) {
      for (const exchange of this.#inFlight.all()) exchange.cancel('The connection closed')
    }
    this.#pending?.failAll(this.#closedError())
    this.#receiver.closed?.(this, detail)
  }

  #closedError(method?: string): McpError {
    const detail = this.#closed === true ? undefined : this.#closed
    const what = method
      ? `${method} was not sent: the connection is closed`
      : 'The connection closed before the answer came'
    return new ClosedError(what + describe(detail), detail)
  }
}

/** Instrumentation replaces `send` on the transport. It must see every message, so the faster ways are not taken then. */
export function isWatched(transport: Transport): boolean {
  return Object.hasOwn(transport, 'send')
}

/** Answers end a stream; notifications and our own requests do not. */
function isLast(message: RpcMessage | RpcMessage[]): boolean {
  return Array.isArray(message) || !('method' in message)
}

/** The error of a response. A batch has one only if every member is invalid. */
export function errorOf(message: RpcMessage | RpcMessage[]): RpcErrorBody | undefined {
  if (!Array.isArray(message)) return 'error' in message ? message.error : undefined
  return message.every((member) => errorOf(member)?.code === -32600) ? message[0] && errorOf(message[0]) : undefined
}

function toText(method: string, encode: () => string): string {
  try {
    return encode()
  } catch (cause) {
    throw new McpError(
      'invalid-argument',
      `${method}: the params cannot be sent as JSON: ${(cause as Error).message}`,
      { cause },
    )
  }
}

/** Questions that one peer has not answered; each waits, and keeps what waits for it. */
const maxQuestions = 200

function tooManyQuestions(method: string): McpError {
  return new McpError('overloaded', `${method} was not sent: ${maxQuestions} questions of this client are open`)
}

function noWayBack(method: string): McpError {
  return new McpError(
    'capability-missing',
    `${method} cannot be sent: the server gives plain answers only (enableJsonResponse), or has as many streams open as it may (maxStreams, maxStreamsPerSession)`,
  )
}

function unreadable(fault: Fault): McpError {
  return new McpError('invalid-response', `The peer sent something unreadable: ${fault.message}`)
}

function metaOf(id: number, options: SendOptions | undefined): string {
  if (!options) return ''
  const token = options.progress || options.onProgress ? `"progressToken":${id}` : ''
  if (options.meta === undefined) return token
  return token === '' ? options.meta : `${options.meta},${token}`
}

function errorResponse(id: RequestId | null, code: number, message: string): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

function materialise(result: ResultObject | Prepared): ResultObject {
  return result instanceof Prepared ? JSON.parse(result.json) : result
}

function describe(detail: CloseDetail | undefined): string {
  if (!detail) return ''
  const how = detail.reason ?? (detail.signal ? `signal ${detail.signal}` : `exit code ${detail.exitCode}`)
  return ` (${how})${describeOutput(detail.stderr, detail.stdout)}`
}

/** What a server process wrote, for error messages. */
export function describeOutput(stderr: string | undefined, stdout: string | undefined): string {
  const said = stderr?.trim()
  const printed = stdout?.trim()
  const stray = printed
    ? `. It printed text to stdout, which must carry MCP messages only. Is it an MCP server?\n${printed}`
    : ''
  return `${stray}${said ? `${stray ? '\n' : '. '}The last it wrote to stderr:\n${said}` : ''}`
}
