import { validateAndWarnToolName } from '@tenon/compat-v1/shared/toolNameValidation.js'
import { type CacheHint, checkCacheHint, withHint } from '../core/cache-hints.ts'
import type { ServerContext } from '../core/context.ts'
import { ProtocolError, ProtocolErrorCode, ResourceNotFoundError } from '../core/errors.ts'
import { isInputRequiredResult } from '../core/guards.ts'
import { check, type StandardSchemaWithJSON } from '../core/standard-schema.ts'
import type { Transport } from '../core/transport.ts'
import type {
  CallToolRequest,
  CallToolResult,
  CompleteRequest,
  CompleteResult,
  GetPromptResult,
  Icon,
  Implementation,
  InputRequiredResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  LoggingMessageNotification,
  ReadResourceResult,
  Tool,
  ToolAnnotations,
} from '../core/types.ts'
import { completerOf } from './completable.ts'
import type {
  AnyToolHandler,
  LegacyPromptCallback,
  LegacyToolCallback,
  PromptCallback,
  ReadResourceCallback,
  ReadResourceTemplateCallback,
  RegisteredPrompt,
  RegisteredResource,
  RegisteredResourceTemplate,
  RegisteredTool,
  ResourceMetadata,
  ToolCallback,
  ZodRawShape,
} from './registered.ts'
import type { ResourceTemplate } from './resource-template.ts'
import { emptyInput, fieldsOf, type JsonObject, toArguments, toJson, toOutputJson, toSchema } from './schemas.ts'
import type { ScopeChallengeHandler } from './scope-challenge.ts'
import { Server, type ServerOptions } from './server.ts'

export type McpServerOptions = ServerOptions & {
  /** The most members and elements that the arguments of one tool call may have in total. Default: no limit. */
  maxToolInputElements?: number
}

interface ToolConfig<Input, Output> {
  title?: string
  description?: string
  inputSchema?: Input
  outputSchema?: Output
  annotations?: ToolAnnotations
  icons?: Icon[]
  scopeChallenge?: ScopeChallengeHandler
  _meta?: Record<string, unknown>
}

interface PromptConfig<Args> {
  title?: string
  description?: string
  argsSchema?: Args
  icons?: Icon[]
  scopeChallenge?: ScopeChallengeHandler
  _meta?: Record<string, unknown>
}

type ResourceConfig = ResourceMetadata & { cacheHint?: CacheHint; scopeChallenge?: ScopeChallengeHandler }

type ToolResult = CallToolResult | InputRequiredResult

/**
 * A server with tools, resources and prompts. `server` is the bare protocol below.
 *
 * @example
 * ```ts
 * const server = new McpServer({ name: 'demo', version: '1.0.0' })
 * server.registerTool('add', { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
 *   content: [{ type: 'text', text: String(a + b) }],
 * }))
 * ```
 */
export class McpServer {
  readonly server: Server
  // Programs reach for these by name.
  _registeredResources: { [uri: string]: RegisteredResource } = {}
  _registeredResourceTemplates: { [name: string]: RegisteredResourceTemplate } = {}
  _registeredTools: { [name: string]: RegisteredTool } = {}
  _registeredPrompts: { [name: string]: RegisteredPrompt } = {}
  private readonly _tenonMaxElements: number
  private readonly _tenonHandled = new Set<'tools' | 'resources' | 'prompts' | 'completions'>()

  constructor(serverInfo: Implementation, options: McpServerOptions = {}) {
    const { maxToolInputElements = Number.POSITIVE_INFINITY, ...serverOptions } = options
    if (!(maxToolInputElements >= 1)) throw new RangeError('maxToolInputElements must be a number of at least 1')
    this._tenonMaxElements = maxToolInputElements
    this.server = new Server(serverInfo, serverOptions)
    const { tools, resources, prompts } = options.capabilities ?? {}
    if (tools) this._tenonHandleTools()
    if (resources) this._tenonHandleResources()
    if (prompts) this._tenonHandlePrompts()
  }

