import { ClosedError, HttpError, McpError, PeerError, RpcCode, TimeoutError } from '../../errors.ts'
import { type Backoff, backoffMs } from '../../util/backoff.ts'
import { pause } from '../../util/pause.ts'

/** A task outlives a bad network: some failures in a row mean nothing. */
const backoff: Backoff = { initialDelayMs: 200, maxDelayMs: 10_000, growth: 2, maxRetries: 8 }

/**
 * Does the work again when it failed in passing. Only for what may be done twice.
 * @param isPassing Whether a failure means nothing. Default: it came of the connection, or of trouble within the server.
 */
export async function retry<T>(work: () => Promise<T>, signal: AbortSignal, isPassing = isTrouble): Promise<T> {
  for (let tries = 0; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (signal.aborted || tries >= backoff.maxRetries || !isPassing(error)) throw error
    }
    await pause(backoffMs(backoff, tries), signal)
    signal.throwIfAborted()
  }
}

function isTrouble(error: unknown): boolean {
  return isLost(error) || (error instanceof PeerError && error.rpcCode === RpcCode.InternalError)
}

/** The answer was lost, whatever it was; or the server was too busy to give one. */
export function isLost(error: unknown): boolean {
  if (error instanceof PeerError) return (error.data as { error?: unknown } | null)?.error === 'rate_limited'
  if (error instanceof HttpError) return error.outcome !== 'refused' || isBusy(error.status ?? 0)
  if (error instanceof ClosedError || error instanceof TimeoutError) return true
  return error instanceof McpError && error.code === 'session-renewed'
}

function isBusy(status: number): boolean {
  return status >= 500 || status === 429 || status === 408
}
