import type { TaskStatus } from '../../protocol/tasks.ts'
import { type ToolResult, toToolResult } from '../features/tool-result.ts'
import type { TaskWork } from './poller.ts'
import { isFinal, type TaskSnapshot, unknownSnapshot } from './snapshot.ts'

/**
 * A tool call that runs as a task. The client polls it, and handles its requests for input, only while you await `result()` or
 * iterate over its states.
 *
 * @example
 * const task = await client.callToolAsTask('report', { topic: 'tides' })
 * for await (const { status, statusMessage } of task) console.log(status, statusMessage)
 * const report = await task.result()
 */
export class TaskHandle implements AsyncIterable<TaskSnapshot> {
  readonly #work: TaskWork
  readonly #check: (result: ToolResult) => Promise<void> | undefined
  /** Text for the model until there is a result, if the server sent any (2025-11-25). */
  readonly immediateResponse: string | undefined

  /** @internal */
  constructor(work: TaskWork, check: (result: ToolResult) => Promise<void> | undefined, immediateResponse?: string) {
    this.#work = work
    this.#check = check
    this.immediateResponse = immediateResponse
  }

  /** Pass it to `client.resumeTask(id)` to resume the task later. Undefined if the call did not become a task. */
  get id(): string | undefined {
    return this.#work.id
  }

  /** The latest known status. A resumed task counts as working until it was polled. */
  get status(): TaskStatus {
    return this.#work.newest.status
  }

  /** The latest known status message. */
  get statusMessage(): string | undefined {
    return this.#work.newest.statusMessage
  }

  /** The latest known state. */
  get newest(): TaskSnapshot {
    return this.#work.newest
  }

  /**
   * Waits for the result, without a timeout. A tool that failed returns a result with `isError`. Throws a `PeerError` if the
   * call failed, and an `McpError` with the code `cancelled` if the task was cancelled.
   */
  async result(): Promise<ToolResult> {
    const release = this.#work.watch(() => {})
    try {
      const result = toToolResult(await this.#work.outcome)
      await this.#check(result)
      return result
    } finally {
      release()
    }
  }

  /** Requests cancellation. The task may still complete: `result()` tells. */
  cancel(): Promise<void> {
    return this.#work.cancel()
  }

  /** Yields the current state, if it is known, then every new state, and ends after the final one. */
  async *[Symbol.asyncIterator](): AsyncGenerator<TaskSnapshot> {
    const work = this.#work
    const states = work.id !== undefined && work.newest === unknownSnapshot ? [] : [work.newest]
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
        const update = new Promise<void>((resolve) => {
          wake = resolve
        })
        await Promise.race([update, endOf(work)])
      }
    } finally {
      release()
    }
  }
}

/** Throws only if polling failed: the final state already says how the call itself ended. */
async function endOf(work: TaskWork): Promise<void> {
  try {
    await work.outcome
  } catch (error) {
    if (!isFinal(work.newest)) throw error
  }
}
