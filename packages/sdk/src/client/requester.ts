import type { CallOptions, ServerFacts } from '../era/client.ts'
import { CapabilityError, ClosedError, HttpError, McpError, TimeoutError } from '../errors.ts'
import { LimitedProgress, receivedProgress } from '../jsonrpc/limited-progress.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Progress } from '../jsonrpc/pending.ts'
import type { ServerCapabilities } from '../protocol/capabilities.ts'
import type { ClientRequests } from '../protocol/methods.ts'
import { paramsChecks } from '../protocol/params.ts'
import type { Revision } from '../protocol/revision.ts'
import { invalidTraceKey } from '../protocol/trace-context.ts'
import { joinSignals } from '../util/abort.ts'
import { backoffMs, defaultBackoff } from '../util/backoff.ts'
import { isObject } from '../util/objects.ts'
import { scheduler } from '../util/scheduler.ts'
import type { Connection } from './connection.ts'
import { driveRoundTrips } from './input/round-trips.ts'

/** The methods that this client knows the types of. */
export type ClientMethod = keyof ClientRequests
export type ParamsOf<M extends ClientMethod> = ClientRequests[M]['params']
export type ResultOf<M extends ClientMethod> = ClientRequests[M]['result']

/** A request of a batch. */
export interface BatchRequest {
  method: string
  params?: Params | undefined
}

/** What a batch needs of its client. */
interface BatchingClient {
  sendOne(request: BatchRequest): Promise<ResultObject>
  accept(method: string, result: ResultObject): ResultObject
}

export interface RequesterOptions {
  readonly connection: Connection
  /** Defaults for every request. */
  readonly defaults: CallOptions | undefined
  readonly maxRounds: number
  /** Whether params are sent as they are. */
  readonly raw: boolean
  /** Aborts when the client is closed. */
  readonly closing: AbortSignal
  /** Adds the members of `_meta` that every request has. */
  addMeta(params: Params | undefined, options: CallOptions | undefined): Params | undefined
  /** Receives the error of each request that failed; undefined if nothing wants to know. */
  readonly onFailure: ((error: unknown) => void) | undefined
  /** Receives errors of listeners of the program. */
  onError(error: unknown): void
  /** Answers a request for input that came in the result of `method`. */
  answerInput(method: string, inputMethod: string, params: Params, signal: AbortSignal): Promise<ResultObject>
}

/** Sends the requests of the client: checks params, applies defaults and answers requests for input. */
export class Requester {
  readonly #options: RequesterOptions

  constructor(options: RequesterOptions) {
    this.#options = options
  }

  /**
   * Sends one request of a known method. Servers may send anything, so callers check the members of the result that they
   * use. The result may be `input_required`: see {@link complete}.
   */
  call<M extends ClientMethod>(method: M, params?: ParamsOf<M>, options?: CallOptions): Promise<ResultOf<M>>
  call(method: string, params?: Params, options?: CallOptions): Promise<ResultObject> {
    return this.send(method, params, options)
  }

  /** Sends one request of any method. */
  send(method: string, params: Params | undefined, options: CallOptions | undefined): Promise<ResultObject> {
    const { connection, defaults, addMeta, onFailure, raw } = this.#options
    const problem = raw ? undefined : this.#problemWith(method, params)
    if (problem) return Promise.reject(problem)
    const merged = defaults || raw ? { ...defaults, ...options, raw } : options
    const progress = this.limitProgress(merged?.onProgress)
    const sent = progress ? { ...merged, onProgress: (value: Progress) => progress.add(value) } : merged
    const answer = connection.call(method, addMeta(params, options), sent)
    if (progress) {
      // The newest value comes before the response.
      const flush = () => progress.flush()
      answer.then(flush, flush)
    }
    if (onFailure) answer.catch(onFailure)
    return answer
  }

  /** Passes on values that increase, no more often than a display can follow. Undefined if all values are passed on. */
  limitProgress(deliver: CallOptions['onProgress']): LimitedProgress | undefined {
    const { raw, onError } = this.#options
    return raw || !deliver ? undefined : new LimitedProgress({ ...receivedProgress, deliver, onError })
  }

  /**
   * Sends several requests as one batch if the revision has batches, otherwise one by one.
   * @param client `sendOne` sends a request that is not part of a batch, `accept` checks a result of a batch.
   */
  async batch(
    requests: readonly BatchRequest[],
    options: CallOptions | undefined,
    { sendOne, accept }: BatchingClient,
  ): Promise<PromiseSettledResult<ResultObject>[]> {
    const { connection, defaults, addMeta } = this.#options
    const { era, link } = await connection.ready()
    for (const { method, params } of requests) {
      const problem = this.#problemWith(method, params)
      if (problem) throw problem
    }
    if (!link.batching || requests.length < 2) return Promise.allSettled(requests.map((request) => sendOne(request)))
    const sent = requests.map(({ method, params }) => {
      const complete = addMeta(params, options)
      return { method, params: complete && era.facts.revision.toParams(method, complete) }
    })
    const answers = link.requestBatch(sent, { ...defaults, ...options })
    return Promise.allSettled(answers.map(async (answer, index) => accept(requests[index]!.method, await answer)))
  }

