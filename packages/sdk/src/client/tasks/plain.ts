import { McpError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { TaskWork } from './poller.ts'
import { type TaskSnapshot, unknownSnapshot } from './snapshot.ts'

/** An ordinary call that is handled like a task. */
export class PlainCall implements TaskWork {
  readonly id = undefined
  newest: TaskSnapshot = unknownSnapshot
  readonly outcome: Promise<ResultObject>
  readonly #abort = new AbortController()
  readonly #listeners = new Set<(state: TaskSnapshot) => void>()

  /** @param call Receives a signal that aborts when the call is cancelled. */
  constructor(call: (signal: AbortSignal) => Promise<ResultObject>) {
    this.outcome = call(this.#abort.signal)
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
    this.#abort.abort('The call was cancelled')
    await this.outcome.catch(() => {})
  }

  #ended(end: Partial<TaskSnapshot>): void {
    this.newest = { ...this.newest, ...end }
    for (const listener of [...this.#listeners]) listener(this.newest)
  }
}
