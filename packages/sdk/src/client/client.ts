import type { CallOptions, ServerFacts } from '../era/client.ts'
import type { Negotiated } from '../era/negotiate.ts'
import { CapabilityError, ClosedError, McpError, PeerError, RpcCode } from '../errors.ts'
import { Heartbeat, type PingOptions } from '../jsonrpc/heartbeat.ts'
import type { Cancellation, Link, SendOptions } from '../jsonrpc/link.ts'
import type { Params, ResultObject, RpcNotification } from '../jsonrpc/message.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import type { CompleteParams, CompleteResult } from '../protocol/completion.ts'
import { warnIfDeprecated } from '../protocol/deprecated.ts'
import { type LoggingLevel, loggingLevels } from '../protocol/log-level.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import { metaKeys } from '../protocol/meta.ts'
import { checkExtensions } from '../protocol/meta-key.ts'
import type { ClientRequests } from '../protocol/methods.ts'
import { paramsChecks } from '../protocol/params.ts'
import type { GetPromptParams, GetPromptResult, ListPromptsResult, Prompt } from '../protocol/prompts.ts'
import type {
  ListResourcesResult,
  ListResourceTemplatesResult,
  ReadResourceResult,
  Resource,
  ResourceTemplateInfo,
} from '../protocol/resources.ts'
import type { Revision, RevisionId } from '../protocol/revision.ts'
import { chooseRevisions } from '../protocol/revisions/index.ts'
import type { SubscriptionFilter } from '../protocol/subscriptions.ts'
import { type CoreTask, type ListTasksResult, tasksExtension } from '../protocol/tasks.ts'
import type { CallToolParams, CallToolResult, ListToolsResult, Tool } from '../protocol/tools.ts'
import { invalidTraceKey } from '../protocol/trace-context.ts'
import type { SchemaLike } from '../schema/standard.ts'
import { clock } from '../util/clock.ts'
import { Emitter } from '../util/emitter.ts'
import { isObject } from '../util/objects.ts'
import type { TaskIdStore } from '../util/task-ids.ts'
import { ResponseCache } from './cache.ts'
import {
  type ClientState,
  Connection,
  notConnected,
  type SessionRenewed,
  type StateChange,
  type Subscription,
} from './connection.ts'
import type { AskingServer, ClientHandlers, RootList } from './handlers.ts'
import { InputHandlers } from './input-handlers.ts'
import { ListCall, type ListPage } from './list-call.ts'
import { type ToolResult, toToolResult } from './results.ts'
import { driveRoundTrips, type RoundTrips } from './round-trips.ts'
import { type RequestHandler, ServerRequests } from './server-requests.ts'
import { readStructured, type StructuredOutput, type ToolCallOptions } from './structured-output.ts'
import {
  ClientTasks,
  checkListsTasks,
  isTask,
  type StartedCall,
  type TaskChange,
  warnIfTasksNeeded,
  withTasks,
} from './tasks/client-tasks.ts'
import type { TaskHandle } from './tasks/handle.ts'
import { ToolCalls } from './tool-calls.ts'
import { ToolCatalog } from './tool-catalog.ts'

export interface ClientOptions {
  /** What this client does for servers: forms, pages, a model, roots. */
  handlers?: ClientHandlers | undefined
  /** What this client can do for servers beyond what follows from its handlers. */
  capabilities?: ClientCapabilities | undefined
  /** The one revision to speak. Default: the newest that both sides know. */
  revision?: RevisionId | undefined
  /** The revisions to choose from. Default: all of them. */
  revisions?: readonly RevisionId[] | undefined
  /** Defaults for every request. */
  request?: Pick<RequestOptions, 'timeoutMs' | 'maxTotalTimeoutMs' | 'resetTimeoutOnProgress'> | undefined
  /** How long a server may be silent to the first question before the handshake is tried. Default 2,000. */
  probeTimeoutMs?: number | undefined
  /** How long a server may take to be ready, which includes installing itself. Default 60,000. */
  connectTimeoutMs?: number | undefined
  /**
   * Whether to cache results for as long as the server allows. Private results are cached per user, that is per set of request
   * headers. A `fetch` of your own and cookies hide the user, so private results are then cached only if you pass `true`, which
   * says that this client always acts for one user. Default: cache.
   */
  cache?: boolean | undefined
  /**
   * Whether to believe what the server says about its tools. A call of a tool that claims `readOnlyHint` or `idempotentHint` is
   * then repeated when the connection broke before the answer came. Default false: a server can claim anything.
   */
  trusted?: boolean | undefined
  /**
   * Pings the server periodically. Each ping that is not answered is an `error` event; after `maxFailures` in a row the connection is
   * reset. On 2026-07-28, which has no `ping`, `server/discover` is sent instead. Default: no pings.
   */
  ping?: PingOptions | undefined
  /** Start a server process again that ended by itself, up to so many times a minute. Default 3; 0 for never. */
  restarts?: number | undefined
  /** How often a server may ask in one call before it is given up. Default 32. */
  maxRounds?: number | undefined
  /**
   * The least severe log messages to request on 2026-07-28, where servers send none unless asked. Default: `info` while
   * something listens for the `log` event or for `notifications/message`.
   */
  logLevel?: LoggingLevel | undefined
  /**
   * Whether `callTool` lets servers of 2026-07-28 make a task of any call, which it then waits for. That is an extension, which
   * is off unless it is asked for: by `true` for every call, and by `callToolAsTask` and `resumeTask` for their own. On 2025-11-25
   * a tool that needs a task is called as one in any case. `false`: no call becomes a task.
   */
  tasks?: boolean | undefined
  /**
   * Keeps the ids of open tasks, so that `resumeTasks()` finds them after a restart: `sqliteStore(path).taskIds(url)`. Default:
   * they are forgotten with the process.
   */
  taskIds?: TaskIdStore | undefined
}

