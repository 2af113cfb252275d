import type { Call } from '../era/call.ts'
import { eraOf } from '../era/era-of.ts'
import { methodNotFound } from '../era/method-errors.ts'
import type { EraMethod, ServerEra } from '../era/server.ts'
import { CapabilityError, ProtocolError, RpcCode } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import {
  type Params,
  Prepared,
  type ResultObject,
  type RpcErrorBody,
  type RpcRequest,
  Unsendable,
} from '../jsonrpc/message.ts'
import type { Caller } from '../protocol/caller.ts'
import type { HeaderReader } from '../protocol/mirrored-headers.ts'
import { checkParams } from '../protocol/params.ts'
import type { EraName } from '../protocol/revision.ts'
import type { Conversation, Outcome, Reply } from '../replay/conversation.ts'
import type { ReplayBackend } from '../replay/replaying-conversation.ts'
import { jsonProblem } from '../util/json-problem.ts'
import { chain, isThenable } from '../util/maybe-async.ts'
import { isObject } from '../util/objects.ts'
import { type CallLimit, toLimitedReply } from './call-limits.ts'
import { Context } from './context.ts'
import type { LogFilter } from './log.ts'

export type RequestHandler = (params: Params, ctx: Context) => Outcome

export interface MethodEntry {
  readonly handler: RequestHandler
  /** False while the capability behind the method is not declared; then the method does not exist. */
  readonly isOffered?: () => boolean
  /** What is wrong with headers that repeat the params, where there are any; undefined when nothing is. */
  readonly headersProblem?: ((params: Params, headers: HeaderReader) => string | undefined) | undefined
  /** The result depends on nothing but the params and what is registered, so its text may be kept until that changes. */
  readonly keeps?: ((params: Params) => string | undefined) | undefined
  /** Counts the calls of each caller, where that is limited. */
  readonly limit?: CallLimit | undefined
  /** Serves it as a task; undefined: as an ordinary request. */
  readonly asTask?: ((serving: Serving) => Reply | PromiseLike<Reply> | undefined) | undefined
}

/** A request that came, and the ways to serve it. */
export interface Serving {
  readonly exchange: Exchange
  readonly caller: Caller
  /** For eras that run handlers again: what a replaying conversation needs. */
  readonly replay: ReplayBackend<Call> | undefined
  serve(call: Call, conversation: Conversation): Reply | PromiseLike<Reply>
  /** Gives a result its form. */
  complete(result: ResultObject): Reply
}

export interface MiddlewareRequest {
  readonly method: string
  readonly params: Params
  readonly ctx: Context
}

/** Runs around every request to a feature or a custom method; call `next` to go on, perhaps with other params. */
export type Middleware = (
  request: MiddlewareRequest,
  next: (params?: Params) => Promise<ResultObject>,
) => ResultObject | PromiseLike<ResultObject>

const noParams: Params = Object.freeze({})
/** Kept texts; far more than a server has lists, and a bound in case of very many pages. */
const maxKept = 256

/** From a request to its reply: find the era, the caller and the method, check the params, run, shape, answer. */
export class Dispatch {
  readonly #eras: Readonly<Record<EraName, ServerEra>>
  readonly #onError: (error: unknown) => void
  readonly #kept = new Map<string, Prepared>()
  #generation = 0
  readonly methods = new Map<string, MethodEntry>()
  readonly middleware: Middleware[] = []
  filterLog: LogFilter | undefined

  constructor(eras: Readonly<Record<EraName, ServerEra>>, onError: (error: unknown) => void) {
    this.#eras = eras
    this.#onError = onError
  }

  /** What is registered changed: kept texts are out of date. */
  forget(): void {
    this.#generation++
    this.#kept.clear()
  }

  answer(exchange: Exchange): void {
    try {
      const outcome = this.#route(exchange)
      if (outcome === undefined) exchange.onEnd(() => exchange.handled())
      else if (isThenable(outcome)) this.#answerLater(exchange, outcome)
      else {
        exchange.handled()
        exchange.reply(outcome)
      }
    } catch (error) {
      exchange.handled()
      this.#fail(exchange, error)
    }
  }

