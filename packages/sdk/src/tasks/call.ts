import type { Call, CallLink, TaskControl } from '../era/call.ts'
import { CapabilityError, McpError } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { Params, ResultObject, RpcErrorBody, RpcRequest } from '../jsonrpc/message.ts'
import type { HttpRequest } from '../jsonrpc/transport.ts'
import type { KeptRequest } from './task.ts'

const maxRefused = 100

/** How a run ends without its handler. */
export class Interrupted {
  /** Nobody wants the result; somebody else makes it; or it failed. */
  readonly how: 'cancelled' | 'handed-back' | RpcErrorBody

  constructor(how: Interrupted['how']) {
    this.how = how
  }
}

/** The call of a run: what its handler sees in the place of a request that somebody waits for. */
export class TaskCall implements Call {
  readonly request: RpcRequest
  readonly stream: Call['stream']
  readonly link: CallLink
  task: TaskControl | undefined
  readonly interrupted: Promise<Interrupted>
  readonly #controller = new AbortController()
  readonly #onEnd: (() => void)[] = []
  /** While it is still answered by the request itself. */
  #exchange: Exchange | undefined
  #tell: ((method: string, params?: Params) => void) | undefined
  #interrupt: (interrupted: Interrupted) => void = () => {}
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

  /** @param again What lets the handler get past what earlier runs have seen. */
  static ofTask({ request, http, peer }: KeptRequest, again: Params, sessionId: string | undefined): TaskCall {
    const params = { ...request.params, ...again }
    const stream = http && { request: new KeptHttpRequest(http) }
    return new TaskCall({ ...request, params }, stream, { sessionId, ...peer })
  }

  /** For a request that may become a task. */
  static ofRequest(exchange: Exchange): TaskCall {
    const call = new TaskCall(exchange.request, exchange.stream, exchange.link.transport)
    call.#exchange = exchange
    exchange.signal.addEventListener('abort', () => {
      if (call.#exchange) call.interrupt('cancelled', exchange.signal.reason)
    })
    return call
  }

  /**
   * Nobody waits for the request; from now on it is the task that goes on.
   * @param tell Sends notifications that belong to it, where there are any.
   */
  detach(task: TaskControl, tell?: (method: string, params?: Params) => void): void {
    this.#exchange = undefined
    this.#tell = tell
    this.task = task
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get ended(): boolean {
    return this.#ended || (this.#exchange?.ended ?? false)
  }

  notify(method: string, params?: Params): void {
    if (this.#exchange) this.#exchange.notify(method, params)
    else if (!this.#ended) this.#tell?.(method, params)
  }

  ask(method: string): Promise<ResultObject> {
    return Promise.reject(new CapabilityError(method, `${method}: a task asks by questions that wait in its record`))
  }

  refuseLate(method: string): Promise<never> {
    if (++this.#refused > maxRefused) return new Promise(() => {})
    return Promise.reject(new McpError('cancelled', `${method} was not asked: the task is over`))
  }

  fail(error: RpcErrorBody): void {
    this.#interrupt(new Interrupted(error))
  }

  onEnd(callback: () => void): void {
    if (this.#ended) callback()
    else this.#onEnd.push(callback)
  }

  /** Tells the handler to stop, and waits for it no longer. */
  interrupt(how: 'cancelled' | 'handed-back', reason: unknown): void {
    this.#interrupt(new Interrupted(how))
    this.#controller.abort(reason)
  }

  end(): void {
    if (this.#ended) return
    this.#ended = true
    for (const callback of this.#onEnd) callback()
  }
}

/** What is known of the HTTP request, long after it was answered. */
class KeptHttpRequest implements HttpRequest {
  readonly url: string
  readonly principal: HttpRequest['principal']
  readonly auth: HttpRequest['auth']
  readonly headers = {}

  constructor({ url, principal, auth }: NonNullable<KeptRequest['http']>) {
    this.url = url
    this.principal = principal
    this.auth = auth
  }

  header(): undefined {
    return undefined
  }
}
