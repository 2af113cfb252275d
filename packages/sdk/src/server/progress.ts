import type { Call } from '../era/call.ts'
import type { Progress } from '../jsonrpc/pending.ts'
import type { Revision } from '../protocol/revision.ts'
import { clock } from '../util/clock.ts'
import { TokenBucket } from '../util/token-bucket.ts'
import { warnLate } from './warn-late.ts'

/** Enough for a handler that reports a few steps at once; a tight loop is thinned out to what anyone can watch. */
const burst = 32
const perSecond = 20

/** The part of a call that progress needs. */
export type Teller = Pick<Call, 'notify' | 'ended' | 'onEnd' | 'signal'>

/**
 * Sends the progress of one request. Values only rise, nothing is sent after the reply, and when they come too fast the
 * newest waits and the ones between are left out.
 */
export class ProgressSender {
  readonly #call: Teller
  readonly #revision: Revision
  readonly #token: unknown
  readonly #bucket = new TokenBucket(burst, perSecond, clock.now())
  #last = Number.NEGATIVE_INFINITY
  #held: Progress | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(call: Teller, revision: Revision, token: unknown) {
    this.#call = call
    this.#revision = revision
    this.#token = token
    call.onEnd(() => clearTimeout(this.#timer))
  }

  send(progress: Progress): void {
    // JSON has no infinity: it would go out as null.
    if (!Number.isFinite(progress.progress)) return
    if (!(progress.progress > this.#last)) return
    if (this.#call.ended) return warnLate('progress', this.#call)
    this.#last = progress.progress
    const now = clock.now()
    if (this.#held === undefined && this.#bucket.take(now)) return this.#notify(progress)
    this.#held = progress
    this.#timer ??= setTimeout(() => this.flush(), this.#bucket.wait(now))
  }

  /**
   * Called before the reply: sends what waits, so that the last value is never lost, and lets it go ahead by a turn of
   * the event loop. Several clients drop progress that arrives in the same chunk as the answer.
   */
  finish(): Promise<void> {
    this.flush()
    return new Promise((resolve) => setTimeout(resolve, 0))
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#held === undefined) return
    this.#bucket.take(clock.now())
    this.#notify(this.#held)
    this.#held = undefined
  }

  #notify(progress: Progress): void {
    const { total, ...rest } = progress
    const params = { progressToken: this.#token, ...rest, ...(Number.isFinite(total) && { total }) }
    this.#call.notify('notifications/progress', this.#revision.toParams('notifications/progress', params))
  }
}
