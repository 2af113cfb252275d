import { type CacheableResultMethod, type CacheHint, checkCacheHint, withHint } from '../core/cache-hints.ts'
import { CLIENT_CAPABILITIES_META_KEY, LATEST_PROTOCOL_VERSION, LOG_LEVEL_META_KEY } from '../core/constants.ts'
import type {
  BaseContext,
  NotificationOptions,
  ProtocolOptions,
  RequestOptions,
  ServerContext,
} from '../core/context.ts'
import { inputRequiredMethods, legacyVersionsOf, modernVersionsOf } from '../core/era.ts'
import {
  MissingRequiredClientCapabilityError,
  ProtocolError,
  ProtocolErrorCode,
  SdkError,
  SdkErrorCode,
} from '../core/errors.ts'
import { isInputRequiredResult } from '../core/guards.ts'
import { defaultValidator, type jsonSchemaValidator } from '../core/json-schema.ts'
import { isObject } from '../core/objects.ts'
import { mergeCapabilities, Protocol, type StoredHandler } from '../core/protocol.ts'
import type {
  CallToolResult,
  ClientCapabilities,
  CreateMessageRequestParams,
  CreateMessageRequestParamsBase,
  CreateMessageRequestParamsWithTools,
  CreateMessageResult,
  CreateMessageResultWithTools,
  DiscoverResult,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  EmptyResult,
  Implementation,
  InitializeRequest,
  InitializeResult,
  JSONRPCRequest,
  ListRootsRequest,
  ListRootsResult,
  LoggingLevel,
  LoggingMessageNotification,
  MessageExtraInfo,
  ResourceUpdatedNotification,
  Result,
  ServerCapabilities,
} from '../core/types.ts'
import { checkHandledMethod, checkNotified, checkRequested } from './capability-checks.ts'
import { missingCapabilities, type Question, toQuestion } from './client-capabilities.ts'
import { InputRounds, type InputRoundsOptions, partsOf, toRoundsOptions, withState } from './input-rounds.ts'
import { samplingProblem } from './sampling-messages.ts'

export type ServerOptions = ProtocolOptions & {
  capabilities?: ServerCapabilities
  /** Tells models how to use the server. */
  instructions?: string
  /** Checks the content of forms. Default: the validator of Tenon. */
  jsonSchemaValidator?: jsonSchemaValidator
  /** How long clients may cache results, by method (2026-07-28). */
  cacheHints?: Partial<Record<CacheableResultMethod, CacheHint>>
  /** How `inputRequired(...)` is served to clients of earlier revisions. */
  inputRequired?: InputRoundsOptions
  requestState?: {
    /** Checks the state of a repeated request. What it returns is what `ctx.mcpReq.requestState()` returns. */
    verify?: (state: string, ctx: ServerContext) => unknown | Promise<unknown>
  }
}

/** What an entry point read from the envelope of a request. */
export interface ClientIdentity {
  clientInfo?: Implementation
  clientCapabilities?: ClientCapabilities
}

let writeIdentity: (server: Server, identity: ClientIdentity) => void
let readInfo: (server: Server) => Implementation
let serveModern: (server: Server, versions: readonly string[]) => void

/** Makes the identity of the caller known, for `getClientCapabilities()` and `getClientVersion()`. */
export function setClientIdentity(server: Server, identity: ClientIdentity): void {
  writeIdentity(server, identity)
}

/** The name and version of a server. */
export function serverInfoOf(server: Server): Implementation {
  return readInfo(server)
}

/** Answers `server/discover` with these revisions. */
export function installDiscover(server: Server, versions: readonly string[]): void {
  serveModern(server, versions)
}

const levels: readonly LoggingLevel[] = [
  'debug',
  'info',
  'notice',
  'warning',
  'error',
  'critical',
  'alert',
  'emergency',
]

/** The bare protocol: you set a handler for each method. Most servers use `McpServer`, which is built on this. */
export class Server extends Protocol<ServerContext> {
  /** Called when a client of a handshake revision is ready. */
  oninitialized?: (() => void) | undefined
  readonly #info: Implementation
  #capabilities: ServerCapabilities
  readonly #instructions: string | undefined
  readonly #validator: jsonSchemaValidator
  readonly #cacheHints: NonNullable<ServerOptions['cacheHints']>
  readonly #verifyState: NonNullable<ServerOptions['requestState']>['verify']
  readonly #roundsOptions: Required<InputRoundsOptions>
  #clientCapabilities: ClientCapabilities | undefined
  #clientVersion: Implementation | undefined
  /** The level that `logging/setLevel` set, by session. */
  readonly #levels = new Map<string | undefined, LoggingLevel>()

