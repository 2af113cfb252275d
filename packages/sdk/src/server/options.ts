import type { QuestionTaskChange } from '../era/handshake/client-task.ts'
import type { Definition, QuestionLimits } from '../era/server.ts'
import type { PingOptions } from '../jsonrpc/heartbeat.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { RpcResponse } from '../jsonrpc/message.ts'
import type { Cancellation } from '../jsonrpc/receiver.ts'
import { type CacheHints, cacheHintsProblem } from '../protocol/caching.ts'
import type { ServerCapabilities } from '../protocol/capabilities.ts'
import type { RevisionId } from '../protocol/revision.ts'
import { MemoryClaims, type StateClaims, StoredClaims, type UsedStates } from '../replay/used-states.ts'
import { sanitizeText, sanitizeValue } from '../util/sanitize.ts'
import type { Secret } from '../util/sealer.ts'
import type { ServerLimits } from './call-limits.ts'
import type { Context } from './context.ts'
import type { LogFilter } from './log.ts'
import { checkStateKey, processStateKey } from './state-handles.ts'

/** Options of a server. */
export interface ServerOptions {
  /** Describes how to use the server, for the model. */
  instructions?: string | undefined
  /** Capabilities in addition to those of the registered features. */
  capabilities?: ServerCapabilities | undefined
  /** The protocol revisions to serve. Default: all. */
  revisions?: readonly RevisionId[] | undefined
  /**
   * `as-is`: clients of 2024-11-05 to 2025-11-25 get what handlers return, and every method, even if their revision does not have
   * it. For compatibility layers whose original does the same. Default `adapted`: to the revision of the client.
   */
  results?: 'adapted' | 'as-is' | undefined
  /** Called with internal errors, which are not sent to clients. Default: logs them to stderr. */
  onError?: ((error: unknown) => void) | undefined
  /**
   * Called with every log message before it is sent to a client, and with the `ctx` of its request. Return the message, a copy
   * without sensitive data, or undefined to drop it.
   */
  filterLog?: LogFilter | undefined
  /**
   * Removes secrets, control characters and invisible characters from text that is sent to clients. Default: from the messages of
   * errors and from log messages, and stack traces from log messages. `{ results: true }` adds the results of tools; `false` turns it off.
   */
  sanitize?: SanitizeOptions | false | undefined
  /** How long to collect changes of a list before clients are notified. Default 10. */
  listChangedDelayMs?: number | undefined
  /** How long clients of 2026-07-28 may cache lists, and whether they may share them. Default: `{ ttlMs: 0, cacheScope: 'private' }`. */
  cache?: CacheHints | undefined
  /** Limits on concurrent requests and on the call rate of one client. Defaults: see `docs/limits.md`. */
  limits?: ServerLimits | undefined
  /**
   * Encrypts data that clients send back, such as cursors and request state. Use the same key in all processes of a cluster.
   * Pass `processStateKey` if you create a server for each request of one process. A function is called on first use.
   */
  stateKey?: Secret | undefined
  /** Like `stateKey`, with key rotation: the first key encrypts, every key decrypts. */
  stateKeys?: readonly Secret[] | undefined
  /** Limits on questions that handlers ask clients. */
  questions?: QuestionOptions | undefined
  /**
   * Pings clients periodically and ends connections whose client no longer responds: over HTTP the streams on which a client
   * listens, which it may open again, otherwise the connection. Only on revisions that have `ping`. Default: over HTTP every
   * 60,000 ms, and clients that never answered a ping are left alone; no pings on other transports. `false`: no pings.
   */
  ping?: PingOptions | false | undefined
  /** Cache hints by method, for example `{ 'tools/list': { ttlMs: 60_000 } }`. They take precedence over `cache`. */
  cacheByMethod?: Readonly<Record<string, CacheHints>> | undefined
  /**
   * `lenient`: answers requests of a client that has not sent `initialize`, as if it had declared no capabilities, and lets a
   * client send `initialize` again. Default `strict`: refuses both, as the protocol requires.
   */
  lifecycle?: 'strict' | 'lenient' | undefined
  /**
   * @internal Whether only revisions with a handshake are served at the moment. Called with each request: if it returns true, a
   * request that describes its sender is treated like any other of the handshake era. `createMcpHandler` does not ask.
   */
  handshakeOnly?: (() => boolean) | undefined
  /**
   * @internal Called with the resources that a client of 2026-07-28 wants to listen to. Returns those that it may. Default: all.
   */
  acceptSubscriptions?: ((uris: readonly string[], ctx: Context) => Promise<string[]>) | undefined
  /** Called when a client has sent `notifications/initialized`. Revisions without a handshake do not have it. */
  onInitialized?: ((link: Link) => void) | undefined
  /** Called when the connection or session of a client has ended. */
  onClosed?: ((link: Link) => void) | undefined
  /** Called with a response that belongs to no request of this server. Default: logs a warning once. */
  onUnmatched?: ((response: RpcResponse, link: Link) => void) | undefined
  /** Converts what a handler threw before the response is made, for example to a `ProtocolError`. Default: unchanged. */
  mapError?: ((error: unknown) => unknown) | undefined
  /** Called with requests that were cancelled and the reason, for your log. */
  onCancelled?: ((cancellation: Cancellation) => void) | undefined
}

/** Returns the text to send. */
export type Sanitize = (text: string) => string

