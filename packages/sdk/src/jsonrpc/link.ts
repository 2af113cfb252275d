import { type CloseDetail, ClosedError, PeerError } from '../errors.ts'
import { isThenable } from '../util/maybe-async.ts'
import { scheduler } from '../util/scheduler.ts'
import { warnOnce } from '../util/warn.ts'
import { Exchange, InFlight } from './exchange.ts'
import { jsonProblem } from './json-problem.ts'
import { noStream, notJson, tooManyQuestions, unreadable } from './link-errors.ts'
import {
  Batch,
  type BatchMember,
  classifyReceived,
  encodeRequest,
  encodeResult,
  Fault,
  isNotification,
  isRequest,
  isResponse,
  type Params,
  Prepared,
  type ReceivedKind,
  type RequestId,
  type ResultObject,
  type RpcErrorBody,
  type RpcMessage,
  type RpcNotification,
  type RpcRequest,
  type RpcResponse,
} from './message.ts'
import { PendingRequests, type SendOptions } from './pending.ts'
import type { LinkLimits, Receiver } from './receiver.ts'
import {
  errorResponse,
  type LinkTransport,
  type ReplyStream,
  sendMessage,
  sendsText,
  type Transport,
} from './transport.ts'

/** Handlers that a program set on a transport before a link took it over. */
export type HandlersBefore = Pick<Transport, 'onmessage' | 'onerror' | 'onclose'>

/** The handlers that links set, which a later link of the same transport must not call. */
const ofLinks = new WeakSet<object>()

/** Returns the handlers that a program set on a transport. */
export function handlersOf({ onmessage, onerror, onclose }: Transport): HandlersBefore {
  const ofProgram = <H extends object | undefined>(handler: H) =>
    handler && ofLinks.has(handler) ? undefined : handler
  return { onmessage: ofProgram(onmessage), onerror: ofProgram(onerror), onclose: ofProgram(onclose) }
}

/** Characters of a cancellation reason that are passed on. */
const maxReason = 1_000

/** How many of our requests on streams of one peer may be unanswered before the next question of a handler is refused. */
const maxQuestions = 200

/**
 * One peer: receives its messages, matches responses to requests, and sends to it. Every table belongs to one link, so equal
 * request ids of different peers do not collide.
 */
export class Link {
  readonly transport: LinkTransport
  readonly #receiver: Receiver
  readonly #limits: LinkLimits
  /** Created on first use: most links of a single HTTP request never send one. */
  #pending: PendingRequests | undefined
  readonly #inFlight = new InFlight()
  #running = 0
  #closed: CloseDetail | true | undefined
  #onIdle: (() => void) | undefined

  /** Set by an era: whether to answer an invalid message with an error. A client of 2026-07-28 does not. */
  answersFaults = true
  /** Set by an era: whether this peer may send batches. */
  batching = false
  /** Set by an era: whether an error about an unreadable request has no id (2025-11-25 on) or `id: null`. */
  omitsUnknownId = true
  /** Set by an era: whether this peer sends requests that describe their sender, and so has no session. */
  isStateless = false
  /** What an era remembers about this peer. */
  session: unknown
  /** The id of our first request. */
  firstId = 1
  /** The position among the links of a server. */
  place = -1

  /**
   * @param receiver Handles the requests and notifications of the peer.
   * @param limits Limits for what the peer may send.
   */
  constructor(transport: LinkTransport, receiver: Receiver, limits: LinkLimits = {}) {
    this.transport = transport
    this.#receiver = receiver
    this.#limits = limits
  }

  get closed(): boolean {
    return this.#closed !== undefined
  }

  get maxBatch(): number {
    return this.#limits.maxBatch ?? 100
  }

  /**
   * Starts the transport.
   * @param before Handlers that the transport had before. They are called first.
   */
  async open(before: HandlersBefore = {}): Promise<void> {
    const { transport } = this
    const { onmessage, onerror, onclose } = before
    transport.onmessage = onmessage
      ? (message, stream, kind) => {
          onmessage.call(transport, message, stream, kind)
          this.receive(message, stream, kind)
        }
      : (message, stream, kind) => this.receive(message, stream, kind)
    transport.onfault = (fault, stream) => this.refuse(fault, stream)
    transport.onerror = (error) => {
      onerror?.call(transport, error)
      this.#receiver.error(error)
    }
    transport.onend = () => void this.close()
    transport.ongap = () => this.#receiver.gap?.()
    transport.onwait = () => this.pauseTimeouts()
    transport.onclose = (detail) => {
      onclose?.call(transport, detail)
      this.ended(detail)
    }
    for (const handler of [transport.onmessage, transport.onerror, transport.onclose]) ofLinks.add(handler)
    await transport.start()
  }

