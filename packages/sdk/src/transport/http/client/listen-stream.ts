import { HttpError } from '../../../errors.ts'
import { classify, Fault } from '../../../jsonrpc/message.ts'
import { parseText } from '../../../jsonrpc/parse.ts'
import { isTransient } from '../../../net/retry.ts'
import type { ResponseHead } from '../../../net/send.ts'
import { backoffMs } from '../../../util/backoff.ts'
import { clock } from '../../../util/clock.ts'
import { scheduler, type Timer } from '../../../util/scheduler.ts'
import { ClientRequest, type RequestListener, reasonOf } from './request.ts'
import { isEventStream, traceReceived, unreadable } from './request-post.ts'
import { notReopened, ResumableStream } from './resumable-stream.ts'
import type { ClientSession } from './session.ts'

/** Servers keep messages for a while. A stream that was disconnected for longer may have lost some. */
const maxGapMs = 30_000

/** How long a server may take to open the stream. After that, the request is repeated, perhaps to another server behind the same address. */
const headersTimeoutMs = 30_000

/** The minimum time between two attempts to open the stream, if a response to another request triggers the second. */
const minRetryMs = 1_000

export interface ListenStreamOptions {
  /** The event after which the stream begins. */
  readonly lastEventId?: string | undefined
  /** Called with the id of each event. */
  readonly onId?: ((id: string) => void) | undefined
  /** Called once: when the stream is open, or with the error of the first attempt. */
  readonly onOpened?: ((error: Error | undefined) => void) | undefined
}

/**
 * The stream on which the server sends notifications and requests (2025-11-25 transports, listening for messages). It is reopened for
 * as long as the session lasts, unless the server refused the first attempt, which means that it has no such stream.
 */
export class ListenStream implements RequestListener {
  readonly #session: ClientSession
  readonly #stream: ResumableStream
  #http: ClientRequest | undefined
  #cancelReopen: (() => void) | undefined
  #onOpened: ListenStreamOptions['onOpened']
  #headersTimer: Timer | undefined
  #wasOpen = false
  #isClosed = false
  /** When the stream was lost; undefined while it is open. */
  #lostAt: number | undefined = clock.now()
  #triedAt = 0
  /** The server asked not to be polled earlier (`retry`). */
  #notBefore = 0
  #heardAt = 0
  /** True if messages were lost that cannot be fetched any more. */
  #hasGap = false
  #isReported = false

