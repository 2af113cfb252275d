import { checkPolicy, type TaskPolicy } from '../server/task-runtime.ts'
import { MemoryTaskStore } from '../store/memory/tasks.ts'
import type { TaskLimits, TaskStore } from '../store/ports.ts'
import { maxTimerMs } from '../util/backoff.ts'
import { isObject } from '../util/objects.ts'

/** Options of `tasks()`. */
export interface TasksOptions {
  /** Where tasks are stored. Default: in the memory of this process. */
  store?: TaskStore | undefined
  /**
   * When a tool with `taskSupport: 'optional'` becomes a task for a 2026-07-28 client. The tool's own `taskPolicy` takes
   * precedence. Default `{ afterMs: 500 }`: if the call takes longer than 500 ms. 2025-11-25 clients decide themselves.
   */
  policy?: TaskPolicy | undefined
  /**
   * Rejects calls of tools with `taskSupport: 'optional'` by 2025-11-25 clients that do not request a task (-32600). Default
   * false.
   */
  requireTasks?: boolean | undefined
  /** How long a task is stored after its creation, unless the client requests another TTL. Default 3,600,000 (an hour). */
  ttlMs?: number | undefined
  /** The longest TTL that a client can request. Default 86,400,000 (a day). */
  maxTtlMs?: number | undefined
  /** How often clients should poll a task. With more open tasks than this, the interval is 1 ms per open task. Default 500. */
  pollIntervalMs?: number | undefined
  /** The limit of open tasks per caller. Unauthenticated callers count as one. Default 1,000. */
  maxOpenPerCaller?: number | undefined
  /** The limit of open tasks of all callers. Default 100,000. */
  maxOpen?: number | undefined
  /** The limit of finished tasks per caller. The oldest are removed before they expire. Default 10,000. */
  maxFinishedPerCaller?: number | undefined
  /** The limit of finished tasks of all callers. Default 100,000. */
  maxFinished?: number | undefined
  /**
   * The limit of stored bytes per caller: arguments, state and results. Finished tasks are removed to make room; if that is
   * not enough, new tasks are rejected. Default 67,108,864 (64 MiB).
   */
  maxBytesPerCaller?: number | undefined
  /** The limit of stored bytes of all callers. Default 268,435,456 (256 MiB). */
  maxBytes?: number | undefined
  /** How many tasks run at the same time in this process. Set it to 0 if other processes run them. Default 16. */
  concurrency?: number | undefined
  /**
   * How many of them may belong to one caller, so that its long tasks do not block those of others. Default: three quarters of
   * `concurrency`, rounded down.
   */
  maxRunningPerCaller?: number | undefined
  /** If a process does not renew its lease for this long, another process runs its tasks. Default 30,000. */
  leaseMs?: number | undefined
  /** How many times in a row a task may run without progress because its process ended. Then it fails. Default 5. */
  maxAttempts?: number | undefined
  /** How long running tasks may take when the server closes. Then they are requeued. Default 2,000. */
  drainMs?: number | undefined
  /**
   * Called for every event of a task, and for every request about tasks that is refused: for an audit log, and to notice callers
   * who guess ids or poll too often.
   *
   * @example
   * onEvent(event) {
   *   log(event)
   *   if (event.type === 'lookup-failed' && event.recent >= 20) alert(`${event.principal ?? event.address} guesses task ids`)
   * }
   */
  onEvent?: ((event: TaskEvent) => void) | undefined
}

/** An event for `onEvent`. */
export type TaskEvent = TaskLifecycleEvent | TaskRefusalEvent

/** An event in the life of a task. */
export interface TaskLifecycleEvent {
  type:
    | 'created'
    | 'started'
    | 'input-required'
    | 'answered'
    | 'completed'
    | 'failed'
    | 'cancelled'
    /** The process closes, and another one continues the task. */
    | 'requeued'
    /** A client retrieved the result. */
    | 'retrieved'
  taskId: string
  /** The owner; undefined for unauthenticated callers. */
  principal: string | undefined
  /** The name of the tool. */
  name: string
  /** On `started`: the number of the run, counted since the task last made progress. */
  attempt?: number | undefined
}

/** A request about tasks that was refused. */
export interface TaskRefusalEvent {
  type: /** The caller named a task that it cannot use. `reason` says why; the caller gets the same error for the first two. */
    | 'lookup-failed'
    /** The caller sent more requests than `limits.taskRequests` of the server allows. Reported once a second per caller. */
    | 'rate-limited'
  /** The method, such as `tasks/get`. */
  method: string
  /** The beginning of the id in the request: a whole one is a secret of its owner. Undefined if the request has none. */
  taskIdPrefix: string | undefined
  /** Who asked; undefined for unauthenticated callers. */
  principal: string | undefined
  /** The address of the caller, over HTTP. */
  address: string | undefined
  /**
   * On `lookup-failed`: there is no such task (it may have expired), it belongs to somebody else, or the token lacks a scope of
   * its tool.
   */
  reason?: 'unknown' | 'foreign' | 'scope' | undefined
  /** How many requests of this caller were refused in the same way within the last minute, this one included. */
  recent: number
}

