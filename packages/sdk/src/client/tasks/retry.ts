import { ClosedError, HttpError, McpError, PeerError, RpcCode, TimeoutError } from '../../errors.ts'
import { type Backoff, backoffMs } from '../../util/backoff.ts'
import { isObject } from '../../util/objects.ts'
import { pause } from '../../util/pause.ts'

/** Tasks run for a long time, so several network failures in a row are tolerated. */
const backoff: Backoff = { initialDelayMs: 200, maxDelayMs: 10_000, growth: 2, maxRetries: 8 }

/**
 * Repeats idempotent work after a temporary failure.
 * @param isTemporary Default: failures of the connection and internal errors of the server.
 */
export async function retry<T>(
  work: () => Promise<T>,
  signal: AbortSignal,
  isTemporary = isTemporaryFailure,
): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted || tries >= backoff.maxRetries || !isTemporary(error)) throw error
    }
    await pause(backoffMs(backoff, tries), { signal })
    signal.throwIfAborted()
  }
}

function isTemporaryFailure(error: unknown): boolean {
  return isLost(error) || (error instanceof PeerError && error.rpcCode === RpcCode.InternalError)
}

/** The response was lost, or the server was too busy to handle the request. */
export function isLost(error: unknown): boolean {
  if (error instanceof PeerError) return isObject(error.data) && error.data.error === 'rate_limited'
  if (error instanceof HttpError) return error.outcome !== 'refused' || isBusy(error.status ?? 0)
  if (error instanceof ClosedError || error instanceof TimeoutError) return true
  return error instanceof McpError && error.code === 'session-renewed'
}

function isBusy(status: number): boolean {
  return status >= 500 || status === 429 || status === 408
}