  async connect(transport: Transport): Promise<void> {
    await this.server.connect(transport)
  }

  async close(): Promise<void> {
    await this.server.close()
  }

  isConnected(): boolean {
    return this.server.transport !== undefined
  }

  /** The JSON Schema of the input of a tool, for entry points that check headers against it. */
  toolInputSchemaJson(name: string): JsonObject | undefined {
    const tool = Object.hasOwn(this._registeredTools, name) ? this._registeredTools[name] : undefined
    if (!tool?.enabled) return undefined
    if (!tool.inputSchema) return emptyInput
    try {
      return toJson(tool.inputSchema, 'input')
    } catch {
      return undefined
    }
  }

  /** Takes over the methods of a feature, once. */
  private _tenonHandle(
    feature: 'tools' | 'resources' | 'prompts' | 'completions',
    methods: readonly string[],
  ): boolean {
    if (this._tenonHandled.has(feature)) return false
    for (const method of methods) this.server.assertCanSetRequestHandler(method)
    this._tenonHandled.add(feature)
    if (feature === 'completions') this.server.registerCapabilities({ completions: {} })
    else {
      const listChanged = this.server.getCapabilities()[feature]?.listChanged ?? true
      this.server.registerCapabilities({ [feature]: { listChanged } })
    }
    return true
  }

  private _tenonHandleTools(): void {
    if (!this._tenonHandle('tools', ['tools/list', 'tools/call'])) return
    this.server.setRequestHandler('tools/list', (): ListToolsResult => ({ tools: this._tenonListTools() }))
    this.server.setRequestHandler('tools/call', (request, ctx) => this._tenonCallTool(request, ctx))
  }

  private _tenonListTools(): Tool[] {
    return enabledEntries(this._registeredTools).map(([name, tool]) => {
      const { title, description, inputSchema, outputSchema, annotations, icons, execution, _meta } = tool
      return defined({
        name,
        title,
        description,
        inputSchema: inputSchema ? toJson(inputSchema, 'input') : emptyInput,
        annotations,
        icons,
        execution,
        _meta,
        outputSchema: outputSchema && toJson(outputSchema, 'output'),
      }) as Tool
    })
  }

  private async _tenonCallTool({ params }: CallToolRequest, ctx: ServerContext): Promise<ToolResult> {
    const { name, arguments: args } = params
    const tool = findEnabled(this._registeredTools, name, 'Tool')
    try {
      const result = await tool.executor(await this._tenonCheckInput(tool, args, name), ctx)
      if (isInputRequiredResult(result)) return result
      await checkOutput(tool, result, name)
      return this.server.projectCallToolResult(result, tool.outputSchemaJson)
    } catch (error) {
      const isUrlError = error instanceof ProtocolError && error.code === ProtocolErrorCode.UrlElicitationRequired
      if (isUrlError) throw error
      const text = error instanceof Error ? error.message : String(error)
      return { content: [{ type: 'text', text }], isError: true }
    }
  }

  private async _tenonCheckInput(tool: RegisteredTool, args: unknown, name: string): Promise<unknown> {
    if (this._tenonMaxElements < Number.POSITIVE_INFINITY && countElements(args) > this._tenonMaxElements) {
      throw invalidParams(
        `Input validation error: Arguments for tool ${name} have more than ${this._tenonMaxElements} elements`,
      )
    }
    if (!tool.inputSchema) return undefined
    const checked = await check(tool.inputSchema, args ?? {})
    if (checked.ok) return checked.value
    throw invalidParams(`Input validation error: Invalid arguments for tool ${name}: ${checked.error}`)
  }

  private _tenonHandleCompletions(): void {
    if (!this._tenonHandle('completions', ['completion/complete'])) return
    this.server.setRequestHandler('completion/complete', (request) => this._tenonComplete(request))
  }

