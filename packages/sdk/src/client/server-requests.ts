import { methodNotFound } from '../era/method-errors.ts'
import { McpError, ProtocolError, RpcCode } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { Params, ResultObject, RpcErrorBody } from '../jsonrpc/message.ts'
import { metaKeys } from '../protocol/meta.ts'
import { checkParams } from '../protocol/params.ts'
import type { Revision } from '../protocol/revision.ts'
import { isObject } from '../util/objects.ts'
import { warnOnce } from '../util/warn.ts'
import type { AskingServer } from './handlers.ts'
import type { InputHandlers } from './input-handlers.ts'
import { ClientSideTasks, type ClientSideTasksOptions } from './tasks/client-side-tasks.ts'

export type RequestHandler = (params: Params, request: { method: string; signal: AbortSignal }) => unknown

export interface ServerRequestsOptions {
  readonly answerer: InputHandlers
  /** Whether servers may have answers as tasks. */
  readonly tasks: boolean | ClientSideTasksOptions | undefined
  /** The revision of the connection; undefined before there is one. */
  revision(): Revision | undefined
  server(): AskingServer
  /** Stops the clocks of those who wait for the server, until what it gives is called. */
  pauseClocks(link: Link): () => void
  onError(error: unknown): void
}

/** Replies to what servers ask of the client, whichever way it came. */
export class ServerRequests {
  readonly #options: ServerRequestsOptions
  readonly #handlers = new Map<string, RequestHandler>([['ping', () => ({})]])
  readonly #ownTasks: ClientSideTasks | undefined

  constructor(options: ServerRequestsOptions) {
    this.#options = options
    const { answerer, tasks } = options
    for (const [method, answer] of answerer.methods) {
      this.#handlers.set(method, (params, { signal }) => answer(params, { signal, server: options.server() }))
    }
    if (!tasks) return
    this.#ownTasks = new ClientSideTasks(tasks === true ? {} : tasks, answerer.capabilities, {
      respond: (method, params, signal) => this.#respond(method, params, { method, signal }),
      toErrorBody: (error) => this.#toErrorBody(error),
    })
    for (const [method, answer] of this.#ownTasks.methods) {
      this.#handlers.set(method, (params, { signal }) => answer(params, signal))
    }
  }

  setHandler(method: string, handler: RequestHandler): void {
    this.#handlers.set(method, handler)
  }

  close(): void {
    this.#ownTasks?.close()
  }

  /** Replies to a request. */
  async answer(exchange: Exchange): Promise<void> {
    const { method, params = {} } = exchange.request
    const revision = this.#options.revision()
    if (revision?.multiRoundTrip) return ignore(exchange)
    // A user takes their time, which is not the server's.
    const goOn = this.#options.pauseClocks(exchange.link)
    // One that was taken back holds nothing up, though its handler may not hear of it.
    exchange.onEnd(goOn)
    try {
      exchange.reply(await this.#reply(exchange, method, params, revision))
    } catch (error) {
      exchange.fail(this.#toErrorBody(error))
    } finally {
      goOn()
      exchange.handled()
    }
  }

  /**
   * Answers a question that came in a result.
   * @param asking The method that was answered with it.
   */
  answerInput(asking: string, method: string, params: Params, signal: AbortSignal): Promise<ResultObject> {
    if (this.#handlers.has(method)) return this.#respond(method, params, { method, signal })
    throw new McpError(
      'invalid-response',
      `${asking}: the server asks for ${JSON.stringify(method.slice(0, 100))}, which this client did not declare`,
    )
  }

  async #reply(
    exchange: Exchange,
    method: string,
    params: Params,
    revision: Revision | undefined,
  ): Promise<ResultObject> {
    checkAllowed(method, params, revision)
    const own = revision?.lacks('tasks/result') === false ? this.#ownTasks : undefined
    if (own?.takes(method, params)) return own.create(method, params, () => this.#options.pauseClocks(exchange.link))
    const result = await this.#respond(method, params, requestInfo(exchange))
    return withRelatedTask(params, revision?.toResult(method, result) ?? result)
  }

  async #respond(
    method: string,
    params: Params,
    request: { method: string; signal: AbortSignal },
  ): Promise<ResultObject> {
    const handler = this.#handlers.get(method)
    if (!handler) throw methodNotFound(method)
    checkParams(method, params)
    return (await handler(params, request)) as ResultObject
  }

  /** The server hears as little as it should. */
  #toErrorBody(error: unknown): RpcErrorBody {
    if (error instanceof ProtocolError) return error.toBody()
    this.#options.onError(error)
    return { code: RpcCode.InternalError, message: 'Internal error' }
  }
}

/** 2026-07-28: servers do not ask this way, and clients never answer. */
function ignore(exchange: Exchange): void {
  warnOnce(
    'server-request',
    `The server sent the request ${JSON.stringify(exchange.request.method.slice(0, 100))}, which its revision does not allow; it is ignored.`,
  )
  exchange.cancel('Requests from servers are not part of this revision')
  exchange.handled()
}

/** Nothing but a ping before the handshake is over, and only what the revision has (2025-11-25 lifecycle). */
function checkAllowed(method: string, params: Params, revision: Revision | undefined): void {
  if (method === 'ping') return
  if (!revision || revision.lacks(method)) throw methodNotFound(method)
  const isUnknownMode = method === 'elicitation/create' && params.mode === 'url' && !revision.asks.includes('url')
  if (isUnknownMode) throw new ProtocolError(RpcCode.InvalidParams, `${revision.id} has no elicitation by URL`)
}

/** Every message of a task names it (2025-11-25 tasks, related task); those about a task have it in their params. */
function withRelatedTask(params: Params, result: ResultObject): ResultObject {
  const related = isObject(params._meta) ? params._meta[metaKeys.relatedTask] : undefined
  if (related === undefined || typeof params.taskId === 'string') return result
  return { ...result, _meta: { ...(result._meta as object), [metaKeys.relatedTask]: related } }
}

function requestInfo(exchange: Exchange): { method: string; signal: AbortSignal } {
  return {
    method: exchange.request.method,
    get signal() {
      return exchange.signal
    },
  }
}
