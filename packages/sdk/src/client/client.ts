import type { ServerFacts } from '../era/client.ts'
import { methodNotFound } from '../era/refusals.ts'
import { CapabilityError, ClosedError, McpError, PeerError, ProtocolError, RpcCode } from '../errors.ts'
import type { Exchange } from '../jsonrpc/exchange.ts'
import type { SendOptions } from '../jsonrpc/link.ts'
import type { Params, ResultObject, RpcErrorBody, RpcNotification } from '../jsonrpc/message.ts'
import type { RequestOptions } from '../jsonrpc/pending.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import { checkExtensions } from '../protocol/meta-key.ts'
import { checkParams, paramsChecks } from '../protocol/params.ts'
import type { Revision, RevisionId } from '../protocol/revision.ts'
import { chooseRevisions } from '../protocol/revisions/index.ts'
import {
  type CallToolParams,
  type CallToolResult,
  type ClientCapabilities,
  type ClientRequests,
  type CompleteParams,
  type CompleteResult,
  type GetPromptParams,
  type GetPromptResult,
  type Implementation,
  type ListPromptsResult,
  type ListResourcesResult,
  type ListResourceTemplatesResult,
  type ListToolsResult,
  type LoggingLevel,
  type LoggingMessageParams,
  loggingLevels,
  metaKeys,
  type Prompt,
  type ReadResourceResult,
  type Resource,
  type ResourceTemplateInfo,
  type ServerCapabilities,
  type SubscriptionFilter,
  type Tool,
} from '../protocol/types.ts'
import { Emitter } from '../util/emitter.ts'
import { isObject } from '../util/objects.ts'
import { warnOnce } from '../util/warn.ts'
import { Answerer } from './answerer.ts'
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
import { ListCall, type ListPage } from './list-call.ts'
import { ToolResult } from './results.ts'
import { driveRounds, type Rounds } from './rounds.ts'
import { ToolBook } from './tool-book.ts'

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
  /** Keep results for as long as the server allows. Default true. */
  cache?: boolean | undefined
  /** Start a server process again that ended by itself, up to so many times a minute. Default 3; 0 for never. */
  restarts?: number | undefined
  /** How often a server may ask in one call before it is given up. Default 32. */
  maxRounds?: number | undefined
  /** The least severe log messages to ask for on 2026-07-28, where servers send none unasked. */
  logLevel?: LoggingLevel | undefined
}

export interface ClientEvents {
  state: StateChange
  /** The server forgot the session, and there is a new one. */
  sessionRenewed: SessionRenewed
  toolsChanged: undefined
  promptsChanged: undefined
  resourcesChanged: undefined
  resourceUpdated: { uri: string }
  log: LoggingMessageParams
  /** What the user was to do on a page is done, says the server (2025-11-25). */
  elicitationComplete: { elicitationId: string }
  /** Something the server sent was left out, or could not be used. */
  warning: { message: string }
  /** Something failed that no call could report. */
  error: { error: unknown }
}

type RequestHandler = (params: Params, request: { method: string; signal: AbortSignal }) => unknown

/** A long tool that tells how far it is must not time out, so progress is always asked for. */
const withProgress: SendOptions = { progress: true }

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
])

/** More pages of tools than are worth reading to find one. */
const maxToolPages = 1_000

const listChanges = {
  'notifications/tools/list_changed': { event: 'toolsChanged', stale: ['tools/list'] },
  'notifications/prompts/list_changed': { event: 'promptsChanged', stale: ['prompts/list'] },
  'notifications/resources/list_changed': {
    event: 'resourcesChanged',
    stale: ['resources/list', 'resources/templates/list'],
  },
} as const

