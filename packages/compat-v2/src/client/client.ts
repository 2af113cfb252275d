import { headerAnnotationProblem, toolHeaders } from 'tenon/client'
import type { RpcNotification } from 'tenon/jsonrpc'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  DEFAULT_REQUEST_TIMEOUT_MSEC,
  PROTOCOL_VERSION_META_KEY,
  SERVER_INFO_META_KEY,
} from '../core/constants.ts'
import type { BaseContext, ClientContext, ProtocolOptions, RequestOptions } from '../core/context.ts'
import { ProtocolError, ProtocolErrorCode, SdkError, SdkErrorCode } from '../core/errors.ts'
import { defaultValidator, type jsonSchemaValidator } from '../core/json-schema.ts'
import { isObject } from '../core/objects.ts'
import type { Transport } from '../core/transport.ts'
import type {
  CallToolRequest,
  CallToolResult,
  ClientCapabilities,
  CompleteRequest,
  CompleteResult,
  DiscoverResult,
  EmptyResult,
  GetPromptRequest,
  GetPromptResult,
  Implementation,
  JSONRPCRequest,
  ListChangedHandlers,
  ListPromptsRequest,
  ListPromptsResult,
  ListResourcesRequest,
  ListResourcesResult,
  ListResourceTemplatesRequest,
  ListResourceTemplatesResult,
  ListToolsRequest,
  ListToolsResult,
  LoggingLevel,
  Notification,
  NotificationMethod,
  ProtocolEra,
  ReadResourceRequest,
  ReadResourceResult,
  RequestMethod,
  Result,
  ServerCapabilities,
  SubscribeRequest,
  SubscriptionFilter,
  Tool,
  UnsubscribeRequest,
} from '../core/types.ts'
import { applyDefaults, getSupportedElicitationModes } from './elicitation.ts'
import { type InputRequiredOptions, provideInput } from './input-required.ts'
import { ListChanges } from './list-changed.ts'
import { LinkPort } from './port.ts'
import { type InputRequired, type InterruptedCall, mergeCapabilities, Protocol } from './protocol.ts'
import { type CacheMode, InMemoryResponseCacheStore, ResponseCache, type ResponseCacheStore } from './response-cache.ts'
import { type McpSubscription, Subscriptions } from './subscription.ts'
import { toCancelled } from './to-sdk-error.ts'
import { checkOutput, compileOutput, requireUsable } from './tool-output.ts'
import {
  modernVersions,
  type Negotiated,
  type Offer,
  type PriorDiscovery,
  probe,
  readOffer,
  type VersionNegotiationOptions,
} from './version-negotiation.ts'
import { checkAnswer, checkQuestion, DiscoverResultSchema, isModernProtocolVersion, type WireCheck } from './wire.ts'

/** Options of a `Client`. */
export type ClientOptions = ProtocolOptions & {
  /** The capabilities to declare. */
  capabilities?: ClientCapabilities
  /** Checks results of tools against their output schemas. Default: Tenon's own validator. */
  jsonSchemaValidator?: jsonSchemaValidator
  /** How to find out which revision the server speaks. Default: only `initialize`. */
  versionNegotiation?: VersionNegotiationOptions
  /** How to react to results of 2026-07-28 that ask for input. */
  inputRequired?: InputRequiredOptions
  /** Callbacks for lists of the server that have changed. */
  listChanged?: ListChangedHandlers
  /** How many pages a list may have. 0: any number. Default 64. */
  listMaxPages?: number
  /** Where results are cached. Default: in memory, for this client alone. */
  responseCacheStore?: ResponseCacheStore
  /** The user of this client, if clients of several users share a store. */
  cachePartition?: string
  /** How long results are cached for which the server says nothing. Default 0. */
  defaultCacheTtlMs?: number
}

/** Options of `Client.connect`. */
export type ConnectOptions = RequestOptions & {
  /** What is known about the server from an earlier connection. Saves `server/discover`. */
  prior?: PriorDiscovery
}

/** Options of lists and `readResource`. */
export type CacheableRequestOptions = RequestOptions & { cacheMode?: CacheMode }

/** Options of `callTool`. */
export type CallToolRequestOptions = RequestOptions & {
  /** The tool, if you know it already. Its output schema and headers then apply without a list of tools. */
  toolDefinition?: Tool
}

