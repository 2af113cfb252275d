import type { TaskStatus } from '../../protocol/tasks.ts'
import type { CallToolResult } from '../../protocol/tools.ts'
import { type ToolResult, toToolResult } from '../results.ts'
import type { Work } from './poller.ts'
import { isFinal, type TaskSnapshot, unseen } from './snapshot.ts'

/**
 * A call of a tool that goes on by itself. It is followed, and its questions are answered, while somebody waits for the result
 * or iterates over its states.
 *
 * @example
 * const task = await client.callToolAsTask('report', { topic: 'tides' })
 * for await (const { status, statusMessage } of task) console.log(status, statusMessage)
 * const report = await task.result()
 */
export class TaskHandle implements AsyncIterable<TaskSnapshot> {
  readonly #work: Work
  readonly #check: (result: ToolResult) => Promise<void> | undefined
  /** What to give to the model before there is a result, if the server said something (2025-11-25). */
  readonly immediateResponse: string | undefined

  /** @internal */
  constructor(work: Work, check: (result: ToolResult) => Promise<void> | undefined, immediateResponse?: string) {
    this.#work = work
    this.#check = check
    this.immediateResponse = immediateResponse
  }

  /** Keep it to come back to the task: `client.resumeTask(id)`. Undefined where the server made no task of the call. */
  get id(): string | undefined {
    return this.#work.id
  }

  /** The newest that is known. A task that was resumed counts as working until it was looked at. */
  get status(): TaskStatus {
    return this.#work.newest.status
  }

  get statusMessage(): string | undefined {
    return this.#work.newest.statusMessage
  }

  /** Everything that is known. */
  get newest(): TaskSnapshot {
    return this.#work.newest
  }

  /**
   * Waits for the end, however long that takes. A tool that failed has a result as well, with `isError`. Throws a `PeerError`
   * when the call failed, and `'cancelled'` when it was cancelled.
   */
  async result(): Promise<ToolResult> {
    const release = this.#work.watch(() => {})
    try {
      const result = toToolResult((await this.#work.outcome) as unknown as CallToolResult)
      await this.#check(result)
      return result
    } finally {
      release()
    }
  }

  /** Asks the server to stop. It may be too late for that: `result()` tells. */
  cancel(): Promise<void> {
    return this.#work.cancel()
  }

  /** How it stands now, where that is known, and every state that is new; ends after the last. */
  async *[Symbol.asyncIterator](): AsyncGenerator<TaskSnapshot> {
    const work = this.#work
    const states = work.id !== undefined && work.newest === unseen ? [] : [work.newest]
    let wake = () => {}
    const release = work.watch((state) => {
      states.push(state)
      wake()
    })
    try {
      for (;;) {
        const state = states.shift()
        if (state) yield state
        if (state && isFinal(state)) return
        if (states.length > 0) continue
        const news = new Promise<void>((resolve) => {
          wake = resolve
        })
        await Promise.race([news, endOf(work)])
      }
    } finally {
      release()
    }
  }
}

/** How the call ended is told by its last state; that it could not be followed is not. */
async function endOf(work: Work): Promise<void> {
  try {
    await work.outcome
  } catch (error) {
    if (!isFinal(work.newest)) throw error
  }
}