export type Settings = Required<TasksOptions>

export function resolveOptions(options: TasksOptions): Settings {
  const given: unknown = options
  if (!isObject(given)) {
    throw new TypeError(`tasks() takes an options object, for example tasks({ ttlMs: 60_000 }), not ${show(given)}.`)
  }
  const concurrency = options.concurrency ?? 16
  const settings: Settings = {
    store: options.store ?? new MemoryTaskStore(),
    policy: options.policy ?? { afterMs: 500 },
    requireTasks: options.requireTasks ?? false,
    ttlMs: options.ttlMs ?? 3_600_000,
    maxTtlMs: options.maxTtlMs ?? 86_400_000,
    pollIntervalMs: options.pollIntervalMs ?? 500,
    maxOpenPerCaller: options.maxOpenPerCaller ?? 1_000,
    maxOpen: options.maxOpen ?? 100_000,
    maxFinishedPerCaller: options.maxFinishedPerCaller ?? 10_000,
    maxFinished: options.maxFinished ?? 100_000,
    maxBytesPerCaller: options.maxBytesPerCaller ?? 67_108_864,
    maxBytes: options.maxBytes ?? 268_435_456,
    concurrency,
    maxRunningPerCaller: options.maxRunningPerCaller ?? Math.max(1, Math.floor(concurrency * 0.75)),
    leaseMs: options.leaseMs ?? 30_000,
    maxAttempts: options.maxAttempts ?? 5,
    drainMs: options.drainMs ?? 2_000,
    onEvent: options.onEvent ?? (() => {}),
  }
  checkSettings(settings, options)
  return settings
}

function checkSettings(settings: Settings, options: TasksOptions): void {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(settings, name)) continue
    throw new TypeError(`tasks({ ${name} }) is not an option. Options: ${Object.keys(settings).join(', ')}.`)
  }
  checkPolicy(settings.policy, 'tasks({ policy })')
  checkStore(settings.store)
  for (const [name, type] of types) {
    const value: unknown = settings[name]
    if (typeof value !== type) throw new TypeError(`tasks({ ${name} }) must be a ${type}, not ${show(value)}.`)
  }
  for (const [name, least, most] of bounds) {
    const value: unknown = settings[name]
    if (typeof value === 'number' && value >= least && value <= most) continue
    throw new TypeError(`tasks({ ${name} }) must be a number from ${least} to ${most}, not ${show(value)}.`)
  }
  // The default TTL may be longer than maxTtlMs, which then takes precedence.
  if (options.ttlMs !== undefined && options.ttlMs > settings.maxTtlMs) {
    throw new TypeError(`tasks({ ttlMs }) must not be greater than maxTtlMs, which is ${settings.maxTtlMs}.`)
  }
}

export function limitsOf(settings: Settings): TaskLimits {
  return {
    maxOpenPerOwner: settings.maxOpenPerCaller,
    maxOpen: settings.maxOpen,
    maxFinishedPerOwner: settings.maxFinishedPerCaller,
    maxFinished: settings.maxFinished,
    maxBytesPerOwner: settings.maxBytesPerCaller,
    maxBytes: settings.maxBytes,
  }
}

const types = [
  ['requireTasks', 'boolean'],
  ['onEvent', 'function'],
] as const

function checkStore(store: unknown): void {
  const { work, tasks } = (isObject(store) ? store : {}) as { work?: unknown; tasks?: { work?: unknown } }
  if (typeof work === 'function') return
  const hint = typeof tasks?.work === 'function' ? 'pass its `tasks` member' : 'for example sqliteStore(path).tasks'
  throw new TypeError(`tasks({ store }) must be a task store: ${hint}.`)
}

function show(value: unknown): string {
  return typeof value === 'object' || typeof value === 'string' ? String(JSON.stringify(value)) : String(value)
}

/** Times that are waited for must fit a timer. A TTL can be a year at most. */
const bounds = [
  ['ttlMs', 1, 31_536_000_000],
  ['maxTtlMs', 1, 31_536_000_000],
  ['pollIntervalMs', 1, maxTimerMs],
  ['maxOpenPerCaller', 1, Number.MAX_SAFE_INTEGER],
  ['maxOpen', 1, Number.MAX_SAFE_INTEGER],
  ['maxFinishedPerCaller', 1, Number.MAX_SAFE_INTEGER],
  ['maxFinished', 1, Number.MAX_SAFE_INTEGER],
  ['maxBytesPerCaller', 1, Number.MAX_SAFE_INTEGER],
  ['maxBytes', 1, Number.MAX_SAFE_INTEGER],
  ['concurrency', 0, 10_000],
  ['maxRunningPerCaller', 1, 10_000],
  ['leaseMs', 10, maxTimerMs],
  ['maxAttempts', 1, 1_000_000],
  ['drainMs', 0, maxTimerMs],
] as const
