import { ExperimentalMcpServerTasks } from '../experimental/tasks/mcp-server.ts'
import type {
  CallToolRequest,
  CompleteRequest,
  GetPromptRequest,
  Implementation,
  LoggingMessageNotification,
  ReadResourceRequest,
  Request,
  ServerCapabilities,
  ServerResult,
  ToolAnnotations,
  ToolExecution,
} from '../generated/protocol-types.ts'
import { validateAndWarnToolName } from '../shared/toolNameValidation.ts'
import type { Transport } from '../shared/transport.ts'
import type { AnySchema, ZodRawShapeCompat } from '../shared/zod-reading.ts'
import { complete, hasCompletion } from './completions.ts'
import { Server, type ServerOptions } from './index.ts'
import { getPrompt, listPrompts } from './prompt-gets.ts'
import {
  type AnyToolHandler,
  move,
  type PromptArgsRawShape,
  type PromptCallback,
  type ReadResourceCallback,
  type ReadResourceTemplateCallback,
  type RegisteredPrompt,
  type RegisteredResource,
  type RegisteredResourceTemplate,
  type RegisteredTool,
  type Registry,
  type ResourceMetadata,
  type ServerExtra,
  type ToolCallback,
} from './registered.ts'
import { listResources, listResourceTemplates, readResource } from './resource-reads.ts'
import type { ResourceTemplate } from './resource-template.ts'
import { callTool, checkInput, checkOutput, listTools, type ToolHost } from './tool-calls.ts'
import { fromShape, isRawShape, toSchema } from './tool-schemas.ts'

export type {
  AnyToolHandler,
  BaseToolCallback,
  ListResourcesCallback,
  PromptCallback,
  ReadResourceCallback,
  ReadResourceTemplateCallback,
  RegisteredPrompt,
  RegisteredResource,
  RegisteredResourceTemplate,
  RegisteredTool,
  ResourceMetadata,
  ToolCallback,
} from './registered.ts'
export { type CompleteResourceTemplateCallback, ResourceTemplate } from './resource-template.ts'

/** Options of an `McpServer`. */
export type McpServerOptions = ServerOptions & {
  /** How many array elements and object members the arguments of a tool call may have. Default: no limit. */
  maxToolInputElements?: number
}

/** What registers a tool. */
interface ToolDefinition {
  title?: string | undefined
  description?: string | undefined
  inputSchema?: ZodRawShapeCompat | AnySchema | undefined
  outputSchema?: ZodRawShapeCompat | AnySchema | undefined
  annotations?: ToolAnnotations | undefined
  execution?: ToolExecution | undefined
  _meta?: Record<string, unknown> | undefined
  handler: AnyToolHandler<ZodRawShapeCompat | undefined>
}

/** Serves one method. */
type Handler = (request: never, extra: ServerExtra) => object | Promise<object>

/** A server with tools, resources and prompts. `server` has the methods of the bare protocol. */
export class McpServer {
  /** The server that this one is built on, for requests and notifications to the client and handlers of your own. */
  public readonly server: Server
  private readonly _registeredResources: Registry<RegisteredResource> = {}
  private readonly _registeredResourceTemplates: Registry<RegisteredResourceTemplate> = {}
  private readonly _registeredTools: Registry<RegisteredTool> = {}
  private readonly _registeredPrompts: Registry<RegisteredPrompt> = {}
  private _experimental: { tasks: ExperimentalMcpServerTasks } | undefined
  private readonly _maxToolInputElements: number | undefined
  private _toolHandlersInitialized = false
  private _completionHandlerInitialized = false
  private _resourceHandlersInitialized = false
  private _promptHandlersInitialized = false

  constructor(serverInfo: Implementation, options?: McpServerOptions) {
    this.server = new Server(serverInfo, options)
    this._maxToolInputElements = checkMaxElements(options?.maxToolInputElements)
    const { tools, resources, prompts } = options?.capabilities ?? {}
    if (tools) this.setToolRequestHandlers()
    if (resources) this.setResourceRequestHandlers()
    if (prompts) this.setPromptRequestHandlers()
  }

  /** Features that may change. */
  get experimental(): { tasks: ExperimentalMcpServerTasks } {
    this._experimental ??= { tasks: new ExperimentalMcpServerTasks(this) }
    return this._experimental
  }