  #problemWith(method: string, params: Params | undefined): McpError | undefined {
    const problem = paramsChecks.get(method)?.(params ?? {})
    if (problem !== undefined) return new McpError('invalid-argument', `${method}: ${problem}`)
    return params?._meta === undefined ? undefined : this.traceProblem(method, params)
  }

  /** Sends a request, and repeats it with input until the result is final. */
  request<M extends ClientMethod>(method: M, params: ParamsOf<M>, options?: CallOptions): Promise<ResultOf<M>>
  request(method: string, params: Params | undefined, options?: CallOptions): Promise<ResultObject> {
    return this.requestAny(method, params, options)
  }

  /** The same for any method. */
  async requestAny(method: string, params: Params | undefined, options?: CallOptions): Promise<ResultObject> {
    const send = (next: Params | undefined) => inExchange(options, () => this.send(method, next, options))
    const result = await send(params)
    return this.complete(result, method, params ?? {}, options, send)
  }

  /** Returns a final result as it is. If it asks for input, provides the input and calls again until it is final. */
  complete<P extends object, R extends ResultObject>(
    result: R,
    method: string,
    params: P,
    options: CallOptions | undefined,
    call: (params: P) => Promise<R>,
  ): R | Promise<R> {
    if (!this.requiresInput(method, result)) return result
    const { maxRounds, closing, answerInput } = this.#options
    const { signal, release } = joinSignals(options?.signal ? [options.signal, closing] : [closing])
    return driveRoundTrips(result, {
      method,
      params,
      maxRounds,
      signal,
      call,
      answer: (request, signal) =>
        options?.input
          ? options.input.answer(request, signal)
          : answerInput(method, request.method, request.params, signal),
    }).finally(release)
  }

  /** Whether a result asks for input. Throws if the revision has no such results. */
  requiresInput(method: string, result: { resultType?: unknown }): boolean {
    if (result.resultType !== 'input_required') return false
    if (!this.revision?.multiRoundTrip) throw inputNotAllowed(method, this.revision?.id)
    return true
  }

  /** The revision of the connection; undefined while there is none. */
  get revision(): Revision | undefined {
    return this.#options.connection.live?.era.facts.revision
  }

  /** Checks trace values, which have a format since 2026-07-28. Malformed ones would break traces of other programs. */
  traceProblem(method: string, params: Params | undefined): McpError | undefined {
    if (!this.revision?.traceFormat || !isObject(params?._meta)) return undefined
    const key = invalidTraceKey(params._meta)
    if (key === undefined) return undefined
    return new McpError('invalid-argument', `${method}: _meta.${key} is not in the format that the W3C defines for it`)
  }

  /** What the server says about itself. Waits while the client reconnects. */
  async facts(): Promise<ServerFacts> {
    return (await this.#options.connection.ready()).era.facts
  }

  /**
   * Rejects if the server did not declare a capability (2025-06-18 lifecycle, operation). Returns undefined if it did, so
   * that callers need not wait.
   */
  require(capability: keyof ServerCapabilities & string): Promise<void> | undefined {
    const { live } = this.#options.connection
    return live?.era.facts.capabilities[capability] ? undefined : this.#requireAgain(capability)
  }

  /** A server of 2026-07-28 may offer more by now, so it is asked again. */
  async #requireAgain(capability: keyof ServerCapabilities & string): Promise<void> {
    const { era, link } = await this.#options.connection.ready()
    if (!era.facts.capabilities[capability]) await era.refresh(link)
    if (era.facts.capabilities[capability]) return
    throw new CapabilityError(
      capability,
      `The server does not offer ${capability}. If it will register ${capability} later, declare them on the server: capabilities: { ${capability}: {} }`,
    )
  }
}

/** Sends one request of a call that may be run again. */
export function inExchange<R extends ResultObject>(
  options: CallOptions | undefined,
  send: () => Promise<R>,
): Promise<R> {
  // An earlier run of the same call received the same kind of result.
  return options?.input?.exchange ? (options.input.exchange(send) as Promise<R>) : send()
}

/** The error for a result that cannot be used. */
export function invalidResult(method: string, problem: string): McpError {
  return new McpError('invalid-response', `The server sent an invalid result for ${method}: ${problem}`)
}

function inputNotAllowed(method: string, revision = 'this revision'): McpError {
  return new McpError(
    'invalid-response',
    `The server answered ${method} with "input_required", which ${revision} does not have. It must send elicitation/create, sampling/createMessage or roots/list instead.`,
  )
}

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