  constructor(session: ClientSession, { lastEventId, onId, onOpened }: ListenStreamOptions = {}) {
    this.#session = session
    this.#onOpened = onOpened
    this.#stream = new ResumableStream({
      maxBytes: session.config.maxMessageBytes,
      onEvent: ({ data }) => this.#receive(data),
      onSilent: () => this.#reconnect(),
      onId,
      lastEventId,
    })
  }

  open(): void {
    if (this.#isClosed) return
    this.#cancelReopen?.()
    this.#cancelReopen = undefined
    this.#triedAt = clock.now()
    const headers = { ...this.#session.streamHeaders(), ...this.#stream.headers }
    const request = { method: 'GET', label: "The stream of the server's messages", headers } as const
    this.#http = new ClientRequest(this.#session.config, request, this).start()
    this.#headersTimer = scheduler.setTimeout(() => this.#reconnect(), headersTimeoutMs)
    scheduler.unref(this.#headersTimer)
  }

  /** How long ago something arrived; undefined if the stream is not open. */
  get quietMs(): number | undefined {
    return this.#lostAt === undefined ? clock.now() - this.#heardAt : undefined
  }

  /** Retries now, because the server can be reached, but not before the time that it asked for. */
  retryNow(): void {
    if (this.#cancelReopen === undefined) return
    const now = clock.now()
    if (now >= this.#notBefore && now - this.#triedAt > minRetryMs) this.open()
  }

  close(): void {
    this.#isClosed = true
    this.#stream.end()
    this.#cancelReopen?.()
    scheduler.clearTimeout(this.#headersTimer)
    this.#http?.abort()
  }

  onSuccess(head: ResponseHead): 'chunks' {
    if (!isEventStream(head)) throw notAStream(head.status)
    scheduler.clearTimeout(this.#headersTimer)
    this.#stream.begin()
    if (this.#hasGap || (this.#wasOpen && clock.now() - (this.#lostAt ?? 0) > maxGapMs)) this.#session.reportGap()
    this.#wasOpen = true
    this.#hasGap = false
    this.#isReported = false
    this.#lostAt = undefined
    this.#heardAt = clock.now()
    this.#opened(undefined)
    if (!this.#session.config.recovers) this.#stream.resetAttempts()
    return 'chunks'
  }

  onChunk(chunk: Uint8Array): void {
    this.#heardAt = clock.now()
    this.#stream.push(chunk)
  }

  #opened(error: Error | undefined): void {
    this.#onOpened?.(error)
    this.#onOpened = undefined
  }

  onComplete(): void {
    this.#noteLoss()
    this.#scheduleReopen()
  }

  onFailure(error: HttpError): void {
    const isBroken = this.#lostAt === undefined
    this.#noteLoss()
    this.#opened(reasonOf(error))
    if (!this.#session.config.recovers) return this.#giveUpOrReopen(error, isBroken)
    if (this.#wasOpen && this.#session.isSessionLost(error)) return this.#session.loseSession()
    const { status } = error
    if (isTransient(error)) return this.#scheduleReopen(error)
    if (this.#wasOpen) {
      // The server accepts the session, but not the position in the stream.
      this.#forgetPosition()
      return this.#scheduleReopen(error)
    }
    // A server without this stream answers 405. Many answer 400 or 404 instead, even to a new session.
    if (status === 401 || status === 403 || status! < 400) this.#session.report(reasonOf(error))
  }

  /** Without recovery every failure is reported, and only a stream that was open before is opened again. */
  #giveUpOrReopen(error: HttpError, isBroken: boolean): void {
    // A server without this stream answers 405.
    if (error.status === 405) return
    if (!this.#wasOpen) return this.#session.report(reasonOf(error))
    this.#session.report(isBroken ? error : notReopened(error))
    this.#scheduleReopen(error)
  }

  #reconnect(): void {
    this.#http?.abort()
    this.onComplete()
  }

  #noteLoss(): void {
    this.#stream.end()
    scheduler.clearTimeout(this.#headersTimer)
    if (this.#isClosed || this.#lostAt !== undefined) return
    this.#lostAt = clock.now()
    if (this.#stream.lastEventId === '') this.#hasGap = true
  }

  #forgetPosition(): void {
    this.#hasGap = true
    this.#stream.forgetPosition()
  }

  #scheduleReopen(error?: HttpError): void {
    if (this.#isClosed) return
    if (this.#stream.isStuck) this.#forgetPosition()
    const { config } = this.#session
    const { backoff } = config
    const attempt = this.#stream.attempts
    const waitMs = this.#stream.nextDelayMs(backoff)
    this.#notBefore = clock.now() + (this.#stream.retryMs ?? 0)
    if (waitMs === undefined) this.#report(error)
    if (waitMs === undefined && !config.recovers) return
    this.#cancelReopen = config.schedule(() => this.open(), waitMs ?? backoffMs(backoff, backoff.maxRetries), attempt)
  }

  /** Reports a stream that cannot be kept open, once until it is open again. */
  #report(error: HttpError | undefined): void {
    if (this.#isReported) return
    this.#isReported = true
    const why = error ? `: ${error.message}` : ''
    const what = `Notifications do not arrive, because the stream of the server's messages keeps failing${why}.${this.#session.config.recovers ? ' The client keeps trying.' : ''}`
    this.#session.report(
      new HttpError(what, { outcome: 'unknown', method: 'GET', status: error?.status, cause: error }),
    )
  }

  #receive(data: string): void {
    const value = parseText(data)
    traceReceived(this.#session.config.tracer, value)
    const kind = value instanceof Fault ? value : Array.isArray(value) ? 'request' : classify(value)
    if (kind instanceof Fault) this.#stream.addFault()
    if (kind instanceof Fault && kind.id === undefined) return this.#session.report(unreadable(kind))
    if (kind === 'request' || kind instanceof Fault) this.#session.checkAnswers()
    this.#session.receive(value)
  }
}

function notAStream(status: number): HttpError {
  return new HttpError('The server did not answer a GET with an event stream', { outcome: 'refused', status })
}
