import { HttpError, McpError } from '../../../errors.ts'
import { classify, Fault, type RequestId, type RpcNotification } from '../../../jsonrpc/message.ts'
import { parseText } from '../../../jsonrpc/parse.ts'
import { isTransient } from '../../../net/retry.ts'
import type { ResponseHead } from '../../../net/send.ts'
import { isHeaderRefusal } from '../../../protocol/mirrored-headers.ts'
import type { Tracer } from '../../../protocol/trace.ts'
import { isObject, type JsonObject } from '../../../util/objects.ts'
import { scheduler, type Timer } from '../../../util/scheduler.ts'
import { notAnEndpoint } from './hints.ts'
import { type BodyMode, ClientRequest, type RequestListener, reasonOf } from './request.ts'
import { notReopened, ResumableStream } from './resumable-stream.ts'
import type { ClientSession, SentRequest } from './session.ts'

export interface PostContent {
  readonly request: SentRequest
  /** The request as JSON. */
  readonly text: string
  readonly headers: Readonly<Record<string, string>>
  /** The ids of all requests, if the text is a batch. The first is that of `request`. */
  readonly batch?: readonly RequestId[] | undefined
  /** True for a request of the stateless era, where streams are not resumed and closing one cancels the request. */
  readonly isStateless: boolean
}

/** How long a server may keep the stream open after it has sent the response. */
const lingerMs = 1_000

/** One JSON-RPC request: its POST, and the response as JSON or on a stream, which may be resumed. */
export class RequestPost implements RequestListener {
  readonly isStateless: boolean
  readonly #session: ClientSession
  readonly #content: PostContent
  readonly #resolve: () => void
  readonly #reject: (error: Error) => void
  #http: ClientRequest | undefined
  #stream: ResumableStream | undefined
  #lingering: Timer | undefined
  #cancelReconnect: (() => void) | undefined
  /** True while a stream that broke is not open again. */
  #isResuming = false
  #isOver = false
  /** True if the request was sent again with all headers. */
  #isCompleted = false
  /** The ids of requests that the server sent on this stream. */
  #serverRequests: RequestId[] | undefined
  /** The ids of requests of a batch without a response. */
  readonly #awaited: Set<unknown> | undefined
  /** The error of the last invalid message. */
  #problem: string | undefined

  constructor(session: ClientSession, content: PostContent, resolve: () => void, reject: (error: Error) => void) {
    this.#session = session
    this.#content = content
    this.#awaited = content.batch && new Set(content.batch)
    this.isStateless = content.isStateless
    this.#resolve = resolve
    this.#reject = reject
  }

  get id(): RequestId {
    return this.#content.request.id
  }

  get method(): string {
    return this.#content.request.method
  }

  /** False until the request was sent; then there is nothing to cancel at the server. */
  get wasSent(): boolean {
    return this.#http !== undefined && !this.#http.isWaiting
  }

  start(): void {
    if (this.#isOver) return
    const { headers, request } = this.#content
    if (request.options?.resumptionToken) {
      this.#stream = this.#createStream()
      return this.#resume(this.#stream)
    }
    this.#post(headers)
  }

  #post(headers: Readonly<Record<string, string>>): void {
    const { text, request } = this.#content
    const onAuthorized = request.options?.onAuthorized
    const options = { method: 'POST', label: this.method, headers, body: text, onAuthorized } as const
    this.#http = new ClientRequest(this.#session.config, options, this)
    this.#http.start()
  }