/** For `callToolAsTask`. Where a task is made, everything but `ttlMs` and `onProgress` is about the making of it. */
export interface TaskCallOptions extends RequestOptions {
  /** How long the server should keep the task, in milliseconds (2025-11-25). Default: as the server likes. */
  ttlMs?: number | undefined
}

/** What became of one call of a tool. */
export interface ToolCallRecord {
  name: string
  durationMs: number
  /** `error`: the tool reported an error as its result. `failed`: there is no result, see `error`. */
  outcome: 'success' | 'error' | 'failed'
  error?: unknown
}

export interface ClientEvents {
  state: StateChange
  /** The server forgot the session, and there is a new one. */
  sessionRenewed: SessionRenewed
  /**
   * Notifications may have been lost, because the connection that carries them was interrupted. It works again: read again
   * what you keep up to date by notifications.
   */
  updatesMissed: undefined
  toolsChanged: undefined
  promptsChanged: undefined
  resourcesChanged: undefined
  resourceUpdated: { uri: string }
  log: LoggingMessageParams
  /** What the user was to do on a page is done, says the server (2025-11-25). */
  elicitationComplete: { elicitationId: string }
  /** A task of the server was made, or stands otherwise than before. */
  task: TaskChange
  /** A tool was called, for your log. Arguments and results are left out, since they may hold anything. */
  toolCall: ToolCallRecord
  /** A request was cancelled, by this client or by the server, with the reason. */
  cancelled: Cancellation
  /** Something the server sent was left out, or could not be used. */
  warning: { message: string }
  /** Something failed that no call could report. */
  error: { error: unknown }
}

/** A long tool that tells how far it is must not time out, so progress is always asked for. */
const withProgress: SendOptions = { progress: true }

/** What servers of earlier revisions usually send to a client that sets no level. */
const defaultLogLevel: LoggingLevel = 'info'

