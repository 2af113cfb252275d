import { CapabilityError, McpError, PeerError, RpcCode } from '../../errors.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import { isObject } from '../../util/objects.ts'
import type { Early, Followed, TaskDialect, TaskPeer } from './dialect.ts'
import { isLost, retry } from './retry.ts'
import { readTask, type TaskUpdate } from './snapshot.ts'

/**
 * A task of 2025-11-25. Its result comes by `tasks/result`, and with it, before it, what the server asks: as requests, which
 * the client answers like any other.
 */
export class CoreTaskDialect implements TaskDialect {
  readonly isTold = false
  readonly #task: Followed
  readonly #peer: TaskPeer
  #signal: AbortSignal | undefined
  #waiting: { signal: AbortSignal; answer: Promise<ResultObject> } | undefined
  early: Early | undefined

  constructor(task: Followed, peer: TaskPeer) {
    this.#task = task
    this.#peer = peer
  }

  async look(): Promise<TaskUpdate> {
    const { id } = this.#task
    return readTask('tasks/get', id, await this.#peer.call('tasks/get', { taskId: id }))
  }

  async cancel(): Promise<TaskUpdate | undefined> {
    const { id } = this.#task
    const { capabilities } = await this.#peer.facts()
    if (!isObject(capabilities.tasks?.cancel)) {
      throw new CapabilityError('tasks.cancel', 'The server does not let its tasks be cancelled')
    }
    try {
      return readTask('tasks/cancel', id, await this.#peer.call('tasks/cancel', { taskId: id }))
    } catch (error) {
      // What is over cannot be cancelled, and need not be.
      if (error instanceof PeerError && error.rpcCode === RpcCode.InvalidParams) return this.look()
      throw error
    }
  }

  start(signal: AbortSignal): void {
    this.#signal = signal
  }

  /** 2025-11-25 tasks, input required: what is asked comes to whoever waits for the result. */
  saw({ snapshot }: TaskUpdate): void {
    if (snapshot.status === 'input_required') this.#wait(this.#signal!).catch(() => {})
  }

  async outcome({ snapshot, body }: TaskUpdate, signal: AbortSignal): Promise<ResultObject> {
    if (snapshot.status === 'cancelled') throw new McpError('cancelled', 'The task was cancelled')
    const { early } = this
    if (early && 'result' in early) return early.result
    // The server has forgotten the task, so there is nothing more to be had.
    if (early && body.taskId === undefined) throw early.error
    return this.#wait(signal)
  }

  /** One at a time, however often the task needs something. */
  #wait(signal: AbortSignal): Promise<ResultObject> {
    if (this.#waiting?.signal !== signal) this.#waiting = { signal, answer: this.#ask(signal) }
    return this.#waiting.answer
  }

  async #ask(signal: AbortSignal): Promise<ResultObject> {
    const params = { taskId: this.#task.id }
    const call = () => this.#peer.call('tasks/result', params, { timeoutMs: 0, signal })
    try {
      // An error of the server is how the call ended, and no reason to ask again.
      const result = await retry(call, signal, isLost)
      this.early = { result }
      this.#task.wake()
      return result
    } catch (error) {
      if (error instanceof PeerError) this.early = { error }
      throw error
    } finally {
      if (this.#waiting?.signal === signal) this.#waiting = undefined
    }
  }
}
