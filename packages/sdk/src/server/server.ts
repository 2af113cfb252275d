import { type Change, Changes, type ListName } from '../era/changes.ts'
import { HandshakeServer } from '../era/handshake/server.ts'
import type { Definition, QuestionLimits, ServerEra } from '../era/server.ts'
import { StatelessServer } from '../era/stateless/server.ts'
import { SubscribedUris } from '../era/subscribed-uris.ts'
import type { Endpoint, RevisionFacts } from '../jsonrpc/endpoint.ts'
import { Heartbeat, type PingOptions } from '../jsonrpc/heartbeat.ts'
import { type Cancellation, Link, type Receiver } from '../jsonrpc/link.ts'
import type { Params } from '../jsonrpc/message.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { Result } from '../protocol/base.ts'
import type { CacheHints } from '../protocol/caching.ts'
import { cacheHintsProblem } from '../protocol/caching.ts'
import type { Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import { warnIfDeprecated } from '../protocol/deprecated.ts'
import { iconsProblem } from '../protocol/icons.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import { checkExtensions } from '../protocol/meta-key.ts'
import type { ClientRequests } from '../protocol/methods.ts'
import type { RevisionId } from '../protocol/revision.ts'
import { chooseRevisions } from '../protocol/revisions/index.ts'
import type { Outcome } from '../replay/conversation.ts'
import type { UsedStates } from '../replay/used-states.ts'
import { MemoryUsedStates } from '../replay/used-states.ts'
import { DenseSet } from '../util/dense-set.ts'
import { Sealer } from '../util/sealer.ts'
import type { TokenBucket } from '../util/token-bucket.ts'
import { createCallLimits, type ServerLimits } from './call-limits.ts'
import type { Context } from './context.ts'
import { Dispatch, type MethodEntry, type Middleware } from './dispatch.ts'
import { createLogBucket, type LogFilter, takeLog } from './log.ts'
import { checkStateKey } from './state-key.ts'
import type { TaskRuntime, TaskServer } from './task-runtime.ts'

export interface ServerOptions {
  /** What the server is for, in words for the model. */
  instructions?: string | undefined
  /** Capabilities beyond those that follow from what is registered. */
  capabilities?: ServerCapabilities | undefined
  /** The revisions to serve. Default: all of them. */
  revisions?: readonly RevisionId[] | undefined
  /** Takes what went wrong inside and is not told to the peer. Default: writes it to stderr. */
  onError?: ((error: unknown) => void) | undefined
  /**
   * Sees every log message before it is sent to a client, with the `ctx` of its request: return it, a copy without what is
   * sensitive, or undefined to drop it.
   */
  filterLog?: LogFilter | undefined
  /** How long to wait for more before telling that a list changed. Default 10. */
  listChangedDelayMs?: number | undefined
  /** How long, and for whom, clients of 2026-07-28 may keep lists. Default: `{ ttlMs: 0, cacheScope: 'private' }`. */
  cache?: CacheHints | undefined
  /** How much one peer may ask for at a time, and how often callers may call. Default: see `docs/limits.md`. */
  limits?: ServerLimits | undefined
  /** Seals what clients carry for us, such as cursors and the state of calls. Share it between the nodes of a fleet. */
  stateKey?: string | Uint8Array | undefined
  /** The same with rotation, newest first: the first seals, every one opens. */
  stateKeys?: readonly (string | Uint8Array)[] | undefined
  questions?: QuestionOptions | undefined
  /**
   * Pings clients periodically and closes connections whose client no longer answers. For connections that the server can write to
   * at any time, such as stdio, and for revisions that have `ping`. Default: no pings.
   */
  ping?: PingOptions | undefined
  /** Receives requests that were cancelled, with the reason, for your log. */
  onCancelled?: ((cancellation: Cancellation) => void) | undefined
}

/** What handlers may ask of clients. */
export interface QuestionOptions {
  /** How often one request may ask; questions that are open at the same time count once. Default 32. */
  maxRounds?: number | undefined
  /** How long the answer to a form, a page or a model may take where the client is called back. Default 600,000. */
  timeoutMs?: number | undefined
  /** How long a client of 2026-07-28 may take to come back with answers. Default 900,000. */
  stateTtlMs?: number | undefined
  /** How many bytes of state a client of 2026-07-28 is given to carry. Default 262,144. */
  maxStateBytes?: number | undefined
  /**
   * Take each state once, so that a repeated call finds the work done or has to begin anew. True remembers in this
   * process; nodes of a fleet share something that can. Default: a state is good until it expires.
   */
  singleUse?: boolean | UsedStates | undefined
}

type ParamsOf<M extends string> = M extends keyof ClientRequests ? ClientRequests[M]['params'] : Params
type ResultOf<M extends string> = M extends keyof ClientRequests ? ClientRequests[M]['result'] : Result

/**
 * The bare protocol: you say what each method answers. One object is a definition; connect it to any number of peers of
 * any revision at once. Most servers want `McpServer`, which stands on this.
 */
export class Server {
  readonly info: Implementation
  readonly #options: ServerOptions
  readonly #definition: Definition
  readonly #handshake: HandshakeServer
  readonly #dispatch: Dispatch
  readonly #receiver: Receiver
  readonly #links = new DenseSet<Link>()
  readonly #notified = new Map<string, (params: Params) => void>()
  readonly #parents = new Set<Server>()
  readonly #callLimits: ReturnType<typeof createCallLimits>
  #heartbeats: Map<Link, Heartbeat> | undefined
  #logBucket: TokenBucket | undefined
  #endpoint: Endpoint | undefined
  #tasks: TaskRuntime | undefined
  #holders = 0
  /** Kept until something is registered, because every request outside of sessions needs them. */
  #capabilities: ServerCapabilities | undefined
  #declare: (() => ServerCapabilities) | undefined

  constructor(info: Implementation, options: ServerOptions = {}) {
    if (typeof info?.name !== 'string' || typeof info.version !== 'string') {
      throw new TypeError("A server needs a name and a version: { name: 'demo', version: '1.0.0' }")
    }
    const iconProblem = iconsProblem(info.icons)
    if (iconProblem !== undefined) throw new TypeError(`Server ${info.name}: ${iconProblem}`)
    checkExtensions(options.capabilities?.extensions)
    this.info = info
    this.#options = options
    this.#callLimits = createCallLimits(options.limits)
    this.#definition = {
      info,
      instructions: options.instructions,
      revisions: chooseRevisions(options.revisions),
      changes: new Changes(options.listChangedDelayMs ?? 10),
      subscribedUris: new SubscribedUris(),
      cacheHints: checkHints(options.cache ?? {}),
      sealer: new Sealer(checkKeys(options)),
      questions: toLimits(options.questions),
      tasks: undefined,
      requiredScopesOf: () => undefined,
      capabilities: () => {
        this.#capabilities ??= this.getCapabilities()
        return this.#capabilities
      },
    }
    warnIfDeprecated(this.#definition.revisions, { logging: options.capabilities?.logging })
    this.#handshake = new HandshakeServer(this.#definition)
    const eras = { handshake: this.#handshake, stateless: new StatelessServer(this.#definition) }
    const each: ServerEra[] = Object.values(eras)
    this.#dispatch = new Dispatch(eras, (error) => this.reportError(error))
    this.#dispatch.filterLog = options.filterLog
    this.#receiver = {
      request: (exchange) => this.#dispatch.answer(exchange),
      notification: (notification, link) => {
        for (const era of each) era.notified(notification, link)
        this.#callNotificationHandler(notification.method, notification.params ?? {})
      },
      drain: (link) => {
        for (const era of each) era.drain(link)
      },
      cancelled: (cancellation) => this.#reportCancelled(cancellation),
      closed: (link) => {
        this.#links.delete(link)
        this.#heartbeats?.get(link)?.stop()
        this.#heartbeats?.delete(link)
        for (const era of each) era.closed(link)
      },
      unsendable: (request, result, error) => this.#dispatch.unsendable(request, result, error),
      error: (error) => this.reportError(error),
    }
  }

  /** @internal Lets calls run as tasks. */
  useTasks(runtime: TaskRuntime, taskConfig: TaskServer['taskConfig']): void {
    this.#tasks = runtime
    this.#definition.tasks = runtime.feed
    runtime.attach({
      questions: this.#definition.questions,
      taskConfig,
      revision: (id) => this.#definition.revisions.find((revision) => revision.id === id),
      serve: (call, conversation, caller) => this.#dispatch.serveTask(call, conversation, caller),
      errorOf: (error) => this.#dispatch.errorOf(error),
      reportError: (error) => this.reportError(error),
    })
    for (const [method, handler] of Object.entries(runtime.methods)) this.setMethod(method, { handler })
  }

  /** @internal Lets tasks run as long as anybody holds the server. Gives the way to let go. */
  hold(): () => Promise<void> {
    this.#holders++
    this.#startTasks()
    let isHeld = true
    return async () => {
      if (isHeld && --this.#holders === 0) await this.#tasks?.stop()
      isHeld = false
    }
  }

  #startTasks(): void {
    this.#tasks?.start().catch((error) => this.reportError(error))
  }

  /** @internal */
  get changes(): Changes {
    return this.#definition.changes
  }

  /** @internal */
  get sealer(): Sealer {
    return this.#definition.sealer
  }

  /** @internal What a transport needs that carries many peers, such as HTTP. */
  get endpoint(): Endpoint {
    this.#endpoint ??= {
      revisions: this.#definition.revisions,
      attach: (transport) => this.#attach(transport),
      revisionOf: (link): RevisionFacts | undefined => this.#handshake.revisionOf(link as Link),
      reportError: (error) => this.reportError(error),
      hold: () => this.hold(),
      saveSession: (link, message) => this.#handshake.save(link as Link, message),
      restoreSession: (link, state) => this.#handshake.restore(link as Link, state),
      tellSession: (link, change) => this.#handshake.notifyChange(link as Link, change as Change | undefined),
      changes: {
        on: (listener) => this.changes.on(listener),
        tell: (change) => this.changes.emit(change as Change),
      },
    }
    return this.#endpoint
  }

  /** Serves one more peer. May be called any number of times; each peer is independent of the others. */
  async connect(transport: Transport): Promise<Link> {
    this.#startTasks()
    transport.serves?.(this.endpoint)
    const link = this.#attach(transport)
    const { onclose } = transport
    try {
      await link.open()
      // Who set a handler before wants to hear of the end too.
      if (onclose) chainClose(transport, onclose)
      const { ping } = this.#options
      if (ping && !transport.serves && !link.closed) this.#startPings(link, ping)
    } catch (error) {
      this.#links.delete(link)
      throw error
    }
    return link
  }

  #startPings(link: Link, options: PingOptions): void {
    this.#heartbeats ??= new Map()
    const heartbeat = new Heartbeat(options, {
      name: 'The client',
      // Before the handshake there is nothing to keep alive, and 2026-07-28 has no ping.
      ping: async (timeoutMs) =>
        this.#handshake.revisionOf(link) &&
        link.request('ping', undefined, { timeoutMs, maxTotalTimeoutMs: timeoutMs }),
      onFailure: (error) => this.reportError(error),
      onDead: () => void link.close(0),
    })
    this.#heartbeats.set(link, heartbeat)
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

  /** Answers what is in flight, then closes every connection. */
  async close(): Promise<void> {
    await Promise.all(this.#links.all().map((link) => link.close()))
    await this.#tasks?.stop()
  }

  /** Says what a method answers; custom methods are welcome. The last word counts. */
  setRequestHandler<M extends (keyof ClientRequests & string) | (string & {})>(
    method: M,
    handler: (params: ParamsOf<M>, ctx: Context) => ResultOf<M> | PromiseLike<ResultOf<M>>,
  ): void {
    if (answeredHere.has(method)) throw new TypeError(`${method} is answered by the library`)
    this.setMethod(method, { handler: handler as unknown as MethodEntry['handler'] })
  }

  /** For notifications from clients, such as `notifications/roots/list_changed`. */
  setNotificationHandler(method: string, handler: (params: Params) => void): void {
    this.#notified.set(method, handler)
  }

  /** Wraps every request to a feature or custom method, outermost first. */
  use(middleware: Middleware): this {
    if (typeof middleware !== 'function') throw new TypeError('use() takes a function: (request, next) => next()')
    this.#dispatch.middleware.push(middleware)
    return this
  }

  getCapabilities(): ServerCapabilities {
    const declared: Record<string, unknown> = { ...this.#declare?.() }
    for (const [name, value] of Object.entries(this.#options.capabilities ?? {})) {
      declared[name] = { ...(declared[name] as object), ...value }
    }
    return declared
  }

  /**
   * Tells everyone who subscribed to this resource that it has new contents. `partOf` names a resource that it belongs to,
   * such as a folder, whose subscribers are told too.
   */
  sendResourceUpdated(resource: string | { uri: string; partOf?: string | undefined }): void {
    if (typeof resource === 'string') this.changes.updated(resource)
    else this.changes.updated(resource.uri, resource.partOf)
  }

  sendToolListChanged(): void {
    this.listChanged('tools')
  }

  sendPromptListChanged(): void {
    this.listChanged('prompts')
  }

  sendResourceListChanged(): void {
    this.listChanged('resources')
  }

  /** Logs to every session. 2026-07-28 has none: there, log within a request by `ctx.log`. */
  sendLoggingMessage(message: LoggingMessageParams): void {
    this.#logBucket ??= createLogBucket()
    if (!takeLog(this.#logBucket)) return
    const { filterLog } = this.#options
    const allowed = filterLog ? filterLog(message, undefined) : message
    if (allowed) for (const link of this.#links.all()) this.#handshake.log(link, allowed)
  }

  /** @internal */
  setMethod(method: string, entry: MethodEntry): void {
    this.#dispatch.methods.set(method, { ...entry, limit: this.#callLimits.get(method) })
    this.#forget()
  }

  /** @internal */
  setDeclared(declare: () => ServerCapabilities): void {
    this.#declare = declare
    this.#forget()
  }

  /** What was made of what is registered is out of date. */
  #forget(): void {
    this.#dispatch.forget()
    this.#capabilities = undefined
  }

  /** @internal Says which scopes a caller needs to subscribe to a URI, and to hear of its updates. */
  guardResources(requiredScopesOf: Definition['requiredScopesOf']): void {
    this.#definition.requiredScopesOf = requiredScopesOf
  }

  /** @internal */
  listChanged(list: ListName): void {
    this.#forget()
    this.changes.listChanged(list)
    for (const parent of this.#parents) parent.listChanged(list)
  }

  /** @internal Answers in the name of a server that this one is mounted in. */
  delegate(method: string, params: Params, ctx: Context): Outcome {
    return this.#dispatch.delegate(method, params, ctx)
  }

  /** @internal From now on the parent shows what is here, so it changes when this does. */
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
      console.error(`[tenon] ${this.info.name}: onError failed:`, failure)
    }
    console.error(`[tenon] ${this.info.name}:`, error)
  }

  #callNotificationHandler(method: string, params: Params): void {
    try {
      this.#notified.get(method)?.(params)
    } catch (error) {
      this.reportError(error)
    }
  }
}

function chainClose(transport: Transport, before: NonNullable<Transport['onclose']>): void {
  const ended = transport.onclose
  transport.onclose = (detail) => {
    ended?.(detail)
    before(detail)
  }
}

/** Methods whose answer follows from what the server is. */
const answeredHere: ReadonlySet<string> = new Set(['initialize', 'ping', 'server/discover', 'subscriptions/listen'])

function checkKeys({ stateKey, stateKeys }: ServerOptions): readonly (string | Uint8Array)[] {
  if (stateKey !== undefined && stateKeys) throw new TypeError('Give stateKey or stateKeys, not both')
  const keys = stateKeys ?? (stateKey === undefined ? [] : [stateKey])
  keys.forEach(checkStateKey)
  return keys
}

function toLimits(options: QuestionOptions = {}): QuestionLimits {
  const { maxRounds = 32, timeoutMs = 600_000, stateTtlMs = 900_000, maxStateBytes = 262_144, singleUse } = options
  for (const [name, value] of Object.entries({ maxRounds, stateTtlMs, maxStateBytes })) {
    if (!(value > 0)) throw new TypeError(`questions.${name} must be a number above 0`)
  }
  const usedStates = singleUse === true ? new MemoryUsedStates() : singleUse || undefined
  return { maxRounds, timeoutMs, stateTtlMs, maxStateBytes, usedStates }
}

/** Throws on hints that the wire does not allow. */
function checkHints({ ttlMs = 0, cacheScope = 'private' }: CacheHints): Required<CacheHints> {
  const problem = cacheHintsProblem({ ttlMs, cacheScope })
  if (problem !== undefined) throw new TypeError(`cache: ${problem}`)
  return { ttlMs, cacheScope }
}
