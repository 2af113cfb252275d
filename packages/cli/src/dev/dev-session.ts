import type { CloseDetail, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse } from 'tenon'
import { describeExit, type Failure, failureResponse, interruptedResponse } from './failure.ts'
import {
  acknowledgeListChanges,
  changesFor,
  changesForListener,
  declareListChanges,
  subscriptionOf,
} from './list-changes.ts'
import { errorResponse, isNotification, isRequest, isResponse } from './messages.ts'
import { type OpenRequest, OpenRequests } from './open-requests.ts'
import { Questions } from './questions.ts'
import { ReplaceableServer } from './replaceable-server.ts'
import type { RequestLog } from './request-log.ts'
import { SafeRequests } from './safe-requests.ts'
import type { Program, ServerProcess } from './server-process.ts'
import { SessionMemory } from './session-memory.ts'

/** Options of `DevSession`. */
export interface DevSessionOptions {
  readonly program: Program
  readonly log: RequestLog
  /**
   * Sends a message to the client.
   * @param related The request that it belongs to, for transports with a stream per request.
   */
  send(message: unknown, related?: RequestId): void
  /** Called before a message of the client is passed on. May call `hold`. */
  check(): void
  /** Receives the stderr of the server. */
  stderr(text: string): void
}

type Open = OpenRequest<ServerProcess>

/**
 * One client, and the server process behind it. When the process is replaced, the client keeps its session: the new process is
 * told what the client said before, and requests wait until it is ready. Messages are passed on as they are.
 */
export class DevSession {
  readonly #options: DevSessionOptions
  readonly #server: ReplaceableServer
  readonly #memory = new SessionMemory()
  readonly #safe = new SafeRequests()
  readonly #open = new OpenRequests<ServerProcess>()
  readonly #questions = new Questions<ServerProcess>()
  /** Collects what the client gets of a batch that the server has sent. */
  #batch: unknown[] | undefined
  /** Notifications that wait for the next process. */
  #held: RpcNotification[] = []
  /** The process that gets the messages of the client; undefined while there is none, or none that is ready. */
  #ready: ServerProcess | undefined
  #failure: Failure | undefined
  /** A file changed, and the process was not started again yet. */
  #isChanging = false
  /** Why the process was started again. */
  #cause = ''
  /** Listeners that the client knows to be open. It must not hear so again from the next process. */
  readonly #acknowledged = new Set<RequestId>()

