import type { Listening, ServerFacts } from '../../era/client.ts'
import { CapabilityError, McpError, PeerError, RpcCode } from '../../errors.ts'
import type { Params, ResultObject } from '../../jsonrpc/message.ts'
import type { Progress, RequestOptions } from '../../jsonrpc/pending.ts'
import type { ClientCapabilities } from '../../protocol/capabilities.ts'
import { metaKeys } from '../../protocol/meta.ts'
import { type TaskStatus, tasksExtension } from '../../protocol/tasks.ts'
import type { CallToolParams } from '../../protocol/tools.ts'
import { clock } from '../../util/clock.ts'
import { deferred } from '../../util/deferred.ts'
import { isObject } from '../../util/objects.ts'
import { runDetached } from '../../util/run-detached.ts'
import type { TaskIdStore } from '../../util/task-ids.ts'
import { warnOnce } from '../../util/warn.ts'
import type { ToolResult } from '../results.ts'
import { CoreTaskDialect } from './core-dialect.ts'
import type { Followed, TaskDialect, TaskPeer } from './dialect.ts'
import { ExtensionTaskDialect } from './extension-dialect.ts'
import { TaskHandle } from './handle.ts'
import { PlainWork } from './plain.ts'
import { TaskPoller } from './poller.ts'
import { isFinal, readTask } from './snapshot.ts'
import { TaskFeed } from './task-feed.ts'
import { TaskTimeout } from './timeout.ts'

/** A task stands otherwise than before. */
export interface TaskChange {
  taskId: string
  /** The tool that it is a call of; undefined for a task that was resumed. */
  tool: string | undefined
  status: TaskStatus
  statusMessage: string | undefined
}

export interface ClientTasksOptions extends Omit<TaskPeer, 'pause' | 'listen'> {
  /** Hears of changes of these tasks; rejects where that cannot be had. */
  listen(ids: string[]): Promise<Listening>
  /** Where ids of open tasks are kept; undefined: nowhere. */
  readonly ids: TaskIdStore | undefined
  onChange(change: TaskChange): void
  /** Takes what a listener to progress throws. */
  onError(error: unknown): void
  /** Throws when the result is not what the tool promised. */
  checkOutput(tool: string, result: ToolResult): Promise<void> | undefined
}

/** What is known of the call that may have become a task. */
export interface StartedCall {
  readonly tool: string
  /** What the server names when it tells how far the task is (2025-11-25). */
  readonly progressToken?: number | undefined
  readonly onProgress?: RequestOptions['onProgress']
}

/** Tasks whose progress somebody may want to hear of. */
const maxTokens = 1_000

/** What is declared with every request to servers of 2026-07-28, where every call may become a task. */
export function withTasks(capabilities: ClientCapabilities): ClientCapabilities {
  return { ...capabilities, extensions: { [tasksExtension]: {}, ...capabilities.extensions } }
}

/** Some tools can only be called by those who take tasks (tasks extension, capability negotiation); tells the way out. */
export function warnIfTasksNeeded(error: unknown): void {
  if (!(error instanceof PeerError) || error.rpcCode !== RpcCode.MissingClientCapability) return
  if (!JSON.stringify(error.data ?? null).includes(tasksExtension)) return
  warnOnce(
    'tasks-needed',
    'A tool can only be called as a task: use callToolAsTask(), or give `tasks: true` to the client and callTool() will do.',
  )
}

/**
 * True for the answer to a call that became a task.
 * @param byType Whether the type of a result says so; elsewhere that is a member like any other.
 */
export function isTask(result: ResultObject, params: CallToolParams, byType: boolean): boolean {
  if (byType) return result.resultType === 'task'
  return params.task !== undefined && isObject(result.task) && !result.content
}

/** Throws where tasks cannot be listed. */
export function checkListsTasks({ revision, capabilities }: ServerFacts): void {
  if (revision.lacks('tasks/list')) {
    throw new CapabilityError(
      'tasks.list',
      `${revision.id} has no list of tasks; keep their ids and come back with resumeTask(id)`,
    )
  }
  if (!isObject(capabilities.tasks?.list)) {
    throw new CapabilityError('tasks.list', 'The server does not offer a list of its tasks')
  }
}