const headerMismatch = -32020

/** The cached results that a notification makes obsolete. */
const outdated: ReadonlyMap<string, readonly string[]> = new Map([
  ['notifications/tools/list_changed', ['tools/list']],
  ['notifications/prompts/list_changed', ['prompts/list']],
  ['notifications/resources/list_changed', ['resources/list', 'resources/templates/list']],
])

/** The capability of the server that a request needs. */
const requiredCapabilities: ReadonlyMap<string, keyof ServerCapabilities & string> = new Map([
  ['logging/setLevel', 'logging'],
  ['prompts/get', 'prompts'],
  ['prompts/list', 'prompts'],
  ['resources/list', 'resources'],
  ['resources/templates/list', 'resources'],
  ['resources/read', 'resources'],
  ['resources/subscribe', 'resources'],
  ['resources/unsubscribe', 'resources'],
  ['tools/call', 'tools'],
  ['tools/list', 'tools'],
  ['completion/complete', 'completions'],
] as const)

/** The capability of the client that a handler belongs to. */
const handlerCapabilities: ReadonlyMap<string, 'sampling' | 'elicitation' | 'roots'> = new Map([
  ['sampling/createMessage', 'sampling'],
  ['elicitation/create', 'elicitation'],
  ['roots/list', 'roots'],
] as const)

/**
 * A client for one server.
 *
 * @example
 * const client = new Client({ name: 'my-app', version: '1.0.0' }, { versionNegotiation: { mode: 'auto' } })
 * await client.connect(new StreamableHTTPClientTransport(new URL('https://example.com/mcp')))
 */
export class Client extends Protocol<ClientContext> {
  readonly #info: Implementation
  readonly #options: ClientOptions
  readonly #cache: ResponseCache
  readonly #listChanges: ListChanges | undefined
  readonly #subscriptions = new Subscriptions()
  readonly #validator: jsonSchemaValidator
  #capabilities: ClientCapabilities
  #negotiation: VersionNegotiationOptions | undefined
  #serverCapabilities: ServerCapabilities | undefined
  #serverVersion: Implementation | undefined
  #instructions: string | undefined
  #discovered: DiscoverResult | undefined
  #ownSubscription: McpSubscription | undefined

