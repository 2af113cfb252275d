import { type Change, Changes, type ListName } from '../era/changes.ts'
import { HandshakeServer } from '../era/handshake/server.ts'
import type { Definition, ServerEra } from '../era/server.ts'
import { StatelessServer } from '../era/stateless/server.ts'
import { SubscribedUris } from '../era/subscribed-uris.ts'
import { handlersOf, Link } from '../jsonrpc/link.ts'
import type { Params, ResultObject, RpcNotification, RpcRequest } from '../jsonrpc/message.ts'
import type { Cancellation, Receiver } from '../jsonrpc/receiver.ts'
import type { ReplyStream, Transport } from '../jsonrpc/transport.ts'
import type { Result } from '../protocol/base.ts'
import type { Caller } from '../protocol/caller.ts'
import type { Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import { controlMethods } from '../protocol/control-methods.ts'
import { warnIfDeprecated } from '../protocol/deprecated.ts'
import type { Endpoint, RevisionFacts } from '../protocol/endpoint.ts'
import type { HttpRequest } from '../protocol/http-request.ts'
import { iconsProblem } from '../protocol/icons.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import { checkExtensions } from '../protocol/meta-key.ts'
import type { ClientRequests } from '../protocol/methods.ts'
import { chooseRevisions } from '../protocol/revisions/index.ts'
import { requestStreamOf, type ServerTransport } from '../protocol/transport.ts'
import type { Outcome } from '../replay/conversation.ts'
import { DenseSet } from '../util/dense-set.ts'
import { Sealer } from '../util/sealer.ts'
import type { TokenBucket } from '../util/token-bucket.ts'
import { createCallLimits } from './call-limits.ts'
import { ClientPings } from './client-pings.ts'
import { Context } from './context.ts'
import { Dispatch, type MethodEntry, type Middleware } from './dispatch.ts'
import { createLogBucket, type LogFilter, takeLog } from './log.ts'
import {
  checkCacheByMethod,
  type Sanitize,
  type ServerOptions,
  toLogFilter,
  toQuestionLimits,
  toSanitizer,
  toStateKeys,
} from './options.ts'
import { ServerTasks } from './server-tasks.ts'
import type { TaskRuntime, TaskServer } from './task-runtime.ts'

type ParamsOf<M extends string> = M extends keyof ClientRequests ? ClientRequests[M]['params'] : Params
type ResultOf<M extends string> = M extends keyof ClientRequests ? ClientRequests[M]['result'] : Result

/**
 * The bare protocol: you set a handler for each method. One object is a definition that you can connect to any number of clients
 * of any revision at the same time. Most servers use `McpServer`, which is built on this.
 */
export class Server {
  readonly info: Implementation
  /** @internal Cleans text for clients. */
  readonly sanitize: Sanitize | undefined
  readonly #options: ServerOptions
  readonly #definition: Definition
  readonly #handshake: HandshakeServer
  readonly #dispatch: Dispatch
  readonly #receiver: Receiver
  readonly #links = new DenseSet<Link>()
  readonly #filterLog: LogFilter | undefined
  #onClosed: ((link: Link) => void) | undefined
  readonly #notificationHandlers = new Map<string, NotificationHandler>()
  #fallbackNotificationHandler: FallbackNotificationHandler | undefined
  #registered: ServerCapabilities = {}
  readonly #parents = new Set<Server>()
  readonly #callLimits: ReturnType<typeof createCallLimits>
  readonly #pings: ClientPings | undefined
  readonly #tasks = new ServerTasks((error) => this.reportError(error))
  #logBucket: TokenBucket | undefined
  /** For messages to one session: a session with many must not use up those of the others. */
  readonly #sessionLogs = new WeakMap<Link, TokenBucket>()
  #endpoint: Endpoint | undefined
  /** Cached until the next registration, because every request without a session needs them. */
  #capabilities: ServerCapabilities | undefined
  #declare: (() => ServerCapabilities) | undefined

  constructor(info: Implementation, options: ServerOptions = {}) {
    if (typeof info?.name !== 'string' || typeof info.version !== 'string') {
      throw new TypeError("A server requires a name and a version: { name: 'demo', version: '1.0.0' }")
    }
    const iconProblem = iconsProblem(info.icons)
    if (iconProblem !== undefined) throw new TypeError(`Server "${info.name}": ${iconProblem}`)
    checkExtensions(options.capabilities?.extensions)
    this.info = info
    this.#options = options
    this.sanitize = toSanitizer(options, (error) => this.reportError(error))
    this.#callLimits = createCallLimits(options.limits, (error) => this.reportError(error))
    if (options.ping !== false) this.#pings = new ClientPings(options.ping, (error) => this.reportError(error))
    this.#definition = {
      info,
      instructions: options.instructions,
      revisions: chooseRevisions(options.revisions, options.results),
      changes: new Changes(options.listChangedDelayMs ?? 10),
      subscribedUris: new SubscribedUris(),
      acceptUris: undefined,
      cacheHintsOf: checkCacheByMethod(options),
      isLenient: options.lifecycle === 'lenient',
      sealer: new Sealer(toStateKeys(options)),
      questions: toQuestionLimits(options, (error) => this.reportError(error)),
      tasks: undefined,
      requiredScopesOf: () => undefined,
      isRepeatable: () => false,
      capabilities: () => {
        this.#capabilities ??= this.getCapabilities()
        return this.#capabilities
      },
    }
    warnIfDeprecated(this.#definition.revisions, { logging: options.capabilities?.logging })
    this.#handshake = new HandshakeServer(this.#definition)
    const stateless = new StatelessServer(this.#definition)
    const eras = { handshake: this.#handshake, stateless }
    const { acceptSubscriptions } = options
    const filterLog = toLogFilter(options, this.sanitize)
    this.#filterLog = filterLog
    this.#definition.acceptUris =
      acceptSubscriptions &&
      ((uris, exchange, caller) =>
        acceptSubscriptions(uris, new Context(exchange, caller, stateless.converse(exchange, caller), filterLog)))
    const each: ServerEra[] = Object.values(eras)
    this.#dispatch = new Dispatch(eras, (error) => this.reportError(error))
    this.#dispatch.filterLog = filterLog
    this.#dispatch.sanitize = this.sanitize
    this.#dispatch.addsDetails = options.results !== 'as-is'
    this.#dispatch.mapError = options.mapError
    this.#dispatch.handshakeOnly = options.handshakeOnly
    this.#receiver = {
      methods: controlMethods,
      request: (exchange) => this.#dispatch.answer(exchange),
      notification: (notification, link, stream) => {
        for (const era of each) era.notified(notification, link)
        this.#notified(notification, link, stream)
      },
      drain: (link) => {
        for (const era of each) era.drain(link)
      },
      ...(options.onUnmatched && { unmatched: options.onUnmatched }),
      cancelled: (cancellation) => this.#reportCancelled(cancellation),
      closed: (link) => {
        this.#links.delete(link)
        this.#pings?.stop(link)
        for (const era of each) era.closed(link)
        this.#onClosed?.(link)
        this.#options.onClosed?.(link)
      },
      unsendable: (request, result, error) => this.#dispatch.unsendable(request, result, error),
      error: (error) => this.reportError(error),
    }
  }

  /** @internal Lets calls run as tasks. */
  useTasks(runtime: TaskRuntime, taskConfig: TaskServer['taskConfig']): void {
    this.#tasks.runtime = runtime
    this.#definition.tasks = runtime.feed
    runtime.attach({
      questions: this.#definition.questions,
      taskConfig,
      revision: (id) => this.#definition.revisions.find((revision) => revision.id === id),
      serve: (call, conversation, caller) => this.#dispatch.serveTask(call, conversation, caller),
      errorOf: (error) => this.#dispatch.errorOf(error),
      reportError: (error) => this.reportError(error),
    })
    const limited: MethodEntry['limited'] = (call) => runtime.limited(call)
    for (const [method, handler] of Object.entries(runtime.methods)) this.setMethod(method, { handler, limited })
  }

  /** @internal Lets tasks run until the returned function is called. */
  hold(): () => Promise<void> {
    return this.#tasks.hold()
  }

  /** @internal Follows the subscriptions of clients to resources. */
  followSubscriptions(follow: NonNullable<SubscribedUris['follow']>): void {
    this.#definition.subscribedUris.follow = follow
  }

  /** @internal Called when the connection or session of a client has ended. */
  onClosed(listener: (link: Link) => void): void {
    this.#onClosed = listener
  }

  /** @internal Sends a log message that belongs to no request to one session. */
  sendLogTo(link: unknown, message: LoggingMessageParams): void {
    if (!(link instanceof Link)) return
    const bucket = this.#sessionLogs.get(link) ?? createLogBucket()
    this.#sessionLogs.set(link, bucket)
    if (!takeLog(bucket)) return
    const allowed = this.#filterLog ? this.#filterLog(message, undefined) : message
    if (allowed) this.#handshake.log(link, allowed)
  }

  /** @internal */
  get changes(): Changes {
    return this.#definition.changes
  }

  /** @internal */
  get sealer(): Sealer {
    return this.#definition.sealer
  }

  /** @internal For transports that carry many clients, such as HTTP. */
  get endpoint(): Endpoint {
    this.#endpoint ??= {
      revisions: this.#definition.revisions,
      attach: (transport) => this.#attach(transport),
      revisionOf: (link): RevisionFacts | undefined => this.#handshake.revisionOf(link as Link),
      handshakeOnly: () => this.#options.handshakeOnly?.() ?? false,
      headersProblem: (method, ...call) => this.#dispatch.methods.get(method)?.headersProblem?.(...call),
      listening: (link, hangUp) => (hangUp ? this.#startPings(link as Link, hangUp) : this.#pings?.stop(link as Link)),
      reportError: (error) => this.reportError(error),
      hold: () => this.hold(),
      saveSession: (link, message) => this.#handshake.save(link as Link, message),
      beginChange: (link, message) => this.#handshake.beginChange(link as Link, message),
      restoreSession: (link, state, recent) =>
        this.#handshake.restore(link as Link, state, recent as Change[] | undefined),
      tellSession: (link, change) => this.#handshake.notifyChange(link as Link, change as Change | undefined),
      changes: {
        on: (listener) => this.changes.on((change) => listener(change, 'audience' in change)),
        tell: (change) => this.changes.emit(change as Change),
      },
    }
    return this.#endpoint
  }

  /** Connects one client. Call it any number of times: clients are independent of each other. */
  async connect(transport: Transport): Promise<Link> {
    this.#tasks.start()
    const traits: ServerTransport = transport
    traits.serves?.(this.endpoint)
    const link = this.#attach(transport)
    const { onclose, ...before } = handlersOf(transport)
    try {
      // A transport with many peers calls `onmessage` of the program itself.
      await link.open(traits.serves && !traits.hasOwnPeer ? { onclose } : { onclose, ...before })
      const isPinged = !traits.serves && (this.#options.ping || traits.diesSilently)
      if (isPinged && !link.closed) this.#startPings(link, () => void link.close(0))
    } catch (error) {
      this.#links.delete(link)
      throw error
    }
    return link
  }

  #startPings(link: Link, hangUp: () => void): void {
    this.#pings?.start(link, () => !!this.#handshake.revisionOf(link), hangUp)
  }

  #reportCancelled(cancellation: Cancellation): void {
    try {
      this.#options.onCancelled?.(cancellation)
    } catch (error) {
      this.reportError(error)
    }
  }

  #attach(transport: Transport): Link {
    const link = new Link(transport, this.#receiver, this.#options.limits)
    this.#links.add(link)
    return link
  }

  /** Waits for running requests, then closes all connections. */
  async close(): Promise<void> {
    await Promise.all(this.#links.all().map((link) => link.close()))
    await this.#tasks.stop()
  }

  /**
   * Sets the handler of a method, which may be a custom one. Replaces an earlier handler.
   *
   * The handler of `initialize` or `ping` makes the response in place of the library. The library still opens the session, with
   * the revision and the capabilities of that response. For `logging/setLevel`, `resources/subscribe` and
   * `resources/unsubscribe` the handler runs in addition to the library, unless you pass `replace: true`.
   */
  setRequestHandler<M extends (keyof ClientRequests & string) | (string & {})>(
    method: M,
    handler: (params: ParamsOf<M>, ctx: Context) => ResultOf<M> | PromiseLike<ResultOf<M>>,
    options: RequestHandlerOptions = {},
  ): void {
    if (reservedMethods.has(method)) throw new TypeError(`"${method}" is handled by the library and cannot be replaced`)
    this.setMethod(method, {
      handler: handler as unknown as MethodEntry['handler'],
      replaces: options.replace,
      checksParams: options.checksParams,
    })
  }

  /** Removes the handler of a method. The method then does not exist, unless the library serves it itself. */
  removeRequestHandler(method: string): void {
    this.#dispatch.methods.delete(method)
    this.#invalidateCaches()
  }

  /** Sets the handler of requests for methods without a handler. Undefined: they are answered with "Method not found". */
  setFallbackRequestHandler(
    handler: ((request: RpcRequest, ctx: Context) => ResultObject | PromiseLike<ResultObject>) | undefined,
    { checksParams }: Pick<RequestHandlerOptions, 'checksParams'> = {},
  ): void {
    this.#dispatch.fallback = handler && {
      handler: (_params, ctx) => handler(ctx.call.request, ctx),
      checksParams,
    }
    this.#invalidateCaches()
  }

  /** Sets the handler of a notification from clients, for example `notifications/roots/list_changed`. */
  setNotificationHandler(method: string, handler: NotificationHandler): void {
    this.#notificationHandlers.set(method, handler)
  }

  /** Removes the handler of a notification. */
  removeNotificationHandler(method: string): void {
    this.#notificationHandlers.delete(method)
  }

  /** Sets the handler of notifications without a handler. Undefined: they are ignored. */
  setFallbackNotificationHandler(handler: FallbackNotificationHandler | undefined): void {
    this.#fallbackNotificationHandler = handler
  }

  /** The connected clients. Send requests and notifications to one of them with `link.request` and `link.notify`. */
  get links(): readonly Link[] {
    return this.#links.all()
  }

  /**
   * Returns the client at the other end of a link: its revision, name, capabilities and log level. Undefined before
   * `initialize`, and on revisions without a handshake, where `ctx.caller` of each request has these facts.
   */
  callerOf(link: Link): Caller | undefined {
    return this.#handshake.callerOf(link)
  }

  /** Declares capabilities in addition to those declared before. Call it before clients connect. */
  registerCapabilities(capabilities: ServerCapabilities): void {
    checkExtensions(capabilities.extensions)
    this.#registered = mergeCapabilities(this.#registered, capabilities)
    this.#invalidateCaches()
  }

  /** Adds middleware around every request to a feature or custom method. The first one added is the outermost. */
  use(middleware: Middleware): this {
    if (typeof middleware !== 'function') throw new TypeError('use() requires a function: (request, next) => next()')
    this.#dispatch.middleware.push(middleware)
    return this
  }

  /** Returns the declared capabilities. */
  getCapabilities(): ServerCapabilities {
    const declared = mergeCapabilities(this.#declare?.() ?? {}, this.#options.capabilities ?? {})
    return mergeCapabilities(declared, this.#registered)
  }

  /**
   * Notifies the subscribers of a resource that its contents changed. `partOf` is a resource that contains it, such as a
   * folder, whose subscribers are notified too.
   */
  sendResourceUpdated(resource: string | { uri: string; partOf?: string | undefined }): void {
    if (typeof resource === 'string') this.changes.updated(resource)
    else this.changes.updated(resource.uri, resource.partOf)
  }

  /** Notifies clients that the list of tools changed. */
  sendToolListChanged(): void {
    this.listChanged('tools')
  }

  /** Notifies clients that the list of prompts changed. */
  sendPromptListChanged(): void {
    this.listChanged('prompts')
  }

  /** Notifies clients that the list of resources changed. */
  sendResourceListChanged(): void {
    this.listChanged('resources')
  }

  /** Sends a log message to all sessions. 2026-07-28 has no sessions: use `ctx.log` in a handler instead. */
  sendLoggingMessage(message: LoggingMessageParams): void {
    this.#logBucket ??= createLogBucket()
    if (!takeLog(this.#logBucket)) return
    const allowed = this.#filterLog ? this.#filterLog(message, undefined) : message
    if (allowed) for (const link of this.#links.all()) this.#handshake.log(link, allowed)
  }

  /** @internal */
  setMethod(method: string, entry: MethodEntry): void {
    this.#dispatch.methods.set(method, { ...entry, limit: this.#callLimits.get(method) })
    this.#invalidateCaches()
  }

  /** @internal */
  setDeclared(declare: () => ServerCapabilities): void {
    this.#declare = declare
    this.#invalidateCaches()
  }

  #invalidateCaches(): void {
    this.#dispatch.invalidateCache()
    this.#capabilities = undefined
  }

  /** @internal Sets which scopes a caller needs to subscribe to a URI and to receive its updates. */
  setResourceScopes(requiredScopesOf: Definition['requiredScopesOf']): void {
    this.#definition.requiredScopesOf = requiredScopesOf
  }

  /** @internal Sets which tool calls can be repeated without a second effect. */
  setRepeatable(isRepeatable: Definition['isRepeatable']): void {
    this.#definition.isRepeatable = isRepeatable
  }

  /** @internal */
  listChanged(list: ListName): void {
    this.#invalidateCaches()
    this.changes.listChanged(list)
    for (const parent of this.#parents) parent.listChanged(list)
  }

  /** @internal Serves a request for the server that this one is mounted in. */
  delegate(method: string, params: Params, ctx: Context): Outcome {
    return this.#dispatch.delegate(method, params, ctx)
  }

  /** @internal Makes changes here visible as changes of the parent, in which this server is mounted. */
  addParent(parent: Server): void {
    this.#parents.add(parent)
    this.changes.on((change) => {
      if ('updated' in change) parent.changes.updated(change.updated, change.partOf)
    })
  }

  /** @internal */
  reportError(error: unknown): void {
    try {
      if (this.#options.onError) return this.#options.onError(error)
    } catch (failure) {
      console.error(`[tenon] ${this.info.name}: onError threw an error:`, failure)
    }
    console.error(`[tenon] ${this.info.name}:`, error)
  }

  #notified(notification: RpcNotification, link: Link, stream: ReplyStream | undefined): void {
    const { method, params = {} } = notification
    const handler = this.#notificationHandlers.get(method)
    const source = { link, request: requestStreamOf({ stream })?.request, stream }
    try {
      if (handler) handler(params, source)
      else this.#fallbackNotificationHandler?.(notification, source)
      if (method === 'notifications/initialized') this.#options.onInitialized?.(link)
    } catch (error) {
      this.reportError(error)
    }
  }
}

/** Where a notification came from. */
export interface NotificationSource {
  readonly link: Link
  /** The HTTP request that carried it; undefined on other transports. */
  readonly request: HttpRequest | undefined
  /** What the transport passed with the message. */
  readonly stream: ReplyStream | undefined
}

/** Handles a notification from a client. */
export type NotificationHandler = (params: Params, source: NotificationSource) => void

/** Handles notifications that have no handler. */
export type FallbackNotificationHandler = (notification: RpcNotification, source: NotificationSource) => void

/** Options of `setRequestHandler`. */
export interface RequestHandlerOptions {
  /** Serve a method that the library serves itself. Default: for these methods the handler runs in addition. */
  replace?: boolean | undefined
  /** Whether params of a method are checked against the protocol before the handler runs. Default: always. */
  checksParams?: ((method: string) => boolean) | undefined
}

function mergeCapabilities(base: ServerCapabilities, additional: ServerCapabilities): ServerCapabilities {
  const merged: Record<string, unknown> = { ...base }
  for (const [name, value] of Object.entries(additional)) merged[name] = { ...(merged[name] as object), ...value }
  return merged
}

/** Methods that the library implements itself. */
const reservedMethods: ReadonlySet<string> = new Set(['server/discover', 'subscriptions/listen'])
