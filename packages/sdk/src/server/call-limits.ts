import type { Call } from '../era/call.ts'
import { ProtocolError } from '../errors.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { LinkLimits } from '../jsonrpc/receiver.ts'
import { networkOf } from '../util/account.ts'
import { clock } from '../util/clock.ts'
import { TokenBucket, TokenBuckets } from '../util/token-bucket.ts'

/** A rate limit for one caller. */
export interface CallRate {
  /** Calls per second that one caller can sustain. */
  perSecond: number
  /** Calls that a caller may make at once when idle before. Default: ten times `perSecond`. */
  burst?: number | undefined
}

/** Limits on what one client may do. */
export interface ServerLimits extends LinkLimits {
  /** Tool calls of one caller. `false`: no limit. Default `{ perSecond: 1000, burst: 10_000 }`. */
  toolCalls?: CallRate | false | undefined
  /** Completion requests of one caller. `false`: no limit. Default `{ perSecond: 100, burst: 1000 }`. */
  completions?: CallRate | false | undefined
  /** Task requests of one caller (`tasks/get` and so on). `false`: no limit. Default `{ perSecond: 2000, burst: 20_000 }`. */
  taskRequests?: CallRate | false | undefined
}

/** Callers to remember by principal, and as many by address. */
const maxCallers = 10_000
/** Many callers may share an address, for example behind a proxy. */
const callersPerAddress = 10

/**
 * Returns the rate limits of a server by method.
 * @param onExceeded Called once for each limit, with the option to raise. A load test would measure refusals otherwise.
 */
export function createCallLimits(
  {
    toolCalls = { perSecond: 1_000 },
    completions = { perSecond: 100 },
    taskRequests = { perSecond: 2_000 },
  }: ServerLimits = {},
  onExceeded: (error: Error) => void = () => {},
): ReadonlyMap<string, CallLimit> {
  const limits = new Map<string, CallLimit>()
  if (toolCalls) limits.set('tools/call', new CallLimit('toolCalls', toolCalls, onExceeded))
  if (completions) limits.set('completion/complete', new CallLimit('completions', completions, onExceeded))
  if (taskRequests) {
    const limit = new CallLimit('taskRequests', taskRequests, onExceeded)
    for (const method of taskMethods) limits.set(method, limit)
  }
  return limits
}

const taskMethods = ['tasks/get', 'tasks/result', 'tasks/list', 'tasks/update', 'tasks/cancel']

/** Counts the calls of each caller by principal; without one, by address on HTTP or by connection. */
export class CallLimit {
  readonly #option: string
  readonly #burst: number
  readonly #perSecond: number
  readonly #principals: TokenBuckets
  readonly #addresses: TokenBuckets
  readonly #connections = new WeakMap<object, TokenBucket>()
  /** Undefined after the first refusal. */
  #onExceeded: ((error: Error) => void) | undefined

  constructor(option: string, { perSecond, burst = perSecond * 10 }: CallRate, onExceeded: (error: Error) => void) {
    const areNumbers = typeof perSecond === 'number' && typeof burst === 'number'
    if (!areNumbers || !(perSecond > 0) || !(burst >= 1)) {
      throw new TypeError(
        `limits.${option}: perSecond must be greater than 0, and burst at least 1. Pass false for no limit.`,
      )
    }
    this.#option = option
    this.#onExceeded = onExceeded
    this.#burst = burst
    this.#perSecond = perSecond
    this.#principals = new TokenBuckets(burst, perSecond, maxCallers)
    this.#addresses = new TokenBuckets(burst * callersPerAddress, perSecond * callersPerAddress, maxCallers)
  }

  /** Counts a call. Returns the milliseconds until the caller may try again; 0: the call may run. */
  take(call: Pick<Call, 'stream' | 'link'>): number {
    const now = clock.now()
    const bucket = this.#bucketOf(call, now)
    if (bucket.take(now)) return 0
    const report = this.#onExceeded
    this.#onExceeded = undefined
    report?.(
      new Error(
        `A caller exceeded ${this.#perSecond} calls per second and was rejected. Raise limits.${this.#option} of the server if this is legitimate. Reported once.`,
      ),
    )
    return Math.max(1, bucket.wait(now))
  }

  #bucketOf({ stream, link }: Pick<Call, 'stream' | 'link'>, now: number): TokenBucket {
    const request = stream?.request
    const { principal } = request ?? link.transport
    if (principal !== undefined) return this.#principals.of(principal, now)
    // A request without a session has its own link, so its caller is identified by the address.
    if (request && (request.peer !== undefined || link.transport.sessionId === undefined)) {
      return this.#addresses.of(networkOf(request.peer ?? ''), now)
    }
    const known = this.#connections.get(link)
    if (known) return known
    const bucket = new TokenBucket(this.#burst, this.#perSecond, now)
    this.#connections.set(link, bucket)
    return bucket
  }
}

/** Returns a result for a tool call, so that the model can read it. Throws a JSON-RPC error for other methods. */
export function toLimitedReply(method: string, { task }: Params, retryAfterMs: number): ResultObject {
  const text = `Rate limit exceeded: try again in ${retryAfterMs} ms.`
  // A call that requests a task gets either a task or an error (2025-11-25).
  if (method === 'tools/call' && task === undefined) return { content: [{ type: 'text', text }], isError: true }
  throw new ProtocolError(-32_000, text, { error: 'rate_limited', retryAfterMs })
}