/** The tasks that a client knows of. */
export class ClientTasks {
  readonly #options: ClientTasksOptions
  readonly #peer: TaskPeer
  /** So that two handles of one task ask its questions once. */
  readonly #known = new Map<string, WeakRef<TaskPoller>>()
  /** Ids that are being deleted from the store. */
  readonly #forgetting = new Set<Promise<void>>()
  readonly #forget = new FinalizationRegistry<string>((id) => {
    if (!this.#known.get(id)?.deref()) this.#known.delete(id)
  })
  readonly #tokens = new Map<number, (progress: Progress) => void>()
  readonly #patient = new Set<TaskTimeout>()
  #pauses = 0

  constructor(options: ClientTasksOptions) {
    this.#options = options
    const feed = new TaskFeed((ids) => options.listen(ids))
    this.#peer = { ...options, listen: (id) => feed.listen(id), pause: () => this.pause() }
  }

  /** For the answer to a call that became a task. */
  async created(result: ResultObject, call: StartedCall): Promise<TaskHandle> {
    const said = (result._meta as Params | undefined)?.[metaKeys.modelImmediateResponse]
    const task = await this.#created(result, call)
    return this.#handle(task, call.tool, typeof said === 'string' ? said : undefined)
  }

  /** Handles of all tasks whose ids were kept and that were not seen to end. */
  async resumeAll(): Promise<TaskHandle[]> {
    const { ids } = this.#options
    if (!ids) throw new McpError('invalid-argument', 'resumeTasks() needs a store: pass `taskIds` to connect()')
    await Promise.all(this.#forgetting)
    return (await ids.list()).map(({ taskId, tool }) => {
      return this.#handle(this.#follower(taskId, tool, undefined), tool, undefined)
    })
  }

  /** For a call that is no task. */
  plain(tool: string, call: (signal: AbortSignal) => Promise<ResultObject>): TaskHandle {
    return new TaskHandle(new PlainWork(call), (result) => this.#options.checkOutput(tool, result))
  }

  resume(id: string): TaskHandle {
    if (typeof id !== 'string' || id === '')
      throw new McpError('invalid-argument', 'resumeTask() takes the id of a task')
    return this.#handle(this.#follower(id, undefined, undefined), undefined, undefined)
  }

  /** Waits for a task as for any other call: whoever gives up, or has waited too long, has it cancelled. */
  async drive(result: ResultObject, call: StartedCall, options: RequestOptions): Promise<ResultObject> {
    const { signal } = options
    const gaveUp = deferred<never>()
    const stop = () => gaveUp.reject(new McpError('cancelled', 'tools/call was cancelled', { cause: signal?.reason }))
    const onProgress = (progress: Progress) => {
      patience.heard()
      call.onProgress?.(progress)
    }
    const task = await this.#created(result, { ...call, onProgress })
    const patience = this.#wait(options, gaveUp.reject)
    const release = task.watch(() => patience.heard())
    signal?.addEventListener('abort', stop)
    if (signal?.aborted) stop()
    try {
      const outcome = await Promise.race([task.outcome, gaveUp.promise])
      release()
      return outcome
    } catch (error) {
      // Nobody else knows of the task, so nobody else could stop it.
      if (isFinal(task.newest) || this.#options.closing.aborted) release()
      else void task.cancel().then(release, release)
      throw error
    } finally {
      signal?.removeEventListener('abort', stop)
      this.#tokens.delete(call.progressToken ?? -1)
      patience.stop()
      this.#patient.delete(patience)
    }
  }

  /** Stops the clocks until what it gives is called; pauses may overlap. */
  pause(): () => void {
    if (this.#pauses++ === 0) for (const patience of this.#patient) patience.pause()
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      if (--this.#pauses === 0) for (const patience of this.#patient) patience.goOn()
    }
  }

  notified(method: string, params: Params): void {
    if (method === 'notifications/tasks' || method === 'notifications/tasks/status') {
      this.#known
        .get(params.taskId as string)
        ?.deref()
        ?.told(method, params)
    } else if (method === 'notifications/progress') this.#progressed(params as unknown as Progress & Params)
  }

  /** Another connection counts its requests anew, so tokens of this one mean others there. */
  reconnected(): void {
    this.#tokens.clear()
  }

  #progressed({ progressToken, progress, total, message }: Progress & Params): void {
    try {
      this.#tokens.get(progressToken as number)?.({
        progress,
        ...(total !== undefined && { total }),
        ...(message !== undefined && { message }),
      })
    } catch (error) {
      this.#options.onError(error)
    }
  }

  async #created(result: ResultObject, { tool, progressToken, onProgress }: StartedCall): Promise<TaskPoller> {
    const { snapshot, body } = readTask('tools/call', undefined, result.task ?? result)
    const taskId = body.taskId as string
    if (progressToken !== undefined && onProgress) this.#hear(progressToken, onProgress)
    const kept = this.#options.ids?.add({ taskId, tool, createdAt: clock.now() })
    const follower = this.#follower(taskId, tool, snapshot)
    this.#changed(follower, tool)
    // Nobody is told of a task that could not be found again.
    await kept
    return follower
  }

  #wait(options: RequestOptions, expired: (error: unknown) => void): TaskTimeout {
    const patience = new TaskTimeout(options, expired)
    this.#patient.add(patience)
    if (this.#pauses > 0) patience.pause()
    return patience
  }

  #hear(token: number, onProgress: (progress: Progress) => void): void {
    const [oldest] = this.#tokens.keys()
    if (this.#tokens.size >= maxTokens) this.#tokens.delete(oldest!)
    this.#tokens.set(token, onProgress)
  }

  #handle(follower: TaskPoller, tool: string | undefined, said: string | undefined): TaskHandle {
    const check = (result: ToolResult) => (tool === undefined ? undefined : this.#options.checkOutput(tool, result))
    return new TaskHandle(follower, check, said)
  }

  #follower(id: string, tool: string | undefined, created: TaskHandle['newest'] | undefined): TaskPoller {
    const known = this.#known.get(id)?.deref()
    if (known) return known
    const follower = new TaskPoller(id, created, {
      dialect: (task) => this.#dialect(task),
      closing: this.#options.closing,
      onState: (task) => this.#changed(task, tool),
      onGone: () => this.#forgetId(id),
    })
    this.#known.set(id, new WeakRef(follower))
    this.#forget.register(follower, id)
    return follower
  }

  #changed({ id, newest }: TaskPoller, tool: string | undefined): void {
    const { status, statusMessage } = newest
    if (isFinal(newest)) this.#forgetId(id)
    this.#options.onChange({ taskId: id, tool, status, statusMessage })
  }

  #forgetId(id: string): void {
    const { ids, onError } = this.#options
    if (!ids) return
    const deleted = runDetached(async () => ids.delete(id), onError).then(() => void this.#forgetting.delete(deleted))
    this.#forgetting.add(deleted)
  }

  async #dialect(task: Followed): Promise<TaskDialect> {
    const { revision } = await this.#options.facts()
    if (!revision.lacks('tasks/update')) return new ExtensionTaskDialect(task, this.#peer)
    if (!revision.lacks('tasks/result')) return new CoreTaskDialect(task, this.#peer)
    throw new CapabilityError('tasks', `The server speaks ${revision.id}, which has no tasks`)
  }
}