  static {
    writeIdentity = (server, { clientInfo, clientCapabilities }) => {
      if (clientCapabilities !== undefined) server.#clientCapabilities = withFormMode(clientCapabilities)
      if (clientInfo !== undefined) server.#clientVersion = clientInfo
    }
    readInfo = (server) => server.#info
    serveModern = (server, versions) => {
      const known = server._supportedProtocolVersions
      server._supportedProtocolVersions = [...known, ...versions.filter((version) => !known.includes(version))]
      server.setRequestHandler('server/discover', () => server.#discover())
    }
  }

  constructor(serverInfo: Implementation, options: ServerOptions = {}) {
    super(options)
    this.#info = serverInfo
    this.#capabilities = { ...options.capabilities }
    this.#instructions = options.instructions
    this.#validator = options.jsonSchemaValidator ?? defaultValidator()
    this.#verifyState = options.requestState?.verify
    this.#roundsOptions = toRoundsOptions(options.inputRequired)
    this.#cacheHints = options.cacheHints ?? {}
    for (const [method, hint] of Object.entries(this.#cacheHints)) {
      if (hint) checkCacheHint(hint, `cacheHints['${method}']`)
    }
    this.setRequestHandler('initialize', (request) => this.#initialize(request))
    this.setNotificationHandler('notifications/initialized', () => this.oninitialized?.())
    if (modernVersionsOf(this._supportedProtocolVersions).length > 0) {
      this.setRequestHandler('server/discover', () => this.#discover())
    }
    if (this.#capabilities.logging) this.#handleLogLevel()
  }

  #handleLogLevel(): void {
    this.setRequestHandler('logging/setLevel', ({ params: { level } }, ctx) => {
      this.#levels.set(ctx.sessionId || ctx.http?.req?.headers.get('mcp-session-id') || undefined, level)
      return {}
    })
  }

  /** Adds capabilities. Only possible before the server is connected. */
  registerCapabilities(capabilities: ServerCapabilities): void {
    if (this.transport) {
      throw new SdkError(SdkErrorCode.AlreadyConnected, 'Cannot register capabilities after connecting to transport')
    }
    const hadLogging = !!this.#capabilities.logging
    this.#capabilities = mergeCapabilities(this.#capabilities, capabilities)
    if (!hadLogging && this.#capabilities.logging) this.#handleLogLevel()
  }

  getCapabilities(): ServerCapabilities {
    return this.#capabilities
  }

  getClientCapabilities(): ClientCapabilities | undefined {
    return this.#clientCapabilities
  }

  getClientVersion(): Implementation | undefined {
    return this.#clientVersion
  }

  getNegotiatedProtocolVersion(): string | undefined {
    return this._negotiatedProtocolVersion
  }

  /** Adapts the result of a tool to the revision of the connection. */
  projectCallToolResult(
    result: CallToolResult,
    advertisedOutputSchema: Readonly<Record<string, unknown>> | undefined,
  ): CallToolResult {
    return this._era.projectToolResult(result, advertisedOutputSchema)
  }

  protected override _outboundServerInfo(): Implementation {
    return this.#info
  }

  protected override assertCapabilityForMethod(method: string): void {
    checkRequested(method, this.#clientCapabilities)
  }

  protected override assertNotificationCapability(method: string): void {
    checkNotified(method, this.#capabilities, this.#clientCapabilities)
  }

  protected override assertRequestHandlerCapability(method: string): void {
    // The base class sets handlers before this class has its fields.
    if (method !== 'ping') checkHandledMethod(method, this.#capabilities)
  }

  protected override buildContext(ctx: BaseContext, extra: MessageExtraInfo = {}): ServerContext {
    const { request, closeSSEStream, closeStandaloneSSEStream } = extra
    const http = (ctx.http || request || closeSSEStream || closeStandaloneSSEStream) && {
      ...ctx.http,
      ...(request && { req: request }),
      ...(closeSSEStream && { closeSSE: closeSSEStream }),
      ...(closeStandaloneSSEStream && { closeStandaloneSSE: closeStandaloneSSEStream }),
    }
    const { mcpReq } = ctx
    const related = (options?: RequestOptions): RequestOptions => ({ relatedRequestId: mcpReq.id, ...options })
    const added: Pick<ServerContext['mcpReq'], 'log' | 'elicitInput' | 'requestSampling'> = {
      log: (level, data, logger) => this.#log(ctx, level, data, logger),
      elicitInput: (params, options) => this.elicitInput(params, related(options)),
      requestSampling: (params, options) => this.createMessage(params, related(options)),
    }
    return { ...ctx, mcpReq: Object.assign(mcpReq, added), ...(http && { http }) }
  }

  async #log(ctx: BaseContext, level: LoggingLevel, data: unknown, logger: string | undefined): Promise<void> {
    if (!this.#capabilities.logging) return
    const isModern = this._era.kind === 'modern'
    const wanted = isModern
      ? ctx.mcpReq.envelope?.[LOG_LEVEL_META_KEY]
      : (this.#levels.get(ctx.sessionId) ?? this.#levels.get(undefined))
    // On 2026-07-28 a request that names no level wants no messages.
    if (isModern ? !isWanted(level, wanted) : wanted !== undefined && !isWanted(level, wanted)) return
    await ctx.mcpReq.notify({ method: 'notifications/message', params: { level, data, ...(logger && { logger }) } })
  }

  protected override _wrapHandler(method: string, handler: StoredHandler<ServerContext>): StoredHandler<ServerContext> {
    // The base class sets handlers before this class has its fields.
    if (method === 'ping' || method === 'initialize') return handler
    if (inputRequiredMethods.has(method)) return (request, ctx) => this.#runInRounds(method, handler, request, ctx)
    return async (request, ctx) => {
      const result = await handler(request, ctx)
      if (isInputRequiredResult(result)) {
        throw new ProtocolError(
          ProtocolErrorCode.InternalError,
          `Handler for ${method} returned an input-required result, but only tools/call, prompts/get and resources/read support it`,
        )
      }
      return withHint(result, this.#hintOf(method))
    }
  }

  #hintOf(method: string): CacheHint | undefined {
    return this.#cacheHints[method as CacheableResultMethod]
  }

  /** Runs a handler that may ask for input first. */
  async #runInRounds(
    method: string,
    handler: StoredHandler<ServerContext>,
    request: JSONRPCRequest,
    ctx: ServerContext,
  ): Promise<Result> {
    const checked = method === 'tools/call' ? checkedToolHandler(handler) : handler
    const withVerified = await this.#withVerifiedState(ctx, method)
    let result: Result
    try {
      result = await checked(request, withVerified)
    } catch (error) {
      throw this.#toServedError(error)
    }
    if (!isInputRequiredResult(result)) return withHint(result, this.#hintOf(method))
    if (this._era.kind === 'modern') return this.#checkQuestions(method, result, ctx)
    if (!this.#roundsOptions.legacyShim) {
      const version = this._negotiatedProtocolVersion ?? LATEST_PROTOCOL_VERSION
      throw new ProtocolError(
        ProtocolErrorCode.InternalError,
        `Handler for ${method} returned an input-required result, but protocol revision ${version} has none`,
      )
    }
    return this.#rounds.run(checked, request, withVerified, result)
  }

  get #rounds(): InputRounds {
    const host = {
      clientCapabilities: () => this.#clientCapabilities,
      decodeState: (state: string, ctx: ServerContext, method: string) => this.#decodeState(state, ctx, method),
      ask: (question: Question, options: RequestOptions) => this.#ask(question, options),
    }
    return new InputRounds(host, this.#roundsOptions)
  }

  #ask({ method, params = {} }: Question, options: RequestOptions): Promise<unknown> {
    if (method === 'roots/list') return this.listRoots(params, options)
    if (method === 'sampling/createMessage') {
      return this.createMessage(params as unknown as CreateMessageRequestParams, options)
    }
    const needsId = params.mode === 'url' && params.elicitationId === undefined
    const complete = needsId ? { ...params, elicitationId: globalThis.crypto.randomUUID() } : params
    return this.#sendElicitation(complete as unknown as ElicitRequestFormParams, options)
  }

  /** 2026-07-28 has no error that asks the user to open a URL. */
  #toServedError(error: unknown): unknown {
    const isUrlError = error instanceof ProtocolError && error.code === ProtocolErrorCode.UrlElicitationRequired
    if (!isUrlError || this._era.kind === 'legacy') return error
    return new ProtocolError(
      ProtocolErrorCode.InternalError,
      `UrlElicitationRequiredError is not available on protocol revision ${this._negotiatedProtocolVersion}. ` +
        'Return inputRequired({ inputRequests: { key: inputRequired.elicitUrl(...) } }) instead.',
    )
  }

  #checkQuestions(method: string, result: Result, ctx: ServerContext): Result {
    const declared = ctx.mcpReq.envelope?.[CLIENT_CAPABILITIES_META_KEY]
    for (const [key, entry] of Object.entries(partsOf(method, result).requests)) {
      const question = toQuestion(method, key, entry)
      const missing = missingCapabilities(question.required, declared)
      if (missing) {
        throw new MissingRequiredClientCapabilityError(
          { requiredCapabilities: missing },
          `Cannot request input '${key}' (${question.method}): the client did not declare the required capability`,
        )
      }
    }
    return result
  }

  async #withVerifiedState(ctx: ServerContext, method: string): Promise<ServerContext> {
    const state = ctx.mcpReq.requestState()
    if (state === undefined) return ctx
    if (typeof state !== 'string') throw invalidState()
    const decoded = await this.#decodeState(state, ctx, method)
    return decoded === undefined ? ctx : withState(ctx, decoded)
  }

  async #decodeState(state: string, ctx: ServerContext, method: string): Promise<unknown> {
    if (!this.#verifyState) return undefined
    try {
      return await this.#verifyState(state, ctx)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.onerror?.(new Error(`requestState verification rejected ${method}: ${reason}`))
      throw invalidState()
    }
  }

  #initialize({ params }: InitializeRequest): InitializeResult {
    this.#clientCapabilities = withFormMode(params.capabilities)
    this.#clientVersion = params.clientInfo
    const versions = legacyVersionsOf(this._supportedProtocolVersions)
    const isSupported = versions.includes(params.protocolVersion)
    const protocolVersion = isSupported ? params.protocolVersion : (versions[0] ?? LATEST_PROTOCOL_VERSION)
    this._negotiatedProtocolVersion = protocolVersion
    this.transport?.setProtocolVersion?.(protocolVersion)
    return {
      protocolVersion,
      capabilities: this.#capabilities,
      serverInfo: this.#info,
      ...(this.#instructions && { instructions: this.#instructions }),
    }
  }

  #discover(): DiscoverResult {
    return {
      supportedVersions: modernVersionsOf(this._supportedProtocolVersions),
      capabilities: { ...this.#capabilities },
      ...(this.#instructions && { instructions: this.#instructions }),
    }
  }

  /** Handlers of 2026-07-28 return their questions; there is no way to send them. */
  #checkCanAsk(method: string): void {
    if (this._era.kind === 'legacy') return
    throw new SdkError(
      SdkErrorCode.MethodNotSupportedByProtocolVersion,
      `Server-to-client requests are not available on protocol revision ${this._negotiatedProtocolVersion}: ` +
        `'${method}' cannot be sent. Return inputRequired({ ... }) from the handler instead.`,
      { method, era: this._era.name },
    )
  }

  async ping(): Promise<EmptyResult> {
    this.#checkCanAsk('ping')
    return this.request({ method: 'ping' })
  }

  /** Asks the model of the client. */
  createMessage(params: CreateMessageRequestParamsBase, options?: RequestOptions): Promise<CreateMessageResult>
  createMessage(
    params: CreateMessageRequestParamsWithTools,
    options?: RequestOptions,
  ): Promise<CreateMessageResultWithTools>
  createMessage(
    params: CreateMessageRequestParams,
    options?: RequestOptions,
  ): Promise<CreateMessageResult | CreateMessageResultWithTools>
  async createMessage(
    params: CreateMessageRequestParams,
    options?: RequestOptions,
  ): Promise<CreateMessageResult | CreateMessageResultWithTools> {
    this.#checkCanAsk('sampling/createMessage')
    if ((params.tools || params.toolChoice) && !this.#clientCapabilities?.sampling?.tools) {
      throw new SdkError(SdkErrorCode.CapabilityNotSupported, 'Client does not support sampling tools capability.')
    }
    const problem = samplingProblem(params.messages)
    if (problem !== undefined) throw new ProtocolError(ProtocolErrorCode.InvalidParams, problem)
    return this.request({ method: 'sampling/createMessage', params: { ...params } }, options)
  }

  /** Asks the user with a form, or to open a URL. */
  async elicitInput(
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    options?: RequestOptions,
  ): Promise<ElicitResult> {
    this.#checkCanAsk('elicitation/create')
    const mode = params.mode ?? 'form'
    const elicitation = this.#clientCapabilities?.elicitation
    const isSupported = mode === 'url' ? elicitation?.url : elicitation?.form
    if (!isSupported) {
      throw new SdkError(SdkErrorCode.CapabilityNotSupported, `Client does not support ${mode} elicitation.`)
    }
    const result = await this.#sendElicitation(params, options)
    if (mode === 'form') this.#checkContent(params as ElicitRequestFormParams, result)
    return result
  }

  #sendElicitation(
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    options?: RequestOptions,
  ): Promise<ElicitResult> {
    const complete = params.mode === 'url' ? params : { ...params, mode: 'form' }
    return this.request({ method: 'elicitation/create', params: { ...complete } }, options)
  }

  #checkContent({ requestedSchema }: ElicitRequestFormParams, { action, content }: ElicitResult): void {
    if (action !== 'accept' || !content || !requestedSchema) return
    let problem: string | undefined
    try {
      problem = this.#validator.getValidator({ ...requestedSchema })(content).errorMessage
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      throw new ProtocolError(ProtocolErrorCode.InternalError, `Error validating elicitation response: ${reason}`)
    }
    if (problem === undefined) return
    throw new ProtocolError(
      ProtocolErrorCode.InvalidParams,
      `Elicitation response content does not match requested schema: ${problem}`,
    )
  }

  /** Returns a function that tells the client that a URL elicitation is complete. */
  createElicitationCompletionNotifier(elicitationId: string, options?: NotificationOptions): () => Promise<void> {
    if (!this.#clientCapabilities?.elicitation?.url) {
      throw new SdkError(
        SdkErrorCode.CapabilityNotSupported,
        'Client does not support URL elicitation (required for notifications/elicitation/complete)',
      )
    }
    return () => this.notification({ method: 'notifications/elicitation/complete', params: { elicitationId } }, options)
  }

  /** Asks which folders the server may work in. */
  async listRoots(params?: ListRootsRequest['params'], options?: RequestOptions): Promise<ListRootsResult> {
    this.#checkCanAsk('roots/list')
    return this.request({ method: 'roots/list', ...(params && { params: { ...params } }) }, options)
  }

  /** Sends a log message, if the session wants messages of its level. */
  async sendLoggingMessage(params: LoggingMessageNotification['params'], sessionId?: string): Promise<void> {
    if (!this.#capabilities.logging) return
    const wanted = this.#levels.get(sessionId)
    if (wanted !== undefined && !isWanted(params.level, wanted)) return
    await this.notification({ method: 'notifications/message', params })
  }

  async sendResourceUpdated(params: ResourceUpdatedNotification['params']): Promise<void> {
    await this.notification({ method: 'notifications/resources/updated', params })
  }

  async sendResourceListChanged(): Promise<void> {
    await this.notification({ method: 'notifications/resources/list_changed' })
  }

  async sendToolListChanged(): Promise<void> {
    await this.notification({ method: 'notifications/tools/list_changed' })
  }

  async sendPromptListChanged(): Promise<void> {
    await this.notification({ method: 'notifications/prompts/list_changed' })
  }
}

/** A client that declares elicitation without any mode supports forms. */
function withFormMode(capabilities: ClientCapabilities): ClientCapabilities {
  const { elicitation } = capabilities
  if (!isObject(elicitation) || elicitation.form || elicitation.url) return capabilities
  return { ...capabilities, elicitation: { ...elicitation, form: {} } }
}

function isWanted(level: LoggingLevel, wanted: LoggingLevel | undefined): boolean {
  return wanted !== undefined && levels.indexOf(level) >= levels.indexOf(wanted)
}

function invalidState(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, 'Invalid or expired requestState', {
    reason: 'invalid_request_state',
  })
}

/** Members of results that belong to other methods. */
const foreignMembers = ['task', 'inputRequests', 'requestState']

/** A tool may leave out `content`. What it returns must be a tool result otherwise. */
function checkedToolHandler(handler: StoredHandler<ServerContext>): StoredHandler<ServerContext> {
  return async (request, ctx) => {
    const result: unknown = await handler(request, ctx)
    if (isInputRequiredResult(result)) return result
    if (!isObject(result)) throw invalidResult('it is not an object')
    const { content, ...others } = result
    if (content === undefined && !foreignMembers.some((member) => member in others)) return { ...others, content: [] }
    const isValid =
      Array.isArray(content) && content.every((block) => isObject(block) && typeof block.type === 'string')
    if (!isValid) throw invalidResult('content must be a list of content blocks')
    return result as Result
  }
}

function invalidResult(problem: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid tools/call result: ${problem}`)
}
