import { checkPolicy, type TaskPolicy } from '../server/task-runtime.ts'
import { MemoryTaskStore } from '../store/memory-tasks.ts'
import type { TaskLimits, TaskStore } from '../store/ports.ts'
import { maxTimerMs } from '../util/backoff.ts'
import { isObject } from '../util/objects.ts'

export interface TasksOptions {
  /** Where tasks are kept. Default: in this process, gone with it. */
  store?: TaskStore | undefined
  /**
   * When a tool with `taskSupport: 'optional'` becomes a task for a client of 2026-07-28, where the server decides. A tool's
   * own `taskPolicy` comes first. Default `{ afterMs: 500 }`: a call that takes longer. Clients of 2025-11-25 decide themselves.
   */
  policy?: TaskPolicy | undefined
  /**
   * Refuses ordinary calls (-32600) of tools with `taskSupport: 'optional'` by clients of 2025-11-25, which then have to ask for a
   * task. Default false.
   */
  requireTasks?: boolean | undefined
  /** How long a task is kept after its creation, unless the client wishes otherwise. Default 3,600,000 (an hour). */
  ttlMs?: number | undefined
  /** The longest that a client may wish for. Default 86,400,000 (a day). */
  maxTtlMs?: number | undefined
  /** How often clients should poll a task. While more tasks are open than this, they are told one millisecond per open task. Default 500. */
  pollIntervalMs?: number | undefined
  /** Open tasks of one caller; more are refused. Unauthenticated callers count as one. Default 1,000. */
  maxOpenPerCaller?: number | undefined
  /** Open tasks of all callers; more are refused. Default 100,000. */
  maxOpen?: number | undefined
  /** Finished tasks kept for one caller; those that finished first are removed before their time. Default 10,000. */
  maxFinishedPerCaller?: number | undefined
  /** Finished tasks kept for all callers. Default 100,000. */
  maxFinished?: number | undefined
  /**
   * Bytes kept for one caller: arguments, state and results. Finished tasks are removed to make room; where that is not enough,
   * new tasks are refused. Default 67,108,864 (64 MiB).
   */
  maxBytesPerCaller?: number | undefined
  /** Bytes kept for all callers. Default 268,435,456 (256 MiB). */
  maxBytes?: number | undefined
  /** Tasks that run at the same time in this process; 0 where other processes run them. Default 16. */
  concurrency?: number | undefined
  /**
   * How many of them may be of one caller, so that others do not wait until its long tasks end. Default: three quarters of
   * `concurrency`, rounded down.
   */
  maxRunningPerCaller?: number | undefined
  /** How long a process may be silent before its tasks are given to another. Default 30,000. */
  leaseMs?: number | undefined
  /** Runs of a task that may end with their process, one after another without getting any further. Default 5. */
  maxAttempts?: number | undefined
  /** How long running tasks may take to end when the server closes; then they are handed back. Default 2,000. */
  drainMs?: number | undefined
  /** Told of everything that happens to tasks, for those who keep books. */
  onEvent?: ((event: TaskEvent) => void) | undefined
}

export interface TaskEvent {
  type:
    | 'created'
    | 'started'
    | 'input-required'
    | 'answered'
    | 'completed'
    | 'failed'
    | 'cancelled'
    | 'handed-back'
    /** A client fetched the result. */
    | 'retrieved'
  taskId: string
  /** Whom it belongs to; undefined where callers have no names. */
  principal: string | undefined
  /** The tool. */
  name: string
  /** Which run since it last got any further; on `started`. */
  attempt?: number | undefined
}

export type Settings = Required<TasksOptions>

export function resolveOptions(options: TasksOptions): Settings {
  const given: unknown = options
  if (!isObject(given)) {
    throw new TypeError(`tasks() takes an object of options, such as tasks({ ttlMs: 60_000 }), not ${show(given)}.`)
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
  // The default gives way to a shorter limit.
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
  const hint =
    typeof tasks?.work === 'function' ? 'pass its member `tasks`' : 'pass sqliteStore(path).tasks, for example'
  throw new TypeError(`tasks({ store }) must be a task store: ${hint}.`)
}

function show(value: unknown): string {
  return typeof value === 'object' || typeof value === 'string' ? String(JSON.stringify(value)) : String(value)
}

/** What can be waited for is what a timer can; the longest time to live is a year, for the sake of clocks. */
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
