import { ClosedError, HttpError } from '../../../errors.ts'
import type { Params, RequestId, RpcMessage } from '../../../jsonrpc/message.ts'
import { parseText } from '../../../jsonrpc/parse.ts'
import { metaKeys } from '../../../protocol/meta.ts'
import { encodeHeaderValue, nameOf } from '../../../protocol/mirrored-headers.ts'
import { backoffMs } from '../../../util/backoff.ts'
import { isObject } from '../../../util/objects.ts'
import type { ClientConfig } from './config.ts'
import { ListenStream } from './listen.ts'
import { answerNotice, PendingAnswers } from './pending-answers.ts'
import { RequestPost } from './post.ts'
import { isEventStream, isPassing } from './read.ts'
import { HttpExchange, reasonOf, type Taker } from './request.ts'

/** A request of ours, of a link or of whoever speaks through the transport themselves. */
export interface Asked {
  readonly id: RequestId
  readonly method: string
  readonly params: Params | undefined
  readonly headers: Readonly<Record<string, string>> | undefined
  readonly onAuthorized?: ((context: string) => void) | undefined
}

/** What must be known of the revision that was agreed on. */
export interface Agreed {
  readonly id: string
  readonly era: 'handshake' | 'stateless'
  readonly batching: boolean
}

export interface ClientSessionEvents {
  message(value: unknown): void
  error(error: Error): void
  /** The server knows the session no more. */
  lost(): void
  /** Messages that the server sent of its own accord may have been lost. */
  gap(): void
}

const acceptBoth = 'application/json, text/event-stream'

/** How long the server gets to end a session that we are done with. */
const terminateMs = 1_000

/**
 * Everything between one start of the transport and its end: the session, the requests under way and the stream of the
 * server's own messages. Once ended it says nothing more, so that a new one is not told what belonged to this.
 */
export class ClientSession {
  readonly destination: ClientConfig
  sessionId: string | undefined
  /** The status that each way to begin was answered with. */
  readonly greetings = new Map<string, number>()
  readonly #events: ClientSessionEvents
  readonly #posts = new Map<RequestId, RequestPost>()
  readonly #notices = new Set<HttpExchange>()
  readonly #answers = new PendingAnswers()
  #listen: ListenStream | undefined
  #revision: Agreed | undefined
  /** Until the server took `notifications/initialized`, requests wait: each goes its own way and might arrive first. */
  #greeted: Promise<void> | undefined
  #greetingTimer: ReturnType<typeof setTimeout> | undefined
  #isOver = false

  constructor(destination: ClientConfig, events: ClientSessionEvents, sessionId: string | undefined) {
    this.destination = destination
    this.#events = events
    this.sessionId = sessionId
  }

  get isModern(): boolean {
    return this.#revision?.era === 'stateless'
  }

  /** Whether the server may put several messages into an array. */
  get batching(): boolean {
    return this.#revision?.batching === true
  }

  agree(revision: Agreed): void {
    this.#revision = revision
  }

