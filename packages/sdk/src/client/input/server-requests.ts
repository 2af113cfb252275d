import { methodNotFound } from '../../era/method-errors.ts'
import { type ProgressCall, ProgressSender } from '../../era/progress.ts'
import { ErrorCode, McpError, ProtocolError } from '../../errors.ts'
import type { Exchange } from '../../jsonrpc/exchange.ts'
import type { Link } from '../../jsonrpc/link.ts'
import type { Params, RequestId, ResultObject, RpcErrorBody } from '../../jsonrpc/message.ts'
import { metaKeys } from '../../protocol/meta.ts'
import { checkParams } from '../../protocol/params.ts'
import type { Revision } from '../../protocol/revision.ts'
import { withRelatedTask } from '../../protocol/task-augmentation.ts'
import { isObject } from '../../util/objects.ts'
import { warnOnce } from '../../util/warn.ts'
import { ClientSideTasks, type ClientSideTasksOptions } from '../tasks/client-side-tasks.ts'
import type { ServerIdentity } from './handlers.ts'
import type { InputHandler, InputHandlers } from './input-handlers.ts'

/** Handles a request of the server; the result is sent as the response. */
export type ClientRequestHandler = (params: Params, request: IncomingRequest) => unknown

/** A request of the server. */
export interface IncomingRequest {
  readonly method: string
  /** Undefined on 2026-07-28, where requests for input come in results. */
  readonly id?: RequestId | undefined
  /** The request on its link, for programs that answer it themselves. Undefined on 2026-07-28. */
  readonly exchange?: Exchange | undefined
  /** Aborts when the server cancels the request. */
  readonly signal: AbortSignal
}

interface ServedRequest extends IncomingRequest {
  /** The task that the request runs as in this client. */
  readonly task?: ProgressCall | undefined
}

export interface ServerRequestHandlerOptions {
  readonly inputHandlers: InputHandlers
  /** Whether requests and results are passed on as they are. */
  readonly raw: boolean
  /** Whether servers can have their requests handled as tasks. */
  readonly tasks: boolean | ClientSideTasksOptions | undefined
  /** The revision of the connection; undefined before the handshake has completed. */
  revision(): Revision | undefined
  server(): ServerIdentity
  /** Pauses the timeouts of calls to the server until the returned function is called. */
  pauseTimeouts(link: Link): () => void
  onError(error: unknown): void
}

/** Responds to requests of the server, and to requests for input that come in results. */
export class ServerRequestHandler {
  readonly #options: ServerRequestHandlerOptions
  readonly #handlers = new Map<string, ClientRequestHandler>([['ping', () => ({})]])
  readonly #clientSideTasks: ClientSideTasks | undefined
  #fallback: ClientRequestHandler | undefined

