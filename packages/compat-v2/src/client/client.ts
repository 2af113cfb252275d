import { headerAnnotationProblem, toolHeaders } from 'tenon/client'
import { isObject } from 'tenon/internal'
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
  private readonly _tenonInfo: Implementation
  private readonly _tenonClientOptions: ClientOptions
  private readonly _cache: ResponseCache
  private readonly _tenonListChanges: ListChanges | undefined
  private readonly _tenonSubscriptions = new Subscriptions()
  private readonly _tenonValidator: jsonSchemaValidator
  private _capabilities: ClientCapabilities
  private _tenonNegotiation: VersionNegotiationOptions | undefined
  private _serverCapabilities: ServerCapabilities | undefined
  private _serverVersion: Implementation | undefined
  private _instructions: string | undefined
  private _tenonDiscovered: DiscoverResult | undefined
  private _tenonOwnSubscription: McpSubscription | undefined

  constructor(clientInfo: Implementation, options: ClientOptions = {}) {
    super(options)
    this._tenonInfo = clientInfo
    this._tenonClientOptions = options
    this._capabilities = { ...options.capabilities }
    this._tenonNegotiation = options.versionNegotiation
    this._tenonValidator = options.jsonSchemaValidator ?? defaultValidator()
    this._tenonListChanges = options.listChanged && new ListChanges(options.listChanged)
    this._cache = new ResponseCache({
      store: options.responseCacheStore ?? new InMemoryResponseCacheStore(),
      isOwn: options.responseCacheStore === undefined,
      user: options.cachePartition ?? '',
      defaultTtlMs: options.defaultCacheTtlMs ?? 0,
      onError: (error) => this._tenonOnError(error),
    })
  }

  /** Declares further capabilities. Call it before `connect`. */
  registerCapabilities(capabilities: ClientCapabilities): void {
    if (this.transport) throw new Error('Cannot register capabilities after connecting to transport')
    this._capabilities = mergeCapabilities(this._capabilities, capabilities)
  }

  /** Replaces the option `versionNegotiation`. Call it before `connect`. */
  setVersionNegotiation(options: VersionNegotiationOptions | undefined): void {
    if (this.transport) throw new Error('Cannot configure version negotiation after connecting to transport')
    this._tenonNegotiation = options
  }

  /** Connects to a server and negotiates the revision. */
  override async connect(transport: Transport, options: ConnectOptions = {}): Promise<void> {
    const { prior } = options
    if (prior !== undefined && prior !== null) return this._tenonConnectKnown(transport, readPrior(prior), options)
    const offer = readOffer(this._tenonNegotiation, this._tenonClientOptions.supportedProtocolVersions)
    if (!offer) return this._tenonConnectLegacy(new LinkPort(transport), options)
    if (transport.sessionId !== undefined) return this._tenonResume(new LinkPort(transport))
    this._tenonReset()
    const port = new LinkPort(transport)
    const found = await this._tenonNegotiate(offer, port, options)
    await this._tenonOpen(port)
    if (found.era === 'legacy') return this._tenonHandshake(port, options)
    this._tenonAdopt(found.discover, found.version, transport)
    await this._tenonFollowLists(options)
  }

  override async close(): Promise<void> {
    try {
      await super.close()
    } finally {
      this._tenonReset()
    }
  }

  /** The capabilities of the server, once connected. */
  getServerCapabilities(): ServerCapabilities | undefined {
    return this._serverCapabilities
  }

  /** The name and version of the server, if it sent them. */
  getServerVersion(): Implementation | undefined {
    return this._serverVersion
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
    return this._instructions
  }

  /** The last result of `server/discover`. Store it and pass it to `connect` as `prior`. */
  getDiscoverResult(): DiscoverResult | undefined {
    return this._tenonDiscovered
  }

  /** The subscription that the option `listChanged` opened on 2026-07-28. */
  get autoOpenedSubscription(): McpSubscription | undefined {
    return this._tenonOwnSubscription
  }

  async ping(options?: RequestOptions): Promise<EmptyResult> {
    return this.request({ method: 'ping' }, options)
  }

  /** Sends `server/discover` (2026-07-28). */
  async discover(options?: RequestOptions): Promise<DiscoverResult> {
    this._tenonDiscovered = await this.request({ method: 'server/discover' }, options)
    return this._tenonDiscovered
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
    return this._tenonList<ListPromptsResult>('prompts/list', 'prompts', 'prompts', params, options)
  }

  /** Lists the resources: all of them, or one page if you pass a cursor. */
  async listResources(
    params?: ListResourcesRequest['params'],
    options?: CacheableRequestOptions,
  ): Promise<ListResourcesResult> {
    return this._tenonList<ListResourcesResult>('resources/list', 'resources', 'resources', params, options)
  }

  /** Lists the resource templates: all of them, or one page if you pass a cursor. */
  async listResourceTemplates(
    params?: ListResourceTemplatesRequest['params'],
    options?: CacheableRequestOptions,
  ): Promise<ListResourceTemplatesResult> {
    const method = 'resources/templates/list'
    return this._tenonList<ListResourceTemplatesResult>(method, 'resources', 'resourceTemplates', params, options)
  }

  /** Lists the tools: all of them, or one page if you pass a cursor. */
  async listTools(params?: ListToolsRequest['params'], options?: CacheableRequestOptions): Promise<ListToolsResult> {
    return this._tenonList<ListToolsResult>('tools/list', 'tools', 'tools', params, options)
  }

  /** Reads a resource. */
  async readResource(
    params: ReadResourceRequest['params'],
    options?: CacheableRequestOptions,
  ): Promise<ReadResourceResult> {
    const cached = await this._tenonCached<ReadResourceResult>('resources/read', params.uri, options)
    if (cached) return cached
    const begun = this._cache.begin('resources/read', params.uri)
    const result = await this.request({ method: 'resources/read', params }, options)
    if (options?.cacheMode === 'bypass') return result
    const freshness = this._cache.freshnessOf(result)
    if (freshness.expiresAt > Date.now()) {
      await this._cache.write('resources/read', params.uri, result, begun, freshness)
    } else if (options?.cacheMode === 'refresh') await this._cache.remove('resources/read', params.uri)
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
    const params = { _meta: { ...this._tenonEnvelope() }, notifications: filter }
    return this._tenonSubscriptions.listen(
      (exchange) =>
        this._tenonExchange('subscriptions/listen', params, { ...exchange, timeoutMs: 0, maxTotalTimeoutMs: 0 }),
      options,
    )
  }

  /** Calls a tool. Checks structured content if the output schema of the tool is known. */
  async callTool(params: CallToolRequest['params'], options?: CallToolRequestOptions): Promise<CallToolResult> {
    try {
      return await this._tenonCallTool(params, options)
    } catch (error) {
      const isStale = error instanceof ProtocolError && error.code === headerMismatch
      if (!isStale || !this._tenonMirrorsArguments || options?.toolDefinition) throw error
    }
    // The headers were made from an old list of tools.
    await this._cache.remove('tools/list')
    const { signal, timeout } = options ?? {}
    await this.listTools(undefined, {
      ...(signal && { signal }),
      ...(timeout !== undefined && { timeout }),
      cacheMode: 'refresh',
    }).catch((error) => this._tenonOnError(error))
    return this._tenonCallTool(params, options)
  }

  /** Notifies the server that the roots have changed. */
  async sendRootsListChanged(): Promise<void> {
    return this.notification({ method: 'notifications/roots/list_changed' })
  }

  protected override buildContext(ctx: BaseContext): ClientContext {
    return ctx
  }

  protected assertCapability(capability: keyof ServerCapabilities, method: string): void {
    if (this._serverCapabilities?.[capability]) return
    const what = `Server does not support ${String(capability)} (required for ${method})`
    throw new SdkError(SdkErrorCode.CapabilityNotSupported, what)
  }

  protected override assertCapabilityForMethod(method: RequestMethod | string): void {
    const capability = requiredCapabilities.get(method)
    if (capability) this.assertCapability(capability, method)
    if (method !== 'resources/subscribe' || this._serverCapabilities?.resources?.subscribe) return
    const what = `Server does not support resource subscriptions (required for ${method})`
    throw new SdkError(SdkErrorCode.CapabilityNotSupported, what)
  }

  protected override assertNotificationCapability(method: NotificationMethod | string): void {
    if (method !== 'notifications/roots/list_changed' || this._capabilities.roots?.listChanged) return
    const what = `Client does not support roots list changed notifications (required for ${method})`
    throw new SdkError(SdkErrorCode.CapabilityNotSupported, what)
  }

  protected override assertRequestHandlerCapability(method: string): void {
    const capability = handlerCapabilities.get(method)
    if (!capability || this._capabilities[capability]) return
    const what = `Client does not support ${capability} capability (required for ${method})`
    throw new SdkError(SdkErrorCode.CapabilityNotSupported, what)
  }

  protected override _tenonEnvelope(): Readonly<Record<string, unknown>> | undefined {
    const version = this._negotiatedProtocolVersion
    if (version === undefined || !isModernProtocolVersion(version)) return undefined
    return {
      [PROTOCOL_VERSION_META_KEY]: version,
      [CLIENT_INFO_META_KEY]: this._tenonInfo,
      [CLIENT_CAPABILITIES_META_KEY]: this._capabilities,
    }
  }

  protected override _tenonDropReason({ method }: JSONRPCRequest): string | undefined {
    if (this.getProtocolEra() !== 'modern') return undefined
    return `Dropped inbound request '${method}': not servable on this connection's protocol era`
  }

  protected override _wrapHandler(
    method: string,
    handler: (request: JSONRPCRequest, ctx: ClientContext) => Promise<Result>,
  ): (request: JSONRPCRequest, ctx: ClientContext) => Promise<Result> {
    if (method === 'elicitation/create')
      return (request, ctx) => this._tenonElicit(request, () => handler(request, ctx))
    if (method === 'sampling/createMessage') return (request, ctx) => sample(request, () => handler(request, ctx))
    return handler
  }

  protected override async _tenonProvideInput(input: InputRequired, call: InterruptedCall): Promise<unknown> {
    const { autoFulfill = true, maxRounds = 10 } = this._tenonClientOptions.inputRequired ?? {}
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
      handlerOf: (question: string) => this._tenonRequestHandler(question),
    }
    return provideInput(provider, input, call)
  }

  protected override _tenonOnNotification(notification: RpcNotification): void {
    const { method, params } = notification
    if (method === 'notifications/resources/updated' && typeof params?.uri === 'string') {
      void this._cache.remove('resources/read', params.uri)
    }
    for (const list of outdated.get(method) ?? []) void this._cache.remove(list)
    if (this._tenonSubscriptions.take(notification as Notification)) return
    super._tenonOnNotification(notification)
  }

  protected override _tenonOnClose(): void {
    this._tenonSubscriptions.clear()
    super._tenonOnClose()
  }

  private async _tenonConnectKnown(
    transport: Transport,
    prior: PriorDiscovery,
    options: RequestOptions,
  ): Promise<void> {
    const port = new LinkPort(transport)
    if (prior.kind === 'legacy') return this._tenonConnectLegacy(port, options)
    this._tenonReset()
    const { discover } = prior
    const versions = modernVersions(this._tenonClientOptions.supportedProtocolVersions)
    const version = versions.find((each) => discover.supportedVersions.includes(each))
    if (version === undefined) {
      throw new SdkError(
        SdkErrorCode.EraNegotiationFailed,
        "connect({ prior }): the DiscoverResult and this client have no protocol version of 2026-07-28 or later in common. For a server with initialize pass prior: { kind: 'legacy' }, or use versionNegotiation: { mode: 'auto' }.",
      )
    }
    await this._tenonOpen(port)
    this._tenonAdopt(discover, version, transport)
    this._tenonRegisterListHandlers()
  }

  private async _tenonConnectLegacy(port: LinkPort, options: RequestOptions): Promise<void> {
    if (port.transport.sessionId !== undefined) return this._tenonResume(port)
    this._tenonReset()
    await this._tenonOpen(port)
    await this._tenonHandshake(port, options)
  }

  /** Continues a session that the transport was created with: there is no handshake. */
  private async _tenonResume(port: LinkPort): Promise<void> {
    await this._tenonOpen(port)
    if (this._negotiatedProtocolVersion !== undefined) {
      port.transport.setProtocolVersion?.(this._negotiatedProtocolVersion)
    }
  }

  private async _tenonNegotiate(offer: Offer, port: LinkPort, options: RequestOptions): Promise<Negotiated> {
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
      clientInfo: this._tenonInfo,
      capabilities: this._capabilities,
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

  private async _tenonHandshake({ transport }: LinkPort, options: RequestOptions): Promise<void> {
    try {
      const { protocolVersion, capabilities, serverInfo, instructions } = await this._tenonInitialize(options)
      this._serverCapabilities = capabilities
      this._serverVersion = serverInfo
      this._instructions = instructions
      this._cache.setServer(this._tenonServerName(transport))
      transport.setProtocolVersion?.(protocolVersion)
      await this.notification({ method: 'notifications/initialized' })
      this._negotiatedProtocolVersion = protocolVersion
      this._tenonListChanges?.register(this._tenonListChangedTarget, capabilities)
    } catch (error) {
      void this.close()
      throw error
    }
  }

  private async _tenonInitialize(options: RequestOptions) {
    const versions = this._supportedProtocolVersions.filter((version) => !isModernProtocolVersion(version))
    const [protocolVersion] = versions
    if (protocolVersion === undefined) {
      throw new SdkError(
        SdkErrorCode.EraNegotiationFailed,
        'Cannot run the initialize handshake: supportedProtocolVersions contains no pre-2026-07-28 protocol version',
      )
    }
    const params = { protocolVersion, capabilities: this._capabilities, clientInfo: this._tenonInfo }
    const { prior: _prior, ...requestOptions } = options as ConnectOptions
    const result = await this.request({ method: 'initialize', params }, requestOptions)
    if (versions.includes(result.protocolVersion)) return result
    throw new Error(`Server's protocol version is not supported: ${result.protocolVersion}`)
  }

  private _tenonAdopt(discover: DiscoverResult, version: string, transport: Transport): void {
    const info = discover._meta?.[SERVER_INFO_META_KEY]
    this._tenonDiscovered = discover
    this._serverCapabilities = discover.capabilities
    this._serverVersion = isObject(info) ? (info as unknown as Implementation) : undefined
    this._instructions = discover.instructions
    this._cache.setServer(this._tenonServerName(transport))
    this._negotiatedProtocolVersion = version
    transport.setProtocolVersion?.(version)
  }

  /** On 2026-07-28 servers send changes only to clients that subscribe. */
  private async _tenonFollowLists({ signal, timeout }: RequestOptions): Promise<void> {
    const filter = this._tenonRegisterListHandlers()
    if (Object.keys(filter).length === 0) return
    // The signal of `connect` does not end the subscription later.
    const opening = new AbortController()
    const onAbort = () => opening.abort(signal?.reason)
    signal?.addEventListener('abort', onAbort)
    if (signal?.aborted) onAbort()
    try {
      this._tenonOwnSubscription = await this.listen(filter, {
        signal: opening.signal,
        ...(timeout !== undefined && { timeout }),
      })
    } catch (error) {
      if (!signal?.aborted) return this._tenonOnError(error)
      await this.close().catch(() => {})
      throw error
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  private _tenonRegisterListHandlers(): SubscriptionFilter {
    try {
      return this._tenonListChanges?.register(this._tenonListChangedTarget, this._serverCapabilities) ?? {}
    } catch (error) {
      this._tenonOnError(error)
      return {}
    }
  }

  private get _tenonListChangedTarget() {
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
  private _tenonReset(): void {
    this._negotiatedProtocolVersion = undefined
    this._serverCapabilities = undefined
    this._serverVersion = undefined
    this._instructions = undefined
    this._tenonDiscovered = undefined
    this._tenonOwnSubscription = undefined
    this._tenonSubscriptions.clear()
    this._tenonListChanges?.stop()
    this._cache.reset()
  }

  /** Results of servers without a name are not shared between connections. */
  private _tenonServerName({ sessionId }: Transport): string {
    const server = this._serverVersion
    return server ? `${server.name}@${server.version}` : (sessionId ?? `anonymous:${crypto.randomUUID()}`)
  }

  private async _tenonList<R extends Result & { nextCursor?: string | undefined }>(
    method: 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list',
    capability: 'tools' | 'prompts' | 'resources',
    member: string,
    params: { cursor?: string | undefined } | undefined,
    options: CacheableRequestOptions | undefined,
  ): Promise<R> {
    if (!this._serverCapabilities?.[capability] && !this._tenonClientOptions.enforceStrictCapabilities) {
      console.debug(`The server does not offer ${capability}, so the list of ${member} is empty`)
      return { [member]: [] } as unknown as R
    }
    if (params?.cursor !== undefined)
      return this._tenonUsable(method, (await this.request({ method, params }, options)) as never)
    const cached = await this._tenonCached<R>(method, '', options)
    if (cached) return cached
    const begun = this._cache.begin(method)
    const all = this._tenonUsable(method, await this._tenonAllPages<R>(method, member, params, options))
    if (options?.cacheMode !== 'bypass') {
      await this._cache.write(method, '', all, begun, this._cache.freshnessOf(all))
    }
    return all
  }

  private async _tenonAllPages<R extends Result & { nextCursor?: string | undefined }>(
    method: 'tools/list' | 'prompts/list' | 'resources/list' | 'resources/templates/list',
    member: string,
    params: object | undefined,
    options: RequestOptions | undefined,
  ): Promise<R> {
    const { listMaxPages = 64 } = this._tenonClientOptions
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
  private _tenonUsable<R extends Result>(method: string, result: R): R {
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

  private async _tenonCached<R>(
    method: string,
    params: string,
    options: CacheableRequestOptions | undefined,
  ): Promise<R | undefined> {
    const { cacheMode = 'use', signal } = options ?? {}
    if (cacheMode !== 'use') return undefined
    const cached = await this._cache.read(method, params).catch((error) => this._tenonOnError(error))
    if (cached === undefined) return undefined
    if (signal?.aborted) throw toCancelled(signal.reason)
    return cached as R
  }

  private get _tenonMirrorsArguments(): boolean {
    return this.getProtocolEra() === 'modern'
  }

  private async _tenonCallTool(
    params: CallToolRequest['params'],
    options: CallToolRequestOptions = {},
  ): Promise<CallToolResult> {
    const { toolDefinition, ...requestOptions } = options
    const { name } = params
    const tool = toolDefinition ?? (await this._tenonKnownTool(name))
    const compile = (definition: Tool) => compileOutput(definition, this._tenonValidator)
    const check = tool && (toolDefinition ? compile(tool) : this._cache.derive(tool, compile))
    requireUsable(name, check)
    const headers = tool && this._tenonMirrorsArguments ? toolHeaders(tool.inputSchema, params.arguments) : {}
    const hasHeaders = Object.keys(headers).length > 0
    const result = await this.request(
      { method: 'tools/call', params },
      hasHeaders ? { ...requestOptions, headers: { ...options.headers, ...headers } } : requestOptions,
    )
    // A result that asks for input is not the final one.
    if ((result as { resultType?: unknown }).resultType !== 'input_required') checkOutput(name, check, result)
    return result
  }

  private async _tenonKnownTool(name: string): Promise<Tool | undefined> {
    try {
      return await this._cache.tool(name)
    } catch (error) {
      this._tenonOnError(error)
      return undefined
    }
  }

  private async _tenonElicit(request: JSONRPCRequest, handle: () => Promise<Result>): Promise<Result> {
    const { params } = requireValid(checkQuestion('elicitation/create', request), 'Invalid elicitation request') as {
      params: { mode?: string; requestedSchema?: unknown }
    }
    const { mode = 'form', requestedSchema } = params
    const { supportsFormMode, supportsUrlMode } = getSupportedElicitationModes(this._capabilities.elicitation)
    if (mode === 'form' && !supportsFormMode) throw unsupportedMode('form')
    if (mode === 'url' && !supportsUrlMode) throw unsupportedMode('URL')
    const answer = checkAnswer('elicitation/create', await handle())
    const result = requireValid(answer, 'Invalid elicitation result') as Result
    const { applyDefaults: appliesDefaults } = (this._capabilities.elicitation?.form ?? {}) as {
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