  #answerLater(exchange: Exchange, outcome: PromiseLike<Reply>): void {
    outcome.then(
      (result) => {
        exchange.handled()
        exchange.reply(result)
      },
      (error) => {
        exchange.handled()
        // A handler that stops because it was cancelled has nothing to report.
        if (!exchange.cancelled) this.#fail(exchange, error)
      },
    )
  }

  #route(exchange: Exchange): Reply | PromiseLike<Reply> | undefined {
    const { method, params = noParams } = exchange.request
    const era = this.#eras[eraOf(exchange.request, exchange.stream?.era)]
    const eraMethod = era.methods.get(method)
    if (eraMethod) return this.#runEraMethod(eraMethod, exchange, era, params)
    const caller = era.identify(exchange)
    const entry = this.#find(method)
    if (caller.rules.lacks(method)) throw methodNotFound(method)
    const retryAfterMs = entry.limit?.take(exchange)
    if (retryAfterMs) return era.complete(method, caller, toLimitedReply(method, params, retryAfterMs))
    checkParams(method, params)
    if (entry.headersProblem && caller.rules.mirrorsHeaders) checkHeaders(entry.headersProblem, params, exchange)
    const key = this.middleware.length === 0 ? entry.keeps?.(params) : undefined
    if (key === undefined) return this.#run(entry, exchange, era, caller, params)
    return this.#keep(`${caller.revision} ${key}`, () => this.#run(entry, exchange, era, caller, params))
  }

  /** Runs a method here for a server that this one is mounted in, with this server's own middleware around it. */
  delegate(method: string, params: Params, ctx: Context): Outcome {
    return this.#runLayers(this.#find(method), method, params, ctx)
  }

  #find(method: string): MethodEntry {
    const entry = this.methods.get(method)
    if (!entry || entry.isOffered?.() === false) throw methodNotFound(method)
    return entry
  }

  /** Who set a handler for such a method, to keep track of subscriptions for example, is called as well. */
  #runEraMethod(
    method: EraMethod,
    exchange: Exchange,
    era: ServerEra,
    params: Params,
  ): Reply | PromiseLike<Reply> | undefined {
    const outcome = method(exchange)
    const watcher = this.methods.get(exchange.request.method)
    if (!watcher || outcome === undefined) return outcome
    const caller = era.identify(exchange)
    const ctx = new Context(exchange, caller, era.converse(exchange, caller), this.filterLog)
    return chain(outcome, (reply) => chain(watcher.handler(params, ctx), () => reply))
  }

  #run(
    entry: MethodEntry,
    exchange: Exchange,
    era: ServerEra,
    caller: Caller,
    params: Params,
  ): Reply | PromiseLike<Reply> {
    const asTask = entry.asTask?.({
      exchange,
      caller,
      replay: era.replay,
      serve: (call, conversation) => this.#serve(entry, call, conversation, caller, params),
      complete: (result) => era.complete(exchange.request.method, caller, result),
    })
    return asTask ?? this.#serve(entry, exchange, era.converse(exchange, caller), caller, params)
  }

  /** Runs a request that came earlier. */
  serveTask(call: Call, conversation: Conversation, caller: Caller): Reply | PromiseLike<Reply> {
    const { method, params = noParams } = call.request
    return this.#serve(this.#find(method), call, conversation, caller, params)
  }

  #serve(
    entry: MethodEntry,
    call: Call,
    conversation: Conversation,
    caller: Caller,
    params: Params,
  ): Reply | PromiseLike<Reply> {
    const ctx = new Context(call, caller, conversation, this.filterLog)
    const { method } = call.request
    const outcome = conversation.run(() =>
      chain(this.#runLayers(entry, method, params, ctx), (result) => asResult(method, result)),
    )
    return chain(outcome, (result) => ctx.finish()?.then(() => result) ?? result)
  }

  #runLayers(entry: MethodEntry, method: string, params: Params, ctx: Context): Outcome {
    if (this.middleware.length === 0) return entry.handler(params, ctx)
    return runMiddleware(this.middleware, { method, params, ctx }, async (final) => entry.handler(final, ctx))
  }

  #keep(key: string, make: () => Reply | PromiseLike<Reply>): Reply | PromiseLike<Reply> {
    const kept = this.#kept.get(key)
    if (kept) return kept
    const generation = this.#generation
    return chain(make(), (result) => {
      const prepared = result instanceof Prepared ? result : new Prepared(JSON.stringify(result))
      if (this.#kept.size >= maxKept) this.#kept.clear()
      // Something may have been registered while the result was being made.
      if (generation === this.#generation) this.#kept.set(key, prepared)
      return prepared
    })
  }

  #fail(exchange: Exchange, error: unknown): void {
    if (error instanceof Unsendable) return exchange.fail(this.unsendable(exchange.request, error.result, error.cause))
    if (error instanceof ProtocolError) {
      const era = this.#eras[eraOf(exchange.request, exchange.stream?.era)]
      return exchange.fail(era.toError(error, exchange))
    }
    exchange.fail(this.errorOf(error))
  }

  /** The author returned what JSON cannot carry: the error names the item and the field, and holds no data. */
  unsendable({ method, params }: RpcRequest, result: unknown, cause: unknown): RpcErrorBody {
    const problem = jsonProblem(result) ?? 'it is not JSON'
    const name = params?.name ?? params?.uri
    const item = typeof name === 'string' ? ` ${JSON.stringify(name.slice(0, 200))}` : ''
    const message = `The result of ${method}${item} cannot be sent: ${problem}`
    this.#onError(new TypeError(message, { cause }))
    return { code: RpcCode.InternalError, message }
  }

  /** What the peer is told of an error. */
  errorOf(error: unknown): RpcErrorBody {
    if (error instanceof ProtocolError) return error.toBody()
    // The handler went on without what the client would have had to declare, and the client may as well know.
    if (error instanceof CapabilityError) {
      return { code: RpcCode.InternalError, message: error.message }
    }
    // Never the message: it may tell about the inside. `onError` has it whole.
    this.#onError(error)
    return { code: RpcCode.InternalError, message: 'Internal error' }
  }
}

/** After the method was found and before anything runs (2026-07-28 streamable-http, server behavior for custom headers). */
function checkHeaders(
  headersProblem: NonNullable<MethodEntry['headersProblem']>,
  params: Params,
  { stream }: Exchange,
): void {
  const { request } = stream ?? {}
  const problem = request && headersProblem(params, request)
  if (problem !== undefined) throw new ProtocolError(RpcCode.HeaderMismatch, problem)
}

function asResult(method: string, result: unknown): ResultObject {
  if (isObject(result)) return result
  throw new TypeError(`The handler of ${method} returned no result; a result is an object`)
}

/** The onion: each middleware wraps the rest; `last` is the handler. */
function runMiddleware(
  middleware: readonly Middleware[],
  request: MiddlewareRequest,
  last: (params: Params) => Promise<ResultObject>,
): Promise<ResultObject> {
  const step = async (index: number, params: Params): Promise<ResultObject> => {
    const layer = middleware[index]
    if (!layer) return last(params)
    const result = await layer({ ...request, params }, (changed = params) => step(index + 1, changed))
    if (isObject(result)) return result
    throw new TypeError(`A middleware returned no result for ${request.method}; it must return what next() gives`)
  }
  return step(0, request.params)
}
