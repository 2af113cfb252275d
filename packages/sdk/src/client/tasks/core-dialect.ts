import { CapabilityError, ErrorCode, McpError, PeerError } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import { withRelatedTask } from '../../protocol/task-augmentation.ts'
import { isObject } from '../../util/objects.ts'
import type { EarlyOutcome, PolledTask, TaskClient, TaskDialect } from './dialect.ts'
import { isLost, retry } from './poller.ts'
import { readTask, type TaskUpdate } from './snapshot.ts'

/**
 * A task of 2025-11-25. `tasks/result` waits for the result, and lets the server send requests for input, which the client
 * handles like all requests.
 */
export class CoreTaskDialect implements TaskDialect {
  readonly isNotified = false
  readonly #task: PolledTask
  readonly #client: TaskClient
  /** Replaced by `start`. */
  #signal = AbortSignal.abort()
  #waiting: { signal: AbortSignal; answer: Promise<ResultObject> } | undefined
  earlyOutcome: EarlyOutcome | undefined

  constructor(task: PolledTask, client: TaskClient) {
    this.#task = task
    this.#client = client
  }

  async fetch(): Promise<TaskUpdate> {
    const { id } = this.#task
    return readTask('tasks/get', id, await this.#client.call('tasks/get', { taskId: id }))
  }

  async cancel(): Promise<TaskUpdate | undefined> {
    const { id } = this.#task
    const { capabilities } = await this.#client.facts()
    if (!isObject(capabilities.tasks?.cancel)) {
      throw new CapabilityError('tasks.cancel', 'The server does not support cancelling tasks')
    }
    try {
      return readTask('tasks/cancel', id, await this.#client.call('tasks/cancel', { taskId: id }))
    } catch (error) {
      // A finished task cannot be cancelled.
      if (error instanceof PeerError && error.rpcCode === ErrorCode.InvalidParams) return this.fetch()
      throw error
    }
  }

  start(signal: AbortSignal): void {
    this.#signal = signal
  }

  /** The server sends requests for input only while the client waits for the result (2025-11-25 tasks). */
  update({ snapshot }: TaskUpdate): void {
    if (snapshot.status === 'input_required') this.#wait(this.#signal).catch(() => {})
  }

  async outcome({ snapshot, body }: TaskUpdate, signal: AbortSignal): Promise<ResultObject> {
    if (snapshot.status === 'cancelled') throw new McpError('cancelled', 'The task was cancelled')
    const { earlyOutcome } = this
    if (earlyOutcome && 'result' in earlyOutcome) return earlyOutcome.result
    // The server has deleted the task, so the error cannot be requested again.
    if (earlyOutcome && body.taskId === undefined) throw earlyOutcome.error
    return this.#wait(signal)
  }

  /** Sends one `tasks/result` at a time. */
  #wait(signal: AbortSignal): Promise<ResultObject> {
    if (this.#waiting?.signal !== signal) this.#waiting = { signal, answer: this.#fetchResult(signal) }
    return this.#waiting.answer
  }

  async #fetchResult(signal: AbortSignal): Promise<ResultObject> {
    const params = { taskId: this.#task.id }
    const cancelParams = withRelatedTask({}, params)
    const call = () => this.#client.call('tasks/result', params, { timeoutMs: 0, signal, cancelParams })
    try {
      // An error response is the outcome of the call, so only lost responses are retried.
      const result = await retry(call, signal, isLost)
      this.earlyOutcome = { result }
      this.#task.wake()
      return result
    } catch (error) {
      if (error instanceof PeerError) this.earlyOutcome = { error }
      throw error
    } finally {
      if (this.#waiting?.signal === signal) this.#waiting = undefined
    }
  }
}
