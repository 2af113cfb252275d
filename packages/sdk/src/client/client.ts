import type { ServerFacts } from '../era/client.ts'
import type { Negotiated } from '../era/negotiate.ts'
import { ClosedError, McpError } from '../errors.ts'
import type { Heartbeat } from '../jsonrpc/heartbeat.ts'
import type { Link } from '../jsonrpc/link.ts'
import type { Params, ResultObject, RpcNotification, RpcResponse } from '../jsonrpc/message.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import type { CompleteParams, CompleteResult } from '../protocol/completion.ts'
import { warnIfDeprecated } from '../protocol/deprecated.ts'
import type { LoggingLevel } from '../protocol/logging.ts'
import { checkExtensions } from '../protocol/meta-key.ts'
import type { ClientRequests } from '../protocol/methods.ts'
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
import type { CoreTask, ListTasksResult } from '../protocol/tasks.ts'
import type { CallToolParams, ListToolsResult, Tool } from '../protocol/tools.ts'
import type { SchemaLike } from '../schema/standard.ts'
import { Emitter } from '../util/emitter.ts'
import { isObject } from '../util/objects.ts'
import { type ClientState, Connection, notConnected, type StateChange, startPings } from './connection.ts'
import type { ClientEvents } from './events.ts'
import { complete } from './features/completion.ts'
import { Logging } from './features/logging.ts'
import { Pages } from './features/pages.ts'
import { Prompts } from './features/prompts.ts'
import { Resources } from './features/resources.ts'
import { type Subscription, Subscriptions } from './features/subscriptions.ts'
import { type TaskCallOptions, Tasks } from './features/tasks.ts'
import type { StructuredOutput, ToolCallOptions, ToolResult } from './features/tool-result.ts'
import { Tools } from './features/tools.ts'
import type { RootList, ServerIdentity } from './input/handlers.ts'
import { InputHandlers } from './input/input-handlers.ts'
import { type ClientRequestHandler, ServerRequestHandler } from './input/server-requests.ts'
import type { ListCall } from './list-call.ts'
import type { ClientConnectOptions, ClientOptions, ClientRequestOptions } from './options.ts'
import { type BatchRequest, idempotentMethods, Requester } from './requester.ts'
import { CachedRequests } from './response-cache.ts'
import { NotificationReceiver } from './server-notifications.ts'
import { ClientTasks } from './tasks/client-tasks.ts'
import type { TaskHandle } from './tasks/handle.ts'
import { withTasks } from './tasks/task-support.ts'

const defaultMaxRounds = 32

/** What the server says about itself, and the revision in use. */
export interface ServerDescription {
  readonly revision: RevisionId
  /** The name and version of the server, if it sent them. */
  readonly info: Implementation | undefined
  readonly capabilities: ServerCapabilities
  /** Instructions of the server for the model. */
  readonly instructions: string | undefined
}

type RequestParamsOf<M> = M extends keyof ClientRequests ? ClientRequests[M]['params'] : Params
type RequestResultOf<M> = M extends keyof ClientRequests ? ClientRequests[M]['result'] : ResultObject

/**
 * A client for one server, of any protocol revision. `connect()` creates one and connects it in one step.
 *
 * @example
 * const client = new Client({ name: 'my-app', version: '1.0.0' })
 * await client.connect(new StdioClientTransport({ command: 'node', args: ['server.js'] }))
 */
export class Client {
  /** The name and version of this client. */
  readonly info: Implementation
  readonly #options: ClientOptions
  readonly #events: Emitter<ClientEvents>
  readonly #closing = new AbortController()
  readonly #inputHandlers: InputHandlers
  readonly #serverRequests: ServerRequestHandler
  readonly #notifications: NotificationReceiver
  readonly #connection: Connection
  readonly #requester: Requester
  readonly #cached: CachedRequests
  readonly #clientTasks: ClientTasks
  readonly #logging: Logging
  readonly #prompts: Prompts
  readonly #resources: Resources
  readonly #subscriptions: Subscriptions
  readonly #tasks: Tasks
  readonly #tools: Tools
  #heartbeat: Heartbeat | undefined

