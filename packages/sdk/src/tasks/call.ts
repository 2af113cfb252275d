import type { Call, CallLink, TaskControl } from '../era/call.ts'
import { CapabilityError, McpError } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { Params, ResultObject, RpcErrorBody, RpcRequest } from '../jsonrpc/message.ts'
import type { HttpRequest } from '../protocol/http-request.ts'
import { deferred } from '../util/deferred.ts'
import type { StoredRequest } from './task.ts'

const maxRefused = 100

/** Ends a run before its handler does. */
export class Interruption {
  /** The result is not wanted any more, another process continues the task, or the run failed. */
  readonly reason: 'cancelled' | 'requeued' | RpcErrorBody

  constructor(reason: Interruption['reason']) {
    this.reason = reason
  }
}

/** The call of one run of a task. The handler sees it in place of the request, which was answered long ago. */
export class TaskCall implements Call {
  readonly request: RpcRequest
  readonly stream: Call['stream']
  readonly link: CallLink
  task: TaskControl | undefined
  readonly interrupted: Promise<Interruption>
  readonly #wantsTask = deferred<void>()
  readonly #controller = new AbortController()
  readonly #onEnd: (() => void)[] = []
  /** Set while the client still waits for the response to the request. */
  #exchange: Exchange | undefined
  #notify: ((method: string, params?: Params) => void) | undefined
  #interrupt: (interruption: Interruption) => void = () => {}
  #ended = false
  #refused = 0

  private constructor(request: RpcRequest, stream: Call['stream'], transport: CallLink['transport']) {
    this.request = request
    this.stream = stream
    this.link = { transport, notify: () => {} }
    this.interrupted = new Promise((resolve) => {
      this.#interrupt = resolve
    })
  }

  /** @param replayParams Added to the params: the state and the answers of earlier runs. */
  static ofTask({ request, http, peer }: StoredRequest, replayParams: Params, sessionId: string | undefined): TaskCall {
    const params = { ...request.params, ...replayParams }
    const stream = http && { request: new StoredHttpRequest(http) }
    return new TaskCall({ ...request, params }, stream, { sessionId, ...peer })
  }

  /** For a request that may be promoted to a task. */
  static ofRequest(exchange: Exchange): TaskCall {
    const call = new TaskCall(exchange.request, exchange.stream, exchange.link.transport)
    call.#exchange = exchange
    exchange.signal.addEventListener('abort', () => {
      if (call.#exchange) call.interrupt('cancelled', exchange.signal.reason)
    })
    return call
  }

  /**
   * Continues as a task, independent of the request.
   * @param notify Sends notifications about the task. Undefined if its client gets none.
   */
  detach(task: TaskControl, notify?: (method: string, params?: Params) => void): void {
    this.#exchange = undefined
    this.#notify = notify
    this.task = task
  }

  becomeTask(): void {
    this.#wantsTask.resolve()
  }

  /** Resolves when the handler wants the call to be a task. */
  get wantsTask(): Promise<void> {
    return this.#wantsTask.promise
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get ended(): boolean {
    return this.#ended || (this.#exchange?.ended ?? false)
  }

  notify(method: string, params?: Params): void {
    if (this.#exchange) this.#exchange.notify(method, params)
    else if (!this.#ended) this.#notify?.(method, params)
  }

  ask(method: string): Promise<ResultObject> {
    return Promise.reject(new CapabilityError(method, `${method}: a task cannot send requests to the client`))
  }

  refuseLate(method: string): Promise<never> {
    if (++this.#refused > maxRefused) return new Promise(() => {})
    return Promise.reject(new McpError('cancelled', `${method} was not sent: the task has ended`))
  }

  fail(error: RpcErrorBody): void {
    this.#interrupt(new Interruption(error))
  }

  onEnd(callback: () => void): void {
    if (this.#ended) callback()
    else this.#onEnd.push(callback)
  }

  /** Ends the run without waiting for the handler, and aborts its signal. */
  interrupt(reason: 'cancelled' | 'requeued', abortReason: unknown): void {
    this.#interrupt(new Interruption(reason))
    this.#controller.abort(abortReason)
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    for (const callback of this.#onEnd) callback()
  }
}

/** The stored part of the HTTP request that created the task. */
class StoredHttpRequest implements HttpRequest {
  readonly url: string
  readonly principal: HttpRequest['principal']
  readonly auth: HttpRequest['auth']
  readonly headers = {}

  constructor({ url, principal, auth }: NonNullable<StoredRequest['http']>) {
    this.url = url
    this.principal = principal
    this.auth = auth
  }

  header(): undefined {
    return undefined
  }
}