  constructor(options: DevSessionOptions) {
    this.#options = options
    const { program, log, stderr } = options
    this.#server = new ReplaceableServer(program, {
      message: (server, message) => this.#fromServer(server, message),
      stray: (problem) => log.warn(`stdout of the server: ${problem}`),
      stderr,
      starting: () => {
        this.#isChanging = false
      },
      started: (server, notWanted) => this.#started(server, notWanted),
      startFailed: (server, error) => this.#startFailed(server, error),
      stopping: (server) => this.#parkListeners(server),
      stopped: (server) => this.#stopped(server),
      exited: (server, exit) => this.#exited(server, exit),
    })
  }

  /** Starts the first process. */
  start(): void {
    this.#replace()
  }

  /** Lets requests wait from now on, because a file changed. `restart` follows. */
  hold(): void {
    this.#ready = undefined
    this.#failure = undefined
    this.#isChanging = true
  }

  /** Replaces the process. Called during a restart, it begins again. */
  restart(changed: string): void {
    this.#cause = `${changed} changed`
    this.#replace()
  }

  /** Receives a message of the client, or a batch. */
  receive(message: unknown): void {
    this.#options.check()
    const members: unknown[] = Array.isArray(message) ? message : [message]
    const passed = members.flatMap((member) => this.#fromClient(member) ?? [])
    if (passed.length > 0) this.#ready?.send(Array.isArray(message) ? passed : passed[0])
  }

  /** Resolves when all requests of the client have their responses. */
  allAnswered(): Promise<void> {
    return this.#open.allAnswered()
  }

  /** Stops the process, and waits until it is gone. */
  async close(): Promise<void> {
    this.#ready = undefined
    await this.#server.close()
  }

  /** Returns what the server gets now. Everything else waits, is answered here, or is dropped. */
  #fromClient(message: unknown): unknown {
    if (isRequest(message)) return this.#fromClientRequest(message)
    if (isResponse(message)) return this.#fromClientAnswer(message)
    if (isNotification(message)) return this.#fromClientNotification(message)
    // The server finds out itself what is wrong with the message.
    return this.#ready && message
  }

  #fromClientRequest(request: RpcRequest): RpcRequest | undefined {
    if (!this.#ready && request.method === 'ping')
      return this.#answer(request, { jsonrpc: '2.0', id: request.id, result: {} })
    if (this.#failure && !this.#failure.isRetried)
      return this.#answer(request, failureResponse(request.id, this.#failure))
    this.#open.add(request, this.#ready)
    if (this.#ready) return request
    if (this.#failure) {
      this.#cause = 'it had exited'
      this.#replace()
    }
    return undefined
  }

  /** An answer goes to the process that asked. The next one would take it for an answer to a question of its own. */
  #fromClientAnswer(response: RpcResponse & { id: RequestId }): void {
    const answered = this.#questions.answer(response)
    if (!answered || answered.server !== this.#server.current) return
    this.#options.log.asked(answered.request, answered.since, response)
    answered.server.send(answered.answer)
  }

  #fromClientNotification(notification: RpcNotification): RpcNotification | undefined {
    const { method, params } = notification
    this.#memory.hear(notification)
    if (method === 'notifications/progress') {
      const progress = this.#questions.progress(notification)
      return void progress?.server.send(progress.notification)
    }
    if (method === 'notifications/cancelled') {
      const open = this.#open.get(params?.requestId)
      if (open) this.#cancelled(open)
      return void open?.server?.send(notification)
    }
    if (this.#ready) return notification
    // A new process is told by `#restore` that the client is initialized.
    const isReplayed = method === 'notifications/initialized' && this.#memory.greeting !== undefined
    if (!isReplayed && !this.#failure) this.#held.push(notification)
    return undefined
  }

  #cancelled(open: Open): void {
    this.#forget(open)
    this.#options.log.cancelled(open.request, open.since)
  }

  /** Answers a request without the server. */
  #answer(request: RpcRequest, response: RpcMessage, since = performance.now()): undefined {
    this.#options.log.answered(request, since, response)
    this.#send(response, request.id)
    return undefined
  }

  #fromServer(server: ServerProcess, message: unknown): void {
    if (server !== this.#server.current && server !== this.#server.stopping) return
    if (Array.isArray(message)) this.#fromServerBatch(server, message)
    else if (isResponse(message)) this.#fromServerAnswer(server, message)
    else if (isRequest(message)) this.#fromServerRequest(server, message)
    else if (isNotification(message)) this.#fromServerNotification(server, message)
    else if (server === this.#server.current) this.#send(message)
  }

  #fromServerBatch(server: ServerProcess, members: readonly unknown[]): void {
    const batch: unknown[] = []
    this.#batch = batch
    for (const member of members) this.#fromServer(server, member)
    this.#batch = undefined
    if (batch.length > 0) this.#send(batch)
  }

  #send(message: unknown, related?: RequestId): void {
    if (this.#batch) this.#batch.push(message)
    else this.#options.send(message, related)
  }

  #fromServerAnswer(server: ServerProcess, response: RpcResponse & { id: RequestId }): void {
    const open = this.#open.get(response.id)
    // The client shall see what the server does wrong, such as a second response.
    if (!open && server === this.#ready) return this.#send(response)
    if (open?.server !== server) return
    this.#forget(open)
    const { request, since } = open
    const { result } = response
    if (result) {
      this.#memory.learn(request, result)
      if (request.method === 'tools/list') this.#safe.learnTools(result)
    }
    this.#options.log.answered(request, since, response)
    const shown = result ? { ...response, result: declareListChanges(request.method, result) } : response
    this.#send(shown, request.id)
  }

  #fromServerRequest(server: ServerProcess, request: RpcRequest): void {
    if (server === this.#server.stopping)
      return server.send(errorResponse(request.id, 'The server is being restarted, so the client is not asked.'))
    this.#send(this.#questions.ask(server, request), this.#open.newest?.id)
  }

  #fromServerNotification(server: ServerProcess, notification: RpcNotification): void {
    const { method, params } = notification
    if (method === 'notifications/progress')
      return this.#send(notification, this.#open.withToken(params?.progressToken)?.id)
    if (method === 'notifications/message') return this.#send(notification, this.#open.newest?.id)
    // A process that is being stopped ends its subscriptions, which the next one continues.
    if (server === this.#server.stopping) return
    const subscription = this.#open.get(subscriptionOf(notification))
    if (method === 'notifications/subscriptions/acknowledged' && subscription)
      return this.#acknowledge(notification, subscription)
    const cancelled = method === 'notifications/cancelled' ? this.#questions.cancel(server, notification) : undefined
    this.#send(cancelled ?? notification, subscription?.request.id)
  }

  #acknowledge(notification: RpcNotification, { request }: Open): void {
    if (this.#acknowledged.has(request.id)) return
    this.#acknowledged.add(request.id)
    this.#send(acknowledgeListChanges(notification, request, this.#memory), request.id)
  }

  #replace(): void {
    this.hold()
    this.#server.replace()
  }

  /** Calls that did not finish by now are repeated, or answered with an error. */
  #stopped(server: ServerProcess): void {
    this.#release(server)
    this.#dropQuestions(server)
  }

  /** A process is gone, and another one follows. */
  #release(server: ServerProcess): void {
    for (const open of this.#open.of(server)) {
      open.server = undefined
      if (!this.#safe.includes(open.request)) this.#finish(open, interruptedResponse(open.request, this.#cause))
    }
  }

  /** The client goes on listening, whichever process there is. */
  #parkListeners(server: ServerProcess): void {
    for (const open of this.#open.of(server)) {
      if (open.request.method === 'subscriptions/listen') open.server = undefined
    }
  }

  #dropQuestions(server: ServerProcess): void {
    for (const cancelled of this.#questions.drop(server, 'The process of the server has ended')) this.#send(cancelled)
  }

  #finish(open: Open, response: RpcMessage): void {
    this.#forget(open)
    this.#answer(open.request, response, open.since)
  }

  #forget(open: Open): void {
    this.#open.delete(open)
    this.#acknowledged.delete(open.request.id)
  }

  /** Resolves when a new process is ready, has failed, or is not wanted any more. */
  async #started(server: ServerProcess, notWanted: Promise<undefined>): Promise<void> {
    const startedAt = performance.now()
    const { greeting } = this.#memory
    const response = greeting && (await Promise.race([server.request(greeting), notWanted]))
    const isGreeted = !greeting || response !== undefined
    if (!isGreeted || server !== this.#server.current || this.#isChanging) return
    if (greeting?.method === 'initialize' && !this.#isAccepted(server, response)) return
    this.#restore(server)
    const ms = Math.round(performance.now() - startedAt)
    if (greeting) this.#options.log.note(`${this.#cause}, restarted in ${ms} ms`)
  }

  #startFailed(server: ServerProcess, error: unknown): void {
    const what = `${error instanceof Error ? error.message : error}.`
    this.#fail(server, { what, stderr: [], isRetried: false })
  }

  /** A new version may refuse the client, or answer in another revision. */
  #isAccepted(server: ServerProcess, response: RpcMessage | undefined): boolean {
    const { log, program } = this.#options
    if (!isResponse(response) || !response.result) {
      const reason = isResponse(response) ? response.error?.message : ''
      this.#fail(server, { what: `${program.label} rejected the client: ${reason}.`, stderr: [], isRetried: false })
      return false
    }
    const { protocolVersion } = response.result
    if (protocolVersion !== this.#memory.revision)
      log.warn(`revision ${protocolVersion} instead of ${this.#memory.revision}: reconnect the client`)
    this.#memory.learnCapabilities(response.result)
    return true
  }

  /** Tells a new process what the client said before, then sends it what has waited. */
  #restore(server: ServerProcess): void {
    const isFirst = this.#memory.greeting === undefined
    if (this.#memory.isInitialized) server.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    for (const request of this.#memory.requests) this.#repeat(server, request)
    this.#ready = server
    this.#failure = undefined
    const { waiting } = this.#open
    for (const open of waiting) {
      open.server = server
      server.send(open.request)
    }
    for (const notification of this.#held.splice(0)) server.send(notification)
    if (!isFirst) this.#announce()
  }

  #repeat(server: ServerProcess, request: RpcRequest): void {
    void server.request(request).then((response) => {
      if (isResponse(response) && response.error)
        this.#options.log.warn(`${request.method} could not be repeated: ${response.error.message}`)
    })
  }

  /** Tells the client that everything may have changed. */
  #announce(): void {
    for (const notification of changesFor(this.#memory)) this.#send(notification)
    for (const { request } of this.#open.of(this.#ready)) {
      if (request.method !== 'subscriptions/listen') continue
      for (const notification of changesForListener(request)) this.#send(notification, request.id)
    }
  }

  #exited(server: ServerProcess, exit: CloseDetail): void {
    // If it could not even be loaded, it would only fail again.
    const isRetried = server === this.#ready && server.hasSpoken
    this.#ready = undefined
    this.#parkListeners(server)
    this.#dropQuestions(server)
    this.#fail(server, describeExit(this.#options.program.label, exit, isRetried))
  }

  /** There is no process until the next change, or the next request. */
  #fail(server: ServerProcess, failure: Failure): void {
    this.#options.log.warn(failure.what)
    if (this.#isChanging) return this.#release(server)
    this.#failure = failure
    this.#held = []
    for (const open of [...this.#open.waiting, ...this.#open.of(server)]) {
      if (open.request.method !== 'subscriptions/listen') this.#finish(open, failureResponse(open.request.id, failure))
    }
  }
}