  /** Returns the request of the peer with this id, while it is in progress. */
  exchange(id: RequestId): Exchange | undefined {
    return this.#inFlight.get(id)
  }

  /** Sends a request and resolves with its result. */
  request(method: string, params?: Params, options?: SendOptions): Promise<ResultObject> {
    if (this.#closed) return Promise.reject(this.#closedError(method))
    if (options?.stream && (this.#pending?.size ?? 0) >= maxQuestions) {
      return Promise.reject(tooManyQuestions(method, maxQuestions))
    }
    return this.#pendingRequests().add(method, options, (id) => this.#sendRequest(id, method, params, options))
  }

  #sendRequest(id: number, method: string, params: Params | undefined, options: SendOptions | undefined): void {
    options?.onSent?.(id)
    const text = toRequestText(id, method, params, options)
    const { transport } = this
    if (options?.stream) {
      const { stream } = options
      const isSent = stream.sendMessage ? stream.sendMessage(JSON.parse(text), false) : stream.sendText(text, false)
      if (!isSent) throw noStream(method, options.stream.noStreamReason)
    } else if (transport.sendRequest) {
      const sent = transport.sendRequest(text, { id, method, params, options })
      if (isThenable(sent)) sent.then(undefined, (error) => this.#pending?.fail(id, error))
    } else if (sendsText(transport)) transport.sendText(text)
    else sendMessage(transport, JSON.parse(text), undefined, (error) => this.#pending?.fail(id, error))
  }

  /** Sends several requests as one batch, for peers whose revision has batches. Each has a result of its own. */
  requestBatch(
    requests: readonly { method: string; params?: Params | undefined }[],
    options?: SendOptions,
  ): Promise<ResultObject>[] {
    const messages: RpcRequest[] = []
    const answers = requests.map(({ method, params }) => {
      if (this.#closed) return Promise.reject(this.#closedError(method))
      return this.#pendingRequests().add(method, options, (id) => {
        options?.onSent?.(id)
        messages.push(JSON.parse(toRequestText(id, method, params, options)))
      })
    })
    const fail = (error: unknown) => {
      for (const { id } of messages) this.#pending?.fail(id, error)
    }
    try {
      const { transport } = this
      if (!transport.sendBatch) sendMessage(transport, messages, undefined, fail)
      else void transport.sendBatch(messages).catch(fail)
    } catch (error) {
      fail(error)
    }
    return answers
  }

  /** @param stream The stream of the request that the notification belongs to, if any. */
  notify(method: string, params?: Params, stream?: ReplyStream): void {
    if (!this.#closed) this.#send({ jsonrpc: '2.0', method, ...(params && { params }) }, stream)
  }

  /** Stops the timeouts of our requests until the returned function is called. */
  pauseTimeouts(): () => void {
    return this.#pending?.pause() ?? (() => {})
  }

  #pendingRequests(): PendingRequests {
    this.#pending ??= new PendingRequests(
      (id, method, reason, options) => this.#giveUp(id, method, reason, options),
      (error) => this.#receiver.error(error),
      this.firstId,
    )
    return this.#pending
  }

  #giveUp(id: number, method: string, reason: string, options: SendOptions | undefined): void {
    const { methods } = this.#receiver
    this.#receiver.cancelled?.({ id, method, reason: reason.slice(0, maxReason), by: 'local' })
    if (this.transport.cancelRequest?.(id)) return
    // 2025-11-25 cancellation: the handshake is never cancelled.
    if (method !== methods.handshake) {
      this.notify(methods.cancelled, { requestId: id, reason, ...options?.cancelParams }, options?.stream)
    }
  }

  /** @internal For transports: classifies a message, or an array that may be a batch, before it is received. */
  classify(value: unknown): ReceivedKind {
    return classifyReceived(value, this)
  }

  /**
   * For transports: takes one message, or an array that may be a batch.
   * @param kind Given by a transport that has classified the message already.
   */
  receive(value: unknown, stream?: ReplyStream, kind: ReceivedKind = this.classify(value)): void {
    this.#receive(value, kind, stream)
  }

