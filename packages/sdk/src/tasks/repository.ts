import { ErrorCode, McpError, ProtocolError } from '../errors.ts'
import type { ResultObject, RpcErrorBody } from '../jsonrpc/message.ts'
import { checkAnswer, isErrorAnswer } from '../replay/journal.ts'
import type { TaskLimits, TaskPosition, TaskStore, TaskWriteOptions } from '../store/ports.ts'
import { toBase64Url } from '../util/base64url.ts'
import { clock } from '../util/clock.ts'
import { random } from '../util/random.ts'
import { limitsOf, type Settings, type TaskEvent, type TaskLifecycleEvent } from './options.ts'
import {
  fromEntry,
  fromSummary,
  isFinal,
  type ListedTask,
  type Note,
  type StoredRequest,
  type SummaryBody,
  type Task,
  type TaskBody,
  toEntry,
} from './task.ts'

/** A change of a task: the members to replace, and what the store does in the same step. */
export interface Edit extends TaskWriteOptions {
  readonly task: Partial<TaskBody & SummaryBody>
}

export interface NewTask {
  readonly owner: string
  readonly listedFor: string | null
  readonly request: StoredRequest
  readonly revision: string
  readonly sessionId: string | undefined
  readonly ttlMs: number | undefined
  readonly requiredScopes: readonly string[] | undefined
  /** Results of `ctx.once` from before the call was promoted. */
  readonly once?: readonly [string, string][] | undefined
  readonly body?: Partial<TaskBody & SummaryBody> | undefined
  readonly isReady: boolean
}

/** Far more than the writers of one task. It ends the loop if a store never accepts a change. */
const maxTries = 1_000

/** The owner of a task as text. Unauthenticated callers share one owner, so their task ids are secrets. */
export function ownerOf(principal: string | undefined): string {
  return principal === undefined ? '' : `p:${principal}`
}

/** The tasks of a server. All changes of the task store go through it. */
export class TaskRepository {
  readonly #settings: Settings
  readonly #limits: TaskLimits
  readonly pollInterval: AdaptivePollInterval
  /** How many events of each type there were in this process. */
  readonly counts: Record<TaskLifecycleEvent['type'], number> = {
    created: 0,
    started: 0,
    'input-required': 0,
    answered: 0,
    completed: 0,
    failed: 0,
    cancelled: 0,
    requeued: 0,
    retrieved: 0,
  }
  /** Receives errors that no request or run can report. */
  reportError: (error: unknown) => void = () => {}

  constructor(settings: Settings) {
    this.#settings = settings
    this.#limits = limitsOf(settings)
    this.pollInterval = new AdaptivePollInterval(settings.store, settings.pollIntervalMs)
  }