  private async _tenonComplete({ params }: CompleteRequest): Promise<CompleteResult> {
    const { ref, argument, context } = params
    const complete =
      ref.type === 'ref/prompt'
        ? this._tenonPromptCompleter(ref.name, argument.name)
        : this._tenonUriCompleter(ref.uri, argument.name)
    if (!complete) return { completion: { values: [], hasMore: false } }
    const suggestions = await complete(argument.value, context)
    const values = suggestions.map(String).slice(0, 100)
    return { completion: { values, total: suggestions.length, hasMore: suggestions.length > 100 } }
  }

  private _tenonPromptCompleter(name: string, argument: string) {
    const prompt = findEnabled(this._registeredPrompts, name, 'Prompt')
    return completerOf(fieldsOf(prompt.argsSchema)[argument])
  }

  private _tenonUriCompleter(uri: string, variable: string) {
    const templates = Object.values(this._registeredResourceTemplates)
    const found = templates.find(({ resourceTemplate }) => resourceTemplate.uriTemplate.toString() === uri)
    if (found) return found.resourceTemplate.completeCallback(variable)
    if (Object.hasOwn(this._registeredResources, uri)) return undefined
    throw invalidParams(`Resource template ${uri} not found`)
  }

  private _tenonHandleResources(): void {
    if (!this._tenonHandle('resources', ['resources/list', 'resources/templates/list', 'resources/read'])) return
    this.server.setRequestHandler('resources/list', (_request, ctx) => this._tenonListResources(ctx))
    this.server.setRequestHandler('resources/templates/list', () => this._tenonListTemplates())
    this.server.setRequestHandler('resources/read', ({ params }, ctx) => this._tenonReadResource(params.uri, ctx))
  }

  private async _tenonListResources(ctx: ServerContext): Promise<ListResourcesResult> {
    const own = enabledEntries(this._registeredResources).map(([uri, { name, metadata }]) => ({
      uri,
      name,
      ...metadata,
    }))
    const listed = []
    for (const { resourceTemplate, metadata } of Object.values(this._registeredResourceTemplates)) {
      const result = await resourceTemplate.listCallback?.(ctx)
      for (const resource of result?.resources ?? []) listed.push({ ...metadata, ...resource })
    }
    return { resources: [...own, ...listed] }
  }

  private _tenonListTemplates(): ListResourceTemplatesResult {
    const resourceTemplates = Object.entries(this._registeredResourceTemplates).map(([name, template]) => ({
      name,
      uriTemplate: template.resourceTemplate.uriTemplate.toString(),
      ...template.metadata,
    }))
    return { resourceTemplates }
  }

