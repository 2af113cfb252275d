import { principalOf } from '../era/access.ts'
import type { Call } from '../era/call.ts'
import { networkOf } from '../util/account.ts'
import { clock } from '../util/clock.ts'
import type { TaskRefusalEvent } from './options.ts'

const windowMs = 60_000

/** A caller above its rate can send any number of requests, so its refusals are not reported one by one. */
const rateLimitedEveryMs = 1_000

/** Enough to tell ids apart in a log, and too little to use one. */
const prefixLength = 6

/** Callers to remember for each type. The one that was refused first is forgotten. */
const maxCallers = 10_000

/** Reports requests about tasks that were refused, and counts them by caller. */
export class TaskRefusals {
  readonly #report: (event: TaskRefusalEvent) => void
  readonly #callers = { 'lookup-failed': new Map<string, Recent>(), 'rate-limited': new Map<string, Recent>() }
  /** How many there were in this process. */
  readonly counts: Record<TaskRefusalEvent['type'], number> = { 'lookup-failed': 0, 'rate-limited': 0 }

  constructor(report: (event: TaskRefusalEvent) => void) {
    this.#report = report
  }

  lookupFailed(call: RefusedCall, taskId: string, reason: NonNullable<TaskRefusalEvent['reason']>): void {
    const { count } = this.#count('lookup-failed', call)
    this.#report({ ...describe('lookup-failed', call, taskId), reason, recent: count })
  }

  rateLimited(call: RefusedCall): void {
    const recent = this.#count('rate-limited', call)
    const now = clock.monotonic()
    if (now - recent.reportedAt < rateLimitedEveryMs) return
    recent.reportedAt = now
    this.#report({ ...describe('rate-limited', call, call.request.params?.taskId), recent: recent.count })
  }

  #count(type: TaskRefusalEvent['type'], call: RefusedCall): Recent {
    this.counts[type]++
    const callers = this.#callers[type]
    const caller = callerOf(call)
    const now = clock.monotonic()
    let recent = callers.get(caller)
    if (!recent || now - recent.since >= windowMs) {
      callers.delete(caller)
      recent = { since: now, count: 0, reportedAt: Number.NEGATIVE_INFINITY }
      callers.set(caller, recent)
      if (callers.size > maxCallers) callers.delete(callers.keys().next().value!)
    }
    recent.count++
    return recent
  }
}

export type RefusedCall = Pick<Call, 'stream' | 'link' | 'request'>

/** The refusals of one caller in the current minute. */
interface Recent {
  readonly since: number
  count: number
  reportedAt: number
}

function describe(
  type: TaskRefusalEvent['type'],
  call: RefusedCall,
  taskId: unknown,
): Omit<TaskRefusalEvent, 'recent'> {
  return {
    type,
    method: call.request.method,
    taskIdPrefix: typeof taskId === 'string' ? taskId.slice(0, prefixLength) : undefined,
    principal: principalOf(call),
    address: call.stream?.request?.peer,
  }
}

/** Unauthenticated callers on one address count as one, as do all on a transport without addresses. */
function callerOf(call: RefusedCall): string {
  const principal = principalOf(call)
  return principal === undefined ? `a:${networkOf(call.stream?.request?.peer ?? '')}` : `p:${principal}`
}