  async create({ owner, request, ttlMs, once = [], body, isReady, ...rest }: NewTask): Promise<Task> {
    const { store } = this.#settings
    const now = clock.now()
    const keptMs = Math.min(ttlMs ?? this.#settings.ttlMs, this.#settings.maxTtlMs)
    const task: Task = {
      id: toBase64Url(random.bytes(24)),
      owner,
      version: 1,
      createdAt: now,
      expiresAt: now + keptMs,
      ttlMs: keptMs,
      ...rest,
      name: String(request.request.params?.name),
      status: 'working',
      updatedAt: now,
      questions: {},
      answers: {},
      run: 0,
      attempts: 0,
      ...body,
    }
    const notes: Note[] = [{ request }, ...once.map((entry): Note => ({ once: entry }))]
    try {
      const texts = notes.map((note) => JSON.stringify(note))
      await store.create(toEntry(task), { notes: texts, isReady, limits: this.#limits })
    } catch (error) {
      // The caller may retry later, so it gets the message instead of a bare internal error.
      const isFull = error instanceof McpError && error.code === 'overloaded'
      throw isFull ? new ProtocolError(ErrorCode.InternalError, error.message) : error
    }
    this.pollInterval.taskCreated()
    this.emit('created', task)
    return task
  }

  /** Does not check the owner. */
  async get(id: string): Promise<Task | undefined> {
    const entry = await this.#settings.store.get(id)
    return entry && fromEntry(entry)
  }

  async notes(id: string): Promise<Note[]> {
    return (await this.#settings.store.notes(id)).map((text) => JSON.parse(text) as Note)
  }

  async list(listedFor: string, after: TaskPosition | undefined, limit: number): Promise<ListedTask[]> {
    return (await this.#settings.store.list(listedFor, { after, limit })).map(fromSummary)
  }

  /**
   * Changes a task, and retries if another writer was faster.
   * @param edit Gets the current task. Returns undefined to leave it as it is.
   * @returns The task after the change; undefined if it does not exist.
   */
  async change(id: string, edit: (task: Task) => Edit | undefined): Promise<Task | undefined> {
    for (let tries = 0; tries < maxTries; tries++) {
      const task = await this.get(id)
      if (!task) return undefined
      const edited = edit(task)
      if (!edited) return task
      const next: Task = { ...task, ...edited.task, version: task.version + 1, updatedAt: clock.now() }
      if (await this.#settings.store.replace(toEntry(next), { ...edited, limits: this.#limits })) return next
    }
    throw new McpError('overloaded', `Task ${id} could not be changed: ${maxTries} attempts met a concurrent change`)
  }

  /**
   * Ends a task, unless it has ended.
   * @param mayEnd Gets the current task, even if it has ended.
   * @returns The task as it is now; undefined if it does not exist.
   */
  async end(id: string, outcome: TaskOutcome, mayEnd: (task: Task) => boolean = () => true): Promise<Task | undefined> {
    let isEnded = false
    const task = await this.change(id, (now) => {
      isEnded = mayEnd(now) && !isFinal(now.status)
      if (!isEnded) return undefined
      return { task: { ...outcome, questions: {}, answers: {}, state: undefined } }
    })
    if (isEnded && task) {
      this.pollInterval.taskEnded()
      this.emit(outcome.status, task)
    }
    return task
  }

  /**
   * Stores answers to open questions and ignores others. The task continues after the last one. Throws if an answer does not
   * fit its question.
   */
  async answer(id: string, answers: Readonly<Record<string, unknown>>): Promise<void> {
    let isAnswered = false
    const task = await this.change(id, ({ status, questions, answers: earlier }) => {
      isAnswered = false
      if (status !== 'input_required') return undefined
      const keys = Object.keys(answers).filter((key) => Object.hasOwn(questions, key))
      if (keys.length === 0) return undefined
      // The client may answer with an error, which the handler gets.
      for (const key of keys) if (!isErrorAnswer(answers[key])) checkAnswer(key, questions[key]!, answers[key])
      const open = Object.entries(questions).filter(([key]) => !keys.includes(key))
      isAnswered = open.length === 0
      const accepted = keys.map((key) => [key, answers[key] as ResultObject] as const)
      return {
        task: {
          questions: Object.fromEntries(open),
          answers: { ...earlier, ...Object.fromEntries(accepted) },
          ...(isAnswered && { status: 'working' as const }),
        },
        isReady: isAnswered,
      }
    })
    if (isAnswered && task) this.emit('answered', task)
  }

  emit(type: TaskLifecycleEvent['type'], { id, owner, name, attempts }: Task): void {
    const principal = owner === '' ? undefined : owner.slice(2)
    this.counts[type]++
    this.report({ type, taskId: id, principal, name, ...(type === 'started' && { attempt: attempts }) })
  }

  /** Calls the `onEvent` option. */
  report(event: TaskEvent): void {
    try {
      this.#settings.onEvent(event)
    } catch (error) {
      this.reportError(error)
    }
  }
}

/** How a task ends. */
export type TaskOutcome =
  | { status: 'completed'; result: ResultObject; statusMessage?: string | undefined }
  | { status: 'failed'; error: RpcErrorBody; statusMessage?: string | undefined }
  | { status: 'cancelled'; statusMessage?: string | undefined }

export function taskNotFound(): ProtocolError {
  return new ProtocolError(ErrorCode.InvalidParams, 'Task not found (it may have expired)')
}

/** How often clients should poll a task. */
export interface PollInterval {
  readonly pollIntervalMs: number
}

/** Each open task adds this to the interval, so that all clients together send about a thousand requests per second. */
const perOpenTaskMs = 1

const maxIntervalMs = 30_000

/** How long the number of open tasks is cached. Other processes create and end tasks too. */
const refreshMs = 1_000

/** The configured interval, or a longer one while many tasks are open. */
export class AdaptivePollInterval implements PollInterval {
  readonly #store: Pick<TaskStore, 'countOpen'>
  readonly #configuredMs: number
  #open = 0
  #refreshedAt = Number.NEGATIVE_INFINITY

  constructor(store: Pick<TaskStore, 'countOpen'>, configuredMs: number) {
    this.#store = store
    this.#configuredMs = configuredMs
  }

  get pollIntervalMs(): number {
    this.#refresh()
    return Math.max(this.#configuredMs, Math.min(Math.round(this.#open * perOpenTaskMs), maxIntervalMs))
  }

  taskCreated(): void {
    this.#open++
  }

  taskEnded(): void {
    if (this.#open > 0) this.#open--
  }

  #refresh(): void {
    const now = clock.monotonic()
    if (now - this.#refreshedAt < refreshMs) return
    this.#refreshedAt = now
    this.#store.countOpen().then(
      (open) => {
        this.#open = open
      },
      // Requests report that the store is unavailable. Until it is back, the last count is good enough.
      () => {},
    )
  }
}