  /** Starts a transport and serves its client. */
  async connect(transport: Transport): Promise<void> {
    return this.server.connect(transport)
  }

  /** Closes the connection. */
  async close(): Promise<void> {
    await this.server.close()
  }

  private setToolRequestHandlers(): void {
    if (this._toolHandlersInitialized) return
    const host: ToolHost = {
      tools: this._registeredTools,
      maxElements: this._maxToolInputElements,
      checkInput: (tool, args, name) => this.validateToolInput(tool, args, name),
      checkOutput: (tool, result, name) => this.validateToolOutput(tool, result, name),
    }
    this._tenonSetHandlers(
      { tools: { listChanged: true } },
      {
        'tools/list': () => listTools(this._registeredTools),
        'tools/call': (request: CallToolRequest, extra) => callTool(host, request, extra),
      },
    )
    this._toolHandlersInitialized = true
  }

  /** Published programs replace this method and the next one, although they are private. */
  private validateToolInput(tool: RegisteredTool, args: unknown, toolName: string): Promise<unknown> {
    return checkInput(tool, args, toolName)
  }

  private validateToolOutput(tool: RegisteredTool, result: object, toolName: string): Promise<void> {
    return checkOutput(tool, result, toolName)
  }

  private setCompletionRequestHandler(): void {
    if (this._completionHandlerInitialized) return
    const completed = {
      prompts: this._registeredPrompts,
      resources: this._registeredResources,
      templates: this._registeredResourceTemplates,
    }
    this._tenonSetHandlers(
      { completions: {} },
      {
        'completion/complete': (request: CompleteRequest) => complete(completed, request),
      },
    )
    this._completionHandlerInitialized = true
  }

  private setResourceRequestHandlers(): void {
    if (this._resourceHandlersInitialized) return
    const resources = this._registeredResources
    const templates = this._registeredResourceTemplates
    this._tenonSetHandlers(
      { resources: { listChanged: true } },
      {
        'resources/list': (_request, extra) => listResources(resources, templates, extra),
        'resources/templates/list': () => listResourceTemplates(templates),
        'resources/read': ({ params }: ReadResourceRequest, extra) =>
          readResource(resources, templates, params.uri, extra),
      },
    )
    this._resourceHandlersInitialized = true
  }

  private setPromptRequestHandlers(): void {
    if (this._promptHandlersInitialized) return
    this._tenonSetHandlers(
      { prompts: { listChanged: true } },
      {
        'prompts/list': () => listPrompts(this._registeredPrompts),
        'prompts/get': (request: GetPromptRequest, extra) => getPrompt(this._registeredPrompts, request, extra),
      },
    )
    this._promptHandlersInitialized = true
  }

  private _tenonSetHandlers(capabilities: ServerCapabilities, handlers: Record<string, Handler>): void {
    for (const method of Object.keys(handlers)) this.server.assertCanSetRequestHandler(method)
    this.server.registerCapabilities(capabilities)
    for (const [method, handler] of Object.entries(handlers)) {
      this.server._tenonSetHandler(method, handler as (request: Request, extra: ServerExtra) => ServerResult)
    }
  }

  /** @deprecated Use `registerResource`. */
  resource(name: string, uri: string, readCallback: ReadResourceCallback): RegisteredResource
  /** @deprecated Use `registerResource`. */
  resource(
    name: string,
    uri: string,
    metadata: ResourceMetadata,
    readCallback: ReadResourceCallback,
  ): RegisteredResource
  /** @deprecated Use `registerResource`. */
  resource(
    name: string,
    template: ResourceTemplate,
    readCallback: ReadResourceTemplateCallback,
  ): RegisteredResourceTemplate
  /** @deprecated Use `registerResource`. */
  resource(
    name: string,
    template: ResourceTemplate,
    metadata: ResourceMetadata,
    readCallback: ReadResourceTemplateCallback,
  ): RegisteredResourceTemplate
  resource(
    name: string,
    uriOrTemplate: string | ResourceTemplate,
    ...rest: unknown[]
  ): RegisteredResource | RegisteredResourceTemplate {
    const metadata = typeof rest[0] === 'object' ? (rest.shift() as ResourceMetadata) : undefined
    return this._tenonAddResource(name, undefined, uriOrTemplate, metadata, rest[0])
  }