  #receive(value: unknown, kind: ReceivedKind, stream?: ReplyStream): void {
    if (isRequest(value, kind)) this.#startExchange(value, stream)
    else if (isNotification(value, kind)) this.#notified(value, stream)
    else if (isResponse(value, kind)) this.#answered(value)
    else if (kind instanceof Fault) this.refuse(kind, stream)
    else if (typeof kind === 'object') this.#receiveBatch(kind, stream)
  }

  /** @internal Whether a message is a response to a request of this process, or is about a request that this process handles. */
  concerns(message: RpcNotification | RpcResponse): boolean {
    if (!('method' in message)) return this.#pending?.wasOurs(message.id) ?? false
    const { cancelled, progress } = this.#receiver.methods
    if (message.method === cancelled) return this.#inFlight.get(message.params?.requestId) !== undefined
    return message.method === progress && (this.#pending?.wasOurs(message.params?.progressToken) ?? false)
  }

  #startExchange(request: RpcRequest, stream: ReplyStream | undefined, batch?: Batch): void {
    const problem = this.#problemWith(request)
    // Sent directly, because the other request with this id may be a member of a batch.
    if (problem) return this.#send(errorResponse(request.id, -32600, problem), stream)
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

  #notified(notification: RpcNotification, stream: ReplyStream | undefined): void {
    const { method, params } = notification
    const { methods } = this.#receiver
    if (method === methods.progress) this.#pending?.progress(params ?? {})
    else if (method === methods.cancelled) this.#cancelled(params ?? {})
    this.#receiver.notification(notification, this, stream)
  }

  /** Ignores unknown, finished and malformed cancellations (2025-11-25 cancellation, error handling). */
  #cancelled(params: Params): void {
    const exchange = this.#inFlight.get(params.requestId)
    if (!exchange || exchange.request.method === this.#receiver.methods.handshake) return
    const reason = typeof params.reason === 'string' ? params.reason : 'The peer cancelled the request'
    exchange.cancel(reason)
    const { id, method } = exchange.request
    this.#receiver.cancelled?.({ id, method, reason: reason.slice(0, maxReason), by: 'remote' })
  }

  #answered(response: RpcResponse): void {
    const { id, error, result = {} } = response
    const pending = this.#pending
    if (pending && id !== undefined && id !== null) {
      const isKnown = error
        ? pending.fail(id, new PeerError(error.code, error.message, error.data))
        : pending.settle(id, result)
      // A response to a request that was given up is normal. One to a request that was never sent deserves a warning.
      if (isKnown || pending.wasOurs(id)) return
    }
    if (this.#receiver.unmatched) this.#receiver.unmatched(response, this)
    else if (error) this.#receiver.error(new PeerError(error.code, error.message, error.data))
    else warnOnce('unknown-response', 'The peer sent a response to an unknown request. It is ignored.')
  }

  #receiveBatch(members: readonly BatchMember[], stream: ReplyStream | undefined): void {
    const batch = new Batch((responses) => {
      if (responses.length > 0) this.#send(responses, stream)
      else stream?.end()
    })
    for (const member of members) this.#receiveMember(member, batch, stream)
    batch.seal()
  }

  #receiveMember({ message, kind }: BatchMember, batch: Batch, stream: ReplyStream | undefined): void {
    if (kind instanceof Fault && kind.meant === 'response' && !stream) return this.refuse(kind)
    if (kind instanceof Fault) return batch.answer(this.#faultResponse(kind))
    if (!isRequest(message, kind)) return this.#receive(message, kind, stream)
    const { handshake } = this.#receiver.methods
    const problem = message.method === handshake ? `${handshake} cannot be part of a batch` : this.#problemWith(message)
    if (problem) return batch.answer(errorResponse(message.id, -32600, problem))
    batch.expect()
    this.#startExchange(message, stream, batch)
  }

  /** @internal For transports: reports input that is not a valid message. */
  refuse(fault: Fault, stream?: ReplyStream): void {
    if (this.#closed || this.#failsPending(fault)) return
    if (!stream && (fault.meant === 'response' || !this.answersFaults)) this.#receiver.error(unreadable(fault))
    else this.#send(this.#faultResponse(fault), stream)
  }

  /** An invalid response fails the request that waits for it. */
  #failsPending(fault: Fault): boolean {
    if (fault.meant === 'request' || fault.id === undefined || !this.#pending) return false
    return this.#pending.fail(fault.id, unreadable(fault))
  }

  #faultResponse(fault: Fault): RpcResponse {
    if (fault.id !== undefined) return errorResponse(fault.id, fault.code, fault.message)
    const response = errorResponse(null, fault.code, fault.message)
    if (this.omitsUnknownId) delete response.id
    return response
  }

  /** @internal For exchanges only. */
  sendResult(exchange: Exchange, result: ResultObject | Prepared): void {
    const { batch, stream, request } = exchange
    if (batch) return batch.settle(this.#toResponse(request, result))
    if (this.#closed) return
    if (result instanceof Prepared && stream?.sendPrepared?.(request.id, result)) return
    if (stream ? stream.sendMessage : !sendsText(this.transport)) return this.#sendObject(exchange, result)
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
    const onFailure = (error: unknown) => this.#receiver.error(error)
    const response = { jsonrpc: '2.0', id: request.id, result: toObject(result) } as const
    try {
      sendMessage(this.transport, response, exchange.stream, onFailure)
    } catch (error) {
      if (jsonProblem(result) === undefined) return onFailure(error)
      this.sendError(exchange, this.#unsendable(request, result, error))
    }
  }

  /** A member that cannot be sent must not affect the other members of its batch. */
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

  /** @internal For exchanges only. */
  sendError(exchange: Exchange, error: RpcErrorBody): void {
    const response: RpcResponse = { jsonrpc: '2.0', id: exchange.request.id, error }
    if (exchange.batch) exchange.batch.settle(response)
    else if (!this.#closed) this.#send(response, exchange.stream)
  }

  /** @internal For exchanges only: ends a cancelled request, so that neither its batch nor its HTTP request stays open. */
  sendNothing(exchange: Exchange): void {
    if (exchange.batch) exchange.batch.settle(undefined)
    else exchange.stream?.end()
  }

  /** @internal For exchanges only. A handler may run on after its request was cancelled, and counts until it returns. */
  handled(): void {
    this.#running--
  }

  /** @internal For exchanges only. */
  forget(exchange: Exchange): void {
    this.#inFlight.delete(exchange)
    if (this.#onIdle && this.#inFlight.size === 0) this.#onIdle()
  }

  #send(message: RpcMessage | RpcMessage[], stream?: ReplyStream): void {
    const onFailure = (error: unknown) => this.#receiver.error(error)
    try {
      sendMessage(this.transport, message, stream, onFailure)
    } catch (error) {
      onFailure(error)
    }
  }

  /** A peer that cannot be sent a response, because it does not read, is disconnected. */
  #sendText(text: string): void {
    try {
      this.transport.sendText?.(text)
    } catch (error) {
      this.#receiver.error(error)
      this.ended()
      void this.transport.close()
    }
  }

  /** Closes gracefully: requests in flight have `graceMs` to finish, then they are cancelled. */
  async close(graceMs = 2_000): Promise<void> {
    if (this.#closed) return
    this.#receiver.drain?.(this)
    if (this.#inFlight.size > 0 && graceMs > 0) await this.#idle(graceMs)
    await this.transport.close()
    this.ended()
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

  /** For transports: the connection has ended. */
  ended(detail?: CloseDetail): void {
    if (this.#closed) return
    this.#closed = detail ?? true
    if (this.#inFlight.size > 0) {
      for (const exchange of this.#inFlight.all()) exchange.cancel('The connection closed')
    }
    this.#pending?.failAll(this.#closedError())
    this.#receiver.closed?.(this, detail)
  }

  /** @param method The request that was not sent; undefined for one that was. */
  #closedError(method?: string): ClosedError {
    const detail = this.#closed === true ? undefined : this.#closed
    const what = method
      ? `${method} was not sent: the connection is closed`
      : 'The connection closed before the response'
    const how = detail && (this.#receiver.describeClose?.(detail) ?? (detail.reason ? ` (${detail.reason})` : ''))
    return new ClosedError(what + (how ?? ''), detail)
  }
}

function toRequestText(
  id: number,
  method: string,
  params: Params | undefined,
  options: SendOptions | undefined,
): string {
  const meta = options ? metaOf(id, options) : ''
  try {
    return encodeRequest(id, method, params, meta)
  } catch (cause) {
    throw notJson(method, cause)
  }
}

/** The request id is also the progress token, so no second table is needed. */
function metaOf(id: number, { progress, onProgress, meta }: SendOptions): string {
  const token = progress || onProgress ? `"progressToken":${id}` : ''
  if (meta === undefined) return token
  return token === '' ? meta : `${meta},${token}`
}

function toObject(result: ResultObject | Prepared): ResultObject {
  return result instanceof Prepared ? JSON.parse(result.json) : result
}
