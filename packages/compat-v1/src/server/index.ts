import { assertClientRequestTaskCapability, assertToolsCallTaskCapability } from '../experimental/tasks/helpers.ts'
import { ExperimentalServerTasks } from '../experimental/tasks/server.ts'
import type {
  ClientCapabilities,
  CreateMessageRequest,
  CreateMessageRequestParams,
  CreateMessageResult,
  CreateMessageResultWithTools,
  ElicitRequestFormParams,
  ElicitRequestURLParams,
  ElicitResult,
  EmptyResult,
  Implementation,
  InitializeRequest,
  InitializeResult,
  ListRootsRequest,
  ListRootsResult,
  LoggingLevel,
  LoggingMessageNotification,
  Notification,
  Request,
  ResourceUpdatedNotification,
  Result,
  ServerCapabilities,
  ServerNotification,
  ServerRequest,
  ServerResult,
} from '../generated/protocol-types.ts'
import { LATEST_PROTOCOL_VERSION, SUPPORTED_PROTOCOL_VERSIONS } from '../shared/constants.ts'
import {
  mergeCapabilities,
  type NotificationOptions,
  Protocol,
  type ProtocolOptions,
  type RequestHandlerExtra,
  type RequestOptions,
} from '../shared/protocol.ts'
import { formUnlessNamed } from '../shared/schema-checks.ts'
import { uncheckedResult } from '../shared/unchecked-result.ts'
import { type AnyObjectSchema, methodOf, type SchemaOutput } from '../shared/zod-reading.ts'
import type { CreateMessageRequestParamsBase, CreateMessageRequestParamsWithTools } from '../types.ts'
import type { jsonSchemaValidator } from '../validation/types.ts'
import { assertServerHandler, assertServerNotification, assertServerRequest } from './capability-checks.ts'
import { checkClientAnswers, checkElicitedContent, checkSampling } from './client-answers.ts'
import { ServerEngine } from './server-engine.ts'
import { checkToolCallResult } from './tool-results.ts'

/** Options of a `Server`. */
export type ServerOptions = ProtocolOptions & {
  /** The capabilities to declare. */
  capabilities?: ServerCapabilities
  /** Describes how to use the server, for the model. */
  instructions?: string
  /** Checks the answers to form elicitations. Default: the JSON Schema validator of Tenon. */
  jsonSchemaValidator?: jsonSchemaValidator
}

/** Levels of log messages, least severe first. */
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

/**
 * A server with a handler for each method. Most programs use `McpServer`.
 *
 * It answers clients of every revision. On 2026-07-28 the client is a fact of the request: `getClientCapabilities` and the
 * requests to the client work inside handlers.
 */
export class Server<
  RequestT extends Request = Request,
  NotificationT extends Notification = Notification,
  ResultT extends Result = Result,
