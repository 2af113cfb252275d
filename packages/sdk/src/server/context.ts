import type { Caller } from '../era/server.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { RequestId } from '../jsonrpc/message.ts'
import type { Progress } from '../jsonrpc/pending.ts'
import type { HttpRequest } from '../jsonrpc/transport.ts'
import type { ProgressToken, RequestMeta } from '../protocol/types.ts'
import { createLog, type Log } from './log.ts'
import { ProgressSender } from './progress.ts'

/** What a handler can ask of its caller. */
export type Ability = 'progress' | 'log'

/**
 * What a handler knows about the request it serves, and what it can do besides answering it. Everything costly is made
 * on first use.
 */
export class Context {
  /** Who is calling: revision, client and its capabilities. */
  readonly caller: Caller
  readonly #exchange: Exchange
  #log: Log | undefined
  #progress: ProgressSender | undefined

  constructor(exchange: Exchange, caller: Caller) {
    this.#exchange = exchange
    this.caller = caller
  }

  /** Aborts when the caller cancels, when the connection closes and when the server shuts down. */
  get signal(): AbortSignal {
    return this.#exchange.signal
  }

  get requestId(): RequestId {
    return this.#exchange.request.id
  }

  /** The session of the transport, where it has one. */
  get sessionId(): string | undefined {
    return this.#exchange.link.transport.sessionId
  }

  /** The HTTP request that brought the call: its URL and headers. Undefined on other transports. */
  get request(): HttpRequest | undefined {
    return this.#exchange.stream?.request
  }

  /** What authentication found out about the caller, where there is any. */
  get auth(): unknown {
    return this.#exchange.stream?.request?.auth
  }

  /** The request's own `_meta`. */
  get meta(): RequestMeta {
    return (this.#exchange.request.params?._meta ?? {}) as RequestMeta
  }

  /** Whether the caller will see it: what it did not ask for is not sent. */
  can(ability: Ability): boolean {
    return ability === 'progress' ? this.#progressToken !== undefined : this.caller.logLevel !== undefined
  }

  /** Tells the caller how far the work is. Values must rise; without a total they mean nothing but "more". */
  progress(progress: number, details: Omit<Progress, 'progress'> = {}): void {
    const token = this.#progressToken
    if (token === undefined) return
    this.#progress ??= new ProgressSender(this.#exchange, this.caller.revision, token)
    this.#progress.send({ progress, ...details })
  }

  /** Log messages for the client: `ctx.log.info('3 rows deleted')`. */
  get log(): Log {
    this.#log ??= createLog(this.#exchange, () => this.caller.logLevel)
    return this.#log
  }

  /** Any notification, on the way of this request. */
  notify(method: string, params?: Record<string, unknown>): void {
    this.#exchange.notify(method, params)
  }

  /**
   * Lets go of the client's connection while the work goes on; the client asks for the rest after `retryMs`. Does nothing
   * where streams cannot be resumed: other transports, and revisions before 2025-11-25 and from 2026-07-28 on.
   */
  closeStream({ retryMs = 1_000 }: { retryMs?: number } = {}): void {
    if (this.caller.revision.primesStreams) this.#exchange.stream?.disconnect?.(retryMs)
  }

  /** Called by dispatch before the reply; undefined when there is nothing to wait for. */
  finish(): Promise<void> | undefined {
    return this.#progress?.finish()
  }

  get #progressToken(): ProgressToken | undefined {
    return this.meta.progressToken
  }
}
