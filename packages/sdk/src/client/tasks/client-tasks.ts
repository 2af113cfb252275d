import type { CallInput, Listening } from '../../era/client.ts'
import { CapabilityError, McpError, Suspended } from '../../errors.ts'
import type { LimitedProgress } from '../../jsonrpc/limited-progress.ts'
import type { ResultObject } from '../../jsonrpc/message.ts'
import type { Progress, RequestOptions } from '../../jsonrpc/pending.ts'
import { metaKeys, type ProgressToken } from '../../protocol/meta.ts'
import type { ProgressParams } from '../../protocol/progress.ts'
import type { TaskStatus } from '../../protocol/tasks.ts'
import type { TaskIdStore } from '../../store/ports.ts'
import { clock } from '../../util/clock.ts'
import { deferred } from '../../util/deferred.ts'
import { runDetached } from '../../util/maybe-async.ts'
import { isObject } from '../../util/objects.ts'
import type { ToolResult } from '../features/tool-result.ts'
import { CoreTaskDialect } from './core-dialect.ts'
import type { PolledTask, TaskClient, TaskDialect } from './dialect.ts'
import { ExtensionTaskDialect } from './extension-dialect.ts'
import { TaskHandle } from './handle.ts'
import { PlainCall } from './plain.ts'
import { TaskPoller } from './poller.ts'
import { isFinal, readTask, type TaskSnapshot } from './snapshot.ts'
import { TaskStreams } from './task-streams.ts'
import { TaskTimeout } from './timeout.ts'

/** The event `task`: a task was created, or its status changed. */
export interface TaskStatusChange {
  taskId: string
  /** The tool that was called; undefined for a resumed task. */
  tool: string | undefined
  status: TaskStatus
  statusMessage: string | undefined
}

export interface ClientTasksOptions extends Omit<TaskClient, 'pause' | 'listen'> {
  /** Listens for updates of these tasks; rejects if the server does not send them. */
  listen(ids: string[]): Promise<Listening>
  /** Stores the ids of open tasks. */
  readonly ids: TaskIdStore | undefined
  onChange(change: TaskStatusChange): void
  /** Receives errors of progress listeners. */
  onError(error: unknown): void
  /** Throws if the result does not match the output schema of the tool. */
  checkOutput(tool: string, result: ToolResult): Promise<void> | undefined
}

/** A call that became a task. */
export interface StartedCall {
  readonly tool: string
  /** The token of the task's progress notifications (2025-11-25). */
  readonly progressToken?: number | undefined
  /** Receives the progress of the task. */
  readonly progress?: LimitedProgress | undefined
  /** Answers the questions of the task, instead of the handlers of the client. */
  readonly input?: CallInput | undefined
}

/** What is done with the progress of a task until it ends. */
interface ProgressListener {
  readonly taskId: string
  add(progress: Progress): void
  /** Delivers the newest value, if it waits. */
  flush(): void
}

/** Limits the progress listeners of tasks. */
const maxProgressListeners = 1_000