  private async _tenonReadResource(
    text: string,
    ctx: ServerContext,
  ): Promise<ReadResourceResult | InputRequiredResult> {
    if (!URL.canParse(text)) {
      const data = { uri: text, reason: 'invalid_uri' }
      throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Resource URI ${text} is invalid`, data)
    }
    const uri = new URL(text)
    const key = uri.toString()
    const resource = Object.hasOwn(this._registeredResources, key) ? this._registeredResources[key] : undefined
    if (resource) {
      if (!resource.enabled) throw invalidParams(`Resource ${uri} disabled`)
      return withHint(await resource.readCallback(uri, ctx), resource.cacheHint)
    }
    for (const template of Object.values(this._registeredResourceTemplates)) {
      const variables = template.resourceTemplate.uriTemplate.match(key)
      if (variables) return withHint(await template.readCallback(uri, variables, ctx), template.cacheHint)
    }
    throw new ResourceNotFoundError(text)
  }

  private _tenonHandlePrompts(): void {
    if (!this._tenonHandle('prompts', ['prompts/list', 'prompts/get'])) return
    this.server.setRequestHandler('prompts/list', (): ListPromptsResult => ({ prompts: this._tenonListPrompts() }))
    this.server.setRequestHandler('prompts/get', async ({ params }, ctx) =>
      findEnabled(this._registeredPrompts, params.name, 'Prompt').handler(params.arguments, ctx),
    )
  }

  private _tenonListPrompts(): ListPromptsResult['prompts'] {
    return enabledEntries(this._registeredPrompts).map(([name, prompt]) => {
      const { title, description, argsSchema, icons, _meta } = prompt
      return defined({
        name,
        title,
        description,
        arguments: argsSchema && toArguments(argsSchema),
        icons,
        _meta,
      }) as ListPromptsResult['prompts'][number]
    })
  }

  /** Registers a tool. */
  registerTool<
    OutputArgs extends StandardSchemaWithJSON,
    InputArgs extends StandardSchemaWithJSON | undefined = undefined,
  >(name: string, config: ToolConfig<InputArgs, OutputArgs>, cb: ToolCallback<InputArgs>): RegisteredTool
  registerTool<
    InputArgs extends ZodRawShape,
    OutputArgs extends ZodRawShape | StandardSchemaWithJSON | undefined = undefined,
  >(name: string, config: ToolConfig<InputArgs, OutputArgs>, cb: LegacyToolCallback<InputArgs>): RegisteredTool
  registerTool(name: string, config: ToolConfig<unknown, unknown>, cb: unknown): RegisteredTool {
    refuseDuplicate(this._registeredTools, name, 'Tool')
    validateAndWarnToolName(name)
    const { inputSchema, outputSchema, ...rest } = config
    const [input, output] = [toSchema(inputSchema), toSchema(outputSchema)]
    const handler = cb as AnyToolHandler<StandardSchemaWithJSON | undefined>
    const outputSchemaJson = toOutputJson(output)
    const tool: RegisteredTool = {
      ...rest,
      ...(input && { inputSchema: input }),
      ...(output && { outputSchema: output }),
      ...(outputSchemaJson && { outputSchemaJson }),
      handler,
      executor: createExecutor(input, handler),
      ...this._tenonSwitches(
        (updates: Parameters<RegisteredTool['update']>[0]) => {
          current = rename(this._registeredTools, current, updates.name, tool, validateAndWarnToolName)
          updateTool(tool, updates)
          this.sendToolListChanged()
        },
        { name: null },
      ),
    }
    let current = name
    this._registeredTools[name] = tool
    this._tenonHandleTools()
    this.sendToolListChanged()
    return tool
  }

  /** Registers a prompt. */
  registerPrompt<Args extends StandardSchemaWithJSON>(
    name: string,
    config: PromptConfig<Args>,
    cb: PromptCallback<Args>,
  ): RegisteredPrompt
  registerPrompt<Args extends ZodRawShape>(
    name: string,
    config: PromptConfig<Args>,
    cb: LegacyPromptCallback<Args>,
  ): RegisteredPrompt
  registerPrompt(name: string, config: PromptConfig<unknown>, cb: unknown): RegisteredPrompt {
    refuseDuplicate(this._registeredPrompts, name, 'Prompt')
    const { argsSchema, ...rest } = config
    const schema = toSchema(argsSchema)
    let callback = cb
    let current = name
    const prompt: RegisteredPrompt = {
      ...rest,
      ...(schema && { argsSchema: schema }),
      handler: createPromptHandler(name, schema, callback),
      ...this._tenonSwitches(
        (updates: Parameters<RegisteredPrompt['update']>[0]) => {
          current = rename(this._registeredPrompts, current, updates.name, prompt)
          const { name: _, callback: next, ...changes } = updates
          Object.assign(prompt, defined(changes))
          callback = next ?? callback
          if (changes.argsSchema || next) prompt.handler = createPromptHandler(current, prompt.argsSchema, callback)
          this.sendPromptListChanged()
        },
        { name: null },
      ),
    }
    this._registeredPrompts[name] = prompt
    if (Object.values(fieldsOf(schema)).some(completerOf)) this._tenonHandleCompletions()
    this._tenonHandlePrompts()
    this.sendPromptListChanged()
    return prompt
  }

  /** Registers a resource, or a template for a family of resources. */
  registerResource(
    name: string,
    uriOrTemplate: string,
    config: ResourceConfig,
    readCallback: ReadResourceCallback,
  ): RegisteredResource
  registerResource(
    name: string,
    uriOrTemplate: ResourceTemplate,
    config: ResourceConfig,
    readCallback: ReadResourceTemplateCallback,
  ): RegisteredResourceTemplate
  registerResource(
    name: string,
    uriOrTemplate: string | ResourceTemplate,
    config: ResourceConfig,
    readCallback: ReadResourceCallback | ReadResourceTemplateCallback,
  ): RegisteredResource | RegisteredResourceTemplate {
    if (config.cacheHint) checkCacheHint(config.cacheHint, `resource ${name}`)
    const registered =
      typeof uriOrTemplate === 'string'
        ? this._tenonAddResource(name, uriOrTemplate, config, readCallback as ReadResourceCallback)
        : this._tenonAddTemplate(name, uriOrTemplate, config, readCallback as ReadResourceTemplateCallback)
    this._tenonHandleResources()
    this.sendResourceListChanged()
    return registered
  }

  private _tenonAddResource(name: string, uri: string, config: ResourceConfig, readCallback: ReadResourceCallback) {
    refuseDuplicate(this._registeredResources, uri, 'Resource')
    let current = uri
    const resource: RegisteredResource = {
      name,
      ...splitConfig(config),
      readCallback,
      ...this._tenonSwitches(
        (updates: Parameters<RegisteredResource['update']>[0]) => {
          current = rename(this._registeredResources, current, updates.uri, resource)
          const { uri: _, callback, ...changes } = updates
          Object.assign(resource, defined(changes), callback && { readCallback: callback })
          this.sendResourceListChanged()
        },
        { uri: null },
      ),
    }
    this._registeredResources[uri] = resource
    return resource
  }

  private _tenonAddTemplate(
    name: string,
    template: ResourceTemplate,
    config: ResourceConfig,
    readCallback: ReadResourceTemplateCallback,
  ) {
    refuseDuplicate(this._registeredResourceTemplates, name, 'Resource template')
    let current = name
    const registered: RegisteredResourceTemplate = {
      resourceTemplate: template,
      ...splitConfig(config),
      readCallback,
      ...this._tenonSwitches(
        (updates: Parameters<RegisteredResourceTemplate['update']>[0]) => {
          current = rename(this._registeredResourceTemplates, current, updates.name, registered)
          const { name: _, callback, template: next, ...changes } = updates
          Object.assign(
            registered,
            defined(changes),
            callback && { readCallback: callback },
            next && { resourceTemplate: next },
          )
          this.sendResourceListChanged()
        },
        { name: null },
      ),
    }
    this._registeredResourceTemplates[name] = registered
    if (template.uriTemplate.variableNames.some((variable) => template.completeCallback(variable))) {
      this._tenonHandleCompletions()
    }
    return registered
  }

  /** The members that every registered item has. */
  private _tenonSwitches<U extends object>(update: (updates: U) => void, removal: object) {
    return {
      enabled: true,
      update,
      enable: () => update({ enabled: true } as unknown as U),
      disable: () => update({ enabled: false } as unknown as U),
      remove: () => update(removal as U),
    }
  }

  /** Sends a log message, if the session wants messages of its level. */
  async sendLoggingMessage(params: LoggingMessageNotification['params'], sessionId?: string): Promise<void> {
    await this.server.sendLoggingMessage(params, sessionId)
  }

  sendResourceListChanged(): void {
    if (this.isConnected()) this._tenonReport(this.server.sendResourceListChanged())
  }

  sendToolListChanged(): void {
    if (this.isConnected()) this._tenonReport(this.server.sendToolListChanged())
  }

  sendPromptListChanged(): void {
    if (this.isConnected()) this._tenonReport(this.server.sendPromptListChanged())
  }

  private _tenonReport(sent: Promise<void>): void {
    sent.catch((error) => this.server.onerror?.(error))
  }
}

function enabledEntries<T extends { enabled: boolean }>(items: Record<string, T>): [string, T][] {
  return Object.entries(items).filter(([, { enabled }]) => enabled)
}

function findEnabled<T extends { enabled: boolean }>(items: Record<string, T>, name: string, noun: string): T {
  const item = Object.hasOwn(items, name) ? items[name] : undefined
  if (!item) throw invalidParams(`${noun} ${name} not found`)
  if (!item.enabled) throw invalidParams(`${noun} ${name} disabled`)
  return item
}

function refuseDuplicate(items: object, name: string, noun: string): void {
  if (Object.hasOwn(items, name)) throw new Error(`${noun} ${name} is already registered`)
}

/** Moves or removes an item. Returns the name that it has now. */
function rename<T>(
  items: Record<string, T>,
  current: string,
  next: string | null | undefined,
  item: T,
  checkName?: (name: string) => unknown,
): string {
  if (next === undefined || next === current) return current
  if (next) checkName?.(next)
  delete items[current]
  if (!next) return current
  items[next] = item
  return next
}

function updateTool(tool: RegisteredTool, updates: Parameters<RegisteredTool['update']>[0]): void {
  const { name: _, paramsSchema, callback, ...changes } = updates
  Object.assign(tool, defined(changes), paramsSchema && { inputSchema: paramsSchema })
  if (callback) tool.handler = callback as RegisteredTool['handler']
  if (paramsSchema || callback) tool.executor = createExecutor(tool.inputSchema, tool.handler)
  const outputSchemaJson = toOutputJson(changes.outputSchema)
  if (outputSchemaJson) tool.outputSchemaJson = outputSchemaJson
}

function createExecutor(
  inputSchema: StandardSchemaWithJSON | undefined,
  handler: AnyToolHandler<StandardSchemaWithJSON | undefined>,
): RegisteredTool['executor'] {
  if (inputSchema) return async (args, ctx) => (handler as ToolCallback<StandardSchemaWithJSON>)(args, ctx)
  return async (_args, ctx) => (handler as ToolCallback)(ctx)
}

function createPromptHandler(
  name: string,
  schema: StandardSchemaWithJSON | undefined,
  callback: unknown,
): RegisteredPrompt['handler'] {
  type Output = Promise<GetPromptResult | InputRequiredResult>
  if (!schema) return async (_args, ctx) => (callback as (ctx: ServerContext) => Output)(ctx)
  return async (args, ctx) => {
    const checked = await check(schema, args ?? {})
    if (checked.ok) return (callback as (args: unknown, ctx: ServerContext) => Output)(checked.value, ctx)
    throw invalidParams(`Invalid arguments for prompt ${name}: ${checked.error}`)
  }
}

async function checkOutput(tool: RegisteredTool, result: CallToolResult, name: string): Promise<void> {
  if (!tool.outputSchema || result?.isError) return
  if (result?.structuredContent === undefined) {
    throw invalidParams(
      `Output validation error: Tool ${name} has an output schema but no structured content was provided`,
    )
  }
  const checked = await check(tool.outputSchema, result.structuredContent)
  if (checked.ok) return
  throw invalidParams(`Output validation error: Invalid structured content for tool ${name}: ${checked.error}`)
}

/** Separates what clients see of a resource from what only the server uses. */
function splitConfig({ cacheHint, scopeChallenge, ...metadata }: ResourceConfig) {
  const { title } = metadata as { title?: string }
  return {
    ...(title !== undefined && { title }),
    metadata: metadata as ResourceMetadata,
    ...(cacheHint && { cacheHint }),
    ...(scopeChallenge && { scopeChallenge }),
  }
}

/** Leaves out members that are undefined. */
function defined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined)) as T
}

function countElements(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  const members = Object.values(value)
  return members.reduce((count: number, member) => count + countElements(member), members.length)
}

function invalidParams(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}