  /** Settles when the answer came, which comes as a message; rejects when none will. */
  request(text: string, asked: Asked): Promise<void> {
    return new Promise((resolve, reject) => {
      const version = this.isModern ? this.#revision!.id : versionIn(asked)
      const headers = version === undefined ? this.#sessionHeaders(asked.method) : modernHeaders(asked, version)
      const post = new RequestPost(this, { asked, text, headers, isModern: version !== undefined }, resolve, reject)
      this.#posts.set(asked.id, post)
      if (this.#greeted) void this.#greeted.then(() => post.start())
      else post.start()
    })
  }

  /** A notification, or an answer to a request of the server. */
  notify(message: RpcMessage | RpcMessage[]): Promise<void> {
    const method = Array.isArray(message) || !('method' in message) ? answerNotice : message.method
    const text = JSON.stringify(message)
    const sent = this.#postNotice(method, text)
    if (method === 'notifications/initialized') this.#afterGreeting(sent, text)
    // Whoever gave a request up no longer wants its stream; the server was told first.
    if (method === 'notifications/cancelled')
      sent.catch(() => {}).then(() => this.#dropCancelled(message as RpcMessage))
    return sent
  }

  /** True when closing its stream was all that it takes. */
  cancel(id: RequestId): boolean {
    const post = this.#posts.get(id)
    // 2026-07-28 cancellation: on HTTP the closed stream is the cancellation.
    if (!post) return this.isModern
    if (!post.isModern && post.wasSent && post.method !== 'initialize') return false
    post.drop()
    return true
  }

  /** For posts: it is over, one way or the other. */
  forget(post: RequestPost): void {
    if (this.#posts.get(post.id) === post) this.#posts.delete(post.id)
  }

  /** For posts and streams: one message, or several. */
  receive(value: unknown): void {
    if (this.#isOver) return
    try {
      this.#events.message(value)
    } catch (error) {
      this.report(error as Error)
    }
  }

  /** For streams, with each message that may have to be answered. Throws if the server does not take the answers: the stream must end. */
  checkAnswers(): void {
    this.#answers.check()
  }

  report(error: Error): void {
    if (!this.#isOver) this.#events.error(error)
  }

  /** For posts: the server answers, so its own messages may be had again too. */
  reached(): void {
    this.#listen?.revive()
  }

  /** For the stream of the server's own messages: some may have been lost. */
  missed(): void {
    if (!this.#isOver) this.#events.gap()
  }

  /** For posts and streams. 2025-11-25 transports, session management: a 404 to a session means that it is no more. */
  isSessionLost({ status, body }: HttpError): boolean {
    if (this.sessionId === undefined) return false
    return status === 404 || (status === 400 && reportsLostSession(body))
  }

  /** For posts and streams. Several may find out at once; it is told once. */
  loseSession(): void {
    if (this.#isOver) return
    this.end()
    this.sessionId = undefined
    this.#events.lost()
  }

  /** What a GET says: of the stream of the server's own messages, or of one to be resumed. */
  streamHeaders(): Record<string, string> {
    return { ...this.#sessionHeaders(undefined), accept: 'text/event-stream' }
  }

  /** Tells the server that the session is done with; it may not care. */
  async terminate(): Promise<void> {
    if (this.sessionId === undefined) return
    const { 'content-type': _, ...headers } = this.#sessionHeaders(undefined)
    this.sessionId = undefined
    await new Promise<void>((resolve) => {
      const request = { method: 'DELETE', about: 'The end of the session', headers, insists: false } as const
      const finish = () => {
        clearTimeout(timer)
        resolve()
      }
      const taker: Taker = { accepted: () => 'none', bytes: () => {}, ended: finish, failed: finish }
      const delivery = new HttpExchange(this.destination, request, taker)
      const timer = setTimeout(() => {
        delivery.abort()
        resolve()
      }, terminateMs)
      delivery.start()
    })
  }

  /** Gives up everything that is under way, and says nothing more. */
  end(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#greetingTimer)
    this.#listen?.close()
    for (const notice of this.#notices) notice.abort()
    for (const post of [...this.#posts.values()]) post.fail(new ClosedError('The connection was closed'))
  }

  #postNotice(about: string, body: string): Promise<void> {
    return new Promise((resolve, reject) => {
      const headers = this.isModern
        ? { accept: acceptBoth, 'content-type': 'application/json', 'mcp-protocol-version': this.#revision!.id }
        : this.#sessionHeaders(about)
      const finish = () => {
        if (this.#notices.delete(delivery) && about === answerNotice) this.#answers.end()
      }
      const taker: Taker = {
        accepted: (_, header) => {
          resolve()
          if (isEventStream(header)) {
            delivery.abort()
            finish()
          }
          return 'none'
        },
        bytes: () => {},
        ended: finish,
        failed: (error) => {
          finish()
          reject(reasonOf(error))
          if (this.isSessionLost(error)) this.loseSession()
        },
      }
      const delivery = new HttpExchange(this.destination, { method: 'POST', about, headers, body }, taker)
      this.#notices.add(delivery)
      if (about === answerNotice) this.#answers.begin()
      delivery.start()
    })
  }

  #afterGreeting(sent: Promise<void>, text: string): void {
    const open = () => {
      this.#greeted = undefined
    }
    this.#greeted = sent.then(
      () => {
        open()
        this.#beginListening()
      },
      (error) => {
        open()
        this.#greetAgain(text, error, 0)
      },
    )
  }

  /** A server that did not hear of our readiness sends nothing of its own accord, so it is told until it hears. */
  #greetAgain(text: string, cause: unknown, attempt: number): void {
    if (this.#isOver) return
    if (!(cause instanceof HttpError) || !isPassing(cause)) return this.#beginListening()
    const greet = () => {
      this.#postNotice('notifications/initialized', text).then(
        () => this.#beginListening(),
        (error) => this.#greetAgain(text, error, attempt + 1),
      )
    }
    this.#greetingTimer = setTimeout(greet, backoffMs(this.destination.backoff, attempt))
  }

  #beginListening(): void {
    if (this.#isOver) return
    this.#listen = new ListenStream(this)
    this.#listen.open()
  }

  #dropCancelled(message: RpcMessage): void {
    const id = 'params' in message ? message.params?.requestId : undefined
    this.#posts.get(id as RequestId)?.drop()
  }

  #sessionHeaders(method: string | undefined): Record<string, string> {
    const headers: Record<string, string> = { accept: acceptBoth, 'content-type': 'application/json' }
    // A handshake belongs to no session, and says its version itself.
    if (method === 'initialize') return headers
    if (this.sessionId !== undefined) headers['mcp-session-id'] = this.sessionId
    if (this.#revision) headers['mcp-protocol-version'] = this.#revision.id
    return headers
  }
}

/**
 * Some servers answer 400 where the specification has 404: those of the official examples that keep a transport for each
 * session, and those with a single transport after they were started again.
 */
function reportsLostSession(body: string | undefined): boolean {
  const value = body === undefined ? undefined : parseText(body)
  const error = isObject(value) && isObject(value.error) ? value.error : undefined
  return typeof error?.message === 'string' && /session id|session not found|not initialized/i.test(error.message)
}

/** 2026-07-28 streamable-http, request metadata: what proxies may want to know without reading the body. */
function modernHeaders({ method, params, headers }: Asked, version: string): Record<string, string> {
  const own: Record<string, string> = {
    accept: acceptBoth,
    'content-type': 'application/json',
    'mcp-protocol-version': version,
    'mcp-method': method,
  }
  const name = nameOf(method, params)
  if (name !== undefined) own['mcp-name'] = encodeHeaderValue(name)
  if (headers) for (const each in headers) own[each] = headers[each]!
  return own
}

/** A request that describes its caller itself is of the stateless era, also before a revision was agreed on. */
function versionIn({ method, params }: Asked): string | undefined {
  if (method === 'initialize') return undefined
  const meta = params?._meta
  const version = isObject(meta) ? meta[metaKeys.protocolVersion] : undefined
  return typeof version === 'string' ? version : undefined
}
