import { type Account, AccountCounter } from '../../../../util/account.ts'
import { scheduler, type Timer } from '../../../../util/scheduler.ts'
import type { EventStream } from './event-stream.ts'

/** Limits for event streams. */
export interface StreamLimits {
  /** Open streams of all callers. Default 10,000. */
  maxStreams?: number | undefined
  /** Open streams of one principal. Default 1,000. */
  maxStreamsPerPrincipal?: number | undefined
  /** Open streams of anonymous callers from one address; see `clientAddress`. Default 1,000. */
  maxStreamsPerAddress?: number | undefined
  /** How often a comment is sent on quiet streams, so that proxies do not close them. Default 15,000. */
  keepAliveMs?: number | undefined
}

/** Optional streams may use half of the limit only, so that progress, elicitation and listeners find room. */
export function roomFor(limit: number, isOptional: boolean): number {
  return isOptional ? limit / 2 : limit
}

/** The connected streams of one handler. Counts them, and keeps them alive with a single timer. */
export class OpenStreams {
  readonly #limits: StreamLimits
  readonly #open = new Map<EventStream, Account | undefined>()
  readonly #perAccount = new AccountCounter()
  #timer: Timer | undefined

  constructor(limits: StreamLimits) {
    this.#limits = limits
  }

  get size(): number {
    return this.#open.size
  }

  /** Whether another stream may be opened. */
  hasRoom(account: Account | undefined, isOptional = false): boolean {
    const { maxStreams = 10_000, maxStreamsPerPrincipal = 1_000, maxStreamsPerAddress = 1_000 } = this.#limits
    if (this.#open.size >= roomFor(maxStreams, isOptional)) return false
    const limit = account?.isAddress ? maxStreamsPerAddress : maxStreamsPerPrincipal
    return this.#perAccount.of(account) < roomFor(limit, isOptional)
  }

  add(stream: EventStream, account: Account | undefined): void {
    if (this.#open.has(stream)) return
    this.#open.set(stream, account)
    this.#perAccount.add(account, 1)
    this.#timer ??= this.#startTimer()
  }

  delete(stream: EventStream): void {
    if (!this.#open.has(stream)) return
    this.#perAccount.add(this.#open.get(stream), -1)
    this.#open.delete(stream)
    if (this.#open.size === 0) this.#stopTimer()
  }

  endAll(): void {
    for (const stream of [...this.#open.keys()]) stream.end()
  }

  #startTimer(): Timer {
    const timer = scheduler.setInterval(() => {
      for (const stream of [...this.#open.keys()]) stream.keepAlive()
    }, this.#limits.keepAliveMs ?? 15_000)
    scheduler.unref(timer)
    return timer
  }

  #stopTimer(): void {
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
  }
}
