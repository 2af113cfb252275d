import { HttpError } from '../../../errors.ts'
import { pollDelayMs, reconnectDelayMs } from '../../../net/retry.ts'
import type { Backoff } from '../../../util/backoff.ts'
import { clock } from '../../../util/clock.ts'
import { EventReader, type ServerSentEvent } from './event-reader.ts'
import { SilenceDetector } from './silence-detector.ts'

/** How many event ids of a stream are remembered to detect repeated events. */
const maxSeenIds = 1_000

/** How many invalid messages one connection may carry; a server that sends more is broken or hostile. */
const maxFaults = 100

/** A connection that lasted this long resets the backoff, even if it carried no event. */
const stableMs = 10_000

/** After this many connections without a new event, the position in the stream is given up. */
const maxFutileAttempts = 5

export interface ResumableStreamOptions {
  readonly maxBytes: number
  onEvent(event: ServerSentEvent): void
  /** Called when the server has stopped sending, even the comments that it used to send. */
  readonly onSilent?: (() => void) | undefined
  /** Called with the id of each event. */
  readonly onId?: ((id: string) => void) | undefined
  /** The event after which the stream begins. Default: it begins with the first event. */
  readonly lastEventId?: string | undefined
}

/**
 * An SSE stream that continues over several connections (2025-11-25 transports, resumability). It knows its position, and when
 * to reconnect.
 */
export class ResumableStream {
  readonly #maxBytes: number
  readonly #onEvent: (event: ServerSentEvent) => void
  readonly #silence: SilenceDetector | undefined
  readonly #seen = new Set<string>()
  #reader: EventReader | undefined
  #isResumed = false
  #retryMs: number | undefined
  #attempts = 0
  #emptyPolls = 0
  #hadProgress = false
  #openedAt = 0
  #faults = 0

  readonly #onId: ((id: string) => void) | undefined
  #firstId: string

  constructor({ maxBytes, onEvent, onSilent, onId, lastEventId = '' }: ResumableStreamOptions) {
    this.#maxBytes = maxBytes
    this.#onEvent = onEvent
    this.#onId = onId
    this.#firstId = lastEventId
    this.#silence = onSilent && new SilenceDetector(onSilent)
  }

  /** Empty if the stream cannot be resumed. */
  get lastEventId(): string {
    return this.#reader?.lastEventId ?? this.#firstId
  }

  /** The minimum time between two connections that the server asked for; undefined if it did not. */
  get retryMs(): number | undefined {
    return this.#retryMs
  }

  /** Starts to count attempts again, because the stream is open. */
  resetAttempts(): void {
    this.#attempts = 0
  }

  /** How often the stream was reopened in a row without progress. Polls that the server asked for do not count. */
  get attempts(): number {
    return this.#attempts
  }

  /** The headers of a request that resumes the stream. */
  get headers(): Record<string, string> {
    const id = this.lastEventId
    return id === '' ? {} : { 'last-event-id': toHeader(id) }
  }

  /** Starts to read another connection. */
  begin(): void {
    this.#isResumed = this.#reader !== undefined
    this.#openedAt = clock.now()
    this.#faults = 0
    this.#reader = new EventReader({
      maxBytes: this.#maxBytes,
      lastEventId: this.lastEventId,
      onEvent: (event) => this.#receive(event),
      onId: this.#onId,
    })
  }

  push(chunk: Uint8Array): void {
    const reader = this.#reader!
    const before = reader.lastEventId
    reader.push(chunk)
    this.#silence?.onData(reader.comments)
    if (reader.lastEventId !== before) this.#hadProgress = true
    this.#retryMs = reader.retryMs ?? this.#retryMs
  }

  /** Counts an invalid message. Throws if there were too many, which ends the stream. */
  addFault(): void {
    if (++this.#faults > maxFaults) throw new RangeError(`more than ${maxFaults} messages are not valid`)
  }

  /** The connection has ended. */
  end(): void {
    this.#silence?.stop()
  }

  /** Forgets the position, so that the next connection starts a new stream. */
  forgetPosition(): void {
    this.#reader = undefined
    this.#firstId = ''
    this.#seen.clear()
  }

  /**
   * True if the server accepts each reconnection but never continues the stream. A server that asks to be polled (`retry`) may
   * just have nothing to send.
   */
  get isStuck(): boolean {
    return this.lastEventId !== '' && this.#retryMs === undefined && this.#attempts >= maxFutileAttempts
  }

  /** How long to wait before the next connection; undefined to give up. */
  nextDelayMs(backoff: Backoff): number | undefined {
    const wasOpen = this.#openedAt > 0
    const isStable = this.#hadProgress || (wasOpen && clock.now() - this.#openedAt > stableMs)
    this.#hadProgress = false
    this.#openedAt = 0
    if (isStable) this.#emptyPolls = 0
    if (wasOpen && this.#retryMs !== undefined) {
      // This poll is the first attempt.
      this.#attempts = 1
      return pollDelayMs(backoff, this.#emptyPolls++, this.#retryMs)
    }
    if (isStable) this.#attempts = 0
    return reconnectDelayMs(backoff, this.#attempts++, this.#retryMs)
  }

  /** Events that a server repeats after a reconnection are dropped. */
  #receive(event: ServerSentEvent): void {
    this.#hadProgress = true
    if (event.id !== '') {
      if (this.#isResumed && this.#seen.has(event.id)) return
      if (this.#seen.size >= maxSeenIds) this.#seen.delete(this.#seen.values().next().value!)
      this.#seen.add(event.id)
    }
    if (event.type === 'message') this.#onEvent(event)
  }
}

/** The error of an attempt to open a stream again, after which another may follow. */
export function notReopened(cause: HttpError): HttpError {
  const { status } = cause
  const detail = { outcome: 'refused', status, method: 'GET', cause } as const
  return new HttpError(`The stream could not be reopened: ${cause.message}`, detail)
}

/** Header values are bytes; the id is sent as its UTF-8 (HTML, 9.2.4). */
function toHeader(id: string): string {
  let bytes = ''
  for (const byte of new TextEncoder().encode(id)) bytes += String.fromCharCode(byte)
  return bytes
}
