import { LimitedProgress } from '../jsonrpc/limited-progress.ts'
import type { Progress } from '../jsonrpc/pending.ts'
import type { Revision } from '../protocol/revision.ts'
import { scheduler } from '../util/scheduler.ts'
import type { Call } from './call.ts'
import { warnLate } from './warn-late.ts'

/** Allows a handler to report several steps at once. A tight loop is reduced to a rate that a person can follow. */
const limits = { burst: 32, perSecond: 20 }

/** The part of a call that progress needs. */
export type ProgressCall = Pick<Call, 'notify' | 'ended' | 'onEnd' | 'signal'>

/** Sends the progress of one request. Nothing is sent after the reply. */
export class ProgressSender {
  readonly #call: ProgressCall
  readonly #revision: Revision
  readonly #token: unknown
  readonly #values = new LimitedProgress({ ...limits, deliver: (progress) => this.#notify(progress) })

  constructor(call: ProgressCall, revision: Revision, token: unknown) {
    this.#call = call
    this.#revision = revision
    this.#token = token
    call.onEnd(() => this.#values.stop())
  }

  send(progress: Progress): void {
    // JSON has no infinity: it would become null.
    if (!Number.isFinite(progress.progress) || !this.#values.increases(progress)) return
    if (this.#call.ended) return warnLate('progress', this.#call)
    this.#values.add(progress)
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
    this.#values.flush()
  }

  #notify(progress: Progress): void {
    const { total, ...rest } = progress
    const params = { progressToken: this.#token, ...rest, ...(Number.isFinite(total) && { total }) }
    this.#call.notify('notifications/progress', this.#revision.toParams('notifications/progress', params))
  }
}
