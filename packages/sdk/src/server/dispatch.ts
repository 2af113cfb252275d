import type { Call } from '../era/call.ts'
import { methodNotFound } from '../era/method-errors.ts'
import { type EraMethod, eraOf, type ServerEra } from '../era/server.ts'
import { CapabilityError, ErrorCode, ProtocolError } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import { jsonProblem } from '../jsonrpc/json-problem.ts'
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
import { requestStreamOf } from '../protocol/transport.ts'
import type { Conversation, Outcome, Reply } from '../replay/conversation.ts'
import type { ReplayBackend } from '../replay/replaying-conversation.ts'
import { chain, isThenable } from '../util/maybe-async.ts'
import { isObject } from '../util/objects.ts'
import { type CallLimit, toLimitedReply } from './call-limits.ts'
import { Context } from './context.ts'
import type { LogFilter } from './log.ts'
import type { Sanitize } from './options.ts'

/** Serves one method. */
export type RequestHandler = (params: Params, ctx: Context) => Outcome

/** A method and how to serve it. */
export interface MethodEntry {
  readonly handler: RequestHandler
  /** Returns false while the capability of the method is not declared. The method then does not exist. */
  readonly isOffered?: () => boolean
  /** Returns the problem with headers that mirror params, if there is one. */
  readonly headersProblem?:
    | ((params: Params, headers: HeaderReader, required: boolean) => string | undefined)
    | undefined
  /** Returns a key if the result depends only on the params and the registered features, so that its text can be cached. */
  readonly cacheKey?: ((params: Params) => string | undefined) | undefined
  /** The rate limit of each caller. */
  readonly limit?: CallLimit | undefined
  /** Called when the limit refuses a request. */
  readonly limited?: ((call: Exchange) => void) | undefined
  /** Whether params are checked before the handler runs. Default: always. */
  readonly checksParams?: ((method: string) => boolean) | undefined
  /** For methods that an era serves itself: whether the handler serves them instead. */
  readonly replaces?: boolean | undefined
  /** Serves the request as a task. Undefined: as an ordinary request. */
  readonly asTask?: ((serving: Serving) => Reply | PromiseLike<Reply | undefined> | undefined) | undefined
}

/** A request and the ways to serve it. */
export interface Serving {
  readonly exchange: Exchange
  readonly caller: Caller
  /** For eras that run handlers again: what a replaying conversation needs. */
  readonly replay: ReplayBackend<Call> | undefined
  serve(call: Call, conversation: Conversation): Reply | PromiseLike<Reply>
  /** Converts a result to the revision of the caller. */
  complete(result: ResultObject): Reply
}

/** The request that a middleware wraps. */
export interface MiddlewareRequest {
  readonly method: string
  readonly params: Params
  readonly ctx: Context
}

/** Wraps every request to a feature or custom method. Call `next` to continue, with other params if you like. */
export type Middleware = (
  request: MiddlewareRequest,
  next: (params?: Params) => Promise<ResultObject>,
) => ResultObject | PromiseLike<ResultObject>

const noParams: Params = Object.freeze({})
/** Maximum cached texts: far more than a server has lists. */
const maxCached = 256

/** Takes a request to its reply: finds the era, the caller and the method, checks the params, runs the handler and replies. */
export class Dispatch {
  readonly #eras: Readonly<Record<EraName, ServerEra>>
  readonly #onError: (error: unknown) => void
  readonly #cache = new Map<string, Prepared>()
  #generation = 0
  readonly methods = new Map<string, MethodEntry>()
  readonly middleware: Middleware[] = []
  filterLog: LogFilter | undefined
  /** Serves requests for methods without a handler. */
  fallback: MethodEntry | undefined
  /** Converts what handlers throw. */
  mapError: ((error: unknown) => unknown) | undefined
  /** Whether errors about params say in `data.details` what is wrong. */
  addsDetails = true
  /** Cleans the messages of errors. */
  sanitize: Sanitize | undefined
  /** Whether a request that describes its sender belongs to the handshake era all the same. */
  handshakeOnly: (() => boolean) | undefined

