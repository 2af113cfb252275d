import type { HttpError } from '../errors.ts'
import { type Backoff, backoffMs } from '../util/backoff.ts'
import { clock } from '../util/clock.ts'
import { isTransientStatus } from '../util/transient-status.ts'
import { isConnectFailure } from './network-errors.ts'
import type { ResponseHead } from './send.ts'

/*
 * Retries: the one place that decides whether a request is sent again, and when.
 *
 * A request is sent again only if the server has certainly not acted on it, so no call ever runs twice:
 *
 * - The connection could not be established: after a backoff (`retryAfterFailure`).
 * - 429 or 503 with `Retry-After`: after that time, if it is not more than a minute (`retryAfterRefusal`).
 * - 408 on a reused connection: at once. The server closed the idle connection while the request was being sent.
 * - 401 or 403, if the authorization changed: at once, at most `maxCredentialRetries` times.
 *
 * Everything else fails with an `HttpError`, whose `outcome` says whether the server may have acted on the request. Event streams
 * are reopened after `reconnectDelayMs` or `pollDelayMs`. `client/` builds on this: it repeats calls that are safe to repeat after a lost
 * connection or session.
 */

/** How often one request is sent again with other credentials. */
export const maxCredentialRetries = 4

/** A server that asks us to wait for longer is not retried. */
const maxRetryAfterMs = 60_000

/** However small its `retry`, a server cannot make the client reconnect in a busy loop. */
const minReconnectMs = 50

/** The same for a server that had nothing to send in its last `maxRetries` streams. */
const minIdlePollMs = 1_000

/**
 * How long to wait before a request that failed without a response is sent again; undefined if it is not.
 * @param attempt How often the request was retried before.
 */
export function retryAfterFailure(cause: unknown, backoff: Backoff, attempt: number): number | undefined {
  if (attempt >= backoff.maxRetries || !isConnectFailure(cause)) return undefined
  return backoffMs(backoff, attempt)
}

/**
 * How long to wait before a request that the server refused is sent again; undefined if it is not.
 * @param attempt How often the request was retried before.
 */
export function retryAfterRefusal(head: ResponseHead, backoff: Backoff, attempt: number): number | undefined {
  if (attempt >= backoff.maxRetries) return undefined
  const { status } = head
  // RFC 9110, 15.5.9: the server closed the idle connection, and has not read the request.
  if (status === 408 && head.isReused && head.header('connection')?.toLowerCase() === 'close') return 0
  // RFC 6585, 4 and RFC 9110, 15.6.4: neither status says that the server acted on the request.
  const waitMs = status === 429 || status === 503 ? retryAfterMs(head.header('retry-after')) : undefined
  return waitMs === undefined || waitMs > maxRetryAfterMs ? undefined : waitMs + backoffMs(backoff, 0)
}

/**
 * How long to wait before a broken event stream is opened again; undefined to give up.
 * @param retryMs The `retry` field of the stream, which is a minimum (2025-11-25 transports, resumability).
 */
export function reconnectDelayMs(backoff: Backoff, attempt: number, retryMs: number | undefined): number | undefined {
  if (attempt > backoff.maxRetries) return undefined
  if (retryMs === undefined) return backoffMs(backoff, attempt)
  const minMs = Math.max(retryMs, minReconnectMs)
  return attempt === 0 ? minMs : minMs + backoffMs(backoff, attempt)
}

/**
 * How long to wait before a server that closes its stream and asks to be polled is asked again. It does what the specification
 * allows, so it is not given up: the timeout of the request is the limit.
 * @param polls How many streams in a row had no event.
 */
export function pollDelayMs(backoff: Backoff, polls: number, retryMs: number): number {
  return Math.max(retryMs, polls > backoff.maxRetries ? minIdlePollMs : minReconnectMs)
}

/** True if the same request may succeed later: the server was not reached, or refused it only for now. */
export function isTransient({ outcome, status = 0 }: HttpError): boolean {
  return outcome !== 'refused' || isTransientStatus(status)
}

/** `Retry-After` (RFC 9110, 10.2.3) is a number of seconds or a date; undefined if it is neither. */
export function retryAfterMs(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  if (/^\s*\d+\s*$/.test(header)) return Number(header) * 1000
  const at = Date.parse(header)
  return Number.isNaN(at) ? undefined : Math.max(0, at - clock.now())
}