  /** Registers a resource with a fixed URI, or a template for many. */
  registerResource(
    name: string,
    uriOrTemplate: string,
    config: ResourceMetadata,
    readCallback: ReadResourceCallback,
  ): RegisteredResource
  registerResource(
    name: string,
    uriOrTemplate: ResourceTemplate,
    config: ResourceMetadata,
    readCallback: ReadResourceTemplateCallback,
  ): RegisteredResourceTemplate
  registerResource(
    name: string,
    uriOrTemplate: string | ResourceTemplate,
    config: ResourceMetadata,
    readCallback: ReadResourceCallback | ReadResourceTemplateCallback,
  ): RegisteredResource | RegisteredResourceTemplate {
    return this._tenonAddResource(name, config.title, uriOrTemplate, config, readCallback)
  }

  private _tenonAddResource(
    name: string,
    title: string | undefined,
    uriOrTemplate: string | ResourceTemplate,
    metadata: ResourceMetadata | undefined,
    readCallback: unknown,
  ): RegisteredResource | RegisteredResourceTemplate {
    const isTemplate = typeof uriOrTemplate !== 'string'
    if (isTemplate) checkUnused(this._registeredResourceTemplates, name, 'Resource template')
    else checkUnused(this._registeredResources, uriOrTemplate, 'Resource')
    const registered = isTemplate
      ? this._createRegisteredResourceTemplate(name, title, uriOrTemplate, metadata, readCallback as never)
      : this._createRegisteredResource(name, title, uriOrTemplate, metadata, readCallback as never)
    this.setResourceRequestHandlers()
    this.sendResourceListChanged()
    return registered
  }

  private _createRegisteredResource(
    name: string,
    title: string | undefined,
    uri: string,
    metadata: ResourceMetadata | undefined,
    readCallback: ReadResourceCallback,
  ): RegisteredResource {
    let key = uri
    const resource: RegisteredResource = {
      name,
      title,
      metadata,
      readCallback,
      enabled: true,
      disable: () => resource.update({ enabled: false }),
      enable: () => resource.update({ enabled: true }),
      remove: () => resource.update({ uri: null }),
      update: ({ uri: to, callback, ...changes }) => {
        key = move(this._registeredResources, key, to)
        assignDefined(resource, { ...changes, readCallback: callback })
        this.sendResourceListChanged()
      },
    }
    this._registeredResources[uri] = resource
    return resource
  }

  private _createRegisteredResourceTemplate(
    name: string,
    title: string | undefined,
    resourceTemplate: ResourceTemplate,
    metadata: ResourceMetadata | undefined,
    readCallback: ReadResourceTemplateCallback,
  ): RegisteredResourceTemplate {
    let key = name
    const template: RegisteredResourceTemplate = {
      resourceTemplate,
      title,
      metadata,
      readCallback,
      enabled: true,
      disable: () => template.update({ enabled: false }),
      enable: () => template.update({ enabled: true }),
      remove: () => template.update({ name: null }),
      update: ({ name: to, template: changed, callback, ...changes }) => {
        key = move(this._registeredResourceTemplates, key, to)
        assignDefined(template, { ...changes, resourceTemplate: changed, readCallback: callback })
        this.sendResourceListChanged()
      },
    }
    this._registeredResourceTemplates[name] = template
    const { variableNames } = resourceTemplate.uriTemplate
    if (variableNames.some((variable) => resourceTemplate.completeCallback(variable))) {
      this.setCompletionRequestHandler()
    }
    return template
  }