  constructor(clientInfo: Implementation, options: ClientOptions = {}) {
    super(options)
    this.#info = clientInfo
    this.#options = options
    this.#capabilities = { ...options.capabilities }
    this.#negotiation = options.versionNegotiation
    this.#validator = options.jsonSchemaValidator ?? defaultValidator()
    this.#listChanges = options.listChanged && new ListChanges(options.listChanged)
    this.#cache = new ResponseCache({
      store: options.responseCacheStore ?? new InMemoryResponseCacheStore(),
      isOwn: options.responseCacheStore === undefined,
      user: options.cachePartition ?? '',
      defaultTtlMs: options.defaultCacheTtlMs ?? 0,
      onError: (error) => this._onError(error),
    })
  }

  /** Declares further capabilities. Call it before `connect`. */
  registerCapabilities(capabilities: ClientCapabilities): void {
    if (this.transport) throw new Error('Cannot register capabilities after connecting to transport')
    this.#capabilities = mergeCapabilities(this.#capabilities, capabilities)
  }

  /** Replaces the option `versionNegotiation`. Call it before `connect`. */
  setVersionNegotiation(options: VersionNegotiationOptions | undefined): void {
    if (this.transport) throw new Error('Cannot configure version negotiation after connecting to transport')
    this.#negotiation = options
  }

  /** Connects to a server and negotiates the revision. */
  override async connect(transport: Transport, options: ConnectOptions = {}): Promise<void> {
    const { prior } = options
    if (prior !== undefined && prior !== null) return this.#connectKnown(transport, readPrior(prior), options)
    const offer = readOffer(this.#negotiation, this.#options.supportedProtocolVersions)
    if (!offer) return this.#connectLegacy(new LinkPort(transport), options)
    if (transport.sessionId !== undefined) return this.#resume(new LinkPort(transport))
    this.#reset()
    const port = new LinkPort(transport)
    const found = await this.#negotiate(offer, port, options)
    await this._open(port)
    if (found.era === 'legacy') return this.#handshake(port, options)
    this.#adopt(found.discover, found.version, transport)
    await this.#followLists(options)
  }

  override async close(): Promise<void> {
    try {
      await super.close()
    } finally {
      this.#reset()
    }
  }

  /** The capabilities of the server, once connected. */
  getServerCapabilities(): ServerCapabilities | undefined {
    return this.#serverCapabilities
  }

  /** The name and version of the server, if it sent them. */
  getServerVersion(): Implementation | undefined {
    return this.#serverVersion
  }

  /** The revision in use. */
  getNegotiatedProtocolVersion(): string | undefined {
    return this._negotiatedProtocolVersion
  }

  /** `modern` on 2026-07-28 and later, `legacy` on revisions with `initialize`. */
  getProtocolEra(): ProtocolEra | undefined {
    const version = this._negotiatedProtocolVersion
    if (version === undefined) return undefined
    return isModernProtocolVersion(version) ? 'modern' : 'legacy'
  }

  /** The instructions of the server for the model. */
  getInstructions(): string | undefined {
    return this.#instructions
  }

  /** The last result of `server/discover`. Store it and pass it to `connect` as `prior`. */
  getDiscoverResult(): DiscoverResult | undefined {
    return this.#discovered
  }

  /** The subscription that the option `listChanged` opened on 2026-07-28. */
  get autoOpenedSubscription(): McpSubscription | undefined {
    return this.#ownSubscription
  }

  async ping(options?: RequestOptions): Promise<EmptyResult> {
    return this.request({ method: 'ping' }, options)
  }

  /** Sends `server/discover` (2026-07-28). */
  async discover(options?: RequestOptions): Promise<DiscoverResult> {
    this.#discovered = await this.request({ method: 'server/discover' }, options)
    return this.#discovered
  }

  /** Asks the server to complete an argument of a prompt or resource template. */
  async complete(params: CompleteRequest['params'], options?: RequestOptions): Promise<CompleteResult> {
    return this.request({ method: 'completion/complete', params }, options)
  }

  /** Sets the lowest level of log messages that the server sends. */
  async setLoggingLevel(level: LoggingLevel, options?: RequestOptions): Promise<EmptyResult> {
    return this.request({ method: 'logging/setLevel', params: { level } }, options)
  }

  async getPrompt(params: GetPromptRequest['params'], options?: RequestOptions): Promise<GetPromptResult> {
    return this.request({ method: 'prompts/get', params }, options)
  }

  /** Lists the prompts: all of them, or one page if you pass a cursor. */
  async listPrompts(
    params?: ListPromptsRequest['params'],
    options?: CacheableRequestOptions,
  ): Promise<ListPromptsResult> {
    return this.#list<ListPromptsResult>('prompts/list', 'prompts', 'prompts', params, options)
  }

  /** Lists the resources: all of them, or one page if you pass a cursor. */
  async listResources(
    params?: ListResourcesRequest['params'],
    options?: CacheableRequestOptions,
  ): Promise<ListResourcesResult> {
    return this.#list<ListResourcesResult>('resources/list', 'resources', 'resources', params, options)
  }

  /** Lists the resource templates: all of them, or one page if you pass a cursor. */
  async listResourceTemplates(
    params?: ListResourceTemplatesRequest['params'],
    options?: CacheableRequestOptions,
  ): Promise<ListResourceTemplatesResult> {
    const method = 'resources/templates/list'
    return this.#list<ListResourceTemplatesResult>(method, 'resources', 'resourceTemplates', params, options)
  }

  /** Lists the tools: all of them, or one page if you pass a cursor. */
  async listTools(params?: ListToolsRequest['params'], options?: CacheableRequestOptions): Promise<ListToolsResult> {
    return this.#list<ListToolsResult>('tools/list', 'tools', 'tools', params, options)
  }

  /** Reads a resource. */
  async readResource(
    params: ReadResourceRequest['params'],
    options?: CacheableRequestOptions,
  ): Promise<ReadResourceResult> {
    const cached = await this.#cached<ReadResourceResult>('resources/read', params.uri, options)
    if (cached) return cached
    const begun = this.#cache.begin('resources/read', params.uri)
    const result = await this.request({ method: 'resources/read', params }, options)
    if (options?.cacheMode === 'bypass') return result
    const freshness = this.#cache.freshnessOf(result)
    if (freshness.expiresAt > Date.now()) {
      await this.#cache.write('resources/read', params.uri, result, begun, freshness)
    } else if (options?.cacheMode === 'refresh') await this.#cache.remove('resources/read', params.uri)
    return result
  }

  async subscribeResource(params: SubscribeRequest['params'], options?: RequestOptions): Promise<EmptyResult> {
    return this.request({ method: 'resources/subscribe', params }, options)
  }

  async unsubscribeResource(params: UnsubscribeRequest['params'], options?: RequestOptions): Promise<EmptyResult> {
    return this.request({ method: 'resources/unsubscribe', params }, options)
  }

  /** Subscribes to changes (2026-07-28). The notifications go to the handlers of `setNotificationHandler`. */
  async listen(filter: SubscriptionFilter, options?: RequestOptions): Promise<McpSubscription> {
    if (!this.transport) throw new SdkError(SdkErrorCode.NotConnected, 'Not connected')
    if (this.getProtocolEra() !== 'modern') throw listenNotSupported(this._negotiatedProtocolVersion)
    if (options?.signal?.aborted) throw toCancelled(options.signal.reason)
    const params = { _meta: { ...this._envelope() }, notifications: filter }
    return this.#subscriptions.listen(
      (exchange) => this._exchange('subscriptions/listen', params, { ...exchange, timeoutMs: 0, maxTotalTimeoutMs: 0 }),
      options,
    )
  }

  /** Calls a tool. Checks structured content if the output schema of the tool is known. */
  async callTool(params: CallToolRequest['params'], options?: CallToolRequestOptions): Promise<CallToolResult> {
    try {
      return await this.#callTool(params, options)
    } catch (error) {
      const isStale = error instanceof ProtocolError && error.code === headerMismatch
      if (!isStale || !this.#mirrorsArguments || options?.toolDefinition) throw error
    }
    // The headers were made from an old list of tools.
    await this.#cache.remove('tools/list')
    const { signal, timeout } = options ?? {}
    await this.listTools(undefined, {
      ...(signal && { signal }),
      ...(timeout !== undefined && { timeout }),
      cacheMode: 'refresh',
    }).catch((error) => this._onError(error))
    return this.#callTool(params, options)
  }

  /** Notifies the server that the roots have changed. */
  async sendRootsListChanged(): Promise<void> {
    return this.notification({ method: 'notifications/roots/list_changed' })
  }

  protected override buildContext(ctx: BaseContext): ClientContext {
    return ctx
  }

  protected assertCapability(capability: keyof ServerCapabilities, method: string): void {
    if (this.#serverCapabilities?.[capability]) return
    const what = `Server does not support ${String(capability)} (required for ${method})`
    throw new SdkError(SdkErrorCode.CapabilityNotSupported, what)
  }

  protected override assertCapabilityForMethod(method: RequestMethod | string): void {
    const capability = requiredCapabilities.get(method)
    if (capability) this.assertCapability(capability, method)
    if (method !== 'resources/subscribe' || this.#serverCapabilities?.resources?.subscribe) return
    const what = `Server does not support resource subscriptions (required for ${method})`
    throw new SdkError(SdkErrorCode.CapabilityNotSupported, what)
  }

  protected override assertNotificationCapability(method: NotificationMethod | string): void {
    if (method !== 'notifications/roots/list_changed' || this.#capabilities.roots?.listChanged) return
    const what = `Client does not support roots list changed notifications (required for ${method})`
    throw new SdkError(SdkErrorCode.CapabilityNotSupported, what)
  }

  protected override assertRequestHandlerCapability(method: string): void {
    const capability = handlerCapabilities.get(method)
    if (!capability || this.#capabilities[capability]) return
    const what = `Client does not support ${capability} capability (required for ${method})`
    throw new SdkError(SdkErrorCode.CapabilityNotSupported, what)
  }

  protected override _envelope(): Readonly<Record<string, unknown>> | undefined {
    const version = this._negotiatedProtocolVersion
    if (version === undefined || !isModernProtocolVersion(version)) return undefined
    return {
      [PROTOCOL_VERSION_META_KEY]: version,
      [CLIENT_INFO_META_KEY]: this.#info,
      [CLIENT_CAPABILITIES_META_KEY]: this.#capabilities,
    }
  }

  protected override _dropReason({ method }: JSONRPCRequest): string | undefined {
    if (this.getProtocolEra() !== 'modern') return undefined
    return `Dropped inbound request '${method}': not servable on this connection's protocol era`
  }

  protected override _wrapHandler(
    method: string,
    handler: (request: JSONRPCRequest, ctx: ClientContext) => Promise<Result>,
  ): (request: JSONRPCRequest, ctx: ClientContext) => Promise<Result> {
    if (method === 'elicitation/create') return (request, ctx) => this.#elicit(request, () => handler(request, ctx))
    if (method === 'sampling/createMessage') return (request, ctx) => sample(request, () => handler(request, ctx))
    return handler
  }

  protected override async _provideInput(input: InputRequired, call: InterruptedCall): Promise<unknown> {
    const { autoFulfill = true, maxRounds = 10 } = this.#options.inputRequired ?? {}
    const { method } = call.request
    if (!autoFulfill) {
      throw new SdkError(
        SdkErrorCode.UnsupportedResultType,
        `Unsupported result type 'input_required' for ${method}: multi-round-trip auto-fulfilment is not enabled on this instance. Pass allowInputRequired: true to handle it manually, or enable inputRequired.autoFulfill.`,
        { resultType: 'input_required', method },
      )
    }
    const provider = {
      maxRounds,
      sessionId: this.transport?.sessionId,
      isQuestion: (question: string) => handlerCapabilities.has(question),
      handlerOf: (question: string) => this._requestHandler(question),
    }
    return provideInput(provider, input, call)
  }

  protected override _onNotification(notification: RpcNotification): void {
    const { method, params } = notification
    if (method === 'notifications/resources/updated' && typeof params?.uri === 'string') {
      void this.#cache.remove('resources/read', params.uri)
    }
    for (const list of outdated.get(method) ?? []) void this.#cache.remove(list)
    if (this.#subscriptions.take(notification as Notification)) return
    super._onNotification(notification)
  }

  protected override _onClose(): void {
    this.#subscriptions.clear()
    super._onClose()
  }

  async #connectKnown(transport: Transport, prior: PriorDiscovery, options: RequestOptions): Promise<void> {
    const port = new LinkPort(transport)
    if (prior.kind === 'legacy') return this.#connectLegacy(port, options)
    this.#reset()
    const { discover } = prior
    const versions = modernVersions(this.#options.supportedProtocolVersions)
    const version = versions.find((each) => discover.supportedVersions.includes(each))
    if (version === undefined) {
      throw new SdkError(
        SdkErrorCode.EraNegotiationFailed,
        "connect({ prior }): the DiscoverResult and this client have no protocol version of 2026-07-28 or later in common. For a server with initialize pass prior: { kind: 'legacy' }, or use versionNegotiation: { mode: 'auto' }.",
      )
    }
    await this._open(port)
    this.#adopt(discover, version, transport)
    this.#registerListHandlers()
  }

  async #connectLegacy(port: LinkPort, options: RequestOptions): Promise<void> {
    if (port.transport.sessionId !== undefined) return this.#resume(port)
    this.#reset()
    await this._open(port)
    await this.#handshake(port, options)
  }

  /** Continues a session that the transport was created with: there is no handshake. */
  async #resume(port: LinkPort): Promise<void> {
    await this._open(port)
    if (this._negotiatedProtocolVersion !== undefined) {
      port.transport.setProtocolVersion?.(this._negotiatedProtocolVersion)
    }
  }

  async #negotiate(offer: Offer, port: LinkPort, options: RequestOptions): Promise<Negotiated> {
    const { transport } = port
    const isStdio = 'stderr' in transport && 'pid' in transport
    let abort: (error: Error) => void = () => {}
    // The program may close its transport while another process is asked.
    const closed = new Promise<never>((_resolve, reject) => {
      abort = reject
    })
    closed.catch(() => {})
    const sibling = isStdio ? createSibling(transport, () => abort(closedDuringProbe())) : undefined
    const probed = sibling ? new LinkPort(sibling) : port
    const found = probe({
      offer,
      port: probed,
      clientInfo: this.#info,
      capabilities: this.#capabilities,
      timeoutMs: options.timeout ?? DEFAULT_REQUEST_TIMEOUT_MSEC,
      isStdio,
      isDisposable: sibling !== undefined,
    })
    found.catch(() => {})
    try {
      return await Promise.race([found, closed])
    } catch (error) {
      await transport.close().catch(() => {})
      throw error
    } finally {
      await sibling?.close().catch(() => {})
    }
  }

  async #handshake({ transport }: LinkPort, options: RequestOptions): Promise<void> {
    try {
      const { protocolVersion, capabilities, serverInfo, instructions } = await this.#initialize(options)
      this.#serverCapabilities = capabilities
      this.#serverVersion = serverInfo
      this.#instructions = instructions
      this.#cache.setServer(this.#serverName(transport))
      transport.setProtocolVersion?.(protocolVersion)
      await this.notification({ method: 'notifications/initialized' })
      this._negotiatedProtocolVersion = protocolVersion
      this.#listChanges?.register(this.#listChangedTarget, capabilities)
    } catch (error) {
      void this.close()
      throw error
    }
  }

  async #initialize(options: RequestOptions) {
    const versions = this._supportedProtocolVersions.filter((version) => !isModernProtocolVersion(version))
    const [protocolVersion] = versions
    if (protocolVersion === undefined) {
      throw new SdkError(
        SdkErrorCode.EraNegotiationFailed,
        'Cannot run the initialize handshake: supportedProtocolVersions contains no pre-2026-07-28 protocol version',
      )
    }
    const params = { protocolVersion, capabilities: this.#capabilities, clientInfo: this.#info }
    const { prior: _prior, ...requestOptions } = options as ConnectOptions
    const result = await this.request({ method: 'initialize', params }, requestOptions)
    if (versions.includes(result.protocolVersion)) return result
    throw new Error(`Server's protocol version is not supported: ${result.protocolVersion}`)
  }

  #adopt(discover: DiscoverResult, version: string, transport: Transport): void {
    const info = discover._meta?.[SERVER_INFO_META_KEY]
    this.#discovered = discover
    this.#serverCapabilities = discover.capabilities
    this.#serverVersion = isObject(info) ? (info as unknown as Implementation) : undefined
    this.#instructions = discover.instructions
    this.#cache.setServer(this.#serverName(transport))
    this._negotiatedProtocolVersion = version
    transport.setProtocolVersion?.(version)
  }

  /** On 2026-07-28 servers send changes only to clients that subscribe. */
  async #followLists({ signal, timeout }: RequestOptions): Promise<void> {
    const filter = this.#registerListHandlers()
    if (Object.keys(filter).length === 0) return
    // The signal of `connect` does not end the subscription later.
    const opening = new AbortController()
    const onAbort = () => opening.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
    try {
      this.#ownSubscription = await this.listen(filter, {
        signal: opening.signal,
        ...(timeout !== undefined && { timeout }),
      })
    } catch (error) {
      if (!signal?.aborted) return this._onError(error)
      await this.close().catch(() => {})
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  #registerListHandlers(): SubscriptionFilter {
    try {
      return this.#listChanges?.register(this.#listChangedTarget, this.#serverCapabilities) ?? {}
    } catch (error) {
      this._onError(error)
      return {}
    }
  }

  get #listChangedTarget() {
    const refresh = { cacheMode: 'refresh' } as const
    const lists = {
      tools: async () => (await this.listTools(undefined, refresh)).tools,
      prompts: async () => (await this.listPrompts(undefined, refresh)).prompts,
      resources: async () => (await this.listResources(undefined, refresh)).resources,
    }
    return {
      setNotificationHandler: (method: NotificationMethod, handler: () => void) =>
        this.setNotificationHandler(method, handler),
      list: (kind: keyof ListChangedHandlers): Promise<unknown[]> => lists[kind](),
    }
  }

  /** Forgets the last connection. */
  #reset(): void {
    this._negotiatedProtocolVersion = undefined
    this.#serverCapabilities = undefined
    this.#serverVersion = undefined
    this.#instructions = undefined
    this.#discovered = undefined
    this.#ownSubscription = undefined
    this.#subscriptions.clear()
    this.#listChanges?.stop()
    this.#cache.reset()
  }

  /** Results of servers without a name are not shared between connections. */
  #serverName({ sessionId }: Transport): string {
    const server = this.#serverVersion
    return server ? `${server.name}@${server.version}` : (sessionId ?? `anonymous:${crypto.randomUUID()}`)
  }

  async #list<R extends Result & { nextCursor?: string | undefined }>(
    method: 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list',
    capability: 'tools' | 'prompts' | 'resources',
    member: string,
    params: { cursor?: string | undefined } | undefined,
    options: CacheableRequestOptions | undefined,
  ): Promise<R> {
    if (!this.#serverCapabilities?.[capability] && !this.#options.enforceStrictCapabilities) {
      console.debug(`The server does not offer ${capability}, so the list of ${member} is empty`)
      return { [member]: [] } as unknown as R
    }
    if (params?.cursor !== undefined)
      return this.#usable(method, (await this.request({ method, params }, options)) as never)
    const cached = await this.#cached<R>(method, '', options)
    if (cached) return cached
    const begun = this.#cache.begin(method)
    const all = this.#usable(method, await this.#allPages<R>(method, member, params, options))
    if (options?.cacheMode !== 'bypass') {
      await this.#cache.write(method, '', all, begun, this.#cache.freshnessOf(all))
    }
    return all
  }

  async #allPages<R extends Result & { nextCursor?: string | undefined }>(
    method: 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list',
    member: string,
    params: object | undefined,
    options: RequestOptions | undefined,
  ): Promise<R> {
    const { listMaxPages = 64 } = this.#options
    const fetchPage = async (cursor?: string) =>
      (await this.request(
        {
          method,
          ...((params || cursor !== undefined) && { params: { ...params, ...(cursor !== undefined && { cursor }) } }),
        },
        options,
      )) as unknown as R
    const { nextCursor, ...first } = await fetchPage()
    const items = [...(first[member] as unknown[])]
    const seen = new Set<string>()
    let cursor = nextCursor
    for (let pages = 1; cursor !== undefined && !seen.has(cursor); pages++) {
      if (listMaxPages !== 0 && pages >= listMaxPages) throw tooManyPages(method, listMaxPages)
      seen.add(cursor)
      const page: R = await fetchPage(cursor)
      items.push(...(page[member] as unknown[]))
      cursor = page.nextCursor
    }
    return { ...first, [member]: items } as unknown as R
  }

  /** Over HTTP, tools whose annotations for headers are invalid must not be used (2026-07-28). */
  #usable<R extends Result>(method: string, result: R): R {
    const { transport } = this
    const isStdio = transport && 'stderr' in transport && 'pid' in transport
    if (method !== 'tools/list' || this.getProtocolEra() !== 'modern' || isStdio) return result
    const tools = (result.tools as Tool[]).filter(({ name, inputSchema }) => {
      const problem = headerAnnotationProblem(inputSchema)
      if (problem !== undefined) {
        console.warn(`[mcp-sdk] excluding tool '${name}' from tools/list: invalid x-mcp-header declaration: ${problem}`)
      }
      return problem === undefined
    })
    return { ...result, tools }
  }

  async #cached<R>(
    method: string,
    params: string,
    options: CacheableRequestOptions | undefined,
  ): Promise<R | undefined> {
    const { cacheMode = 'use', signal } = options ?? {}
    if (cacheMode !== 'use') return undefined
    const cached = await this.#cache.read(method, params).catch((error) => this._onError(error))
    if (cached === undefined) return undefined
    if (signal?.aborted) throw toCancelled(signal.reason)
    return cached as R
  }

  get #mirrorsArguments(): boolean {
    return this.getProtocolEra() === 'modern'
  }

  async #callTool(params: CallToolRequest['params'], options: CallToolRequestOptions = {}): Promise<CallToolResult> {
    const { toolDefinition, ...requestOptions } = options
    const { name } = params
    const tool = toolDefinition ?? (await this.#knownTool(name))
    const compile = (definition: Tool) => compileOutput(definition, this.#validator)
    const check = tool && (toolDefinition ? compile(tool) : this.#cache.derive(tool, compile))
    requireUsable(name, check)
    const headers = tool && this.#mirrorsArguments ? toolHeaders(tool.inputSchema, params.arguments) : {}
    const hasHeaders = Object.keys(headers).length > 0
    const result = await this.request(
      { method: 'tools/call', params },
      hasHeaders ? { ...requestOptions, headers: { ...options.headers, ...headers } } : requestOptions,
    )
    // A result that asks for input is not the final one.
    if ((result as { resultType?: unknown }).resultType !== 'input_required') checkOutput(name, check, result)
    return result
  }

  async #knownTool(name: string): Promise<Tool | undefined> {
    try {
      return await this.#cache.tool(name)
    } catch (error) {
      this._onError(error)
      return undefined
    }
  }

  async #elicit(request: JSONRPCRequest, handle: () => Promise<Result>): Promise<Result> {
    const { params } = requireValid(checkQuestion('elicitation/create', request), 'Invalid elicitation request') as {
      params: { mode?: string; requestedSchema?: unknown }
    }
    const { mode = 'form', requestedSchema } = params
    const { supportsFormMode, supportsUrlMode } = getSupportedElicitationModes(this.#capabilities.elicitation)
    if (mode === 'form' && !supportsFormMode) throw unsupportedMode('form')
    if (mode === 'url' && !supportsUrlMode) throw unsupportedMode('URL')
    const answer = checkAnswer('elicitation/create', await handle())
    const result = requireValid(answer, 'Invalid elicitation result') as Result
    const { applyDefaults: appliesDefaults } = (this.#capabilities.elicitation?.form ?? {}) as {
      applyDefaults?: boolean
    }
    if (mode === 'form' && result.action === 'accept' && appliesDefaults) applyDefaults(requestedSchema, result.content)
    return result
  }
}