  constructor(eras: Readonly<Record<EraName, ServerEra>>, onError: (error: unknown) => void) {
    this.#eras = eras
    this.#onError = onError
  }

  /** Clears cached texts after a registration. */
  invalidateCache(): void {
    this.#generation++
    this.#cache.clear()
  }

  /** Serves a request and sends the reply. */
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
        // Errors of a cancelled handler are expected.
        if (!exchange.cancelled) this.#fail(exchange, error)
      },
    )
  }

  #route(exchange: Exchange): Reply | PromiseLike<Reply> | undefined {
    const { method, params = noParams } = exchange.request
    const era = this.#eraOf(exchange)
    const eraMethod = era.methods.get(method)
    if (eraMethod && !this.#isReplaced(method)) return this.#runEraMethod(eraMethod, exchange, era, params)
    const caller = era.identify(exchange)
    const entry = this.#find(method)
    if (caller.rules.lacks(method)) throw methodNotFound(method)
    const retryAfterMs = entry.limit?.take(exchange)
    if (retryAfterMs) {
      entry.limited?.(exchange)
      return era.complete(method, caller, toLimitedReply(method, params, retryAfterMs))
    }
    if (entry.checksParams?.(method) !== false) checkParams(method, params)
    if (entry.headersProblem && caller.rules.mirrorsHeaders) checkHeaders(entry.headersProblem, params, exchange)
    const key = this.middleware.length === 0 ? entry.cacheKey?.(params) : undefined
    if (key === undefined) return this.#run(entry, exchange, era, caller, params)
    return this.#cached(`${caller.revision} ${key}`, () => this.#run(entry, exchange, era, caller, params))
  }

  #eraOf(exchange: Exchange): ServerEra {
    const known = requestStreamOf(exchange)?.era
    const name = eraOf(exchange.request, known)
    return this.#eras[name !== known && name === 'stateless' && this.handshakeOnly?.() ? 'handshake' : name]
  }

  /** Runs a method for the server that this one is mounted in, with the middleware of this server. */
  delegate(method: string, params: Params, ctx: Context): Outcome {
    return this.#runWithMiddleware(this.#find(method), method, params, ctx)
  }

  #find(method: string): MethodEntry {
    const entry = this.methods.get(method) ?? this.fallback
    if (!entry || entry.isOffered?.() === false) throw methodNotFound(method)
    return entry
  }

  #isReplaced(method: string): boolean | undefined {
    return this.methods.get(method)?.replaces && !answeredByHandler.has(method)
  }

  /**
   * Calls a handler that the user set for such a method too, for example to track subscriptions. The handler of `initialize`
   * or `ping` makes the response.
   */
  #runEraMethod(
    method: EraMethod,
    exchange: Exchange,
    era: ServerEra,
    params: Params,
  ): Reply | PromiseLike<Reply> | undefined {
    const outcome = method(exchange)
    const userHandler = this.methods.get(exchange.request.method)
    if (!userHandler || outcome === undefined) return outcome
    const caller = era.identify(exchange)
    const ctx = new Context(exchange, caller, era.converse(exchange, caller), this.filterLog)
    const { method: name } = exchange.request
    if (!answeredByHandler.has(name))
      return chain(outcome, (reply) => chain(userHandler.handler(params, ctx), () => reply))
    return chain(userHandler.handler(params, ctx), (result) => {
      if (name === 'initialize') era.adopt?.(exchange.link, result)
      return era.complete(name, era.identify(exchange), requireResult(name, result))
    })
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
    const serve = () => this.#serve(entry, exchange, era.converse(exchange, caller), caller, params)
    return asTask === undefined ? serve() : chain(asTask, (reply) => reply ?? serve())
  }

  /** Serves the request of a task, which arrived earlier. */
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
      chain(this.#runWithMiddleware(entry, method, params, ctx), (result) => requireResult(method, result)),
    )
    return chain(outcome, (result) => ctx.finish()?.then(() => result) ?? result)
  }

  #runWithMiddleware(entry: MethodEntry, method: string, params: Params, ctx: Context): Outcome {
    if (this.middleware.length === 0) return entry.handler(params, ctx)
    return runMiddleware(this.middleware, { method, params, ctx }, async (final) => entry.handler(final, ctx))
  }

  #cached(key: string, make: () => Reply | PromiseLike<Reply>): Reply | PromiseLike<Reply> {
    const cached = this.#cache.get(key)
    if (cached) return cached
    const generation = this.#generation
    return chain(make(), (result) => {
      const prepared = result instanceof Prepared ? result : new Prepared(JSON.stringify(result))
      if (this.#cache.size >= maxCached) this.#cache.clear()
      // A feature may have been registered while the result was computed.
      if (generation === this.#generation) this.#cache.set(key, prepared)
      return prepared
    })
  }

  #fail(exchange: Exchange, thrown: unknown): void {
    const error = this.mapError ? this.mapError(thrown) : thrown
    if (error instanceof Unsendable) return exchange.fail(this.unsendable(exchange.request, error.result, error.cause))
    if (error instanceof ProtocolError) {
      return exchange.fail(this.#toClient(this.#eraOf(exchange).toError(error, exchange)))
    }
    exchange.fail(this.errorOf(error))
  }

  /** Returns the error for a result that JSON cannot represent. It names the item and the field, but contains no data. */
  unsendable({ method, params }: RpcRequest, result: unknown, cause: unknown): RpcErrorBody {
    const problem = jsonProblem(result) ?? 'it is not valid JSON'
    const name = params?.name ?? params?.uri
    const item = typeof name === 'string' ? ` ${JSON.stringify(name.slice(0, 200))}` : ''
    const message = `The result of ${method}${item} cannot be sent: ${problem}`
    this.#onError(new TypeError(message, { cause }))
    return { code: ErrorCode.InternalError, message }
  }

  /** Only the message is sanitized: data is for programs, and may contain the URL of an elicitation. */
  #toClient(body: RpcErrorBody): RpcErrorBody {
    const message = this.sanitize ? this.sanitize(body.message) : body.message
    const { code, data } = body
    if (!isObject(data) || data.details !== body.message) return { ...body, message }
    return { code, message, ...(this.addsDetails && { data: { details: message } }) }
  }

  /** Returns the JSON-RPC error for an error that a handler threw. */
  errorOf(error: unknown): RpcErrorBody {
    if (error instanceof ProtocolError) return this.#toClient(error.toBody())
    // The client may know which of its capabilities is missing.
    if (error instanceof CapabilityError) {
      return { code: ErrorCode.InternalError, message: error.message }
    }
    // The message may reveal internals, so only `onError` gets it.
    this.#onError(error)
    return { code: ErrorCode.InternalError, message: 'Internal error' }
  }
}

/** Methods of an era whose response a handler of the program makes, if there is one. */
const answeredByHandler: ReadonlySet<string> = new Set(['initialize', 'ping'])

/** 2026-07-28 streamable-http, server behavior for custom headers: checked before anything runs. */
function checkHeaders(
  headersProblem: NonNullable<MethodEntry['headersProblem']>,
  params: Params,
  exchange: Exchange,
): void {
  const { request } = requestStreamOf(exchange) ?? {}
  const problem = request && headersProblem(params, request, true)
  if (problem !== undefined) throw new ProtocolError(ErrorCode.HeaderMismatch, problem)
}

function requireResult(method: string, result: unknown): ResultObject {
  if (isObject(result)) return result
  throw new TypeError(`The handler of "${method}" did not return a result. Return an object.`)
}

/** Each middleware wraps the next ones; `last` is the handler. */
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
    throw new TypeError(`A middleware did not return a result for "${request.method}". Return the result of next().`)
  }
  return step(0, request.params)
}