  /**
   * Creates a client. Call `connect` to open the connection.
   *
   * @param info The name and version of your program, which the client sends to servers.
   */
  constructor(info: Implementation, options: ClientOptions = {}) {
    checkExtensions(options.capabilities?.extensions)
    this.info = info
    this.#options = options
    this.#events = new Emitter((error) => console.error('[tenon] An event listener failed:', error))
    this.#inputHandlers = new InputHandlers(options.handlers ?? {}, options.capabilities ?? {})
    this.#serverRequests = this.#createServerRequests()
    this.#clientTasks = this.#createClientTasks()
    this.#connection = this.#createConnection()
    this.#requester = this.#createRequester()
    const connection = this.#connection
    const requester = this.#requester
    const events = this.#events
    const tasks = this.#clientTasks
    const usesTasks = options.tasks !== false
    const warn = (message: string) => this.#events.emit('warning', { message })
    const onError = (error: unknown) => this.#events.emit('error', { error })
    const cached = new CachedRequests({ connection, requester, cache: options.cache })
    const pages = new Pages({ connection, requests: cached, warn })
    this.#cached = cached
    this.#prompts = new Prompts(requester, pages)
    this.#resources = new Resources(requester, cached, pages)
    this.#subscriptions = new Subscriptions({
      connection,
      requireResources: () => requester.require('resources'),
      onGap: () => this.#updatesMissed(),
      onError,
    })
    const { request: defaults, compileJsonSchema } = options
    const toolCalls = { defaults, usesTasks, compileJsonSchema, warn }
    this.#tools = new Tools({ connection, requester, cached, pages, tasks, events, ...toolCalls })
    this.#tasks = new Tasks({ connection, requester, pages, tools: this.#tools, tasks, usesTasks })
    const inputHandlers = this.#inputHandlers
    const tools = this.#tools
    const raw = options.raw === true
    this.#notifications = new NotificationReceiver({
      connection,
      cached,
      events,
      inputHandlers,
      tasks,
      tools,
      raw,
      warn,
    })
    this.#logging = new Logging({
      connection,
      requester,
      level: options.logLevel,
      hasListeners: () => events.hasListeners('log') || this.#notifications.hasHandler('notifications/message'),
      onError,
    })
  }

  /** The state of the connection. The event `state` reports changes. */
  get state(): ClientState {
    return this.#connection.state
  }

  /** What the server says about itself, and the revision in use. Throws if there is no connection. */
  get server(): ServerDescription {
    const { revision, ...facts } = this.#live.era.facts
    return { ...facts, revision: revision.id }
  }

  /** The revision in use. Throws if there is no connection. */
  get revision(): RevisionId {
    return this.#live.era.facts.revision.id
  }

  /**
   * The JSON-RPC link of the connection, for programs that send messages themselves; undefined if there is no connection. The
   * client neither checks nor repeats such messages.
   */
  get link(): Link | undefined {
    return this.#connection.live?.link
  }

  /** @internal The facts of the revision in use; undefined if there is no connection. */
  get rules(): Revision | undefined {
    return this.#requester.revision
  }

  /** @internal The same, once there is a connection: while a lost one is being replaced, this waits. Rejects if it is not. */
  async readyRules(): Promise<Revision> {
    return this.rules ?? (await this.#requester.facts()).revision
  }

  /** Returns the capabilities of the server, or undefined if there is no connection. */
  getServerCapabilities(): ServerCapabilities | undefined {
    return this.#connection.live?.era.facts.capabilities
  }

  /** Returns the name and version of the server, or undefined if there is no connection. */
  getServerVersion(): Implementation | undefined {
    return this.#connection.live?.era.facts.info
  }

  /** Returns the instructions of the server for the model, if it has any. */
  getInstructions(): string | undefined {
    return this.#connection.live?.era.facts.instructions
  }

  /**
   * Listens for an event.
   *
   * @returns A function that removes the listener.
   *
   * @example
   * const stop = client.on('toolsChanged', () => reloadTools())
   */
  on<K extends keyof ClientEvents>(name: K, listener: (event: ClientEvents[K]) => void): () => void {
    return this.#events.on(name, listener)
  }

  /**
   * Connects to a server and negotiates the revision. A client can be connected once.
   *
   * @example
   * // Skips the negotiation with a server that is known from an earlier connection.
   * await client.connect(transport, { server: JSON.parse(stored) })
   */
  async connect(transport: Transport, options: ClientConnectOptions = {}): Promise<void> {
    const { server, signal, sendInitialized } = options
    await this.#connection.open(transport, { prior: server && toFacts(server), signal, announces: sendInitialized })
  }

  /** Closes the connection. Pending calls fail with a `ClosedError`. */
  close(): Promise<void> {
    this.#closing.abort(new ClosedError('The client was closed'))
    this.#serverRequests.close()
    return this.#connection.close()
  }

  /** Closes the connection at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /**
   * Sends a request of any method and returns the result. Known methods are typed.
   *
   * @example
   * // Answers requests for input by hand.
   * const result = await client.request('tools/call', call, { inputRequired: 'return' })
   * if (result.resultType === 'input_required') {
   *   const { requestState, inputRequests } = result
   *   await client.request('tools/call', { ...call, requestState, inputResponses: await answer(inputRequests) })
   * }
   */
  request<M extends (keyof ClientRequests & string) | (string & {})>(
    method: M,
    params?: RequestParamsOf<M>,
    options?: ClientRequestOptions,
  ): Promise<RequestResultOf<M>>
  async request(method: string, params?: Params, options?: ClientRequestOptions): Promise<ResultObject> {
    const isCall = isToolCall(method, params)
    if (options?.inputRequired === 'return') {
      return isCall
        ? this.#tools.callOnce(params, options)
        : this.#accept(method, await this.#requester.send(method, params, options))
    }
    if (isCall && this.#options.raw) return (await this.#tools.start(params, options)).result
    return isCall
      ? this.#tools.callToEnd(params, options)
      : this.#accept(method, await this.#requester.requestAny(method, params, options))
  }

  /** Sends a notification of any method. */
  notify(method: string, params?: Params): void {
    const { link } = this.#live
    const problem = this.#requester.traceProblem(method, params)
    if (problem) throw problem
    link.notify(method, params)
  }

  /** Handles a request of the server. On 2026-07-28 servers do not send requests. */
  setRequestHandler(method: string, handler: ClientRequestHandler): void {
    this.#serverRequests.setHandler(method, handler)
  }

  /** Removes the handler for requests of this method. */
  removeRequestHandler(method: string): void {
    this.#serverRequests.removeHandler(method)
  }

  /** Handles requests of the server that have no handler. Without a fallback the server receives an error. */
  setFallbackRequestHandler(handler: ClientRequestHandler | undefined): void {
    this.#serverRequests.setFallback(handler)
  }

  /** Handles a notification of the server. */
  setNotificationHandler(method: string, handler: (params: Params) => void): void {
    this.#notifications.setHandler(method, handler)
  }

  /** Removes the handler for notifications of this method. */
  removeNotificationHandler(method: string): void {
    this.#notifications.removeHandler(method)
  }

  /** Handles notifications of the server that have no handler. */
  setFallbackNotificationHandler(handler: ((notification: RpcNotification) => void) | undefined): void {
    this.#notifications.setFallback(handler)
  }

  /** Replaces the roots, and notifies the server if its revision supports that. */
  setRoots(roots: RootList): void {
    if (!this.#inputHandlers.setRoots(roots)) return
    const { live } = this.#connection
    const method = 'notifications/roots/list_changed'
    if (live && !live.era.facts.revision.lacks(method)) live.link.notify(method)
  }

  /**
   * Sends several requests together, and returns their results in the same order. On 2025-03-26, the only revision with batches,
   * they are one message; on others they are sent one by one at the same time. A request that fails does not affect the others.
   *
   * @example
   * const [tools, prompts] = await client.batch([{ method: 'tools/list' }, { method: 'prompts/list' }])
   * if (tools?.status === 'fulfilled') console.log(tools.value.tools)
   */
  async batch(
    requests: readonly BatchRequest[],
    options?: Pick<RequestOptions, 'signal' | 'timeoutMs' | 'maxTotalTimeoutMs'>,
  ): Promise<PromiseSettledResult<ResultObject>[]> {
    // 2025-03-26 lifecycle: the handshake is never part of a batch.
    if (requests.some(({ method }) => method === 'initialize'))
      throw new TypeError('A batch cannot contain "initialize". connect() sends it.')
    const sendOne = ({ method, params }: BatchRequest) => this.request(method, params, options)
    const accept = (method: string, result: ResultObject) => this.#accept(method, result)
    return this.#requester.batch(requests, options, { sendOne, accept })
  }

  /** 2026-07-28 tools: no method returns tools with invalid `x-mcp-header` annotations, whichever way they were listed. */
  #accept(method: string, result: ResultObject): ResultObject {
    return method === 'tools/list' && !this.#options.raw ? this.#tools.accept(result) : result
  }

  /** Checks that the server responds. On revisions without `ping` the client sends `server/discover`. */
  async ping(options?: RequestOptions): Promise<void> {
    const { revision } = await this.#requester.facts()
    await this.#requester.send(revision.lacks('ping') ? 'server/discover' : 'ping', undefined, options)
  }

  /**
   * Calls a tool.
   *
   * If the server runs the call as a task, `callTool` waits for its result, and cancels the task when you abort the call.
   * `timeoutMs` then counts from the last update of the task, and applies only if you pass it. Pass `outputSchema` to check
   * and type `structuredContent`.
   *
   * @example
   * const result = await client.callTool('add', { a: 1, b: 2 })
   * console.log(result.text)
   *
   * @example
   * const { structuredContent } = await client.callTool('weather', { city: 'Oslo' }, {
   *   outputSchema: z.object({ celsius: z.number() }),
   * })
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
  callTool(
    call: string | CallToolParams,
    // One or the other, depending on the overload.
    second?: Record<string, unknown> & ToolCallOptions<SchemaLike>,
    third?: ToolCallOptions<SchemaLike>,
  ): Promise<ToolResult> {
    if (typeof call === 'string') return this.#tools.call({ name: call, arguments: second ?? {} }, third)
    if (isObject(call)) return this.#tools.call(call, second)
    const usage = "callTool() takes the name of a tool and its arguments: callTool('add', { a: 1 })"
    return Promise.reject(new McpError('invalid-argument', usage))
  }

  /**
   * Calls a tool that may run for a long time, and returns a handle instead of the result. If the server does not create a
   * task, the handle stands for an ordinary call.
   *
   * @example
   * const task = await client.callToolAsTask('report', { topic: 'tides' })
   * console.log((await task.result()).text)
   */
  callToolAsTask(name: string, args: Record<string, unknown> = {}, options: TaskCallOptions = {}): Promise<TaskHandle> {
    return this.#tasks.callTool(name, args, options)
  }

  /** Returns a handle for a task that was created earlier. No request is sent until you use the handle. */
  resumeTask(id: string): TaskHandle {
    return this.#clientTasks.resume(id)
  }

  /** Returns handles for all open tasks in the store `taskIds`, also for those of earlier processes. */
  resumeTasks(): Promise<TaskHandle[]> {
    return this.#clientTasks.resumeAll()
  }

  /** Lists the tasks of this client on the server. Only 2025-11-25 supports it; elsewhere keep the task ids yourself. */
  listTasks(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListTasksResult, CoreTask> {
    return this.#tasks.list(params, options)
  }

  /**
   * Lists tools. Await the call for one page, or iterate over it for all tools.
   *
   * @example
   * for await (const tool of client.listTools()) console.log(tool.name)
   *
   * @example
   * const tools = await client.listTools().all()
   */
  listTools(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListToolsResult, Tool> {
    return this.#tools.list(params, options)
  }

  /** Lists prompts. Await the call for one page, or iterate over it for all prompts. */
  listPrompts(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListPromptsResult, Prompt> {
    return this.#prompts.list(params, options)
  }

  /** Lists resources. Await the call for one page, or iterate over it for all resources. */
  listResources(params?: { cursor?: string }, options?: RequestOptions): ListCall<ListResourcesResult, Resource> {
    return this.#resources.list(params, options)
  }

  /** Lists resource templates. Await the call for one page, or iterate over it for all templates. */
  listResourceTemplates(
    params?: { cursor?: string },
    options?: RequestOptions,
  ): ListCall<ListResourceTemplatesResult, ResourceTemplateInfo> {
    return this.#resources.listTemplates(params, options)
  }

  /**
   * Reads a resource.
   *
   * @example
   * const { contents } = await client.readResource('notes://today')
   */
  readResource(resource: string | { uri: string }, options?: RequestOptions): Promise<ReadResourceResult> {
    return this.#resources.read(typeof resource === 'string' ? { uri: resource } : resource, options)
  }

  /**
   * Gets the messages of a prompt.
   *
   * @example
   * const { messages } = await client.getPrompt('review', { language: 'TypeScript' })
   */
  getPrompt(name: string, args?: Record<string, string>, options?: RequestOptions): Promise<GetPromptResult>
  getPrompt(params: GetPromptParams, options?: RequestOptions): Promise<GetPromptResult>
  getPrompt(
    prompt: string | GetPromptParams,
    // One or the other, depending on the overload.
    second?: Record<string, string> & RequestOptions,
    third?: RequestOptions,
  ): Promise<GetPromptResult> {
    if (typeof prompt !== 'string') return this.#prompts.get(prompt, second)
    return this.#prompts.get({ name: prompt, ...(second && { arguments: second }) }, third)
  }

  /** Completes an argument of a prompt or of a resource template. `createCompleter` adds debouncing and caching. */
  complete(params: CompleteParams, options?: RequestOptions): Promise<CompleteResult['completion']> {
    return complete(this.#requester, params, options)
  }

  /** Sets the minimum severity of log messages. On 2026-07-28 the client sends it with every request. */
  setLoggingLevel(level: LoggingLevel, options?: RequestOptions): Promise<void> {
    return this.#logging.setLevel(level, options)
  }

  /**
   * Subscribes to changes, which the client emits as events. The subscription survives reconnects.
   *
   * @example
   * client.on('toolsChanged', () => reloadTools())
   * const subscription = await client.listen({ toolsListChanged: true })
   */
  listen(filter: SubscriptionFilter): Promise<Subscription> {
    return this.#subscriptions.listen(filter)
  }

  /**
   * Subscribes to changes of one resource.
   *
   * @example
   * client.on('resourceUpdated', async ({ uri }) => show(await client.readResource(uri)))
   * await client.subscribeResource('notes://today')
   */
  subscribeResource(resource: string | { uri: string }): Promise<void> {
    return this.#subscriptions.subscribeResource(resource)
  }

  /** Ends the subscription to a resource. */
  unsubscribeResource(resource: string | { uri: string }): Promise<void> {
    return this.#subscriptions.unsubscribeResource(resource)
  }

  get #live(): Negotiated {
    const { live } = this.#connection
    if (!live) throw notConnected(this.state)
    return live
  }

  #createConnection(): Connection {
    const {
      revision,
      revisions: choice,
      probeTimeoutMs,
      connectTimeoutMs,
      restarts,
      tasks,
      logLevel,
      trace,
      negotiation,
      recover,
      raw,
    } = this.#options
    const { capabilities } = this.#inputHandlers
    const revisions = chooseRevisions(revision ? [revision] : choice)
    warnIfDeprecated(revisions, { roots: capabilities.roots, sampling: capabilities.sampling, logging: logLevel })
    return new Connection({
      identity: { info: this.info, capabilities: tasks ? withTasks(capabilities) : capabilities },
      revisions,
      probeTimeoutMs: probeTimeoutMs ?? 2_000,
      connectTimeoutMs: connectTimeoutMs ?? 60_000,
      restarts: restarts ?? 3,
      negotiation: negotiation ?? 'discover-first',
      recovers: recover ?? true,
      raw: raw === true,
      closeGraceMs: raw ? 0 : undefined,
      trace,
      receiver: {
        request: (exchange) => void this.#serverRequests.answer(exchange),
        notification: (notification) => this.#notifications.receive(notification),
        error: (error) => this.#events.emit('error', { error }),
        ...(raw && { unmatched: (response: RpcResponse) => this.#events.emit('unmatched', { response }) }),
        cancelled: (cancellation) => this.#events.emit('cancelled', cancellation),
      },
      isIdempotent: (method, params) => this.#isIdempotent(method, params),
      onState: (change) => this.#stateChanged(change),
      onRenewed: (renewed) => this.#events.emit('sessionRenewed', renewed),
      onGap: () => this.#updatesMissed(),
      reopenStreams: (live) => this.#subscriptions.reopen(live),
      closeStreams: (live) => this.#subscriptions.closeStreams(live),
      onClosed: () => this.#subscriptions.end(),
    })
  }

  #createRequester(): Requester {
    const { request, maxRounds, handlers } = this.#options
    return new Requester({
      connection: this.#connection,
      defaults: request,
      maxRounds: maxRounds ?? defaultMaxRounds,
      raw: this.#options.raw === true,
      closing: this.#closing.signal,
      addMeta: (params, options) => this.#logging.addLevel(params, options),
      // The error may name URL elicitations that the server will report as complete.
      onFailure: handlers?.elicitUrl && ((error) => this.#inputHandlers.noteRequired(error)),
      onError: (error) => this.#events.emit('error', { error }),
      answerInput: (method, inputMethod, params, signal) =>
        this.#serverRequests.answerInput(method, inputMethod, params, signal),
    })
  }

  #createServerRequests(): ServerRequestHandler {
    return new ServerRequestHandler({
      inputHandlers: this.#inputHandlers,
      raw: this.#options.raw === true,
      tasks: this.#options.handlers?.tasks,
      revision: () => this.#requester.revision,
      server: () => this.#serverIdentity,
      pauseTimeouts: (link) => this.#pauseTimeouts(link),
      // The server only learns that the request failed, so the program has to learn why.
      onError: (error) => this.#reportFailure(error, 'A request of the server failed:'),
    })
  }

  #createClientTasks(): ClientTasks {
    return new ClientTasks({
      closing: this.#closing.signal,
      maxRounds: this.#options.maxRounds ?? defaultMaxRounds,
      ids: this.#options.taskIds,
      facts: () => this.#requester.facts(),
      call: async (method, params, options) => {
        const result = await this.#requester.send(method, params, { ...options, takesTasks: true })
        if (method === 'tasks/result') this.#requester.requiresInput(method, result)
        return result
      },
      listen: async (taskIds) => {
        const { era, link } = await this.#connection.ready()
        return era.listen(link, { taskIds })
      },
      answer: ({ method, params }, signal) => this.#serverRequests.answerInput('tasks/get', method, params, signal),
      onChange: (change) => this.#events.emit('task', change),
      onError: (error) => this.#events.emit('error', { error }),
      checkOutput: (tool, result) => this.#tools.checkOutput(tool, result),
    })
  }

  #isIdempotent(method: string, params: Params | undefined): boolean | Promise<boolean> {
    // A repeated request with input may have an effect that the first one only asked about.
    if (params?.requestState !== undefined) return false
    if (idempotentMethods.has(method)) return true
    // Tool annotations are untrusted unless the server is trusted (2026-07-28 tools).
    if (!isToolCall(method, params) || this.#options.trusted !== true) return false
    return this.#tools.isIdempotent(params.name)
  }

  #stateChanged(change: StateChange): void {
    const { ping, raw, recover } = this.#options
    const { live } = this.#connection
    this.#heartbeat?.stop()
    if (change.state === 'ready' && live) {
      // Another process or session may offer something else, and does not know the log level.
      this.#cached.clear()
      this.#tools.clear()
      this.#logging.sessionStarted()
      // A program that recovers itself finds out itself.
      const isPinged = ping ?? (!raw && recover !== false)
      if (isPinged)
        this.#heartbeat = startPings(ping || undefined, live, this.#connection, (error) => this.#reportFailure(error))
    }
    if (change.state === 'reconnecting') this.#clientTasks.reconnected()
    this.#events.emit('state', change)
  }

  #updatesMissed(): void {
    this.#cached.clear()
    this.#events.emit('updatesMissed', undefined)
  }

  get #serverIdentity(): ServerIdentity {
    const { live, transport } = this.#connection
    const info = live?.era.facts.info
    return { name: info?.title ?? info?.name ?? 'an unnamed server', address: transport?.address }
  }

  #pauseTimeouts(link: Link): () => void {
    const resumes = [link.pauseTimeouts(), this.#clientTasks.pause()]
    return () => {
      for (const resume of resumes) resume()
    }
  }

  /** Reports a failure outside of a call, on the console if there is no listener. */
  #reportFailure(error: unknown, what = 'The connection failed:'): void {
    this.#events.emit('error', { error })
    if (!this.#events.hasListeners('error')) console.error(`[tenon] ${what}`, error)
  }
}

function toFacts({ revision: id, info, capabilities, instructions }: ServerDescription): ServerFacts {
  return { revision: chooseRevisions([id])[0]!, info, capabilities, instructions }
}

function isToolCall(method: string, params: Params | undefined): params is Params & CallToolParams {
  return method === 'tools/call' && typeof params?.name === 'string'
}