  /** @deprecated Use `registerTool`. */
  tool(name: string, cb: ToolCallback): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool(name: string, description: string, cb: ToolCallback): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool<Args extends ZodRawShapeCompat>(
    name: string,
    paramsSchemaOrAnnotations: Args | ToolAnnotations,
    cb: ToolCallback<Args>,
  ): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool<Args extends ZodRawShapeCompat>(
    name: string,
    description: string,
    paramsSchemaOrAnnotations: Args | ToolAnnotations,
    cb: ToolCallback<Args>,
  ): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool<Args extends ZodRawShapeCompat>(
    name: string,
    paramsSchema: Args,
    annotations: ToolAnnotations,
    cb: ToolCallback<Args>,
  ): RegisteredTool
  /** @deprecated Use `registerTool`. */
  tool<Args extends ZodRawShapeCompat>(
    name: string,
    description: string,
    paramsSchema: Args,
    annotations: ToolAnnotations,
    cb: ToolCallback<Args>,
  ): RegisteredTool
  tool(name: string, ...rest: unknown[]): RegisteredTool {
    checkUnused(this._registeredTools, name, 'Tool')
    return this._createRegisteredTool(name, readToolArguments(name, rest))
  }

  /** Registers a tool. */
  registerTool<
    OutputArgs extends ZodRawShapeCompat | AnySchema,
    InputArgs extends undefined | ZodRawShapeCompat | AnySchema = undefined,
  >(
    name: string,
    config: {
      title?: string
      description?: string
      inputSchema?: InputArgs
      outputSchema?: OutputArgs
      annotations?: ToolAnnotations
      _meta?: Record<string, unknown>
    },
    cb: ToolCallback<InputArgs>,
  ): RegisteredTool {
    checkUnused(this._registeredTools, name, 'Tool')
    return this._createRegisteredTool(name, {
      ...config,
      execution: { taskSupport: 'forbidden' },
      handler: cb as ToolDefinition['handler'],
    })
  }

  /** @internal */
  _createRegisteredTool(name: string, definition: ToolDefinition): RegisteredTool {
    validateAndWarnToolName(name)
    let key = name
    const { title, description, annotations, execution, _meta, handler } = definition
    const tool: RegisteredTool = {
      title,
      description,
      inputSchema: toSchema(definition.inputSchema),
      outputSchema: toSchema(definition.outputSchema),
      annotations,
      execution,
      _meta,
      handler,
      enabled: true,
      disable: () => tool.update({ enabled: false }),
      enable: () => tool.update({ enabled: true }),
      remove: () => tool.update({ name: null }),
      update: ({ name: to, paramsSchema, outputSchema, callback, ...changes }) => {
        if (typeof to === 'string' && to !== key) validateAndWarnToolName(to)
        key = move(this._registeredTools, key, to)
        const schemas = {
          inputSchema: paramsSchema && fromShape(paramsSchema),
          outputSchema: outputSchema && fromShape(outputSchema),
        }
        assignDefined(tool, { ...changes, ...schemas, handler: callback as never })
        this.sendToolListChanged()
      },
    }
    this._registeredTools[name] = tool
    this.setToolRequestHandlers()
    this.sendToolListChanged()
    return tool
  }

  /** @deprecated Use `registerPrompt`. */
  prompt(name: string, cb: PromptCallback): RegisteredPrompt
  /** @deprecated Use `registerPrompt`. */
  prompt(name: string, description: string, cb: PromptCallback): RegisteredPrompt
  /** @deprecated Use `registerPrompt`. */
  prompt<Args extends PromptArgsRawShape>(name: string, argsSchema: Args, cb: PromptCallback<Args>): RegisteredPrompt
  /** @deprecated Use `registerPrompt`. */
  prompt<Args extends PromptArgsRawShape>(
    name: string,
    description: string,
    argsSchema: Args,
    cb: PromptCallback<Args>,
  ): RegisteredPrompt
  prompt(name: string, ...rest: unknown[]): RegisteredPrompt {
    const description = typeof rest[0] === 'string' ? (rest.shift() as string) : undefined
    const argsSchema = rest.length > 1 ? (rest.shift() as PromptArgsRawShape) : undefined
    return this._tenonAddPrompt(name, undefined, description, argsSchema, rest[0] as RegisteredPrompt['callback'])
  }

  /** Registers a prompt. */
  registerPrompt<Args extends PromptArgsRawShape>(
    name: string,
    config: { title?: string; description?: string; argsSchema?: Args },
    cb: PromptCallback<Args>,
  ): RegisteredPrompt {
    const { title, description, argsSchema } = config
    return this._tenonAddPrompt(name, title, description, argsSchema, cb as RegisteredPrompt['callback'])
  }