  /** Drops the request: its caller does not wait for it any more. */
  drop(): void {
    if (!this.#isOver) this.#finish()
    this.#release()
    this.#cancelServerRequests()
  }

  fail(error: Error): void {
    if (this.#isOver) return
    this.#finish()
    this.#release()
    this.#cancelServerRequests()
    this.#reject(error)
  }

  onSuccess(head: ResponseHead): BodyMode {
    this.#noteStatus(head.status)
    if (this.method === 'initialize' && !this.#stream) this.#session.sessionId = readSessionId(head)
    if (isEventStream(head)) {
      this.#content.request.options?.onAccepted?.()
      this.#stream ??= this.#createStream()
      this.#stream.begin()
      this.#isResuming = false
      if (!this.#session.config.recovers) this.#stream.resetAttempts()
      return 'chunks'
    }
    const type = mediaType(head)
    if (type === 'application/json' && !this.#stream) return 'text'
    // Some servers send the response on another stream.
    if (head.status === 202 && !this.#session.config.recovers) return 'none'
    const { name } = this.#session.config
    throw new HttpError(`${this.method} (POST ${name}) was answered with ${describeBody(head.status, type)}`, {
      outcome: 'refused',
      method: 'POST',
      status: head.status,
      contentType: type,
    })
  }

  #createStream(): ResumableStream {
    const { resumptionToken, onresumptiontoken } = this.#content.request.options ?? {}
    // Calls have a timeout; a subscription has none.
    const isEndless = this.method === 'subscriptions/listen'
    return new ResumableStream({
      maxBytes: this.#session.config.maxMessageBytes,
      onEvent: ({ data }) => this.#receive(data),
      onSilent: isEndless ? () => this.#reconnect(undefined) : undefined,
      onId: onresumptiontoken,
      lastEventId: resumptionToken,
    })
  }

  onChunk(chunk: Uint8Array): void {
    this.#stream!.push(chunk)
  }

  onComplete(text: string): void {
    if (this.#isOver) return this.#release()
    if (this.#stream) return this.#reconnect(undefined)
    if (text === '' && !this.#session.config.recovers) return this.#settle()
    this.#receive(text)
    // Other programs may wait for the rest of a batch on another stream.
    if (this.#content.batch && !this.#session.config.recovers) return this.#settle()
    if (!this.#isOver) this.fail(this.#unanswered('was answered with something that is not a response to it'))
  }

  onFailure(error: HttpError): void {
    if (this.#isOver) return
    if (error.status !== undefined) this.#noteStatus(error.status)
    if (!this.isStateless && this.method !== 'initialize' && this.#session.isSessionLost(error)) {
      return this.#session.loseSession()
    }
    if (this.#stream && (isTransient(error) || this.#isRetried(error))) return this.#reconnect(error)
    if (this.#stream) return this.fail(this.#lostStream(error))
    const answer = error.outcome === 'refused' && this.#readsErrorBodies ? answerIn(error) : undefined
    if (!answer) return this.fail(reasonOf(error))
    const complete = this.#completeHeaders(answer)
    if (complete) return this.#post(complete)
    traceReceived(this.#session.config.tracer, answer)
    // The error response contains a JSON-RPC error; one about a request that could not be parsed has no id.
    for (const id of this.#awaited ?? [this.id]) this.#session.receive({ ...answer, id })
    this.#settle()
  }

  /** Servers check headers before anything runs, so the request can be sent again. */
  #completeHeaders({ error }: JsonObject): Record<string, string> | undefined {
    if (this.isStateless || this.#content.batch || this.#isCompleted || !isObject(error)) return undefined
    if (!isHeaderRefusal(error.code, error.message)) return undefined
    this.#isCompleted = true
    return this.#session.completeHeaders(this.#content.request, this.#content.headers)
  }

  get #readsErrorBodies(): boolean {
    return this.isStateless || this.#session.config.recovers
  }

  #receive(text: string): void {
    if (this.#isOver) return
    const value = this.#withOwnId(parseText(text))
    traceReceived(this.#session.config.tracer, value)
    if (value instanceof Fault) return this.#note(unreadable(value))
    if (Array.isArray(value) && !this.#session.batching && !this.#content.batch) {
      return this.#note(
        new McpError('invalid-response', 'The server sent a batch, which its revision does not support'),
      )
    }
    const isAnswer = Array.isArray(value)
      ? value.filter((each) => this.#takeAnswer(each)).length > 0
      : this.#takeAnswer(value)
    if (!isAnswer && !this.#isUsable(value)) return
    for (const each of Array.isArray(value) ? value : [value]) this.#observe(each)
    this.#session.receive(value)
    if (isAnswer && !this.#awaited?.size) this.#settle()
  }

  /** A response that the server sends again has the id of the request that was interrupted. */
  #withOwnId(value: unknown): unknown {
    if (!this.#content.request.options?.resumptionToken || !isObject(value)) return value
    return value.method === undefined && value.id !== undefined ? { ...value, id: this.id } : value
  }

  /** An invalid message without an id is reported, not answered: each answer would be another POST. */
  #isUsable(value: unknown): boolean {
    const kind = Array.isArray(value) ? 'request' : classify(value)
    if (kind instanceof Fault && kind.id === undefined) {
      this.#note(unreadable(kind))
      return false
    }
    if (kind instanceof Fault) this.#stream?.addFault()
    if ((kind === 'request' || kind instanceof Fault) && this.#stream) this.#session.checkAnswers()
    return true
  }

  /** Notes requests of the server, and tells the caller of notifications that belong to its request. */
  #observe(value: unknown): void {
    if (!isObject(value) || value.method === undefined) return
    if (value.id === undefined) {
      this.#content.request.options?.onNotification?.(value as unknown as RpcNotification)
      return
    }
    this.#serverRequests ??= []
    this.#serverRequests.push(value.id as RequestId)
  }

  /** Requests of the server for this call are pointless without it, and the stream on which it would cancel them is closed. */
  #cancelServerRequests(): void {
    const requests = this.#serverRequests ?? []
    this.#serverRequests = undefined
    for (const requestId of requests) {
      const params = { requestId, reason: `${this.method}, which it belongs to, was cancelled` }
      this.#session.receive({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
    }
  }

  #takeAnswer(value: unknown): boolean {
    if (!isObject(value) || value.method !== undefined) return false
    return this.#awaited ? this.#awaited.delete(value.id) : value.id === this.id
  }

  #note(error: McpError): void {
    this.#problem = error.message
    this.#session.report(error)
    this.#stream?.addFault()
  }

  #settle(): void {
    if (this.#isOver) return
    this.#finish()
    this.#resolve()
    this.#session.onServerReachable()
    if (this.#stream) this.#linger()
  }

  /** Most servers close the stream now; one that does not must not keep the connection. */
  #linger(): void {
    this.#lingering = scheduler.setTimeout(() => this.#release(), lingerMs)
    scheduler.unref(this.#lingering)
  }

  /** Without recovery every attempt to resume the stream is followed by the next. A server without such streams answers 405. */
  #isRetried({ status }: HttpError): boolean {
    return this.#isResuming && !this.#session.config.recovers && status !== 405
  }

  /** Resumes a stream that ended before the response arrived, if possible. */
  #reconnect(error: HttpError | undefined): void {
    const stream = this.#stream!
    if (this.isStateless || stream.lastEventId === '') return this.fail(this.#lostStream(error))
    const { config } = this.#session
    const attempt = stream.attempts
    const waitMs = stream.nextDelayMs(config.backoff)
    if (error && !config.recovers) this.#session.report(this.#isResuming ? notReopened(error) : error)
    if (waitMs === undefined) return this.fail(config.recovers ? this.#lostStream(error) : this.#notResumed(error))
    this.#cancelReconnect = config.schedule(() => this.#resume(stream), waitMs, attempt)
  }

  /** 2025-11-25 transports, resumability: always by GET, however the stream began. */
  #resume(stream: ResumableStream): void {
    if (this.#isOver) return
    this.#isResuming = true
    const headers = { ...this.#session.streamHeaders(), ...stream.headers }
    const request = { method: 'GET', label: `The rest of the response to ${this.method}`, headers } as const
    this.#http = new ClientRequest(this.#session.config, request, this)
    this.#http.start()
  }

  #lostStream(cause: HttpError | undefined): HttpError {
    const why = cause ? ` (${cause.message})` : ''
    return this.#unanswered(
      `lost its stream before the response arrived${why}. The server may have processed the request`,
      cause,
    )
  }

  #notResumed(cause: HttpError | undefined): HttpError {
    const { message } = this.#lostStream(cause)
    return new HttpError(message, { outcome: 'unknown', method: 'GET', status: cause?.status, cause })
  }

  #unanswered(what: string, cause?: HttpError): HttpError {
    const problem = this.#problem === undefined ? '' : `. ${this.#problem}`
    return new HttpError(`${this.method} ${what}${problem}`, {
      outcome: this.#stream ? 'unknown' : 'refused',
      method: 'POST',
      status: cause?.status,
      ...(cause && { cause }),
    })
  }

  #noteStatus(status: number): void {
    if (this.method === 'initialize' || this.method === 'server/discover') {
      this.#session.openingStatuses.set(this.method, status)
    }
  }

  #finish(): void {
    this.#isOver = true
    this.#cancelTimers()
    this.#session.forget(this)
  }

  #release(): void {
    this.#stream?.end()
    this.#cancelTimers()
    this.#http?.abort()
  }

  #cancelTimers(): void {
    scheduler.clearTimeout(this.#lingering)
    this.#cancelReconnect?.()
    this.#cancelReconnect = undefined
  }
}

/** A JSON-RPC error in the body of an error response. For 401 and 403, the HTTP status is the error. */
function answerIn({ status, body }: HttpError): JsonObject | undefined {
  if (body === undefined || status === 401 || status === 403) return undefined
  const value = parseText(body)
  if (value instanceof Fault || !isObject(value) || !isObject(value.error)) return undefined
  const { code, message } = value.error
  return Number.isInteger(code) && typeof message === 'string' ? { ...value, jsonrpc: '2.0' } : undefined
}

function describeBody(status: number, type: string): string {
  if (type === '') return `HTTP ${status} and no content`
  const hint = type === 'text/html' ? notAnEndpoint : ''
  return `HTTP ${status} and ${JSON.stringify(type)}, which is not an MCP message${hint}`
}

export function isEventStream(head: ResponseHead): boolean {
  return mediaType(head) === 'text/event-stream'
}

export function mediaType(head: ResponseHead): string {
  const type = head.header('content-type') ?? ''
  const end = type.indexOf(';')
  return (end === -1 ? type : type.slice(0, end)).trim().toLowerCase()
}

/** A session id consists of visible ASCII characters (2025-11-25 transports, session management). */
export function readSessionId(head: ResponseHead): string | undefined {
  const id = head.header('mcp-session-id')
  if (id === undefined || /^[\x21-\x7e]{1,1024}$/.test(id)) return id
  throw new McpError('invalid-response', 'The server sent a session id with characters that are not visible ASCII')
}

/** Reports what a transport received, as it was before anything is rejected. */
export function traceReceived(tracer: Tracer | undefined, value: unknown): void {
  if (!tracer) return
  if (value instanceof Fault) tracer.fault(value.message)
  else tracer.received(value)
}

/** The error for a message of the server that cannot be parsed. */
export function unreadable(fault: Fault): McpError {
  return new McpError('invalid-response', `The server sent an invalid message: ${fault.message}`)
}
