import { type Backoff, backoffMs } from '../../../util/backoff.ts'
import { clock } from '../../../util/clock.ts'
import { EventReader, type ServerSentEvent } from './event-reader.ts'
import { SilenceWatch } from './silence.ts'

/** Ids remembered of one stream; a server that repeats older events is not noticed. */
const maxSeen = 1_000

/** Messages on one connection that cannot be used; a server that sends more is broken or hostile. */
const maxFaults = 100

const leastWaitMs = 50

/** A stream that lasted this long was a good one, even if nothing was said on it. */
const goodMs = 10_000

/** Connections that may end without anything new before the place to go on from is given up. */
const maxVain = 5

/**
 * An SSE stream, over however many connections it takes (2025-11-25 transports, resumability): where it has come to, and
 * when to ask for the rest.
 */
export class ResumableStream {
  readonly #maxBytes: number
  readonly #onEvent: (event: ServerSentEvent) => void
  readonly #watch: SilenceWatch | undefined
  readonly #seen = new Set<string>()
  #reader: EventReader | undefined
  #isResumed = false
  #retryMs: number | undefined
  #attempts = 0
  #hadProgress = false
  #openedAt = 0
  #faults = 0

  /** @param onSilent The server sends nothing any more, not even the comments that it used to send. */
  constructor(maxBytes: number, onEvent: (event: ServerSentEvent) => void, onSilent?: () => void) {
    this.#maxBytes = maxBytes
    this.#onEvent = onEvent
    this.#watch = onSilent && new SilenceWatch(onSilent)
  }

  /** Empty when the stream cannot be resumed. */
  get lastEventId(): string {
    return this.#reader?.lastEventId ?? ''
  }

  /** What to say when asking for the rest. */
  get headers(): Record<string, string> {
    const id = this.lastEventId
    return id === '' ? {} : { 'last-event-id': toHeader(id) }
  }

  /** One more connection. */
  begin(): void {
    this.#isResumed = this.#reader !== undefined
    this.#openedAt = clock.now()
    this.#faults = 0
    this.#reader = new EventReader({
      maxBytes: this.#maxBytes,
      lastEventId: this.lastEventId,
      onEvent: (event) => this.#take(event),
    })
  }

  push(chunk: Uint8Array): void {
    const reader = this.#reader!
    const before = reader.lastEventId
    reader.push(chunk)
    this.#watch?.heard(reader.comments)
    if (reader.lastEventId !== before) this.#hadProgress = true
    this.#retryMs = reader.retryMs ?? this.#retryMs
  }

  /** A message could not be used. Throws when there were too many: the stream must end. */
  addFault(): void {
    if (++this.#faults > maxFaults) throw new RangeError(`more than ${maxFaults} messages are not valid`)
  }

  /** The connection is over. */
  end(): void {
    this.#watch?.stop()
  }

  /** Begins anew, so that what was sent since the last event is not asked for any more. */
  forget(): void {
    this.#reader = undefined
    this.#seen.clear()
  }

  /**
   * Whether the server takes us back each time and never goes on. One that asks to be polled (`retry`) may have nothing to say.
   */
  get isStuck(): boolean {
    return this.lastEventId !== '' && this.#retryMs === undefined && this.#attempts >= maxVain
  }

  /** How long to wait before the next connection; undefined when it is not worth another. */
  nextWaitMs(backoff: Backoff): number | undefined {
    if (this.#hadProgress || (this.#openedAt > 0 && clock.now() - this.#openedAt > goodMs)) this.#attempts = 0
    this.#hadProgress = false
    this.#openedAt = 0
    const attempt = this.#attempts++
    if (attempt > backoff.maxRetries) return undefined
    // 2025-11-25 transports: the client MUST wait for as long as `retry` says. Longer, when that did not help.
    if (this.#retryMs === undefined) return backoffMs(backoff, attempt)
    // Whatever it says, a server cannot make us knock without pause.
    const asked = Math.max(this.#retryMs, leastWaitMs)
    return attempt === 0 ? asked : asked + backoffMs(backoff, attempt)
  }

  /** A server that sends again what was there already is not to be heard twice. */
  #take(event: ServerSentEvent): void {
    this.#hadProgress = true
    if (event.id !== '') {
      if (this.#isResumed && this.#seen.has(event.id)) return
      if (this.#seen.size >= maxSeen) this.#seen.delete(this.#seen.values().next().value!)
      this.#seen.add(event.id)
    }
    if (event.type === 'message') this.#onEvent(event)
  }
}

/** Header values are bytes; the id is sent as its UTF-8 (HTML, 9.2.4). */
function toHeader(id: string): string {
  let bytes = ''
  for (const byte of new TextEncoder().encode(id)) bytes += String.fromCharCode(byte)
  return bytes
}