  private _tenonAddPrompt(
    name: string,
    title: string | undefined,
    description: string | undefined,
    argsSchema: PromptArgsRawShape | undefined,
    callback: RegisteredPrompt['callback'],
  ): RegisteredPrompt {
    checkUnused(this._registeredPrompts, name, 'Prompt')
    const prompt = this._createRegisteredPrompt(name, title, description, argsSchema, callback)
    this.setPromptRequestHandlers()
    this.sendPromptListChanged()
    return prompt
  }

  private _createRegisteredPrompt(
    name: string,
    title: string | undefined,
    description: string | undefined,
    argsSchema: PromptArgsRawShape | undefined,
    callback: RegisteredPrompt['callback'],
  ): RegisteredPrompt {
    let key = name
    const prompt: RegisteredPrompt = {
      title,
      description,
      argsSchema: argsSchema && toSchema(argsSchema),
      callback,
      enabled: true,
      disable: () => prompt.update({ enabled: false }),
      enable: () => prompt.update({ enabled: true }),
      remove: () => prompt.update({ name: null }),
      update: ({ name: to, argsSchema: shape, callback: changed, ...changes }) => {
        key = move(this._registeredPrompts, key, to)
        assignDefined(prompt, { ...changes, argsSchema: shape && fromShape(shape), callback: changed as never })
        this.sendPromptListChanged()
      },
    }
    this._registeredPrompts[name] = prompt
    if (argsSchema && Object.values(argsSchema).some(hasCompletion)) this.setCompletionRequestHandler()
    return prompt
  }

  /** Whether a transport is connected. */
  isConnected(): boolean {
    return this.server.transport !== undefined
  }

  /** Sends a log message, unless the client wants only more severe ones. */
  async sendLoggingMessage(params: LoggingMessageNotification['params'], sessionId?: string): Promise<void> {
    return this.server.sendLoggingMessage(params, sessionId)
  }

  /** Notifies the client that the list of resources changed, if one is connected. */
  sendResourceListChanged(): void {
    if (this.isConnected()) void this.server.sendResourceListChanged()
  }

  /** Notifies the client that the list of tools changed, if one is connected. */
  sendToolListChanged(): void {
    if (this.isConnected()) void this.server.sendToolListChanged()
  }

  /** Notifies the client that the list of prompts changed, if one is connected. */
  sendPromptListChanged(): void {
    if (this.isConnected()) void this.server.sendPromptListChanged()
  }
}

/** Reads the arguments of `tool()` after the name: a description, fields and annotations, each optional, and the callback. */
function readToolArguments(name: string, rest: unknown[]): ToolDefinition {
  const description = typeof rest[0] === 'string' ? (rest.shift() as string) : undefined
  const inputSchema = rest.length > 1 && isRawShape(rest[0]) ? (rest.shift() as ZodRawShapeCompat) : undefined
  const annotations = rest.length > 1 && isObject(rest[0]) ? readAnnotations(name, rest.shift() as object) : undefined
  const handler = rest[0] as ToolDefinition['handler']
  return { description, inputSchema, annotations, execution: { taskSupport: 'forbidden' }, handler }
}

/** Annotations are texts and booleans. An object inside is a schema in the wrong place. */
function readAnnotations(name: string, annotations: object): ToolAnnotations {
  if (!Object.values(annotations).some(isObject)) return annotations
  throw new Error(`Tool ${name} expected a Zod schema or ToolAnnotations, but received an unrecognized object`)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

function checkUnused(registry: Registry<unknown>, key: string, kind: string): void {
  if (Object.hasOwn(registry, key)) throw new Error(`${kind} ${key} is already registered`)
}

function assignDefined<T extends object>(target: T, changes: Partial<T>): void {
  for (const [name, value] of Object.entries(changes)) if (value !== undefined) Object.assign(target, { [name]: value })
}

function checkMaxElements(max: number | undefined): number | undefined {
  if (max === undefined || max === Number.POSITIVE_INFINITY) return undefined
  if (typeof max === 'number' && max >= 1) return max
  throw new RangeError(`maxToolInputElements must be a number of at least 1, or Infinity, got ${String(max)}`)
}