/** The tasks of the server that this client uses. */
export class ClientTasks {
  readonly #options: ClientTasksOptions
  readonly #client: TaskClient
  /** Handles of one task share its poller, so that its requests for input are handled once. */
  readonly #pollers = new Map<string, WeakRef<TaskPoller>>()
  /** Ids that are being deleted from the store. */
  readonly #deletions = new Set<Promise<void>>()
  readonly #registry = new FinalizationRegistry<string>((id) => {
    if (!this.#pollers.get(id)?.deref()) this.#pollers.delete(id)
  })
  readonly #progressListeners = new Map<ProgressToken, ProgressListener>()
  readonly #timeouts = new Set<TaskTimeout>()
  #pauses = 0

  constructor(options: ClientTasksOptions) {
    this.#options = options
    const streams = new TaskStreams((ids) => options.listen(ids))
    this.#client = { ...options, listen: (id) => streams.listen(id), pause: () => this.pause() }
  }

  /** Returns a handle for the task that a call became. */
  async created(result: ResultObject, call: StartedCall): Promise<TaskHandle> {
    const meta = isObject(result._meta) ? result._meta : {}
    const response = meta[metaKeys.modelImmediateResponse]
    const task = await this.#created(result, call)
    return this.#handle(task, call.tool, typeof response === 'string' ? response : undefined)
  }

  /** Returns handles for all tasks in the store. */
  async resumeAll(): Promise<TaskHandle[]> {
    const { ids } = this.#options
    if (!ids) throw new McpError('invalid-argument', 'resumeTasks() needs a store: pass `taskIds` to connect()')
    await Promise.all(this.#deletions)
    return (await ids.list()).map(({ taskId, tool }) => {
      return this.#handle(this.#poller(taskId, tool, undefined), tool, undefined)
    })
  }

  /** Returns a handle for a call that did not become a task. */
  plain(tool: string, call: (signal: AbortSignal) => Promise<ResultObject>): TaskHandle {
    return new TaskHandle(new PlainCall(call), (result) => this.#options.checkOutput(tool, result))
  }

  resume(id: string): TaskHandle {
    if (typeof id !== 'string' || id === '') {
      throw new McpError('invalid-argument', 'resumeTask() takes the id of a task')
    }
    return this.#handle(this.#poller(id, undefined, undefined), undefined, undefined)
  }

  /** Waits for the result of a task like for any call. Cancels the task on abort and timeout. */
  async drive(result: ResultObject, call: StartedCall, options: RequestOptions): Promise<ResultObject> {
    const { signal } = options
    const stopped = deferred<never>()
    const onAbort = () =>
      stopped.reject(new McpError('cancelled', 'tools/call was cancelled', { cause: signal?.reason }))
    let timeout: TaskTimeout | undefined
    const task = await this.#created(result, call, () => timeout?.restart())
    timeout = this.#startTimeout(options, stopped.reject)
    const release = task.watch(() => timeout?.restart())
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
    try {
      const outcome = await Promise.race([task.outcome, stopped.promise])
      release()
      return outcome
    } catch (error) {
      // A suspended call comes back for its task. Otherwise only this call knows the id, and nothing else could cancel it.
      if (isFinal(task.newest) || this.#options.closing.aborted || error instanceof Suspended) release()
      else void task.cancel().then(release, release)
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
      this.#endProgress(task.id)
      timeout.stop()
      this.#timeouts.delete(timeout)
    }
  }

  /** Pauses all timeouts until the returned function is called; pauses may overlap. */
  pause(): () => void {
    if (this.#pauses++ === 0) for (const timeout of this.#timeouts) timeout.pause()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      if (--this.#pauses === 0) for (const timeout of this.#timeouts) timeout.resume()
    }
  }

  /** The server sent the state of a task. */
  notified(method: string, params: { taskId: string }): void {
    this.#pollers.get(params.taskId)?.deref()?.notified(method, params)
  }

  /** The server sent progress, perhaps of a task. */
  progressed({ progressToken, progress, total, message }: ProgressParams): void {
    try {
      this.#progressListeners.get(progressToken)?.add({
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      })
    } catch (error) {
      this.#options.onError(error)
    }
  }

  /** The next connection counts its requests anew, so progress tokens of this one would match other requests. */
  reconnected(): void {
    for (const { taskId } of [...this.#progressListeners.values()]) this.#endProgress(taskId)
  }

  /** @param onProgress Called whenever progress arrives, also if it is not passed on. */
  async #created(
    result: ResultObject,
    { tool, progressToken, progress, input }: StartedCall,
    onProgress?: () => void,
  ): Promise<TaskPoller> {
    const { id, snapshot } = readTask('tools/call', undefined, result.task ?? result)
    if (progressToken !== undefined && (progress || onProgress)) {
      const add = (value: Progress) => {
        onProgress?.()
        progress?.add(value)
      }
      this.#addProgressListener(progressToken, { taskId: id, add, flush: () => progress?.flush() })
    }
    const stored = this.#options.ids?.add({ taskId: id, tool, createdAt: clock.now() })
    const poller = input ? this.#createPoller(id, tool, snapshot, input) : this.#poller(id, tool, snapshot)
    this.#changed(poller, tool)
    // The caller must not see a task that could not be found again after a restart.
    await stored
    return poller
  }

  #startTimeout(options: RequestOptions, onExpired: (error: unknown) => void): TaskTimeout {
    const timeout = new TaskTimeout(options, onExpired)
    this.#timeouts.add(timeout)
    if (this.#pauses > 0) timeout.pause()
    return timeout
  }

  #addProgressListener(token: number, listener: ProgressListener): void {
    const [oldest] = this.#progressListeners.values()
    if (oldest && this.#progressListeners.size >= maxProgressListeners) this.#endProgress(oldest.taskId)
    this.#progressListeners.set(token, listener)
  }

  /** 2025-11-25 progress: there is none after the task has ended. */
  #endProgress(id: string): void {
    for (const [token, { taskId, flush }] of this.#progressListeners) {
      if (taskId !== id) continue
      this.#progressListeners.delete(token)
      flush()
    }
  }

  #handle(poller: TaskPoller, tool: string | undefined, immediateResponse: string | undefined): TaskHandle {
    const check = (result: ToolResult) => (tool === undefined ? undefined : this.#options.checkOutput(tool, result))
    return new TaskHandle(poller, check, immediateResponse)
  }

  #poller(id: string, tool: string | undefined, created: TaskSnapshot | undefined): TaskPoller {
    return this.#pollers.get(id)?.deref() ?? this.#createPoller(id, tool, created)
  }

  #createPoller(
    id: string,
    tool: string | undefined,
    created: TaskSnapshot | undefined,
    input?: CallInput | undefined,
  ): TaskPoller {
    const poller = new TaskPoller(id, created, {
      dialect: (task) => this.#dialect(task, input),
      closing: this.#options.closing,
      onState: (task) => this.#changed(task, tool),
      onGone: () => this.#deleteId(id),
    })
    this.#pollers.set(id, new WeakRef(poller))
    this.#registry.register(poller, id)
    return poller
  }

  #changed({ id, newest }: TaskPoller, tool: string | undefined): void {
    const { status, statusMessage } = newest
    if (isFinal(newest)) {
      this.#deleteId(id)
      this.#endProgress(id)
    }
    this.#options.onChange({ taskId: id, tool, status, statusMessage })
  }

  #deleteId(id: string): void {
    const { ids, onError } = this.#options
    if (!ids) return
    const deleted = runDetached(async () => ids.delete(id), onError).then(() => void this.#deletions.delete(deleted))
    this.#deletions.add(deleted)
  }

  async #dialect(task: PolledTask, input: CallInput | undefined): Promise<TaskDialect> {
    const { revision } = await this.#options.facts()
    const client = input ? withInput(this.#client, input) : this.#client
    if (!revision.lacks('tasks/update')) return new ExtensionTaskDialect(task, client)
    if (!revision.lacks('tasks/result')) return new CoreTaskDialect(task, client)
    throw new CapabilityError('tasks', `The server uses ${revision.id}, which does not support tasks`)
  }
}

function withInput(client: TaskClient, input: CallInput): TaskClient {
  return {
    ...client,
    call: (method, params, options) => client.call(method, params, { ...options, input }),
    answer: (request, signal) => input.answer(request, signal),
  }
}