/** One connection to one server, of whatever revision. */
export class Client {
  readonly info: Implementation
  readonly #options: ClientOptions
  readonly #connection: Connection
  readonly #events: Emitter<ClientEvents>
  readonly #cache: ResponseCache | undefined
  readonly #answerer: Answerer
  readonly #requestHandlers = new Map<string, RequestHandler>([['ping', () => ({})]])
  readonly #notificationHandlers = new Map<string, (params: Params) => void>()
  readonly #subscribed = new Map<string, Subscription>()
  readonly #tools = new ToolBook(
    (message) => this.#warn(message),
    () => this.#mirrorsArguments,
  )
  readonly #closing = new AbortController()
  #logLevel: LoggingLevel | undefined
  /** Whether the server was told the level, and must be told again in another session. */
  #isLevelTold = false

  constructor(info: Implementation, options: ClientOptions = {}) {
    checkExtensions(options.capabilities?.extensions)
    this.info = info
    this.#options = options
    this.#logLevel = options.logLevel
    this.#answerer = new Answerer(options.handlers ?? {}, options.capabilities ?? {})
    for (const [method, answer] of this.#answerer.methods) {
      this.#requestHandlers.set(method, (params, { signal }) => answer(params, { signal, server: this.#askingServer }))
    }
    this.#events = new Emitter((error) => console.error('[tenon] A listener failed:', error))
    this.#cache = options.cache === false ? undefined : new ResponseCache()
    this.#connection = new Connection({
      identity: { info, capabilities: this.#answerer.capabilities },
      revisions: chooseRevisions(options.revision ? [options.revision] : options.revisions),
      probeTimeoutMs: options.probeTimeoutMs ?? 2_000,
      connectTimeoutMs: options.connectTimeoutMs ?? 60_000,
      restarts: options.restarts ?? 3,
      receiver: {
        request: (exchange) => void this.#answer(exchange),
        notification: (notification) => this.#notified(notification),
        error: (error) => this.#events.emit('error', { error }),
      },
      isIdempotent: (method, params) => this.#isIdempotent(method, params),
      onState: (change) => {
        if (change.state === 'ready') this.#metServer()
        this.#events.emit('state', change)
      },
      onRenewed: (renewed) => this.#events.emit('sessionRenewed', renewed),
      onGap: () => this.#cache?.clear(),
    })
  }

  get state(): ClientState {
    return this.#connection.state
  }

  /** What the server said of itself; throws while there is no connection. */
  get server(): ServerFacts {
    const live = this.#connection.live
    if (!live) throw notConnected(this.state)
    return live.era.facts
  }

  get revision(): RevisionId {
    return this.server.revision.id
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
    live.link.notify(method, params)
  }

  /** Answers requests of the server, where the revision lets it make any. */
  setRequestHandler(method: string, handler: RequestHandler): void {
    this.#requestHandlers.set(method, handler)
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

  /** Calls a tool: `callTool('add', { a: 1, b: 2 })`, or with the params of the wire. */
  callTool(name: string, args?: Record<string, unknown>, options?: RequestOptions): Promise<ToolResult>
  callTool(params: CallToolParams, options?: RequestOptions): Promise<ToolResult>
  async callTool(
    call: string | CallToolParams,
    second?: Record<string, unknown> | RequestOptions,
    third?: RequestOptions,
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
    const options = typeof call === 'string' ? third : (second as RequestOptions | undefined)
    const sent = options ? { ...options, progress: true } : withProgress
    try {
      const read = new ToolResult(await this.#callTool(params, sent))
      this.#tools.checkOutput(params.name, read)
      return read
    } catch (error) {
      throw fromHere(error)
    }
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

  #call(method: string, params: Params | undefined, options: SendOptions | undefined): Promise<ResultObject> {
    const problem = paramsChecks.get(method)?.(params ?? {})
    if (problem !== undefined) return Promise.reject(new McpError('invalid-argument', `${method}: ${problem}`))
    const defaults = this.#options.request
    const sent = defaults ? { ...defaults, ...options } : options
    const answer = this.#connection.call(method, this.#withLogLevel(params), sent)
    if (this.#options.handlers?.elicitUrl) answer.catch((error) => this.#answerer.noteRequired(error))
    return answer
  }

  /** True where a tool's annotated arguments are repeated in headers. */
  get #mirrorsArguments(): boolean {
    const { live, transport } = this.#connection
    return transport?.readsHeaders === true && live?.era.answersRequests === false
  }

  async #callTool(params: CallToolParams, options: SendOptions | undefined): Promise<CallToolResult> {
    const result = await this.#callToolOnce(params, options)
    if (!this.#asksBack(result)) return result
    const rounds = this.#rounds('tools/call', params as unknown as Params, options, (next) =>
      this.#callToolOnce(next as unknown as CallToolParams, options),
    )
    return (await driveRounds(result as unknown as ResultObject, rounds)) as unknown as CallToolResult
  }

  /** A result that asks for something first is answered, until it is final. */
  #final(
    result: ResultObject,
    method: string,
    params: Params | undefined,
    options: SendOptions | undefined,
  ): ResultObject | Promise<ResultObject> {
    if (!this.#asksBack(result)) return result
    const call = (next: Params) => this.#call(method, next, options)
    return driveRounds(result, this.#rounds(method, params ?? {}, options, call))
  }

  /** Only where servers cannot make requests of their own. */
  #asksBack(result: { resultType?: unknown }): boolean {
    return result.resultType === 'input_required' && this.#connection.live?.era.answersRequests === false
  }

  #rounds(method: string, params: Params, options: SendOptions | undefined, call: Rounds['call']): Rounds {
    return {
      method,
      params,
      maxRounds: this.#options.maxRounds ?? 32,
      signal: options?.signal ? AbortSignal.any([options.signal, this.#closing.signal]) : this.#closing.signal,
      call,
      answer: (asked, question, signal) => {
        if (this.#requestHandlers.has(asked)) return this.#respond(asked, question, { method: asked, signal })
        throw new McpError(
          'invalid-response',
          `${method}: the server asks for ${JSON.stringify(asked.slice(0, 100))}, which this client did not declare`,
        )
      },
    }
  }

  async #callToolOnce(params: CallToolParams, options: SendOptions | undefined): Promise<CallToolResult> {
    const headers = this.#mirrorsArguments ? this.#tools.headersOf(params) : undefined
    try {
      return await this.#callWith(headers, params, options)
    } catch (error) {
      const isMismatch = error instanceof PeerError && error.rpcCode === RpcCode.HeaderMismatch
      if (!isMismatch || !this.#mirrorsArguments) throw error
      // 2026-07-28 streamable-http, client behaviour: the tool may want other headers than when it was listed.
      await this.#learnTool(params.name)
      const fresh = this.#tools.headersOf(params)
      if (JSON.stringify(fresh) === JSON.stringify(headers)) throw error
      return this.#callWith(fresh, params, options)
    }
  }

  #callWith(
    headers: Record<string, string> | undefined,
    params: CallToolParams,
    options: SendOptions | undefined,
  ): Promise<CallToolResult> {
    const sent = headers ? { ...options, headers } : options
    return this.#call('tools/call', params as unknown as Params, sent) as Promise<unknown> as Promise<CallToolResult>
  }

  /** Reads the list of tools anew, as far as this tool; what was kept of it is no longer good. */
  async #learnTool(name: string): Promise<void> {
    this.#cache?.forget((method) => method === 'tools/list')
    let cursor: unknown
    for (let page = 0; page < maxToolPages; page++) {
      const result = await this.#call('tools/list', cursor === undefined ? {} : { cursor }, undefined)
      const tools = Array.isArray(result.tools) ? this.#tools.read(result.tools) : []
      cursor = result.nextCursor
      if (typeof cursor !== 'string' || tools.some((tool) => tool.name === name)) return
    }
  }

  #isIdempotent(method: string, params: Params | undefined): boolean {
    // A later round of a call may do what an earlier one only asked about.
    if (params?.requestState !== undefined) return false
    return idempotent.has(method) || (method === 'tools/call' && this.#tools.isIdempotent(params?.name))
  }

  #withLogLevel(params: Params | undefined): Params | undefined {
    if (this.#logLevel === undefined || this.#connection.live?.era.answersRequests !== false) return params
    const meta = isObject(params?._meta) ? params._meta : {}
    return { ...params, _meta: { ...meta, [metaKeys.logLevel]: this.#logLevel } }
  }

  async #cached(
    method: string,
    params: Params | undefined,
    options: RequestOptions | undefined,
  ): Promise<ResultObject> {
    const kept = this.#cache?.get(method, params)
    if (kept) return kept
    const stamp = this.#cache?.stamp ?? 0
    const result = await this.#call(method, params, options)
    if (!this.#asksBack(result)) this.#cache?.put(method, params, result, stamp)
    return result
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
    capability: 'tools' | 'prompts' | 'resources',
    method: string,
    member: string,
    params: { cursor?: string } | undefined,
    options: RequestOptions | undefined,
    read: (items: unknown[]) => Item[],
  ): ListCall<Page, Item> {
    let generation: number | undefined
    const fetch = async (cursor: string | undefined): Promise<Page> => {
      const missing = this.#needs(capability)
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

  async #answer(exchange: Exchange): Promise<void> {
    const { method, params = {} } = exchange.request
    const live = this.#connection.live
    if (live?.era.answersRequests === false) {
      // 2026-07-28: servers do not ask this way, and clients never answer.
      warnOnce(
        'server-request',
        `The server sent the request ${JSON.stringify(method.slice(0, 100))}, which its revision does not allow; it is ignored.`,
      )
      exchange.cancel('Requests from servers are not part of this revision')
      return exchange.handled()
    }
    // A user takes their time, which is not the server's.
    const goOn = exchange.link.pauseTimeouts()
    // One that was taken back holds nothing up, though its handler may not hear of it.
    exchange.onEnd(goOn)
    try {
      this.#checkAllowed(method, params, live?.era.facts.revision)
      const result = await this.#respond(method, params, exchangeInfo(exchange))
      exchange.reply(live?.era.facts.revision.toResult(method, result) ?? result)
    } catch (error) {
      exchange.fail(this.#toErrorBody(error))
    } finally {
      goOn()
      exchange.handled()
    }
  }

  /** Nothing but a ping before the handshake is over, and only what the revision has (2025-11-25 lifecycle). */
  #checkAllowed(method: string, params: Params, revision: Revision | undefined): void {
    if (method === 'ping') return
    if (!revision || revision.lacks(method)) throw methodNotFound(method)
    const isUnknownMode = method === 'elicitation/create' && params.mode === 'url' && !revision.asks.includes('url')
    if (isUnknownMode) throw new ProtocolError(RpcCode.InvalidParams, `${revision.id} has no elicitation by URL`)
  }

  /** The answer to a question of the server, whichever way it came. */
  async #respond(
    method: string,
    params: Params,
    request: { method: string; signal: AbortSignal },
  ): Promise<ResultObject> {
    const handler = this.#requestHandlers.get(method)
    if (!handler) throw methodNotFound(method)
    checkParams(method, params)
    return (await handler(params, request)) as ResultObject
  }

  get #askingServer(): AskingServer {
    const { live, transport } = this.#connection
    const info = live?.era.facts.info
    return { name: info?.title ?? info?.name ?? 'a server without a name', address: transport?.address }
  }

  #toErrorBody(error: unknown): RpcErrorBody {
    if (error instanceof ProtocolError) return error.toBody()
    this.#events.emit('error', { error })
    // The server hears as little as it should; somebody here must hear more.
    if (!this.#events.hasListeners('error'))
      console.error('[tenon] A question of the server could not be answered:', error)
    return { code: RpcCode.InternalError, message: 'Internal error' }
  }

  #notified(notification: RpcNotification): void {
    const { method, params = {} } = notification
    this.#connection.live?.era.notified(notification)
    if (paramsChecks.get(method)?.(params) !== undefined) return this.#warn(`A ${method} with bad params is ignored`)
    const listChange = Object.hasOwn(listChanges, method) ? listChanges[method as keyof typeof listChanges] : undefined
    if (listChange) {
      this.#cache?.forget((kept) => (listChange.stale as readonly string[]).includes(kept))
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

  /** Another process, or another session, may offer something else and knows nothing of us. */
  #metServer(): void {
    this.#cache?.clear()
    this.#tools.clear()
    if (!this.#isLevelTold) return
    this.#call('logging/setLevel', { level: this.#logLevel }, undefined).catch((error) =>
      this.#events.emit('error', { error }),
    )
  }

  #warn(message: string): void {
    this.#events.emit('warning', { message })
  }
}

function exchangeInfo(exchange: Exchange): { method: string; signal: AbortSignal } {
  return {
    method: exchange.request.method,
    get signal() {
      return exchange.signal
    },
  }
}

/** The error was made where the answer came in; whoever reads it wants to know who asked. */
function fromHere(error: unknown): unknown {
  if (error instanceof McpError) Error.captureStackTrace?.(error, fromHere)
  return error
}

function invalid(method: string, member: string): McpError {
  return new McpError('invalid-response', `The answer to ${method} has no ${member}`)
}