  constructor(options: ServerRequestHandlerOptions) {
    this.#options = options
    const { inputHandlers, tasks } = options
    for (const [method, answer] of inputHandlers.methods) {
      this.#handlers.set(method, (params, request) => this.#answerWithProgress(answer, params, request))
    }
    if (!tasks) return
    this.#clientSideTasks = new ClientSideTasks(tasks === true ? {} : tasks, inputHandlers.capabilities, {
      respond: (method, params, task) => this.#respond(method, params, { method, signal: task.signal, task }),
      toErrorBody: (error) => this.#toErrorBody(error),
      server: options.server,
      reportError: options.onError,
    })
    for (const [method, answer] of this.#clientSideTasks.methods) {
      this.#handlers.set(method, (params, { signal }) => answer(params, signal))
    }
  }

  /** Handlers can report progress, so that the server does not give up while a user or a model takes long. */
  async #answerWithProgress(answer: InputHandler, params: Params, request: ServedRequest): Promise<ResultObject> {
    const { signal } = request
    const call = request.task ?? (request.exchange && callOf(request.exchange, params))
    const revision = this.#options.revision()
    const token = isObject(params._meta) ? params._meta.progressToken : undefined
    const sender = call && token !== undefined && revision ? new ProgressSender(call, revision, token) : undefined
    const result = await answer(params, {
      signal,
      server: this.#options.server(),
      progress: (progress, details) => sender?.send({ progress, ...details }),
    })
    sender?.flush()
    return result
  }

  setHandler(method: string, handler: ClientRequestHandler): void {
    this.#handlers.set(method, handler)
  }

  removeHandler(method: string): void {
    this.#handlers.delete(method)
  }

  setFallback(handler: ClientRequestHandler | undefined): void {
    this.#fallback = handler
  }

  close(): void {
    this.#clientSideTasks?.close()
  }

  /** Responds to a request. */
  async answer(exchange: Exchange): Promise<void> {
    const { method, params = {} } = exchange.request
    const revision = this.#options.revision()
    if (revision?.multiRoundTrip) return ignore(exchange)
    // The time that a user takes to respond must not time out the call that needs the response.
    const resume = this.#options.raw ? () => {} : this.#options.pauseTimeouts(exchange.link)
    // A cancelled request must not pause anything, even if its handler ignores the signal.
    exchange.onEnd(resume)
    try {
      exchange.reply(await this.#reply(exchange, method, params, revision))
    } catch (error) {
      exchange.fail(this.#toErrorBody(error))
    } finally {
      resume()
      exchange.handled()
    }
  }

  /**
   * Responds to a request for input that came in a result.
   * @param calledMethod The method that the result belongs to.
   */
  answerInput(calledMethod: string, method: string, params: Params, signal: AbortSignal): Promise<ResultObject> {
    if (this.#handlers.has(method) || this.#fallback) return this.#respond(method, params, { method, signal })
    throw new McpError(
      'invalid-response',
      `${calledMethod}: the server requests ${JSON.stringify(method.slice(0, 100))}, which this client did not declare`,
    )
  }

  async #reply(
    exchange: Exchange,
    method: string,
    params: Params,
    revision: Revision | undefined,
  ): Promise<ResultObject> {
    if (this.#options.raw) return this.#respond(method, params, requestInfo(exchange))
    checkAllowed(method, params, revision)
    const tasks = revision?.lacks('tasks/result') === false ? this.#clientSideTasks : undefined
    if (tasks?.accepts(method, params)) {
      return tasks.create(method, params, exchange.link, () => this.#options.pauseTimeouts(exchange.link))
    }
    const result = await this.#respond(method, params, requestInfo(exchange))
    return answerRelated(method, params, revision?.toResult(method, result) ?? result)
  }

  async #respond(method: string, params: Params, request: ServedRequest): Promise<ResultObject> {
    const handler = this.#handlers.get(method) ?? this.#fallback
    if (!handler) throw methodNotFound(method)
    if (!this.#options.raw) checkParams(method, params)
    return (await handler(params, request)) as ResultObject
  }

  /** Internal errors are reported to the program and hidden from the server. */
  #toErrorBody(error: unknown): RpcErrorBody {
    if (error instanceof ProtocolError) return error.toBody()
    this.#options.onError(error)
    return { code: ErrorCode.InternalError, message: 'Internal error' }
  }
}

/** Servers of 2026-07-28 must not send requests, and clients must not respond to them. */
function ignore(exchange: Exchange): void {
  warnOnce(
    'server-request',
    `The server sent the request ${JSON.stringify(exchange.request.method.slice(0, 100))}, which its revision does not allow. The request is ignored.`,
  )
  exchange.cancel('Requests from servers are not part of this revision')
  exchange.handled()
}

/** Allows only ping before the handshake has completed, and only methods of the revision (2025-11-25 lifecycle). */
function checkAllowed(method: string, params: Params, revision: Revision | undefined): void {
  if (method === 'ping') return
  if (!revision || revision.lacks(method)) throw methodNotFound(method)
  const isUnknownMode = method === 'elicitation/create' && params.mode === 'url' && !revision.asks.includes('url')
  if (isUnknownMode) throw new ProtocolError(ErrorCode.InvalidParams, `${revision.id} does not support URL elicitation`)
}

/** The task of the server that a request belongs to. */
function relatedTaskOf({ _meta }: Params): unknown {
  return isObject(_meta) ? _meta[metaKeys.relatedTask] : undefined
}

/** Every message of a task names the task, except the answers to requests about tasks (2025-11-25 tasks, related task). */
function answerRelated(method: string, params: Params, result: ResultObject): ResultObject {
  const related = relatedTaskOf(params)
  return related === undefined || method.startsWith('tasks/') ? result : withRelatedTask(result, related)
}

/** The progress of a request belongs to the same task as the request. */
function callOf(exchange: Exchange, params: Params): ProgressCall {
  const related = relatedTaskOf(params)
  if (related === undefined) return exchange
  return {
    get ended() {
      return exchange.ended
    },
    get signal() {
      return exchange.signal
    },
    onEnd: (callback) => exchange.onEnd(callback),
    notify: (method, params = {}) => exchange.notify(method, withRelatedTask(params, related)),
  }
}

function requestInfo(exchange: Exchange): IncomingRequest {
  const { id, method } = exchange.request
  return {
    id,
    method,
    exchange,
    get signal() {
      return exchange.signal
    },
  }
}
