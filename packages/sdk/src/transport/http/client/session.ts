import { ClosedError, HttpError } from '../../../errors.ts'
import type { Params, RequestId, RpcMessage } from '../../../jsonrpc/message.ts'
import { parseText } from '../../../jsonrpc/parse.ts'
import { isTransient } from '../../../net/retry.ts'
import { metaKeys } from '../../../protocol/meta.ts'
import { encodeHeaderValue, nameOf } from '../../../protocol/mirrored-headers.ts'
import type { HttpSendOptions } from '../../../protocol/transport.ts'
import { backoffMs } from '../../../util/backoff.ts'
import { isObject } from '../../../util/objects.ts'
import { scheduler, type Timer } from '../../../util/scheduler.ts'
import type { ClientConfig } from './config.ts'
import { ListenStream } from './listen-stream.ts'
import { answerLabel, PendingAnswers } from './pending-answers.ts'
import { ClientRequest, type RequestListener, reasonOf } from './request.ts'
import { isEventStream, RequestPost } from './request-post.ts'

/** A JSON-RPC request to the server, with what its transport needs to know about it. */
export interface SentRequest {
  readonly id: RequestId
  readonly method: string
  readonly params: Params | undefined
  readonly options: HttpSendOptions | undefined
}

/** The facts of the negotiated revision that matter here. */
export interface NegotiatedRevision {
  readonly id: string
  readonly era: 'handshake' | 'stateless'
  readonly batching: boolean
}

export interface ClientSessionEvents {
  message(value: unknown): void
  error(error: Error): void
  /** The server no longer knows the session. */
  lost(): void
  /** Notifications of the server may have been lost. */
  gap(): void
}

const acceptBoth = 'application/json, text/event-stream'

/** Servers refuse requests with too many bytes of headers. Where a header is optional, a longer value is left out. */
const maxOptionalHeader = 2_048

/** How long to wait for the server to end the session. */
const terminateMs = 1_000

/**
 * Everything between one start of the transport and its end: the session id, the requests in flight and the stream of the
 * server's own messages. After `end`, it reports nothing more, so that its successor does not receive what belongs to it.
 */
export class ClientSession {
  readonly config: ClientConfig
  sessionId: string | undefined
  /** The HTTP status of the response to `server/discover` and to `initialize`. */
  readonly openingStatuses = new Map<string, number>()
  readonly #events: ClientSessionEvents
  readonly #posts = new Map<RequestId, RequestPost>()
  /** Notifications and responses that are being sent, with functions that reject their promises. */
  readonly #notifications = new Map<ClientRequest, (error: Error) => void>()
  readonly #answers = new PendingAnswers()
  #listen: ListenStream | undefined
  /** Streams that were resumed on request. */
  readonly #resumed = new Set<ListenStream>()
  /** True if the session was opened by another transport, so that there is no handshake to wait for. */
  #isContinued: boolean
  #revision: NegotiatedRevision | undefined
  /** Settles when the server has accepted `notifications/initialized`. Requests wait for it, because they might arrive first. */
  #initialized: Promise<void> | undefined
  #initializedTimer: Timer | undefined
  #isOver = false
  /** The length of names and arguments above which a session does not repeat them in headers. */
  #maxHeader = maxOptionalHeader

  constructor(config: ClientConfig, events: ClientSessionEvents, sessionId: string | undefined) {
    this.config = config
    this.#events = events
    this.sessionId = sessionId
    this.#isContinued = sessionId !== undefined
  }

  /** How long ago something arrived on the stream of the server's messages; undefined if it is not open. */
  get quietMs(): number | undefined {
    return this.#listen?.quietMs
  }

  get isStateless(): boolean {
    return this.#revision?.era === 'stateless'
  }

  /** True if the server may send several messages in an array. */
  get batching(): boolean {
    return this.#revision?.batching === true
  }

