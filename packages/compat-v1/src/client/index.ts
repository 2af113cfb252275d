import { ExperimentalClientTasks } from '../experimental/tasks/client.ts'
import { assertClientRequestTaskCapability, assertToolsCallTaskCapability } from '../experimental/tasks/helpers.ts'
import type {
  CallToolRequest,
  CallToolResult,
  ClientCapabilities,
  ClientNotification,
  ClientRequest,
  ClientResult,
  CompatibilityCallToolResult,
  CompleteRequest,
  CompleteResult,
  EmptyResult,
  GetPromptRequest,
  GetPromptResult,
  Implementation,
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
  ReadResourceRequest,
  ReadResourceResult,
  Request,
  Result,
  ServerCapabilities,
  SubscribeRequest,
  UnsubscribeRequest,
} from '../generated/protocol-types.ts'
import { ErrorCode, McpError } from '../shared/errors.ts'
import {
  DEFAULT_REQUEST_TIMEOUT_MSEC,
  mergeCapabilities,
  Protocol,
  type ProtocolOptions,
  type RequestHandlerExtra,
  type RequestOptions,
} from '../shared/protocol.ts'
import type { Transport } from '../shared/transport.ts'
import { type AnyObjectSchema, methodOf, type SchemaOutput } from '../shared/zod-reading.ts'
import {
  CallToolResultSchema,
  type CompatibilityCallToolResultSchema,
  CompleteResultSchema,
  EmptyResultSchema,
  GetPromptResultSchema,
  InitializeResultSchema,
  type ListChangedHandlers,
  ListPromptsResultSchema,
  ListResourcesResultSchema,
  ListResourceTemplatesResultSchema,
  ListToolsResultSchema,
  PromptListChangedNotificationSchema,
  ReadResourceResultSchema,
  ResourceListChangedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '../types.ts'
import { AjvJsonSchemaValidator } from '../validation/ajv-provider.ts'
import type { jsonSchemaValidator } from '../validation/types.ts'
import { assertClientHandler, assertClientNotification, assertClientRequest } from './capability-checks.ts'
import { withChecks } from './checked-handlers.ts'
import { ClientEngine, type EngineConnectOptions } from './client-engine.ts'
import { followLists, type ListName } from './list-changes.ts'
import { ToolMetadata } from './tool-metadata.ts'

export { getSupportedElicitationModes } from './checked-handlers.ts'

/** Options of a `Client`. */
export type ClientOptions = ProtocolOptions & {
  /** The capabilities to declare. */
  capabilities?: ClientCapabilities
  /** Checks the structured content of tool results. Default: the JSON Schema validator of Tenon. */
  jsonSchemaValidator?: jsonSchemaValidator
  /** Called when lists of the server change. */
  listChanged?: ListChangedHandlers
}

/** The notifications that announce changes of lists. */
const listChangedSchemas = {
  tools: ToolListChangedNotificationSchema,
  prompts: PromptListChangedNotificationSchema,
  resources: ResourceListChangedNotificationSchema,
}

/**
 * A client for one server at a time. It connects to servers of every revision: with a handshake, or without one if the server
 * has none.
 */
export class Client<
  RequestT extends Request = Request,
  NotificationT extends Notification = Notification,
  ResultT extends Result = Result,
> extends Protocol<ClientRequest | RequestT, ClientNotification | NotificationT, ClientResult | ResultT> {
  private readonly _clientInfo: Implementation
  private _serverCapabilities: ServerCapabilities | undefined
  private _serverVersion: Implementation | undefined
  private _instructions: string | undefined
  private _capabilities: ClientCapabilities
  private readonly _jsonSchemaValidator: jsonSchemaValidator
  private _experimental: { tasks: ExperimentalClientTasks<RequestT, NotificationT, ResultT> } | undefined
  private readonly _tenonClientEngine: ClientEngine
  private readonly _tenonTools: ToolMetadata
  private _tenonListChanged: ListChangedHandlers | undefined

  /** @param clientInfo The name and version of your program. */
  constructor(clientInfo: Implementation, options?: ClientOptions) {
    const engine = new ClientEngine()
    super(options, engine)
    this._tenonClientEngine = engine
    this._clientInfo = clientInfo
    this._capabilities = options?.capabilities ?? {}
    this._jsonSchemaValidator = options?.jsonSchemaValidator ?? new AjvJsonSchemaValidator()
    this._tenonTools = new ToolMetadata(this._jsonSchemaValidator)
    this._tenonListChanged = options?.listChanged
  }

  /** Features that may change. */
  get experimental(): { tasks: ExperimentalClientTasks<RequestT, NotificationT, ResultT> } {
    this._experimental ??= { tasks: new ExperimentalClientTasks(this) }
    return this._experimental
  }

  /** Declares further capabilities. Throws once a transport is connected. */
  public registerCapabilities(capabilities: ClientCapabilities): void {
    if (this.transport) throw new Error('Cannot register capabilities after connecting to transport')
    this._capabilities = mergeCapabilities(this._capabilities, capabilities)
  }

  /** Sets the handler of a request method. Requests and results of elicitation and sampling are checked. */
  public override setRequestHandler<T extends AnyObjectSchema>(
    requestSchema: T,
    handler: (
      request: SchemaOutput<T>,
      extra: RequestHandlerExtra<ClientRequest | RequestT, ClientNotification | NotificationT>,
    ) => ClientResult | ResultT | Promise<ClientResult | ResultT>,
  ): void {
    const method = methodOf(requestSchema)
    const checked = withChecks(method, handler as never, () => this._capabilities)
    super.setRequestHandler(requestSchema, checked as unknown as typeof handler)
  }

  /**
   * Connects to a server. A transport with a session id continues its session, without a handshake.
   *
   * @param options Timeout and signal of the handshake.
   */
  override async connect(transport: Transport, options?: RequestOptions): Promise<void> {
    const { timeout = DEFAULT_REQUEST_TIMEOUT_MSEC, signal } = options ?? {}
    this._tenonClientEngine.connectOptions = {
      identity: { info: this._clientInfo, capabilities: this._capabilities },
      timeout,
      signal,
      initialize: this._tenonInitializeByProgram(options),
    }
    await super.connect(transport)
    const { server } = this._tenonClientEngine
    if (!server) return
    this._serverCapabilities = server.capabilities as ServerCapabilities
    this._serverVersion = server.info as Implementation | undefined
    this._instructions = server.instructions
    try {
      if (this._tenonClientEngine.awaitsInitialized) await this.notification({ method: 'notifications/initialized' })
      this._tenonFollowLists()
    } catch (error) {
      void this.close()
      throw error
    }
  }

  /** Programs replace `request` to see or change the handshake, as proxies do. */
  private _tenonInitializeByProgram(options: RequestOptions | undefined): EngineConnectOptions['initialize'] {
    if (this.request === Client.prototype.request) return undefined
    return (params) =>
      this.request({ method: 'initialize', params } as Request as RequestT, InitializeResultSchema, options)
  }

  /** Returns the capabilities that the server declared. */
  getServerCapabilities(): ServerCapabilities | undefined {
    return this._serverCapabilities
  }

  /** Returns the name and version of the server. */
  getServerVersion(): Implementation | undefined {
    return this._serverVersion
  }

  /** Returns the instructions of the server for the model. */
  getInstructions(): string | undefined {
    return this._instructions
  }

  /** Throws if the server did not declare a capability. */
  protected assertCapability(capability: keyof ServerCapabilities, method: string): void {
    if (this._serverCapabilities?.[capability]) return
    throw new Error(`Server does not support ${String(capability)} (required for ${method})`)
  }

  protected assertCapabilityForMethod(method: RequestT['method']): void {
    assertClientRequest(method, this._serverCapabilities)
  }

  protected assertNotificationCapability(method: (ClientNotification | NotificationT)['method']): void {
    assertClientNotification(method, this._capabilities)
  }

  protected assertRequestHandlerCapability(method: string): void {
    // The constructor of `Protocol` sets handlers before the capabilities are known.
    if (this._capabilities) assertClientHandler(method, this._capabilities)
  }

  protected assertTaskCapability(method: string): void {
    assertToolsCallTaskCapability(this._serverCapabilities?.tasks?.requests, method, 'Server')
  }

  protected assertTaskHandlerCapability(method: string): void {
    if (this._capabilities) assertClientRequestTaskCapability(this._capabilities.tasks?.requests, method, 'Client')
  }

  /** Checks whether the server responds. */
  async ping(options?: RequestOptions): Promise<EmptyResult> {
    return this.request({ method: 'ping' }, EmptyResultSchema, options)
  }

  /** Completes an argument of a prompt or of a resource template. */
  async complete(params: CompleteRequest['params'], options?: RequestOptions): Promise<CompleteResult> {
    return this.request({ method: 'completion/complete', params }, CompleteResultSchema, options)
  }

  /** Sets the minimum severity of log messages. */
  async setLoggingLevel(level: LoggingLevel, options?: RequestOptions): Promise<EmptyResult> {
    return this.request({ method: 'logging/setLevel', params: { level } }, EmptyResultSchema, options)
  }

  /** Returns the messages of a prompt. */
  async getPrompt(params: GetPromptRequest['params'], options?: RequestOptions): Promise<GetPromptResult> {
    return this.request({ method: 'prompts/get', params }, GetPromptResultSchema, options)
  }

  /** Returns a page of prompts. */
  async listPrompts(params?: ListPromptsRequest['params'], options?: RequestOptions): Promise<ListPromptsResult> {
    return this.request({ method: 'prompts/list', params }, ListPromptsResultSchema, options)
  }

  /** Returns a page of resources. */
  async listResources(params?: ListResourcesRequest['params'], options?: RequestOptions): Promise<ListResourcesResult> {
    return this.request({ method: 'resources/list', params }, ListResourcesResultSchema, options)
  }

  /** Returns a page of resource templates. */
  async listResourceTemplates(
    params?: ListResourceTemplatesRequest['params'],
    options?: RequestOptions,
  ): Promise<ListResourceTemplatesResult> {
    return this.request({ method: 'resources/templates/list', params }, ListResourceTemplatesResultSchema, options)
  }

  /** Reads a resource. */
  async readResource(params: ReadResourceRequest['params'], options?: RequestOptions): Promise<ReadResourceResult> {
    return this.request({ method: 'resources/read', params }, ReadResourceResultSchema, options)
  }

  /** Asks the server to announce changes of a resource. */
  async subscribeResource(params: SubscribeRequest['params'], options?: RequestOptions): Promise<EmptyResult> {
    return this.request({ method: 'resources/subscribe', params }, EmptyResultSchema, options)
  }

  /** Ends the subscription to a resource. */
  async unsubscribeResource(params: UnsubscribeRequest['params'], options?: RequestOptions): Promise<EmptyResult> {
    return this.request({ method: 'resources/unsubscribe', params }, EmptyResultSchema, options)
  }

  /**
   * Calls a tool. If `listTools` returned an output schema for it, the structured content is checked. Tools that require a task
   * are called with `experimental.tasks.callToolStream`.
   */
  async callTool(
    params: CallToolRequest['params'],
    resultSchema: typeof CallToolResultSchema | typeof CompatibilityCallToolResultSchema = CallToolResultSchema,
    options?: RequestOptions,
  ): Promise<CallToolResult | CompatibilityCallToolResult> {
    const { name } = params
    if (this._tenonTools.needsTask(name)) {
      throw new McpError(
        ErrorCode.InvalidRequest,
        `Tool "${name}" requires task-based execution. Use client.experimental.tasks.callToolStream() instead.`,
      )
    }
    const result = await this.request({ method: 'tools/call', params }, resultSchema, options)
    const problem = this._tenonToolOutputProblem(name, result as CallToolResult)
    if (problem) throw problem
    return result
  }

  /** Returns a page of tools, and remembers their output schemas and whether they support tasks. */
  async listTools(params?: ListToolsRequest['params'], options?: RequestOptions): Promise<ListToolsResult> {
    const result: ListToolsResult = await this.request({ method: 'tools/list', params }, ListToolsResultSchema, options)
    this._tenonTools.read(result.tools)
    return result
  }

  /** Tells the server that the roots changed. */
  async sendRootsListChanged(): Promise<void> {
    return this.notification({ method: 'notifications/roots/list_changed' })
  }

  /** @internal Whether calls of a tool can run as tasks. */
  _tenonIsToolTask(name: string): boolean {
    return this._serverCapabilities?.tasks?.requests?.tools?.call !== undefined && this._tenonTools.takesTasks(name)
  }

  /** @internal What is wrong with the structured content of a result. */
  _tenonToolOutputProblem(name: string, result: CallToolResult): McpError | undefined {
    return this._tenonTools.problemWith(name, result)
  }

  private _tenonFollowLists(): void {
    const handlers = this._tenonListChanged
    if (!handlers) return
    this._tenonListChanged = undefined
    followLists(handlers, {
      capabilities: this._serverCapabilities,
      fetch: (list) => this._tenonFetchList(list),
      on: (list, changed) => this.setNotificationHandler(listChangedSchemas[list], changed),
    })
  }

  private async _tenonFetchList(list: ListName): Promise<unknown[]> {
    if (list === 'tools') return (await this.listTools()).tools
    if (list === 'prompts') return (await this.listPrompts()).prompts
    return (await this.listResources()).resources
  }
}
