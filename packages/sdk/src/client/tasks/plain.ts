import { McpError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Work } from './poller.ts'
import { type TaskSnapshot, unseen } from './snapshot.ts'

/** An ordinary call, seen as a task. */
export class PlainWork implements Work {
  readonly id = undefined
  newest: TaskSnapshot = unseen
  readonly outcome: Promise<ResultObject>
  readonly #giveUp = new AbortController()
  readonly #listeners = new Set<(state: TaskSnapshot) => void>()

  /** @param call Is given a signal that aborts when the call is to be cancelled. */
  constructor(call: (signal: AbortSignal) => Promise<ResultObject>) {
    this.outcome = call(this.#giveUp.signal)
    this.outcome.then(
      () => this.#ended({ status: 'completed' }),
      (error) => {
        const status = error instanceof McpError && error.code === 'cancelled' ? 'cancelled' : 'failed'
        this.#ended({ status, ...(error instanceof Error && { statusMessage: error.message }) })
      },
    )
  }

  watch(listener: (state: TaskSnapshot) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  async cancel(): Promise<void> {
    this.#giveUp.abort('The call was cancelled')
    await this.outcome.catch(() => {})
  }

  #ended(end: Partial<TaskSnapshot>): void {
    this.newest = { ...this.newest, ...end }
    for (const listener of [...this.#listeners]) listener(this.newest)
  }
}
