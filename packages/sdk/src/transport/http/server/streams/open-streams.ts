import { type Account, AccountCounter } from '../../../../util/account.ts'
import { scheduler, type Timer } from '../../../../util/scheduler.ts'
import type { EventStream } from './event-stream.ts'

export interface StreamLimits {
  /** Streams open at a time, of all callers. Default 10,000. */
  maxStreams?: number | undefined
  /** Streams that one principal may have open. Default 1,000. */
  maxStreamsPerPrincipal?: number | undefined
  /** Streams that anonymous callers from one address may have open; see `clientAddress`. Default 1,000. */
  maxStreamsPerAddress?: number | undefined
  /** How often quiet streams carry a comment, so that nobody on the way takes them for dead. Default 15,000. */
  keepAliveMs?: number | undefined
}

/** Streams that nothing depends on take at most half of the places, so that progress, questions and listeners find room. */
export function roomFor(limit: number, isOptional: boolean): number {
  return isOptional ? limit / 2 : limit
}

/** Every stream that somebody reads: counted, and kept alive by one timer for all. */
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

  /** Whether one more may be opened. */
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