async function sample(request: JSONRPCRequest, handle: () => Promise<Result>): Promise<Result> {
  const { params } = requireValid(checkQuestion('sampling/createMessage', request), 'Invalid sampling request') as {
    params: { tools?: unknown; toolChoice?: unknown }
  }
  const hasTools = Boolean(params.tools || params.toolChoice)
  const answer = checkAnswer('sampling/createMessage', await handle(), hasTools)
  return requireValid(answer, 'Invalid sampling result') as Result
}

function requireValid(checked: WireCheck | undefined, what: string): unknown {
  if (checked?.ok) return checked.value
  throw new ProtocolError(ProtocolErrorCode.InvalidParams, `${what}: ${checked?.message}`)
}

function unsupportedMode(mode: string): ProtocolError {
  const what = `Client does not support ${mode}-mode elicitation requests`
  return new ProtocolError(ProtocolErrorCode.InvalidParams, what)
}

function tooManyPages(method: string, listMaxPages: number): SdkError {
  return new SdkError(
    SdkErrorCode.ListPaginationExceeded,
    `${method}: exceeded listMaxPages (${listMaxPages}); server pagination did not terminate`,
    { method, listMaxPages },
  )
}

function listenNotSupported(version: string | undefined): SdkError {
  return new SdkError(
    SdkErrorCode.MethodNotSupportedByProtocolVersion,
    `subscriptions/listen requires a 2026-07-28-era connection (negotiated: ${version ?? 'none'}). On earlier revisions use ClientOptions.listChanged and resources/subscribe.`,
    { method: 'subscriptions/listen', protocolVersion: version },
  )
}

function closedDuringProbe(): SdkError {
  const what = 'Version negotiation failed: the transport was closed during the server/discover probe'
  return new SdkError(SdkErrorCode.EraNegotiationFailed, what)
}

function readPrior(prior: PriorDiscovery): PriorDiscovery {
  const { kind, discover } = (isObject(prior) ? prior : {}) as { kind?: unknown; discover?: unknown }
  if (kind === 'legacy' && discover === undefined && !('supportedVersions' in prior)) return prior
  if (kind === 'modern' && DiscoverResultSchema.safeParse(discover).success) return prior
  throw new SdkError(
    SdkErrorCode.EraNegotiationFailed,
    "connect({ prior }): unrecognized prior. Pass { kind: 'modern', discover } or { kind: 'legacy' }.",
  )
}

/**
 * A second process of the same server, for `server/discover` alone: some servers exit when they receive it. Undefined for
 * transports of programs.
 */
function createSibling(transport: Transport, onClose: () => void): Transport | undefined {
  const { createSibling: create } = transport as { createSibling?: (onClose: () => void) => Transport | undefined }
  return create?.call(transport, onClose)
}