  setRevision(revision: NegotiatedRevision): void {
    this.#revision = revision
    if (!this.#isContinued || !this.config.recovers || this.isStateless) return
    this.#isContinued = false
    this.#listenForMessages()
  }

  /** Opens the stream after an event that another transport received last. Rejects if the server refuses that. */
  resume(lastEventId: string | undefined, onId: ((id: string) => void) | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onOpened = (error: Error | undefined) => (error ? reject(error) : resolve())
      const stream = new ListenStream(this, { lastEventId, onId, onOpened })
      this.#resumed.add(stream)
      stream.open()
    })
  }

  /** Resolves when the response has arrived, which is delivered as a message. Rejects if none will arrive. */
  request(text: string, request: SentRequest): Promise<void> {
    if (request.method === 'initialize') this.#isContinued = false
    return new Promise((resolve, reject) => {
      const version = this.isStateless ? this.#revision!.id : versionIn(request)
      const headers = version === undefined ? this.#sessionHeaders(request) : statelessHeaders(request, version)
      const post = new RequestPost(
        this,
        { request, text, headers, isStateless: version !== undefined },
        resolve,
        reject,
      )
      this.#posts.set(request.id, post)
      if (this.#initialized) void this.#initialized.then(() => post.start())
      else post.start()
    })
  }

  /** Sends several messages as one batch. Resolves when all responses have arrived. */
  batch(messages: readonly RpcMessage[], requests: readonly [SentRequest, ...SentRequest[]]): Promise<void> {
    const request = requests.find(({ method }) => method === 'initialize') ?? requests[0]
    return new Promise((resolve, reject) => {
      const headers = this.#sessionHeaders({ method: request.method }, false)
      const batch = requests.map(({ id }) => id)
      const content = { request, batch, text: JSON.stringify(messages), headers, isStateless: false }
      const post = new RequestPost(this, content, resolve, reject)
      this.#posts.set(request.id, post)
      if (this.#initialized) void this.#initialized.then(() => post.start())
      else post.start()
    })
  }

  /** Sends a notification, or the response to a request of the server. */
  notify(message: RpcMessage | RpcMessage[]): Promise<void> {
    const method = Array.isArray(message) || !('method' in message) ? answerLabel : message.method
    const text = JSON.stringify(message)
    const sent = this.#postMessage(method, text)
    if (method === 'notifications/initialized') this.#holdRequests(sent, text)
    // The stream of a cancelled request is closed once the server has received the cancellation.
    if (method === 'notifications/cancelled')
      sent.catch(() => {}).then(() => this.#dropCancelled(message as RpcMessage))
    return sent
  }

  /** Cancels a request. True if closing its stream is enough; otherwise send a notification, too. */
  cancel(id: RequestId): boolean {
    const post = this.#posts.get(id)
    // 2026-07-28 cancellation: over HTTP, closing the stream is the cancellation.
    if (!post) return this.isStateless
    if (!post.isStateless && post.wasSent && post.method !== 'initialize') return false
    post.drop()
    return true
  }

  /**
   * Called by a post that the server refused because of its headers. Returns its headers with those that were left out for
   * their length, which are sent from now on; undefined if none were.
   */
  completeHeaders(request: SentRequest, sent: Readonly<Record<string, string>>): Record<string, string> | undefined {
    this.#maxHeader = Number.POSITIVE_INFINITY
    const headers = this.#sessionHeaders(request)
    return Object.keys(headers).length > Object.keys(sent).length ? headers : undefined
  }

  /** Called by a post when it is done. */
  forget(post: RequestPost): void {
    if (this.#posts.get(post.id) === post) this.#posts.delete(post.id)
  }

  /** Called by posts and streams with one message, or a batch. */
  receive(value: unknown): void {
    if (this.#isOver) return
    try {
      this.#events.message(value)
    } catch (error) {
      this.report(error as Error)
    }
  }

  /** Called by streams for each message that may need a response. Throws if the server does not read the responses. */
  checkAnswers(): void {
    this.#answers.check()
  }

  report(error: Error): void {
    if (!this.#isOver) this.#events.error(error)
  }

  /** Called by posts when a response has arrived: the stream of the server's messages may work again, too. */
  onServerReachable(): void {
    this.#listen?.retryNow()
  }

  /** Called by the stream of the server's messages when some may have been lost. */
  reportGap(): void {
    if (!this.#isOver) this.#events.gap()
  }

  /** 2025-11-25 transports, session management: a 404 to a request with a session id means that the session has ended. */
  isSessionLost({ status, body }: HttpError): boolean {
    if (this.sessionId === undefined || !this.config.recovers) return false
    return status === 404 || (status === 400 && reportsLostSession(body))
  }

  /** Called by posts and streams that find the session lost. Several may find out at once; it is reported once. */
  loseSession(): void {
    if (this.#isOver) return
    this.end()
    this.sessionId = undefined
    this.#events.lost()
  }

  /** The headers of a GET, which opens or resumes a stream. */
  streamHeaders(): Record<string, string> {
    return { ...this.#sessionHeaders(undefined), accept: 'text/event-stream' }
  }

  /** Asks the server to end the session. Resolves with the error if the server did not do that. */
  async terminate(): Promise<HttpError | undefined> {
    if (this.sessionId === undefined) return undefined
    const { 'content-type': _, ...headers } = this.#sessionHeaders(undefined)
    const ended = this.sessionId
    const error = await this.#delete(headers)
    if (this.sessionId === ended && (!error || this.config.recovers)) this.sessionId = undefined
    return error
  }

  #delete(headers: Record<string, string>): Promise<HttpError | undefined> {
    return new Promise((resolve) => {
      const request = { method: 'DELETE', label: 'The end of the session', headers, retries: false } as const
      const finish = (error?: HttpError) => {
        scheduler.clearTimeout(timer)
        resolve(error)
      }
      const listener: RequestListener = {
        onSuccess: () => 'none',
        onChunk: () => {},
        onComplete: () => finish(),
        onFailure: finish,
      }
      const sent = new ClientRequest(this.config, request, listener)
      const timer = scheduler.setTimeout(() => {
        sent.abort()
        resolve(undefined)
      }, terminateMs)
      sent.start()
    })
  }

  /** Aborts everything that is in flight, and reports nothing more. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    scheduler.clearTimeout(this.#initializedTimer)
    this.#listen?.close()
    for (const stream of this.#resumed) stream.close()
    for (const [notification, reject] of this.#notifications) {
      notification.abort()
      reject(new ClosedError('The connection was closed'))
    }
    for (const post of [...this.#posts.values()]) post.fail(new ClosedError('The connection was closed'))
  }

  #postMessage(label: string, body: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const sent = label === answerLabel ? undefined : { method: label }
      const headers = this.isStateless ? statelessHeaders(sent, this.#revision!.id) : this.#sessionHeaders(sent)
      const finish = () => {
        if (this.#notifications.delete(request) && label === answerLabel) this.#answers.end()
      }
      const listener: RequestListener = {
        onSuccess: (head) => {
          resolve()
          if (isEventStream(head)) {
            request.abort()
            finish()
          }
          return 'none'
        },
        onChunk: () => {},
        onComplete: finish,
        onFailure: (error) => {
          finish()
          reject(reasonOf(error))
          if (this.isSessionLost(error)) this.loseSession()
        },
      }
      const request = new ClientRequest(this.config, { method: 'POST', label, headers, body }, listener)
      this.#notifications.set(request, reject)
      if (label === answerLabel) this.#answers.begin()
      request.start()
    })
  }

  #holdRequests(sent: Promise<void>, text: string): void {
    const release = () => {
      this.#initialized = undefined
    }
    this.#initialized = sent.then(
      () => {
        release()
        this.#listenForMessages()
      },
      (error) => {
        release()
        this.#retryInitialized(text, error, 0)
      },
    )
  }

  /** A server that did not get `notifications/initialized` sends no notifications, so it is sent again until it arrives. */
  #retryInitialized(text: string, cause: unknown, attempt: number): void {
    if (this.#isOver) return
    if (!this.config.recovers) return
    if (!(cause instanceof HttpError) || !isTransient(cause)) return this.#listenForMessages()
    const send = () => {
      this.#postMessage('notifications/initialized', text).then(
        () => this.#listenForMessages(),
        (error) => this.#retryInitialized(text, error, attempt + 1),
      )
    }
    this.#initializedTimer = scheduler.setTimeout(send, backoffMs(this.config.backoff, attempt))
  }

  #listenForMessages(): void {
    if (this.#isOver) return
    this.#listen = new ListenStream(this)
    this.#listen.open()
  }

  #dropCancelled(message: RpcMessage): void {
    const id = 'params' in message ? message.params?.requestId : undefined
    this.#posts.get(id as RequestId)?.drop()
  }

  /**
   * @param sent The message; undefined for a response, a GET or a DELETE.
   * @param mirrors Whether the standard headers repeat the message. A batch has several methods, so it has no such headers.
   */
  #sessionHeaders(sent: Mirrored | undefined, mirrors = this.config.standardHeaders): Record<string, string> {
    const headers: Record<string, string> = { accept: acceptBoth, 'content-type': 'application/json' }
    if (mirrors && sent) addStandardHeaders(headers, sent, this.#maxHeader)
    // A handshake does not belong to a session, and carries its version in its params.
    if (sent?.method === 'initialize') return headers
    if (this.sessionId !== undefined) headers['mcp-session-id'] = this.sessionId
    if (this.#revision) headers['mcp-protocol-version'] = this.#revision.id
    return headers
  }
}

/**
 * Some servers answer 400 where the specification requires 404: those of the official examples that have a transport for each
 * session, and those with a single transport after a restart.
 */
function reportsLostSession(body: string | undefined): boolean {
  const value = body === undefined ? undefined : parseText(body)
  const error = isObject(value) && isObject(value.error) ? value.error : undefined
  return typeof error?.message === 'string' && /session id|session not found|not initialized/i.test(error.message)
}

/** 2026-07-28 streamable-http, request metadata: for proxies that do not read the body. */
function statelessHeaders(sent: Mirrored | undefined, version: string): Record<string, string> {
  const headers: Record<string, string> = {
    accept: acceptBoth,
    'content-type': 'application/json',
    'mcp-protocol-version': version,
  }
  if (sent) addStandardHeaders(headers, sent)
  return headers
}

/** The parts of a message that headers repeat. */
type Mirrored = Pick<SentRequest, 'method'> & Partial<SentRequest>

/** Adds `Mcp-Method`, `Mcp-Name`, and the headers of this request only, such as `Mcp-Param-*`. */
function addStandardHeaders(
  to: Record<string, string>,
  { method, params, options }: Mirrored,
  maxLength = Number.POSITIVE_INFINITY,
): void {
  to['mcp-method'] = method
  const name = nameOf(method, params)
  if (name !== undefined && name.length <= maxLength) to['mcp-name'] = encodeHeaderValue(name)
  const headers = options?.headers
  if (!headers) return
  for (const each in headers) if (headers[each]!.length <= maxLength) to[each] = headers[each]!
}

/** A request that carries the version in its `_meta` belongs to the stateless era, also before a revision was negotiated. */
function versionIn({ method, params }: SentRequest): string | undefined {
  if (method === 'initialize') return undefined
  const meta = params?._meta
  const version = isObject(meta) ? meta[metaKeys.protocolVersion] : undefined
  return typeof version === 'string' ? version : undefined
}