/** Requests that may be made again when it is not known whether the server saw them. */
const idempotent: ReadonlySet<string> = new Set([
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

const listChanges = {
  'notifications/tools/list_changed': { event: 'toolsChanged', stale: ['tools/list'] },
  'notifications/prompts/list_changed': { event: 'promptsChanged', stale: ['prompts/list'] },
  'notifications/resources/list_changed': {
    event: 'resourcesChanged',
    stale: ['resources/list', 'resources/templates/list'],
  },
} as const

/** What a server said of itself, and the revision in use. */
export interface ServerDescription extends Omit<ServerFacts, 'revision'> {
  readonly revision: RevisionId
}

/** One connection to one server, of whatever revision. */
export class Client {
  readonly info: Implementation
  readonly #options: ClientOptions
  readonly #connection: Connection
  readonly #events: Emitter<ClientEvents>
  readonly #cache: ResponseCache | undefined
  readonly #answerer: InputHandlers
  readonly #replies: ServerRequests
  readonly #notificationHandlers = new Map<string, (params: Params) => void>()
  readonly #subscribed = new Map<string, Subscription>()
  readonly #tools = new ToolCatalog(
    (message) => this.#warn(message),
    () => this.#mirrorsArguments,
  )
  readonly #toolCalls = new ToolCalls({
    tools: this.#tools,
    call: (method, params, options) => this.#call(method, params, options),
    mirrorsArguments: () => this.#mirrorsArguments,
    forgetList: () => this.#cache?.forget((method) => method === 'tools/list'),
  })
  readonly #tasks: ClientTasks
  readonly #closing = new AbortController()
  #logLevel: LoggingLevel | undefined
  #heartbeat: Heartbeat | undefined
  /** Whether the server was told the level, and must be told again in another session. */
  #isLevelTold = false

  constructor(info: Implementation, options: ClientOptions = {}) {
    checkExtensions(options.capabilities?.extensions)
    this.info = info
    this.#options = options
    this.#logLevel = options.logLevel
    this.#answerer = new InputHandlers(options.handlers ?? {}, options.capabilities ?? {})
    this.#events = new Emitter((error) => console.error('[tenon] A listener failed:', error))
    this.#cache = options.cache === false ? undefined : new ResponseCache()
    this.#replies = this.#createReplies(this.#answerer)
    this.#tasks = this.#createTasks()
    const revisions = chooseRevisions(options.revision ? [options.revision] : options.revisions)
    const { roots, sampling } = this.#answerer.capabilities
    warnIfDeprecated(revisions, { roots, sampling, logging: options.logLevel })
    this.#connection = new Connection({
      identity: {
        info,
        capabilities: options.tasks ? withTasks(this.#answerer.capabilities) : this.#answerer.capabilities,
      },
      revisions,
      probeTimeoutMs: options.probeTimeoutMs ?? 2_000,
      connectTimeoutMs: options.connectTimeoutMs ?? 60_000,
      restarts: options.restarts ?? 3,
      receiver: {
        request: (exchange) => void this.#replies.answer(exchange),
        notification: (notification) => this.#notified(notification),
        error: (error) => this.#events.emit('error', { error }),
        cancelled: (cancellation) => this.#events.emit('cancelled', cancellation),
      },
      isIdempotent: (method, params) => this.#isIdempotent(method, params),
      onState: (change) => {
        if (change.state === 'ready') this.#metServer()
        this.#heartbeat?.stop()
        if (change.state === 'ready' && options.ping) this.#heartbeat = this.#startPings(options.ping)
        if (change.state === 'reconnecting') this.#tasks.reconnected()
        this.#events.emit('state', change)
      },
      onRenewed: (renewed) => this.#events.emit('sessionRenewed', renewed),
      onGap: () => {
        this.#cache?.clear()
        this.#events.emit('updatesMissed', undefined)
      },
    })
  }

  get state(): ClientState {
    return this.#connection.state
  }

  /** What the server said of itself, and the revision in use. Throws while there is no connection. */
  get server(): ServerDescription {
    const { revision, ...said } = this.#live.era.facts
    return { ...said, revision: revision.id }
  }

  /** The revision in use. Throws while there is no connection. */
  get revision(): RevisionId {
    return this.#live.era.facts.revision.id
  }

  get #live(): Negotiated {
    const { live } = this.#connection
    if (!live) throw notConnected(this.state)
    return live
  }

  getServerCapabilities(): ServerCapabilities | undefined {
    return this.#connection.live?.era.facts.capabilities
  }

  getServerVersion(): Implementation | undefined {
    return this.#connection.live?.era.facts.info
  }

  getInstructions(): string | undefined {
    return this.#connection.live?.era.facts.instructions
  }

  /** Listens for an event; call what is returned to stop. */
  on<K extends keyof ClientEvents>(name: K, listener: (event: ClientEvents[K]) => void): () => void {
    return this.#events.on(name, listener)
  }

  connect(transport: Transport): Promise<void> {
    return this.#connection.open(transport)
  }

  close(): Promise<void> {
    this.#closing.abort(new ClosedError('The client was closed'))
    this.#replies.close()
    return this.#connection.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Any request, also of methods we do not know. */
  async request<M extends (keyof ClientRequests & string) | (string & {})>(
    method: M,
    params?: M extends keyof ClientRequests ? ClientRequests[M]['params'] : Params,
    options?: RequestOptions,
  ): Promise<M extends keyof ClientRequests ? ClientRequests[M]['result'] : ResultObject> {
    if (method === 'tools/call') return (await this.#callTool(params as unknown as CallToolParams, options)) as never
    const result = await this.#call(method, params as Params | undefined, options)
    return (await this.#final(result, method, params as Params | undefined, options)) as never
  }

  notify(method: string, params?: Params): void {
    const live = this.#connection.live
    if (!live) throw notConnected(this.state)
    const problem = this.#traceProblem(method, params)
    if (problem) throw problem
    live.link.notify(method, params)
  }

  /** Answers requests of the server, where the revision lets it make any. */
  setRequestHandler(method: string, handler: RequestHandler): void {
    this.#replies.setHandler(method, handler)
  }

  setNotificationHandler(method: string, handler: (params: Params) => void): void {
    this.#notificationHandlers.set(method, handler)
  }

  /** The folders that servers may work in, from now on. Those who remember the old ones are told. */
  setRoots(roots: RootList): void {
    if (!this.#answerer.setRoots(roots)) return
    const live = this.#connection.live
    const method = 'notifications/roots/list_changed'
    if (live && !live.era.facts.revision.lacks(method)) live.link.notify(method)
  }

  /** Asks whether the server is there. Revisions without `ping` are asked what they are instead. */
  async ping(options?: RequestOptions): Promise<void> {
    const { revision } = await this.#facts()
    await this.#call(revision.lacks('ping') ? 'server/discover' : 'ping', undefined, options)
  }

  /**
   * Calls a tool: `callTool('add', { a: 1, b: 2 })`, or with the params of the wire. Where the server makes a task of the call,
   * it is followed to its end, and cancelled when the call is given up. For a task, `timeoutMs` counts from the last news of it,
   * and only where it is given. With `outputSchema`, `structuredContent` is checked and typed by it.
   */
  callTool<Out extends SchemaLike | undefined = undefined>(
    name: string,
    args?: Record<string, unknown>,
    options?: ToolCallOptions<Out>,
  ): Promise<ToolResult<StructuredOutput<Out>>>
  callTool<Out extends SchemaLike | undefined = undefined>(
    params: CallToolParams,
    options?: ToolCallOptions<Out>,
  ): Promise<ToolResult<StructuredOutput<Out>>>
  async callTool(
    call: string | CallToolParams,
    second?: Record<string, unknown> | ToolCallOptions<SchemaLike>,
    third?: ToolCallOptions<SchemaLike>,
  ): Promise<ToolResult> {
    if (typeof call !== 'string' && !isObject(call)) {
      throw new McpError(
        'invalid-argument',
        "callTool() takes a tool's name and its arguments: callTool('add', { a: 1 })",
      )
    }
    const missing = this.#needs('tools')
    if (missing) await missing
    const params: CallToolParams =
      typeof call === 'string' ? { name: call, arguments: (second as Record<string, unknown>) ?? {} } : call
    const options = typeof call === 'string' ? third : (second as ToolCallOptions<SchemaLike> | undefined)
    const sent = options ? { ...options, outputSchema: undefined, progress: true } : withProgress
    const startedAt = this.#events.hasListeners('toolCall') ? clock.now() : 0
    try {
      const asTask = this.#hasTaskCalls && (await this.#toolCalls.taskSupport(params.name)) === 'required'
      const read = toToolResult(
        (await this.#callTool(asTask ? { task: {}, ...params } : params, sent)) as CallToolResult,
        (problem) => this.#warn(`The tool ${params.name} returned content that is left out: ${problem}`),
      )
      const checking = this.#toolCalls.checkOutput(params.name, read)
      if (checking) await checking
      if (options?.outputSchema) await readStructured(params.name, read, options.outputSchema)
      if (startedAt) this.#logCall(params.name, startedAt, read.isError ? 'error' : 'success')
      return read
    } catch (error) {
      if (startedAt) this.#logCall(params.name, startedAt, 'failed', error)
      warnIfTasksNeeded(error)
      throw fromHere(error)
    }
  }

  /**
   * Calls a tool that may take long, and gives a handle rather than the result. Where the server makes no task of it, the handle
   * stands for an ordinary call.
   */
  async callToolAsTask(
    name: string,
    args: Record<string, unknown> = {},
    { ttlMs, ...options }: TaskCallOptions = {},
  ): Promise<TaskHandle> {
    const missing = this.#needs('tools')
    if (missing) await missing
    const params: CallToolParams = { name, arguments: args }
    const sent = { ...options, progress: true, takesTasks: this.#takesTasks }
    const isOffered = this.#hasTaskCalls && (await this.#toolCalls.taskSupport(name)) !== 'forbidden'
    if (!isOffered && !this.#hasTaskExtension) {
      return this.#tasks.plain(name, (stop) =>
        this.#callTool(params, { ...sent, signal: options.signal ? AbortSignal.any([options.signal, stop]) : stop }),
      )
    }
    const augmented = isOffered ? { ...params, task: ttlMs === undefined ? {} : { ttl: ttlMs } } : params
    const { result, call } = await this.#startTool(augmented, sent)
    return call ? this.#tasks.created(result, call) : this.#tasks.plain(name, () => Promise.resolve(result))
  }

  /** A task that was made earlier, by this process or another. Nothing is asked of the server until somebody waits for it. */
  resumeTask(id: string): TaskHandle {
    return this.#tasks.resume(id)
  }

  /** The tasks whose ids are in the store `taskIds`: created earlier, by this process or another, and not seen to end. */
  resumeTasks(): Promise<TaskHandle[]> {
    return this.#tasks.resumeAll()
  }

  /** The tasks that the server keeps for us. 2025-11-25 only: elsewhere, whoever keeps the ids has the tasks. */
  listTasks(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListTasksResult, CoreTask> {
    return this.#list('tasks', 'tasks/list', 'tasks', params, options, this.#having<CoreTask>('taskId'))
  }

  listTools(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListToolsResult, Tool> {
    return this.#list('tools', 'tools/list', 'tools', params, options, (tools) => this.#tools.read(tools))
  }

  listPrompts(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListPromptsResult, Prompt> {
    return this.#list('prompts', 'prompts/list', 'prompts', params, options, this.#having<Prompt>('name'))
  }

  listResources(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListResourcesResult, Resource> {
    return this.#list('resources', 'resources/list', 'resources', params, options, this.#having<Resource>('uri'))
  }

  listResourceTemplates(
    params?: { cursor?: string },
    options?: RequestOptions,
  ): ListCall<ListResourceTemplatesResult, ResourceTemplateInfo> {
    const read = this.#having<ResourceTemplateInfo>('uriTemplate')
    return this.#list('resources', 'resources/templates/list', 'resourceTemplates', params, options, read)
  }

  async readResource(resource: string | { uri: string }, options?: RequestOptions): Promise<ReadResourceResult> {
    const missing = this.#needs('resources')
    if (missing) await missing
    const params = typeof resource === 'string' ? { uri: resource } : resource
    const answer = await this.#cached('resources/read', params, options)
    const result = (await this.#final(answer, 'resources/read', params, options)) as ReadResourceResult
    if (!Array.isArray(result.contents)) throw invalid('resources/read', 'contents')
    return result
  }

  getPrompt(name: string, args?: Record<string, string>, options?: RequestOptions): Promise<GetPromptResult>
  getPrompt(params: GetPromptParams, options?: RequestOptions): Promise<GetPromptResult>
  async getPrompt(
    prompt: string | GetPromptParams,
    second?: Record<string, string> | RequestOptions,
    third?: RequestOptions,
  ): Promise<GetPromptResult> {
    const missing = this.#needs('prompts')
    if (missing) await missing
    const isName = typeof prompt === 'string'
    const params = isName ? { name: prompt, ...(second && { arguments: second }) } : prompt
    const options = isName ? third : (second as RequestOptions | undefined)
    const answer = await this.#call('prompts/get', params as unknown as Params, options)
    const result = (await this.#final(answer, 'prompts/get', params as unknown as Params, options)) as GetPromptResult
    if (!Array.isArray(result.messages)) throw invalid('prompts/get', 'messages')
    return result
  }

  async complete(params: CompleteParams, options?: RequestOptions): Promise<CompleteResult['completion']> {
    if ((await this.#facts()).revision.announcesCompletions) await this.#needs('completions')
    const result = (await this.#call('completion/complete', params as unknown as Params, options)) as CompleteResult
    if (!Array.isArray(result.completion?.values)) throw invalid('completion/complete', 'completion.values')
    return result.completion
  }

  /** The least severe log messages to send. On 2026-07-28 it is said with every request from now on. */
  async setLoggingLevel(level: LoggingLevel, options?: RequestOptions): Promise<void> {
    if (!loggingLevels.includes(level)) {
      throw new McpError('invalid-argument', `${level} is no log level; use one of ${loggingLevels.join(', ')}`)
    }
    const { revision } = await this.#facts()
    await this.#needs('logging')
    this.#logLevel = level
    if (revision.lacks('logging/setLevel')) return
    await this.#call('logging/setLevel', { level }, options)
    this.#isLevelTold = true
  }

  /** Hears of changes until it is closed; they come as events of the client. Opened anew when the connection is. */
  listen(filter: SubscriptionFilter): Promise<Subscription> {
    return this.#connection.listen(filter)
  }

  /** Hears of changes of one resource. */
  async subscribeResource(resource: string | { uri: string }): Promise<void> {
    const missing = this.#needs('resources')
    if (missing) await missing
    const uri = typeof resource === 'string' ? resource : resource.uri
    if (!this.#subscribed.has(uri)) this.#subscribed.set(uri, await this.listen({ resourceSubscriptions: [uri] }))
  }

  async unsubscribeResource(resource: string | { uri: string }): Promise<void> {
    const uri = typeof resource === 'string' ? resource : resource.uri
    const subscription = this.#subscribed.get(uri)
    this.#subscribed.delete(uri)
    await subscription?.close()
  }

  /** Waits for a connection that is being made again. */
  async #facts(): Promise<ServerFacts> {
    return (await this.#connection.ready()).era.facts
  }

  #call(method: string, params: Params | undefined, options: CallOptions | undefined): Promise<ResultObject> {
    const problem = paramsChecks.get(method)?.(params ?? {})
    if (problem !== undefined) return Promise.reject(new McpError('invalid-argument', `${method}: ${problem}`))
    const traceProblem = params?._meta === undefined ? undefined : this.#traceProblem(method, params)
    if (traceProblem) return Promise.reject(traceProblem)
    const defaults = this.#options.request
    const sent = defaults ? { ...defaults, ...options } : options
    const answer = this.#connection.call(method, this.#withLogLevel(params), sent)
    if (this.#options.handlers?.elicitUrl) answer.catch((error) => this.#answerer.noteRequired(error))
    return answer
  }

  /** Trace values have a format since 2026-07-28; what breaks it would be ignored, or break a trace, somewhere else. */
  #traceProblem(method: string, params: Params | undefined): McpError | undefined {
    if (!this.#revision?.traceFormat || !isObject(params?._meta)) return undefined
    const key = invalidTraceKey(params._meta)
    if (key === undefined) return undefined
    return new McpError('invalid-argument', `${method}: _meta.${key} is not in the format that the W3C defines for it`)
  }

  #logCall(name: string, startedAt: number, outcome: ToolCallRecord['outcome'], error?: unknown): void {
    const durationMs = clock.now() - startedAt
    this.#events.emit('toolCall', { name, durationMs, outcome, ...(error !== undefined && { error }) })
  }

  /** True where a tool's annotated arguments are repeated in headers. */
  get #mirrorsArguments(): boolean {
    return this.#connection.transport?.readsHeaders === true && this.#revision?.mirrorsHeaders === true
  }

  async #callTool(params: CallToolParams, options: CallOptions | undefined): Promise<ResultObject> {
    const { result, call } = await this.#startTool(params, options)
    return call ? this.#tasks.drive(result, call, { ...this.#options.request, ...options }) : result
  }

  /** The result, or where there is a `call` what says that it became a task. */
  async #startTool(
    params: CallToolParams,
    options: CallOptions | undefined,
  ): Promise<{ result: ResultObject; call?: StartedCall }> {
    let progressToken: number | undefined
    const onSent = (id: number) => {
      progressToken = id
    }
    const sent = params.task ? { ...options, onSent } : options
    const first = await this.#toolCalls.call(params, sent)
    const again = (next: Params) => this.#toolCalls.call(next as unknown as CallToolParams, options)
    const result = this.#asksBack('tools/call', first)
      ? await driveRoundTrips(first, this.#rounds('tools/call', params as unknown as Params, options, again))
      : first
    if (!isTask(result, params, this.#revision?.lacks('tasks/update') === false)) return { result }
    return { result, call: { tool: params.name, progressToken, onProgress: options?.onProgress } }
  }

  /** The revision of the connection; undefined before there is one. */
  get #revision(): Revision | undefined {
    return this.#connection.live?.era.facts.revision
  }

  /** A result that asks for something first is answered, until it is final. */
  #final(
    result: ResultObject,
    method: string,
    params: Params | undefined,
    options: CallOptions | undefined,
  ): ResultObject | Promise<ResultObject> {
    if (!this.#asksBack(method, result)) return result
    const call = (next: Params) => this.#call(method, next, options)
    return driveRoundTrips(result, this.#rounds(method, params ?? {}, options, call))
  }

  /** True for a result that asks for input. Throws where servers ask by requests of their own instead. */
  #asksBack(method: string, result: { resultType?: unknown }): boolean {
    if (result.resultType !== 'input_required') return false
    if (!this.#revision?.multiRoundTrip) throw inputNotAllowed(method, this.#revision?.id)
    return true
  }

  #rounds(method: string, params: Params, options: CallOptions | undefined, call: RoundTrips['call']): RoundTrips {
    return {
      method,
      params,
      maxRounds: this.#options.maxRounds ?? 32,
      signal: options?.signal ? AbortSignal.any([options.signal, this.#closing.signal]) : this.#closing.signal,
      call,
      answer: (asked, question, signal) => this.#replies.answerInput(method, asked, question, signal),
    }
  }

  /** For requests that cannot do without. */
  get #takesTasks(): boolean {
    return this.#options.tasks !== false
  }

  /** 2025-11-25: calls of tools may be tasks, where the tool allows it. */
  get #hasTaskCalls(): boolean {
    const facts = this.#connection.live?.era.facts
    if (!this.#takesTasks || !facts?.capabilities.tasks?.requests?.tools?.call) return false
    return !facts.revision.lacks('tasks/result')
  }

  /** 2026-07-28: the server may make a task of a call. */
  get #hasTaskExtension(): boolean {
    const facts = this.#connection.live?.era.facts
    if (!this.#takesTasks || facts?.revision.lacks('tasks/update') !== false) return false
    return isObject(facts.capabilities.extensions?.[tasksExtension])
  }

  #createTasks(): ClientTasks {
    return new ClientTasks({
      closing: this.#closing.signal,
      maxRounds: this.#options.maxRounds ?? 32,
      ids: this.#options.taskIds,
      facts: () => this.#facts(),
      call: async (method, params, options) => {
        const result = await this.#call(method, params, { ...options, takesTasks: true })
        if (method === 'tasks/result') this.#asksBack(method, result)
        return result
      },
      listen: async (taskIds) => {
        const { era, link } = await this.#connection.ready()
        return era.listen(link, { taskIds })
      },
      answer: (method, params, signal) => this.#replies.answerInput('tasks/get', method, params, signal),
      onChange: (change) => this.#events.emit('task', change),
      onError: (error) => this.#events.emit('error', { error }),
      checkOutput: (tool, result) => this.#toolCalls.checkOutput(tool, result),
    })
  }

  #createReplies(answerer: InputHandlers): ServerRequests {
    return new ServerRequests({
      answerer,
      tasks: this.#options.handlers?.tasks,
      revision: () => this.#revision,
      server: () => this.#askingServer,
      pauseClocks: (link) => this.#pauseClocks(link),
      // The server hears as little as it should; somebody here must hear more.
      onError: (error) => this.#reportFailure(error, 'A question of the server could not be answered:'),
    })
  }

  #isIdempotent(method: string, params: Params | undefined): boolean | Promise<boolean> {
    // A later round of a call may do what an earlier one only asked about.
    if (params?.requestState !== undefined) return false
    if (idempotent.has(method)) return true
    // Tool annotations are untrusted unless the server is trusted (2026-07-28 tools).
    if (method !== 'tools/call' || this.#options.trusted !== true) return false
    return this.#toolCalls.isIdempotent(params?.name as string)
  }

  #withLogLevel(params: Params | undefined): Params | undefined {
    const era = this.#connection.live?.era
    if (!era?.facts.revision.describesCaller) return params
    const level = this.#logLevel ?? (this.#hearsLogs && era.facts.capabilities.logging ? defaultLogLevel : undefined)
    if (level === undefined) return params
    const meta = isObject(params?._meta) ? params._meta : {}
    return { ...params, _meta: { [metaKeys.logLevel]: level, ...meta } }
  }

  get #hearsLogs(): boolean {
    return this.#events.hasListeners('log') || this.#notificationHandlers.has('notifications/message')
  }

  async #cached(
    method: string,
    params: Params | undefined,
    options: RequestOptions | undefined,
  ): Promise<ResultObject> {
    const cache = this.#cache
    if (!cache) return this.#call(method, params, options)
    const kept = cache.isEmpty ? undefined : cache.get(method, params, await this.#authorizationContext())
    if (kept) return kept
    const { stamp } = cache
    // The credentials may change until the request is sent, and again when the server refuses them.
    let context = this.#separatesUsers ? undefined : ''
    const onAuthorized = (sent: string) => {
      context = sent
    }
    const result = await this.#call(method, params, { ...options, onAuthorized })
    if (!this.#asksBack(method, result))
      cache.put(method, params, result, stamp, this.#mayKeepPrivate ? context : undefined)
    return result
  }

  /** True where requests of one connection may act for different users. */
  get #separatesUsers(): boolean {
    return this.#connection.transport?.authorizationContext !== undefined
  }

  /** Credentials that nobody here can see may belong to another user by the next request. */
  get #mayKeepPrivate(): boolean {
    return this.#options.cache === true || !this.#connection.transport?.hidesCredentials
  }

  /** Undefined: unknown. What is wrong with the credentials is reported by the request that needs them. */
  async #authorizationContext(): Promise<string | undefined> {
    const { transport } = this.#connection
    if (!this.#mayKeepPrivate) return undefined
    try {
      return (await transport?.authorizationContext?.()) ?? ''
    } catch {
      return undefined
    }
  }

  async #page(method: string, cursor: string | undefined, options: RequestOptions | undefined): Promise<ResultObject> {
    try {
      return await this.#cached(method, cursor === undefined ? {} : { cursor }, options)
    } catch (error) {
      // A cursor that is no longer good came from a page that is no longer good (2026-07-28 caching).
      const isStale = cursor !== undefined && error instanceof PeerError && error.rpcCode === RpcCode.InvalidParams
      if (isStale) this.#cache?.forget((kept) => kept === method)
      throw error
    }
  }

  #list<Page extends ListPage, Item>(
    capability: 'tools' | 'prompts' | 'resources' | 'tasks',
    method: string,
    member: string,
    params: { cursor?: string } | undefined,
    options: RequestOptions | undefined,
    read: (items: unknown[]) => Item[],
  ): ListCall<Page, Item> {
    let generation: number | undefined
    const fetch = async (cursor: string | undefined): Promise<Page> => {
      const missing = capability === 'tasks' ? this.#needsTaskList() : this.#needs(capability)
      if (missing) await missing
      // A cursor belongs to the session that gave it (2025-11-25 pagination).
      if (generation !== undefined && generation !== this.#connection.generation) {
        throw new McpError('closed', 'The connection was made anew while a list was read; read it again from the start')
      }
      const result = await this.#page(method, cursor, options)
      generation = this.#connection.generation
      const items = result[member]
      if (!Array.isArray(items)) throw invalid(method, member)
      return { ...result, [member]: read(items) } as unknown as Page
    }
    return new ListCall(fetch, (page) => (page as Record<string, unknown>)[member] as Item[], params?.cursor)
  }

  /** Items without the one field they cannot do without are left out; the others stay. */
  #having<Item>(field: string): (items: unknown[]) => Item[] {
    return (items) =>
      items.filter((item): item is Item => {
        const isUsable = isObject(item) && typeof item[field] === 'string'
        if (!isUsable) this.#warn(`An item of a list is left out: it has no ${field}`)
        return isUsable
      })
  }

  /**
   * Only what the server declared is used (2025-06-18 lifecycle, operation). Undefined: it is declared, and there is
   * nothing to wait for.
   */
  #needs(capability: 'tools' | 'prompts' | 'resources' | 'completions' | 'logging'): Promise<void> | undefined {
    return this.#connection.live?.era.facts.capabilities[capability] ? undefined : this.#askAgain(capability)
  }

  async #needsTaskList(): Promise<void> {
    checkListsTasks(await this.#facts())
  }

  /** A server of 2026-07-28 may offer more by now than when it was asked. */
  async #askAgain(capability: keyof ServerCapabilities & string): Promise<void> {
    const { era, link } = await this.#connection.ready()
    if (!era.facts.capabilities[capability]) await era.refresh(link)
    if (era.facts.capabilities[capability]) return
    throw new CapabilityError(
      capability,
      `The server does not offer ${capability}; one that will later declares it from the start: capabilities: { ${capability}: {} }`,
    )
  }

  get #askingServer(): AskingServer {
    const { live, transport } = this.#connection
    const info = live?.era.facts.info
    return { name: info?.title ?? info?.name ?? 'a server without a name', address: transport?.address }
  }

  #pauseClocks(link: Link): () => void {
    const goOns = [link.pauseTimeouts(), this.#tasks.pause()]
    return () => {
      for (const goOn of goOns) goOn()
    }
  }

  #notified(notification: RpcNotification): void {
    const { method, params = {} } = notification
    this.#connection.live?.era.notified(notification)
    if (paramsChecks.get(method)?.(params) !== undefined) return this.#warn(`A ${method} with bad params is ignored`)
    this.#tasks.notified(method, params)
    const listChange = Object.hasOwn(listChanges, method) ? listChanges[method as keyof typeof listChanges] : undefined
    if (listChange) {
      this.#cache?.forget((kept) => (listChange.stale as readonly string[]).includes(kept))
      this.#tools.listChanged()
      this.#events.emit(listChange.event, undefined)
    } else if (method === 'notifications/resources/updated') {
      const { uri } = params as { uri: string }
      // The notification may be about a part of what was read.
      this.#cache?.forget((kept, read) => kept === 'resources/read' && read !== undefined && uri.startsWith(read))
      this.#events.emit('resourceUpdated', { uri })
    } else if (method === 'notifications/message') {
      this.#events.emit('log', params as unknown as LoggingMessageParams)
    } else if (method === 'notifications/elicitation/complete') {
      const { elicitationId } = params as { elicitationId: string }
      if (this.#answerer.completed(elicitationId)) this.#events.emit('elicitationComplete', { elicitationId })
    }
    try {
      this.#notificationHandlers.get(method)?.(params)
    } catch (error) {
      this.#events.emit('error', { error })
    }
  }

  #startPings(options: PingOptions): Heartbeat {
    const { era, link } = this.#connection.live!
    const method = era.facts.revision.lacks('ping') ? 'server/discover' : 'ping'
    return new Heartbeat(options, {
      name: 'The server',
      ping: (timeoutMs) => era.call(link, method, undefined, { timeoutMs, maxTotalTimeoutMs: timeoutMs }),
      onFailure: (error) => this.#reportFailure(error),
      onDead: (reason) => void this.#connection.reset(reason).catch((error) => this.#reportFailure(error)),
    })
  }

  /** Another process, or another session, may offer something else and knows nothing of us. */
  #metServer(): void {
    this.#cache?.clear()
    this.#tools.clear()
    if (!this.#isLevelTold) return
    this.#call('logging/setLevel', { level: this.#logLevel }, undefined).catch((error) =>
      this.#events.emit('error', { error }),
    )
  }

  /** For failures that must not go unnoticed. */
  #reportFailure(error: unknown, what = 'The connection failed:'): void {
    this.#events.emit('error', { error })
    if (!this.#events.hasListeners('error')) console.error(`[tenon] ${what}`, error)
  }

  #warn(message: string): void {
    this.#events.emit('warning', { message })
  }
}

/** The error was made where the answer came in; whoever reads it wants to know who asked. */
function fromHere(error: unknown): unknown {
  if (error instanceof McpError) Error.captureStackTrace?.(error, fromHere)
  return error
}

function inputNotAllowed(method: string, revision = 'this revision'): McpError {
  return new McpError(
    'invalid-response',
    `The server answered ${method} with "input_required", which ${revision} does not have. It must send elicitation/create, sampling/createMessage or roots/list instead.`,
  )
}

function invalid(method: string, member: string): McpError {
  return new McpError('invalid-response', `The answer to ${method} has no ${member}`)
}
