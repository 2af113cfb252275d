import { isObject } from 'tenon/internal'
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
  private readonly _tenonInfo: Implementation
  private _capabilities: ServerCapabilities
  private readonly _instructions: string | undefined
  private readonly _tenonValidator: jsonSchemaValidator
  private readonly _cacheHints: NonNullable<ServerOptions['cacheHints']>
  private readonly _tenonVerifyState: NonNullable<ServerOptions['requestState']>['verify']
  private readonly _tenonRoundsOptions: Required<InputRoundsOptions>
  private _clientCapabilities: ClientCapabilities | undefined
  private _clientVersion: Implementation | undefined
  /** The level that `logging/setLevel` set, by session. */
  private readonly _tenonLevels = new Map<string | undefined, LoggingLevel>()

  static {
    writeIdentity = (server, { clientInfo, clientCapabilities }) => {
      if (clientCapabilities !== undefined) server._clientCapabilities = withFormMode(clientCapabilities)
      if (clientInfo !== undefined) server._clientVersion = clientInfo
    }
    readInfo = (server) => server._tenonInfo
    serveModern = (server, versions) => {
      const known = server._supportedProtocolVersions
      server._supportedProtocolVersions = [...known, ...versions.filter((version) => !known.includes(version))]
      server.setRequestHandler('server/discover', () => server._tenonDiscover())
    }
  }

  constructor(serverInfo: Implementation, options: ServerOptions = {}) {
    super(options)
    this._tenonInfo = serverInfo
    this._capabilities = { ...options.capabilities }
    this._instructions = options.instructions
    this._tenonValidator = options.jsonSchemaValidator ?? defaultValidator()
    this._tenonVerifyState = options.requestState?.verify
    this._tenonRoundsOptions = toRoundsOptions(options.inputRequired)
    this._cacheHints = options.cacheHints ?? {}
    for (const [method, hint] of Object.entries(this._cacheHints)) {
      if (hint) checkCacheHint(hint, `cacheHints['${method}']`)
    }
    this.setRequestHandler('initialize', (request) => this._tenonInitialize(request))
    this.setNotificationHandler('notifications/initialized', () => this.oninitialized?.())
    if (modernVersionsOf(this._supportedProtocolVersions).length > 0) {
      this.setRequestHandler('server/discover', () => this._tenonDiscover())
    }
    if (this._capabilities.logging) this._tenonHandleLogLevel()
  }

  private _tenonHandleLogLevel(): void {
    this.setRequestHandler('logging/setLevel', ({ params: { level } }, ctx) => {
      this._tenonLevels.set(ctx.sessionId || ctx.http?.req?.headers.get('mcp-session-id') || undefined, level)
      return {}
    })
  }

  /** Adds capabilities. Only possible before the server is connected. */
  registerCapabilities(capabilities: ServerCapabilities): void {
    if (this.transport) {
      throw new SdkError(SdkErrorCode.AlreadyConnected, 'Cannot register capabilities after connecting to transport')
    }
    const hadLogging = !!this._capabilities.logging
    this._capabilities = mergeCapabilities(this._capabilities, capabilities)
    if (!hadLogging && this._capabilities.logging) this._tenonHandleLogLevel()
  }

  getCapabilities(): ServerCapabilities {
    return this._capabilities
  }

  getClientCapabilities(): ClientCapabilities | undefined {
    return this._clientCapabilities
  }

  getClientVersion(): Implementation | undefined {
    return this._clientVersion
  }

  getNegotiatedProtocolVersion(): string | undefined {
    return this._negotiatedProtocolVersion
  }

  /** Adapts the result of a tool to the revision of the connection. */
  projectCallToolResult(
    result: CallToolResult,
    advertisedOutputSchema: Readonly<Record<string, unknown>> | undefined,
  ): CallToolResult {
    return this._tenonEra.projectToolResult(result, advertisedOutputSchema)
  }

  protected override _outboundServerInfo(): Implementation {
    return this._tenonInfo
  }

  protected override assertCapabilityForMethod(method: string): void {
    checkRequested(method, this._clientCapabilities)
  }

  protected override assertNotificationCapability(method: string): void {
    checkNotified(method, this._capabilities, this._clientCapabilities)
  }

  protected override assertRequestHandlerCapability(method: string): void {
    // The base class sets handlers before this class has its fields.
    if (method !== 'ping') checkHandledMethod(method, this._capabilities)
  }

  protected override buildContext(ctx: BaseContext, extra?: MessageExtraInfo): ServerContext {
    const { mcpReq } = ctx
    const related = (options?: RequestOptions): RequestOptions => ({ relatedRequestId: mcpReq.id, ...options })
    const added: Pick<ServerContext['mcpReq'], 'log' | 'elicitInput' | 'requestSampling'> = {
      log: (level, data, logger) => this._tenonLog(ctx, level, data, logger),
      elicitInput: (params, options) => this.elicitInput(params, related(options)),
      requestSampling: (params, options) => this.createMessage(params, related(options)),
    }
    Object.assign(mcpReq, added)
    return extra ? withHttp(ctx, extra) : (ctx as ServerContext)
  }

  private async _tenonLog(
    ctx: BaseContext,
    level: LoggingLevel,
    data: unknown,
    logger: string | undefined,
  ): Promise<void> {
    if (!this._capabilities.logging) return
    const isModern = this._tenonEra.kind === 'modern'
    const wanted = isModern
      ? ctx.mcpReq.envelope?.[LOG_LEVEL_META_KEY]
      : (this._tenonLevels.get(ctx.sessionId) ?? this._tenonLevels.get(undefined))
    // On 2026-07-28 a request that names no level wants no messages.
    if (isModern ? !isWanted(level, wanted) : wanted !== undefined && !isWanted(level, wanted)) return
    await ctx.mcpReq.notify({ method: 'notifications/message', params: { level, data, ...(logger && { logger }) } })
  }

  protected override _wrapHandler(method: string, handler: StoredHandler<ServerContext>): StoredHandler<ServerContext> {
    // The base class sets handlers before this class has its fields.
    if (method === 'ping' || method === 'initialize') return handler
    if (inputRequiredMethods.has(method)) return (request, ctx) => this._tenonRunInRounds(method, handler, request, ctx)
    return async (request, ctx) => {
      const result = await handler(request, ctx)
      if (isInputRequiredResult(result)) {
        throw new ProtocolError(
          ProtocolErrorCode.InternalError,
          `Handler for ${method} returned an input-required result, but only tools/call, prompts/get and resources/read support it`,
        )
      }
      return withHint(result, this._tenonHintOf(method))
    }
  }

  private _tenonHintOf(method: string): CacheHint | undefined {
    return this._cacheHints[method as CacheableResultMethod]
  }

  /** Runs a handler that may ask for input first. */
  private async _tenonRunInRounds(
    method: string,
    handler: StoredHandler<ServerContext>,
    request: JSONRPCRequest,
    ctx: ServerContext,
  ): Promise<Result> {
    const checked = method === 'tools/call' ? checkedToolHandler(handler) : handler
    const withVerified = await this._tenonWithVerifiedState(ctx, method)
    let result: Result
    try {
      result = await checked(request, withVerified)
    } catch (error) {
      throw this._tenonToServedError(error)
    }
    if (!isInputRequiredResult(result)) return withHint(result, this._tenonHintOf(method))
    if (this._tenonEra.kind === 'modern') return this._tenonCheckQuestions(method, result, ctx)
    if (!this._tenonRoundsOptions.legacyShim) {
      const version = this._negotiatedProtocolVersion ?? LATEST_PROTOCOL_VERSION
      throw new ProtocolError(
        ProtocolErrorCode.InternalError,
        `Handler for ${method} returned an input-required result, but protocol revision ${version} has none`,
      )
    }
    return this._tenonRounds.run(checked, request, withVerified, result)
  }

  private get _tenonRounds(): InputRounds {
    const host = {
      clientCapabilities: () => this._clientCapabilities,
      decodeState: (state: string, ctx: ServerContext, method: string) => this._tenonDecodeState(state, ctx, method),
      ask: (question: Question, options: RequestOptions) => this._tenonAsk(question, options),
    }
    return new InputRounds(host, this._tenonRoundsOptions)
  }

  private _tenonAsk({ method, params = {} }: Question, options: RequestOptions): Promise<unknown> {
    if (method === 'roots/list') return this.listRoots(params, options)
    if (method === 'sampling/createMessage') {
      return this.createMessage(params as unknown as CreateMessageRequestParams, options)
    }
    const needsId = params.mode === 'url' && params.elicitationId === undefined
    const complete = needsId ? { ...params, elicitationId: globalThis.crypto.randomUUID() } : params
    return this._tenonSendElicitation(complete as unknown as ElicitRequestFormParams, options)
  }

  /** 2026-07-28 has no error that asks the user to open a URL. */
  private _tenonToServedError(error: unknown): unknown {
    const isUrlError = error instanceof ProtocolError && error.code === ProtocolErrorCode.UrlElicitationRequired
    if (!isUrlError || this._tenonEra.kind === 'legacy') return error
    return new ProtocolError(
      ProtocolErrorCode.InternalError,
      `UrlElicitationRequiredError is not available on protocol revision ${this._negotiatedProtocolVersion}. ` +
        'Return inputRequired({ inputRequests: { key: inputRequired.elicitUrl(...) } }) instead.',
    )
  }

  private _tenonCheckQuestions(method: string, result: Result, ctx: ServerContext): Result {
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

  private async _tenonWithVerifiedState(ctx: ServerContext, method: string): Promise<ServerContext> {
    const state = ctx.mcpReq.requestState()
    if (state === undefined) return ctx
    if (typeof state !== 'string') throw invalidState()
    const decoded = await this._tenonDecodeState(state, ctx, method)
    return decoded === undefined ? ctx : withState(ctx, decoded)
  }

  private async _tenonDecodeState(state: string, ctx: ServerContext, method: string): Promise<unknown> {
    if (!this._tenonVerifyState) return undefined
    try {
      return await this._tenonVerifyState(state, ctx)
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      this.onerror?.(new Error(`requestState verification rejected ${method}: ${reason}`))
      throw invalidState()
    }
  }

  private _tenonInitialize({ params }: InitializeRequest): InitializeResult {
    this._clientCapabilities = withFormMode(params.capabilities)
    this._clientVersion = params.clientInfo
    const versions = legacyVersionsOf(this._supportedProtocolVersions)
    const isSupported = versions.includes(params.protocolVersion)
    const protocolVersion = isSupported ? params.protocolVersion : (versions[0] ?? LATEST_PROTOCOL_VERSION)
    this._negotiatedProtocolVersion = protocolVersion
    this.transport?.setProtocolVersion?.(protocolVersion)
    return {
      protocolVersion,
      capabilities: this._capabilities,
      serverInfo: this._tenonInfo,
      ...(this._instructions && { instructions: this._instructions }),
    }
  }

  private _tenonDiscover(): DiscoverResult {
    return {
      supportedVersions: modernVersionsOf(this._supportedProtocolVersions),
      capabilities: { ...this._capabilities },
      ...(this._instructions && { instructions: this._instructions }),
    }
  }

  /** Handlers of 2026-07-28 return their questions; there is no way to send them. */
  private _tenonCheckCanAsk(method: string): void {
    if (this._tenonEra.kind === 'legacy') return
    throw new SdkError(
      SdkErrorCode.MethodNotSupportedByProtocolVersion,
      `Server-to-client requests are not available on protocol revision ${this._negotiatedProtocolVersion}: ` +
        `'${method}' cannot be sent. Return inputRequired({ ... }) from the handler instead.`,
      { method, era: this._tenonEra.name },
    )
  }

  async ping(): Promise<EmptyResult> {
    this._tenonCheckCanAsk('ping')
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
    this._tenonCheckCanAsk('sampling/createMessage')
    if ((params.tools || params.toolChoice) && !this._clientCapabilities?.sampling?.tools) {
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
    this._tenonCheckCanAsk('elicitation/create')
    const mode = params.mode ?? 'form'
    const elicitation = this._clientCapabilities?.elicitation
    const isSupported = mode === 'url' ? elicitation?.url : elicitation?.form
    if (!isSupported) {
      throw new SdkError(SdkErrorCode.CapabilityNotSupported, `Client does not support ${mode} elicitation.`)
    }
    const result = await this._tenonSendElicitation(params, options)
    if (mode === 'form') this._tenonCheckContent(params as ElicitRequestFormParams, result)
    return result
  }

  private _tenonSendElicitation(
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    options?: RequestOptions,
  ): Promise<ElicitResult> {
    const complete = params.mode === 'url' ? params : { ...params, mode: 'form' }
    return this.request({ method: 'elicitation/create', params: { ...complete } }, options)
  }

  private _tenonCheckContent({ requestedSchema }: ElicitRequestFormParams, { action, content }: ElicitResult): void {
    if (action !== 'accept' || !content || !requestedSchema) return
    let problem: string | undefined
    try {
      problem = this._tenonValidator.getValidator({ ...requestedSchema })(content).errorMessage
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
    if (!this._clientCapabilities?.elicitation?.url) {
      throw new SdkError(
        SdkErrorCode.CapabilityNotSupported,
        'Client does not support URL elicitation (required for notifications/elicitation/complete)',
      )
    }
    return () => this.notification({ method: 'notifications/elicitation/complete', params: { elicitationId } }, options)
  }

  /** Asks which folders the server may work in. */
  async listRoots(params?: ListRootsRequest['params'], options?: RequestOptions): Promise<ListRootsResult> {
    this._tenonCheckCanAsk('roots/list')
    return this.request({ method: 'roots/list', ...(params && { params: { ...params } }) }, options)
  }

  /** Sends a log message, if the session wants messages of its level. */
  async sendLoggingMessage(params: LoggingMessageNotification['params'], sessionId?: string): Promise<void> {
    if (!this._capabilities.logging) return
    const wanted = this._tenonLevels.get(sessionId)
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

/** What a transport said about the HTTP request is read only if a handler reads it: the `Request` may have to be created. */
function withHttp(ctx: BaseContext, extra: MessageExtraInfo): ServerContext {
  const { http, ...rest } = ctx
  let known: ServerContext['http'] | null = null
  return {
    ...(rest as ServerContext),
    get http() {
      if (known === null) known = toHttp(http, extra)
      return known as NonNullable<ServerContext['http']>
    },
  }
}

function toHttp(http: BaseContext['http'], extra: MessageExtraInfo): ServerContext['http'] {
  const { request, closeSSEStream, closeStandaloneSSEStream } = extra
  if (!http && !request && !closeSSEStream && !closeStandaloneSSEStream) return undefined
  return {
    ...http,
    ...(request && { req: request }),
    ...(closeSSEStream && { closeSSE: closeSSEStream }),
    ...(closeStandaloneSSEStream && { closeStandaloneSSE: closeStandaloneSSEStream }),
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
