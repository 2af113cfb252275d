import type { Progress } from '../jsonrpc/pending.ts'
import type { Revision } from '../protocol/revision.ts'
import { clock } from '../util/clock.ts'
import { scheduler, type Timer } from '../util/scheduler.ts'
import { TokenBucket } from '../util/token-bucket.ts'
import type { Call } from './call.ts'
import { warnLate } from './warn-late.ts'

/** Allows a handler to report several steps at once. A tight loop is reduced to a rate that a person can follow. */
const burst = 32
const perSecond = 20

/** The part of a call that progress needs. */
export type ProgressCall = Pick<Call, 'notify' | 'ended' | 'onEnd' | 'signal'>

/**
 * Sends the progress of one request. Values only increase, nothing is sent after the reply, and above the rate limit only the
 * newest value is sent.
 */
export class ProgressSender {
  readonly #call: ProgressCall
  readonly #revision: Revision
  readonly #token: unknown
  readonly #bucket = new TokenBucket(burst, perSecond, clock.now())
  #last = Number.NEGATIVE_INFINITY
  #pending: Progress | undefined
  #timer: Timer | undefined

  constructor(call: ProgressCall, revision: Revision, token: unknown) {
    this.#call = call
    this.#revision = revision
    this.#token = token
    call.onEnd(() => scheduler.clearTimeout(this.#timer))
  }

  send(progress: Progress): void {
    // JSON has no infinity: it would become null.
    if (!Number.isFinite(progress.progress)) return
    if (!(progress.progress > this.#last)) return
    if (this.#call.ended) return warnLate('progress', this.#call)
    this.#last = progress.progress
    const now = clock.now()
    if (this.#pending === undefined && this.#bucket.take(now)) return this.#notify(progress)
    this.#pending = progress
    this.#timer ??= scheduler.setTimeout(() => this.flush(), this.#bucket.wait(now))
  }

  /**
   * Sends the pending value before the reply, a turn of the event loop earlier: several clients drop progress that arrives in
   * the same chunk as the response.
   */
  finish(): Promise<void> {
    this.flush()
    return new Promise((resolve) => scheduler.setTimeout(resolve, 0))
  }

  flush(): void {
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#pending === undefined) return
    this.#bucket.take(clock.now())
    this.#notify(this.#pending)
    this.#pending = undefined
  }

  #notify(progress: Progress): void {
    const { total, ...rest } = progress
    const params = { progressToken: this.#token, ...rest, ...(Number.isFinite(total) && { total }) }
    this.#call.notify('notifications/progress', this.#revision.toParams('notifications/progress', params))
  }
}