> extends Protocol<ServerRequest | RequestT, ServerNotification | NotificationT, ServerResult | ResultT> {
  private readonly _serverInfo: Implementation
  private _clientCapabilities: ClientCapabilities | undefined
  private _clientVersion: Implementation | undefined
  private _capabilities: ServerCapabilities
  private readonly _instructions: string | undefined
  private readonly _jsonSchemaValidator: jsonSchemaValidator | undefined
  private readonly _loggingLevels: Map<string | undefined, LoggingLevel> = new Map()
  private _experimental: { tasks: ExperimentalServerTasks<RequestT, NotificationT, ResultT> } | undefined
  private readonly _tenonServerEngine: ServerEngine

  /** Called when the client has sent `notifications/initialized`. */
  oninitialized?: () => void

  constructor(serverInfo: Implementation, options?: ServerOptions) {
    const engine = new ServerEngine(serverInfo, options?.instructions)
    super(options, engine)
    this._tenonServerEngine = engine
    this._serverInfo = serverInfo
    this._capabilities = options?.capabilities ?? {}
    this._instructions = options?.instructions
    this._jsonSchemaValidator = options?.jsonSchemaValidator
    engine.registerCapabilities(this._capabilities)
    this._tenonSetHandler('initialize', (request) => this._oninitialize(request as InitializeRequest) as ServerResult)
    const initialize = this._tenonHandlerOf('initialize')
    engine.handles = (method) => !!(this._tenonHandlerOf(method) ?? this.fallbackRequestHandler)
    engine.hasOwnInitialize = () =>
      this._tenonHandlerOf('initialize') !== initialize || this._oninitialize !== Server.prototype._oninitialize
    this._tenonSetNotificationHandler('notifications/initialized', () => this.oninitialized?.())
    if (this._capabilities.logging) this._tenonSetLevelHandler()
  }

  /** Features that may change. */
  get experimental(): { tasks: ExperimentalServerTasks<RequestT, NotificationT, ResultT> } {
    this._experimental ??= { tasks: new ExperimentalServerTasks(this) }
    return this._experimental
  }

  /** Declares further capabilities. Throws once a transport is connected. */
  public registerCapabilities(capabilities: ServerCapabilities): void {
    if (this.transport) throw new Error('Cannot register capabilities after connecting to transport')
    this._capabilities = mergeCapabilities(this._capabilities, capabilities)
    this._tenonServerEngine.registerCapabilities(capabilities)
  }

  /** Sets the handler of a request method. The result of `tools/call` is checked before it is sent. */
  public override setRequestHandler<T extends AnyObjectSchema>(
    requestSchema: T,
    handler: (
      request: SchemaOutput<T>,
      extra: RequestHandlerExtra<ServerRequest | RequestT, ServerNotification | NotificationT>,
    ) => ServerResult | ResultT | Promise<ServerResult | ResultT>,
  ): void {
    if (methodOf(requestSchema) !== 'tools/call') return super.setRequestHandler(requestSchema, handler)
    super.setRequestHandler(requestSchema, async (request, extra) => {
      const result = await handler(request, extra)
      return checkToolCallResult(request as unknown as Request, result as Result) as ServerResult
    })
  }

  protected assertCapabilityForMethod(method: RequestT['method']): void {
    assertServerRequest(method, this.getClientCapabilities())
  }

  protected assertNotificationCapability(method: (ServerNotification | NotificationT)['method']): void {
    assertServerNotification(method, this._capabilities, () => this.getClientCapabilities())
  }

  protected assertRequestHandlerCapability(method: string): void {
    // The constructor of `Protocol` sets handlers before the capabilities are known.
    if (this._capabilities) assertServerHandler(method, this._capabilities)
  }

  protected assertTaskCapability(method: string): void {
    assertClientRequestTaskCapability(this.getClientCapabilities()?.tasks?.requests, method, 'Client')
  }

  protected assertTaskHandlerCapability(method: string): void {
    if (this._capabilities) assertToolsCallTaskCapability(this._capabilities.tasks?.requests, method, 'Server')
  }

  private _oninitialize({ params }: InitializeRequest): InitializeResult {
    this._clientCapabilities = withModes(params.capabilities)
    this._clientVersion = params.clientInfo
    const isSupported = SUPPORTED_PROTOCOL_VERSIONS.includes(params.protocolVersion)
    return {
      protocolVersion: isSupported ? params.protocolVersion : LATEST_PROTOCOL_VERSION,
      capabilities: this._capabilities,
      serverInfo: this._serverInfo,
      ...(this._instructions && { instructions: this._instructions }),
    }
  }

  /** Returns the capabilities that the client declared. */
  getClientCapabilities(): ClientCapabilities | undefined {
    const { running } = this._tenonServerEngine
    return running ? withModes(running.caller.capabilities as ClientCapabilities) : this._clientCapabilities
  }

  /** Returns the name and version of the client. */
  getClientVersion(): Implementation | undefined {
    const { running } = this._tenonServerEngine
    return running ? (running.caller.clientInfo as Implementation | undefined) : this._clientVersion
  }

  /** Checks whether the client responds. */
  async ping(): Promise<EmptyResult> {
    return this._tenonAsk('ping', undefined, undefined)
  }

  /** Requests a completion from the model of the client. */
  async createMessage(params: CreateMessageRequestParamsBase, options?: RequestOptions): Promise<CreateMessageResult>
  async createMessage(
    params: CreateMessageRequestParamsWithTools,
    options?: RequestOptions,
  ): Promise<CreateMessageResultWithTools>
  async createMessage(
    params: CreateMessageRequest['params'],
    options?: RequestOptions,
  ): Promise<CreateMessageResult | CreateMessageResultWithTools>
  async createMessage(
    params: CreateMessageRequestParams,
    options?: RequestOptions,
  ): Promise<CreateMessageResult | CreateMessageResultWithTools> {
    checkSampling(params, this.getClientCapabilities())
    return this._tenonAsk('sampling/createMessage', params, options)
  }

  /** Asks the user to fill in a form or to open a URL. */
  async elicitInput(
    params: ElicitRequestFormParams | ElicitRequestURLParams,
    options?: RequestOptions,
  ): Promise<ElicitResult> {
    const mode = params.mode ?? 'form'
    if (!this.getClientCapabilities()?.elicitation?.[mode]) {
      throw new Error(`Client does not support ${mode} elicitation.`)
    }
    if (mode === 'url') return this._tenonAsk('elicitation/create', params, options)
    const form = (params.mode === 'form' ? params : { ...params, mode: 'form' }) as ElicitRequestFormParams
    const result = await this._tenonAsk<ElicitResult>('elicitation/create', form, options)
    checkElicitedContent(form, result, this._jsonSchemaValidator)
    return result
  }

  /** Returns a function that notifies the client that a URL elicitation is complete. */
  createElicitationCompletionNotifier(elicitationId: string, options?: NotificationOptions): () => Promise<void> {
    if (!this.getClientCapabilities()?.elicitation?.url) {
      throw new Error('Client does not support URL elicitation (required for notifications/elicitation/complete)')
    }
    const notification = { method: 'notifications/elicitation/complete', params: { elicitationId } } as const
    return () => this.notification(notification, options)
  }

  /** Returns the root folders of the client. */
  async listRoots(params?: ListRootsRequest['params'], options?: RequestOptions): Promise<ListRootsResult> {
    return this._tenonAsk('roots/list', params, options)
  }

  /** Sends a log message, unless the client wants only more severe ones. */
  async sendLoggingMessage(params: LoggingMessageNotification['params'], sessionId?: string): Promise<void> {
    if (!this._capabilities.logging || this._tenonIsIgnored(params.level, sessionId)) return
    await this.notification({ method: 'notifications/message', params })
  }

  /** Notifies the client that the contents of a resource changed. */
  async sendResourceUpdated(params: ResourceUpdatedNotification['params']): Promise<void> {
    await this.notification({ method: 'notifications/resources/updated', params })
  }

  /** Notifies the client that the list of resources changed. */
  async sendResourceListChanged(): Promise<void> {
    await this.notification({ method: 'notifications/resources/list_changed' })
  }

  /** Notifies the client that the list of tools changed. */
  async sendToolListChanged(): Promise<void> {
    await this.notification({ method: 'notifications/tools/list_changed' })
  }

  /** Notifies the client that the list of prompts changed. */
  async sendPromptListChanged(): Promise<void> {
    await this.notification({ method: 'notifications/prompts/list_changed' })
  }

  /** Sends a request of the protocol. Its result is checked without a schema, so that zod is not loaded for it. */
  private async _tenonAsk<R extends Result>(
    method: string,
    params: object | undefined,
    options: RequestOptions | undefined,
  ): Promise<R> {
    const request = { method, ...(params && { params }) } as unknown as ServerRequest
    const result = await this.request(request, uncheckedResult, options)
    // A task is returned in place of the answer.
    return (options?.task ? result : checkClientAnswers(method, params, result as Result)) as R
  }

  private _tenonSetLevelHandler(): void {
    this._tenonSetHandler('logging/setLevel', ({ params }, extra) => {
      const header = extra.sessionId ?? (extra.requestInfo?.headers['mcp-session-id'] as string | undefined)
      const { level } = params as { level: LoggingLevel }
      if (levels.includes(level)) this._loggingLevels.set(header || undefined, level)
      return {}
    })
  }

  private _tenonIsIgnored(level: LoggingLevel, sessionId: string | undefined): boolean {
    const least = this._loggingLevels.get(sessionId)
    return least !== undefined && levels.indexOf(level) < levels.indexOf(least)
  }
}

/** A client that declares elicitation without modes supports forms. */
function withModes(capabilities: ClientCapabilities): ClientCapabilities {
  const { elicitation } = capabilities
  const named = formUnlessNamed(elicitation) as ClientCapabilities['elicitation']
  return named === elicitation ? capabilities : { ...capabilities, elicitation: named }
}
