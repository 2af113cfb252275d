import { HttpError } from '../../../errors.ts'
import { Fault, kindOf } from '../../../jsonrpc/message.ts'
import { parseText } from '../../../jsonrpc/parse.ts'
import { backoffMs, maxTimerMs } from '../../../util/backoff.ts'
import { clock } from '../../../util/clock.ts'
import { unref } from '../../../util/unref.ts'
import type { ReadHeader } from './call.ts'
import { isEventStream, isPassing, unreadable } from './read.ts'
import { HttpExchange, reasonOf, type Taker } from './request.ts'
import type { ClientSession } from './session.ts'
import { ResumableStream } from './stream.ts'

/** A server keeps what it sends for a while; a stream that was away for longer may have missed something. */
const longestGapMs = 30_000

/** How long a server may take to begin the stream, before another one behind the same address is tried. */
const headersTimeoutMs = 30_000

/** How soon after an attempt the next is made because of an answer to something else. */
const revivalMs = 1_000

/**
 * The stream that a server of a session may send its own messages on (2025-11-25 transports, listening for messages). Opened
 * again for as long as the session lasts; only a server that refused the first attempt has none.
 */
export class ListenStream implements Taker {
  readonly #conversation: ClientSession
  readonly #stream: ResumableStream
  #delivery: HttpExchange | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #headersTimer: ReturnType<typeof setTimeout> | undefined
  #wasOpen = false
  #isClosed = false
  /** When the stream was lost; undefined while it is open. */
  #lostAt: number | undefined = clock.now()
  #triedAt = 0
  /** What the server sent meanwhile cannot be had any more. */
  #isGap = false
  #isReported = false

  constructor(conversation: ClientSession) {
    this.#conversation = conversation
    this.#stream = new ResumableStream(
      conversation.destination.maxMessageBytes,
      ({ data }) => this.#take(data),
      () => this.#silent(),
    )
  }

  open(): void {
    if (this.#isClosed) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#triedAt = clock.now()
    const headers = { ...this.#conversation.streamHeaders(), ...this.#stream.headers }
    const request = { method: 'GET', about: "The stream of the server's messages", headers } as const
    this.#delivery = new HttpExchange(this.#conversation.destination, request, this).start()
    this.#headersTimer = setTimeout(() => this.#silent(), headersTimeoutMs)
    unref(this.#headersTimer)
  }

  /** Tries again now: the server can be reached. */
  revive(): void {
    if (this.#timer !== undefined && clock.now() - this.#triedAt > revivalMs) this.open()
  }

  close(): void {
    this.#isClosed = true
    this.#stream.end()
    clearTimeout(this.#timer)
    clearTimeout(this.#headersTimer)
    this.#delivery?.abort()
  }

  accepted(status: number, header: ReadHeader): 'bytes' {
    if (!isEventStream(header)) throw new HttpError('The server answered a GET with no event stream', refusal(status))
    clearTimeout(this.#headersTimer)
    this.#stream.begin()
    if (this.#isGap || (this.#wasOpen && clock.now() - (this.#lostAt ?? 0) > longestGapMs)) this.#conversation.missed()
    this.#wasOpen = true
    this.#isGap = false
    this.#isReported = false
    this.#lostAt = undefined
    return 'bytes'
  }

  bytes(chunk: Uint8Array): void {
    this.#stream.push(chunk)
  }

  ended(): void {
    this.#lose()
    this.#openAgain()
  }

  failed(error: HttpError): void {
    this.#lose()
    if (this.#wasOpen && this.#conversation.isSessionLost(error)) return this.#conversation.loseSession()
    const { status } = error
    if (isPassing(error)) return this.#openAgain(error)
    if (this.#wasOpen) {
      // The server takes the session but not the place to go on from.
      this.#forgetPlace()
      return this.#openAgain(error)
    }
    // A server without such a stream says 405; many others that have none say 400 or 404, also to a session just begun.
    if (status === 401 || status === 403 || status! < 400) this.#conversation.report(reasonOf(error))
  }

  #silent(): void {
    this.#delivery?.abort()
    this.ended()
  }

  #lose(): void {
    this.#stream.end()
    clearTimeout(this.#headersTimer)
    if (this.#isClosed || this.#lostAt !== undefined) return
    this.#lostAt = clock.now()
    if (this.#stream.lastEventId === '') this.#isGap = true
  }

  #forgetPlace(): void {
    this.#isGap = true
    this.#stream.forget()
  }

  #openAgain(error?: HttpError): void {
    if (this.#stream.isStuck) this.#forgetPlace()
    const { backoff } = this.#conversation.destination
    const waitMs = this.#stream.nextWaitMs(backoff)
    if (waitMs === undefined) this.#report(error)
    this.#timer = setTimeout(() => this.open(), Math.min(waitMs ?? backoffMs(backoff, backoff.maxRetries), maxTimerMs))
  }

  /** Said once for each time that the stream is away. */
  #report(error: HttpError | undefined): void {
    if (this.#isReported) return
    this.#isReported = true
    const why = error ? `: ${error.message}` : ''
    const what = `Notifications do not arrive: the stream of the server's messages ends again and again${why}. The client keeps trying.`
    this.#conversation.report(new HttpError(what, { outcome: 'refused', status: error?.status, cause: error }))
  }

  #take(data: string): void {
    const value = parseText(data)
    const kind = value instanceof Fault ? value : Array.isArray(value) ? 'request' : kindOf(value)
    if (kind instanceof Fault) this.#stream.addFault()
    if (kind instanceof Fault && kind.id === undefined) return this.#conversation.report(unreadable(kind))
    if (kind === 'request' || kind instanceof Fault) this.#conversation.checkAnswers()
    this.#conversation.receive(value)
  }
}

function refusal(status: number) {
  return { outcome: 'refused', status } as const
}
