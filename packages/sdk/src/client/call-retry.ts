import type { CallOptions } from '../era/client.ts'
import { ClosedError, HttpError, McpError, TimeoutError } from '../errors.ts'
import type { ResultObject } from '../jsonrpc/message.ts'
import { backoffMs, defaultBackoff } from '../util/backoff.ts'
import { scheduler } from '../util/scheduler.ts'

/** One call that can be sent again. */
export interface RepeatableCall {
  send(): Promise<ResultObject>
  isIdempotent(): Promise<boolean>
  /** Resolves when there is a connection. */
  ready(): Promise<unknown>
  pause(delayMs: number): Promise<void>
}

/** Methods that have no further effect when a request is repeated. */
export const idempotentMethods: ReadonlySet<string> = new Set([
  'server/discover',
  'ping',
  'tools/list',
  'prompts/list',
  'prompts/get',
  'resources/list',
  'resources/templates/list',
  'resources/read',
  'completion/complete',
  'tasks/get',
  'tasks/list',
  'tasks/result',
  'tasks/update',
  'tasks/cancel',
])

/** How often an idempotent call is repeated. */
const maxRepeats = 2

/**
 * Repeats an idempotent call that was lost with its connection or session (2026-07-28 streamable-http: a broken request
 * is never resumed, but sent again as a new one).
 *
 * @param first The first attempt, which was sent already.
 */
export async function retryLostCall(
  first: Promise<ResultObject>,
  method: string,
  options: CallOptions | undefined,
  call: RepeatableCall,
): Promise<ResultObject> {
  let answer = first
  for (let repeats = 0; ; repeats++) {
    try {
      return await answer
    } catch (error) {
      if (!isSessionLoss(error) && !isBroken(error)) throw error
      const isIdempotent = await withinTimeout(call.isIdempotent(), method, options).catch(() => false)
      const mayRepeat = isIdempotent && repeats < maxRepeats
      if (isSessionLoss(error)) {
        await withinTimeout(nextSession(call, error), method, options)
        if (!mayRepeat) throw new McpError('session-renewed', notRepeated(method, isIdempotent), { cause: error })
      } else if (mayRepeat) await call.pause(backoffMs(defaultBackoff, repeats))
      else throw error
    }
    answer = call.send()
  }
}

/** Waiting for a connection counts as waiting for the result, so the timeout and signal of the call apply to it. */
export function withinTimeout<T>(work: Promise<T>, method: string, options: CallOptions | undefined): Promise<T> {
  const { timeoutMs = 60_000, signal } = options ?? {}
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(new McpError('cancelled', `${method} was cancelled`, { cause: signal?.reason }))
    if (signal?.aborted) return onAbort()
    const onTimeout = () => {
      const what = `${method} timed out: the client did not reconnect within ${timeoutMs} ms (timeoutMs)`
      reject(new TimeoutError(what, timeoutMs))
    }
    const timer = timeoutMs > 0 ? scheduler.setTimeout(onTimeout, timeoutMs) : undefined
    signal?.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => {
      scheduler.clearTimeout(timer)
      signal?.removeEventListener('abort', onAbort)
    })
  })
}

async function nextSession(call: RepeatableCall, cause: ClosedError): Promise<void> {
  await call.ready().catch(() => Promise.reject(cause))
}

function notRepeated(method: string, isIdempotent: boolean): string {
  const why = isIdempotent ? 'again, because it failed in several sessions' : 'because it may have had an effect'
  return `The server lost the session during ${method}. The client has a new session, but did not repeat the request ${why}.`
}

function isSessionLoss(error: unknown): error is ClosedError {
  return error instanceof ClosedError && error.detail?.sessionLost === true
}

/** The request was sent, but its connection, or that of a gateway (502, 504), broke before the response arrived. */
function isBroken(error: unknown): boolean {
  if (!(error instanceof HttpError)) return false
  return error.outcome === 'unknown' || error.status === 502 || error.status === 504
}