/** What is removed from text that is sent to clients. */
export interface SanitizeOptions {
  /** Also sanitize the results of tools. Default false, because a tool that reads files must return them unchanged. */
  results?: boolean | undefined
  /** Replaces the built-in rules. Text for which it throws is not sent. Default: `sanitizeText`. */
  text?: Sanitize | undefined
}

/** Limits on questions that handlers ask clients: elicitation, sampling and roots. */
export interface QuestionOptions {
  /** Maximum round trips per request. Questions that are open at the same time count as one. Default 32. */
  maxRounds?: number | undefined
  /** How long a client may take to answer a question, on revisions where the server calls the client. Default 600,000. */
  timeoutMs?: number | undefined
  /**
   * Called for your log when a client runs a question as a task (`ctx.elicit(..., { task })`), and each time the server learns
   * that the status of the task changed.
   */
  onTask?: ((change: QuestionTaskChange) => void) | undefined
  /** How long a client of 2026-07-28 may take to repeat the request with answers. Default 900,000. */
  stateTtlMs?: number | undefined
  /** Maximum size of the request state that is sent to a client of 2026-07-28. Default 262,144. */
  maxStateBytes?: number | undefined
  /**
   * Accept each request state only once, so that a client cannot replay it. `true` remembers used states in this process; pass
   * a shared implementation for a cluster. `false`: a state can be used until it expires. Default: calls of tools that are
   * neither read-only nor idempotent by their annotations can use a state once, unless `stateKey` or `stateKeys` is set:
   * another process may then have the same key, and this one does not know what was used there.
   */
  singleUse?: boolean | UsedStates | undefined
}

/** Returns the keys for the encryption of state, newest first. */
export function toStateKeys({ stateKey, stateKeys }: ServerOptions): readonly Secret[] {
  if (stateKey !== undefined && stateKeys) throw new TypeError('Pass either stateKey or stateKeys, not both')
  const keys = stateKeys ?? (stateKey === undefined ? [] : [stateKey])
  for (const key of keys) if (typeof key !== 'function') checkStateKey(key)
  return keys
}

/** Applies the defaults of `questions`. */
export function toQuestionLimits(server: ServerOptions, reportError: (error: unknown) => void): QuestionLimits {
  const {
    maxRounds = 32,
    timeoutMs = 600_000,
    stateTtlMs = 900_000,
    maxStateBytes = 262_144,
    singleUse,
    onTask,
  } = server.questions ?? {}
  for (const [name, value] of Object.entries({ maxRounds, stateTtlMs, maxStateBytes })) {
    if (!(value > 0)) throw new TypeError(`questions.${name} must be greater than 0`)
  }
  return {
    maxRounds,
    timeoutMs,
    stateTtlMs,
    maxStateBytes,
    claims: toClaims(server),
    claimsAll: !!singleUse,
    onTask,
    reportError,
  }
}

/** For servers with `processStateKey`: each of them can get a state that another one has issued. */
let processClaims: StateClaims | undefined

function toClaims({ questions, stateKey, stateKeys }: ServerOptions): StateClaims | undefined {
  const { singleUse = stateKeys === undefined && (stateKey === undefined || stateKey === processStateKey) } =
    questions ?? {}
  if (typeof singleUse === 'object') return new StoredClaims(singleUse)
  if (!singleUse) return undefined
  if (stateKey !== processStateKey) return new MemoryClaims()
  processClaims ??= new MemoryClaims()
  return processClaims
}

/** Applies the defaults of `cacheByMethod`. */
export function checkCacheByMethod({ cache, cacheByMethod = {} }: ServerOptions): Definition['cacheHintsOf'] {
  const general = checkCacheHints(cache ?? {})
  const special = new Map(
    Object.entries(cacheByMethod).map(([method, hints]) => [method, checkCacheHints({ ...general, ...hints })]),
  )
  return (method) => special.get(method) ?? general
}

/** Applies the defaults of `cache`. Throws on values that the protocol does not allow. */
function checkCacheHints({ ttlMs = 0, cacheScope = 'private' }: CacheHints): Required<CacheHints> {
  const problem = cacheHintsProblem({ ttlMs, cacheScope })
  if (problem !== undefined) throw new TypeError(`cache: ${problem}`)
  return { ttlMs, cacheScope }
}

/** Returns the function that sanitizes text for clients; undefined if it is turned off. */
export function toSanitizer(
  { sanitize = {} }: ServerOptions,
  reportError: (error: unknown) => void,
): Sanitize | undefined {
  if (sanitize === false) return undefined
  const { text: clean } = sanitize
  if (clean === undefined) return sanitizeText
  if (typeof clean !== 'function') throw new TypeError('sanitize.text must be a function: (text) => text')
  return (text) => {
    try {
      return String(clean(text))
    } catch (error) {
      reportError(error)
      return '[redacted]'
    }
  }
}

/** They name files and functions, which clients need not know. */
const stackFrames = /\n +at .*(?::\d+:\d+\)?|>\))/g

/** Returns the filter of log messages: that of the author first, because it may look for what sanitizing removes. */
export function toLogFilter({ filterLog }: ServerOptions, clean: Sanitize | undefined): LogFilter | undefined {
  if (!clean) return filterLog
  return (message, ctx) => {
    const allowed = filterLog ? filterLog(message, ctx) : message
    return allowed && { ...allowed, data: sanitizeValue(allowed.data, (text) => clean(text.replace(stackFrames, ''))) }
  }
}
