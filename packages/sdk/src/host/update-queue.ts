import { clock } from '../util/clock.ts'
import { scheduler, type Timer } from '../util/scheduler.ts'
import { TokenBucket } from '../util/token-bucket.ts'

/** Updates that are passed on at once. Afterwards they are collected. */
const burst = 100
const burstPerSecond = 10

/** How often collected updates are passed on, each resource once. */
const flushMs = 100
const minBatch = 10
/** The larger the backlog, the larger the batches: it takes seconds, not minutes. */
const batchesPerBacklog = 20

/** How many resources wait. Beyond that it is not known which have changed. */
const maxPending = 1_000
const maxCharacters = 1_000_000

/** How many updates are saved before that is worth a notice: ordinary servers send some twice. */
const noticeAfter = 1_000

/** Notifications about updates that one server causes, to all subscribers together. */
const notifications = { burst: 1_000, perSecond: 2_000 }

/** Creates the budget that the connections to one server share, so that a server with many subscribers leaves time for others. */
export function createUpdateBudget(): TokenBucket {
  return new TokenBucket(notifications.burst, notifications.perSecond, clock.monotonic())
}

export interface UpdateQueueOptions {
  readonly budget: TokenBucket
  /** Passes on that a resource has changed. Returns the number of notifications. */
  deliver(uri: string): number
  /** The resources that somebody subscribed to. */
  subscribed(): ReadonlyMap<string, unknown>
  /** The server sends so many updates that most are not passed on. */
  onFlood(): void
}

/** The updates of resources of one server: each is passed on, but not more often than subscribers can follow. */
export class UpdateQueue {
  readonly #options: UpdateQueueOptions
  readonly #bucket = new TokenBucket(burst, burstPerSecond, clock.monotonic())
  readonly #pending = new Set<string>()
  #characters = 0
  /** Too many resources changed to know which. */
  #isOverflown = false
  #saved = 0
  #timer: Timer | undefined

  constructor(options: UpdateQueueOptions) {
    this.#options = options
  }

  add(uri: string): void {
    if (this.#timer === undefined && this.#bucket.take(clock.monotonic()) && this.#deliver(uri)) return
    if (this.#isOverflown || this.#pending.has(uri)) this.#save()
    else if (this.#pending.size < maxPending && this.#characters + uri.length <= maxCharacters) {
      this.#pending.add(uri)
      this.#characters += uri.length
    } else this.#isOverflown = true
    this.#schedule()
  }

  #save(): void {
    if (++this.#saved === noticeAfter) this.#options.onFlood()
  }

  #schedule(): void {
    if (this.#timer !== undefined) return
    this.#timer = scheduler.setTimeout(() => this.#flush(), flushMs)
    scheduler.unref(this.#timer)
  }

  #flush(): void {
    if (this.#isOverflown) this.#takeAll()
    const batch = Math.max(minBatch, Math.ceil(this.#pending.size / batchesPerBacklog))
    for (const uri of [...this.#pending].slice(0, batch)) {
      if (!this.#deliver(uri)) break
      this.#pending.delete(uri)
      this.#characters = Math.max(0, this.#characters - uri.length)
    }
    this.#timer = undefined
    if (this.#pending.size > 0) this.#schedule()
    else this.#saved = 0
  }

  /** Instead of those that changed, all that are subscribed: no change is lost. Those that wait longest come first. */
  #takeAll(): void {
    this.#isOverflown = false
    const subscribed = this.#options.subscribed()
    for (const uri of this.#pending) if (!subscribed.has(uri)) this.#pending.delete(uri)
    for (const uri of subscribed.keys()) this.#pending.add(uri)
    // Their characters are limited with the subscriptions.
    this.#characters = 0
  }

  /** Returns false if the budget of the server is used up. */
  #deliver(uri: string): boolean {
    const { budget, deliver } = this.#options
    const now = clock.monotonic()
    if (!budget.take(now)) return false
    // The first is paid for.
    for (let count = deliver(uri); count > 1; count--) budget.take(now)
    return true
  }
}
