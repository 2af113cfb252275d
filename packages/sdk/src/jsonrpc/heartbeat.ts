import { ClosedError, type HttpError, TimeoutError } from '../errors.ts'
import { scheduler, type Timer } from '../util/scheduler.ts'

export interface PingOptions {
  /** How long to wait after one ping before the next is sent. */
  intervalMs: number
  /** How long the other side may take to answer a ping. Default 10,000. */
  timeoutMs?: number | undefined
  /** After how many failed pings in a row the connection is reset. Default 3. */
  maxFailures?: number | undefined
}

/** How often peers are pinged where pings are on by default. */
export const defaultPing: PingOptions = { intervalMs: 60_000 }

interface Pinged {
  /** For error messages: `The server`, `The client`. */
  readonly name: string
  /** True if a peer that has never answered a ping is left alone, because it may not know pings. */
  readonly isLenient?: boolean | undefined
  /** Sends one ping. Returns undefined if there is no need to. */
  ping(timeoutMs: number): Promise<unknown> | undefined
  onFailure(error: TimeoutError): void
  /** Too many pings in a row failed. No more are sent. */
  onDead(reason: string): void
}

/**
 * Pings a peer periodically (2025-11-25 ping, implementation considerations). The next ping is sent only after the last one was
 * answered or failed, so a slow peer is never sent several.
 */
export class Heartbeat {
  readonly #options: Required<PingOptions>
  readonly #pinged: Pinged
  #timer: Timer | undefined
  #failures = 0
  #hasAnswered = false
  #isStopped = false

  constructor({ intervalMs, timeoutMs = 10_000, maxFailures = 3 }: PingOptions, pinged: Pinged) {
    this.#options = { intervalMs, timeoutMs, maxFailures } as Required<PingOptions>
    for (const [name, value] of Object.entries(this.#options)) {
      if (!(value > 0 && value <= 2 ** 31 - 1)) throw new TypeError(`ping.${name} must be a number above 0`)
    }
    this.#pinged = pinged
    this.#schedule()
  }

  stop(): void {
    this.#isStopped = true
    scheduler.clearTimeout(this.#timer)
  }

  #schedule(): void {
    if (this.#isStopped) return
    this.#timer = scheduler.setTimeout(() => void this.#ping(), this.#options.intervalMs)
    scheduler.unref(this.#timer)
  }

  async #ping(): Promise<void> {
    try {
      const answer = this.#pinged.ping(this.#options.timeoutMs)
      if (answer) await answer
      if (answer) this.#answered()
    } catch (error) {
      // A closed connection is reported elsewhere.
      if (this.#isStopped || error instanceof ClosedError) return this.stop()
      if (isSignOfLife(error)) this.#answered()
      else this.#failed(error)
    }
    this.#schedule()
  }

  #answered(): void {
    this.#failures = 0
    this.#hasAnswered = true
  }

  #failed(cause: unknown): void {
    const { timeoutMs, maxFailures } = this.#options
    const { name, isLenient, onFailure, onDead } = this.#pinged
    const count = ++this.#failures
    if (isLenient && !this.#hasAnswered) {
      if (count >= maxFailures) this.stop()
      return
    }
    onFailure(new TimeoutError(`${name} did not answer a ping (${count} of ${maxFailures})`, timeoutMs, { cause }))
    if (count < maxFailures) return
    this.stop()
    onDead(`${name} did not answer ${count} ${count === 1 ? 'ping' : 'pings in a row'}`)
  }
}

/**
 * An error response shows that the peer is alive. Errors of proxies do not. Looks at codes, so that bundles of servers do not
 * contain the errors of HTTP clients.
 */
function isSignOfLife(error: unknown): boolean {
  const { code, status } = error as { code?: unknown } & Partial<Pick<HttpError, 'status'>>
  return code === 'peer' || code === 'auth' || (code === 'http' && status !== undefined && status < 500)
}
