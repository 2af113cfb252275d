import type { Link } from '../jsonrpc/link.ts'
import type { Params } from '../jsonrpc/message.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import { tasksExtension } from '../protocol/tasks.ts'
import type { JsonSchemaCompiler } from '../schema/json-schema.ts'
import type { SchemaLike } from '../schema/standard.ts'
import { checkOptions } from '../util/unknown-options.ts'
import { warnOnce } from '../util/warn.ts'
import type { MethodEntry, Middleware, RequestHandler } from './dispatch.ts'
import { Completions } from './features/completion.ts'
import type { FeatureServer, Mount } from './features/feature.ts'
import { Pages } from './features/pages.ts'
import { type PromptConfig, type PromptHandler, Prompts, type RegisteredPrompt } from './features/prompts.ts'
import type {
  ReaderFor,
  ReadResource,
  ReadTemplate,
  RegisteredFor,
  ResourceConfig,
  ResourceTemplate,
} from './features/resource-entry.ts'
import { Resources } from './features/resources.ts'
import type { RegisteredTool, ToolConfig, ToolHandler, WithoutTypos } from './features/tool-entry.ts'
import { Tools } from './features/tools.ts'
import type { ServerOptions } from './options.ts'
import { Server } from './server.ts'
import type { TaskRuntime } from './task-runtime.ts'

/** Options of `McpServer`. */
export interface McpServerOptions extends ServerOptions {
  /** Hide the messages of errors that tools throw, except `ToolError`. Default false. */
  maskErrors?: boolean | undefined
  /**
   * Hide tools, resources, templates and prompts in lists from callers without their `requiredScopes`. Calls still fail with
   * the missing scopes. Default false: items are listed, so that clients can request the scopes.
   */
  hideUnauthorized?: boolean | undefined
  /** Maximum items per page of a list. Default 1000. */
  pageSize?: number | undefined
  /** Lets tools run as tasks. Pass `tasks()` of `tenon/tasks`. Default: no tasks. */
  tasks?: TaskRuntime | undefined
  /**
   * Checks values against the JSON Schemas of tools and prompts with another validator. Schemas of a library such as zod check
   * values themselves. Default: `compileJsonSchema`.
   */
  compileJsonSchema?: JsonSchemaCompiler | undefined
  /** Let handlers log to clients. Default true. */
  logging?: boolean | undefined
}

const knownOptions = {
  instructions: 1,
  capabilities: 1,
  revisions: 1,
  results: 1,
  onError: 1,
  filterLog: 1,
  sanitize: 1,
  listChangedDelayMs: 1,
  cache: 1,
  limits: 1,
  stateKey: 1,
  stateKeys: 1,
  questions: 1,
  ping: 1,
  cacheByMethod: 1,
  lifecycle: 1,
  handshakeOnly: 1,
  acceptSubscriptions: 1,
  onInitialized: 1,
  onClosed: 1,
  onUnmatched: 1,
  mapError: 1,
  onCancelled: 1,
  maskErrors: 1,
  hideUnauthorized: 1,
  pageSize: 1,
  tasks: 1,
  compileJsonSchema: 1,
  logging: 1,
} as const

/**
 * A server with tools, resources and prompts. It is a definition that you can connect to any number of clients of any revision at
 * the same time, and change while they are connected.
 *
 * @example
 * ```ts
 * const server = new McpServer({ name: 'demo', version: '1.0.0' })
 * server.registerTool('add', { inputSchema: { a: z.number(), b: z.number() } }, ({ a, b }) => `${a + b}`)
 * await serveStdio(server)
 * ```
 */
export class McpServer {
  /** The underlying protocol server, for custom methods and notifications. */
  readonly server: Server
  /** @internal */
  readonly features: { tools: Tools; resources: Resources; prompts: Prompts; completions: Completions }
  readonly #mounts: Mount[] = []
  readonly #options: McpServerOptions

  static {
    // Methods of other libraries. They are not declared here, so that TypeScript finds them.
    const refuse = (name: string, better: string) =>
      Object.assign(McpServer.prototype, {
        [name]: () => {
          throw new TypeError(`McpServer has no method ${name}(). Use ${better}`)
        },
      })
    for (const name of ['Tool', 'Resource', 'Prompt']) {
      for (const wrong of [name.toLowerCase(), `add${name}`]) refuse(wrong, `register${name}()`)
    }
    refuse('listen', 'serveHttp(server)')
  }

  constructor(info: Implementation, options: McpServerOptions = {}) {
    this.#options = options
    checkOptions<McpServerOptions>('McpServer', options, knownOptions)
    if (options.tasks !== undefined && typeof options.tasks.attach !== 'function') {
      throw new TypeError(
        'Invalid option "tasks": pass the result of tasks() from \'tenon/tasks\': new McpServer(info, { tasks: tasks() })',
      )
    }
    this.server = new Server(info, options)
    const owner: FeatureServer = {
      pages: new Pages(this.server.sealer, options.pageSize ?? 1000),
      mounts: this.#mounts,
      maskErrors: options.maskErrors ?? false,
      hideUnauthorized: options.hideUnauthorized ?? false,
      sanitize: this.server.sanitize,
      sanitizesResults: !!options.sanitize && options.sanitize.results === true,
      hasTasks: options.tasks !== undefined,
      compileJsonSchema: options.compileJsonSchema,
      requiredScopesOf: (uri) => resources.requiredScopesOf(uri),
      changed: (list) => this.server.listChanged(list),
      onEmbeddedResource: (tool) => {
        if (!this.#offers('resources')) warnAboutMissingResources(tool)
      },
      reportError: (error) => this.server.reportError(error),
    }
    const prompts = new Prompts(owner)
    const resources = new Resources(owner)
    this.features = {
      tools: new Tools(owner),
      resources,
      prompts,
      completions: new Completions(owner, prompts, resources),
    }
    this.server.setDeclared(() => this.#declared())
    this.server.setResourceScopes((uri) => resources.requiredScopesOf(uri))
    this.server.setRepeatable((params) => this.features.tools.isRepeatable(params))
    this.#setMethods()
    if (options.tasks) this.server.useTasks(options.tasks, (params) => this.features.tools.taskConfig(params))
  }

  /**
   * Registers a tool.
   *
   * @param config Title, description, schemas and other options. The schemas type the arguments and the result of the handler.
   * @param handler Returns text, a full result, or with an `outputSchema` the structured value. Errors that it throws are
   * reported to the model.
   *
   * @example
   * ```ts
   * server.registerTool(
   *   'weather',
   *   { description: 'Current weather of a city', inputSchema: { city: z.string() } },
   *   async ({ city }) => `It is sunny in ${city}.`,
   * )
   * ```
   */
  registerTool<
    In extends SchemaLike | undefined = undefined,
    Out extends SchemaLike | undefined = undefined,
    Handler extends ToolHandler<In, Out> = ToolHandler<In, Out>,
  >(
    name: string,
    config: ToolConfig<In, Out>,
    handler: ToolHandler<In, Out> & Handler & WithoutTypos<Handler, Out>,
  ): RegisteredTool<In, Out> {
    return this.features.tools.register(name, config as ToolConfig<SchemaLike, SchemaLike>, handler)
  }

  /**
   * Registers a prompt.
   *
   * @example
   * ```ts
   * server.registerPrompt('review', { argsSchema: { code: z.string() } }, ({ code }) => `Review this code:\n${code}`)
   * ```
   */
  registerPrompt<Args extends SchemaLike | undefined = undefined>(
    name: string,
    config: PromptConfig<Args>,
    handler: PromptHandler<Args>,
  ): RegisteredPrompt<Args> {
    return this.features.prompts.register(name, config as PromptConfig<SchemaLike>, handler)
  }

  /**
   * Registers a resource, or with a `ResourceTemplate` all resources whose URIs match it.
   *
   * @param read Returns text, bytes or full contents; undefined if the resource does not exist.
   *
   * @example
   * ```ts
   * server.registerResource('readme', 'docs://readme', { mimeType: 'text/markdown' }, () => readFile('README.md', 'utf8'))
   *
   * const day = new ResourceTemplate('notes://{day}')
   * server.registerResource('notes', day, {}, (_uri, { day }) => notes.get(day))
   * ```
   */
  registerResource<const Where extends string | ResourceTemplate<string>>(
    name: string,
    where: Where,
    config: ResourceConfig,
    read: ReaderFor<Where>,
  ): RegisteredFor<Where> {
    const { resources } = this.features
    // Without `instanceof`, so that bundles of servers without templates do not include them.
    const registered =
      (where as Partial<ResourceTemplate> | undefined)?.uriTemplate === undefined
        ? resources.register(name, where as string, config, read as ReadResource)
        : resources.registerTemplate(name, where as ResourceTemplate, config, read as ReadTemplate)
    return registered as RegisteredFor<Where>
  }

  /**
   * Offers the features of another server too: tools and prompts as `prefix_name`, resources under their own URIs. Later changes
   * of the other server are included.
   */
  mount(other: McpServer, options: { prefix: string }): this {
    if (typeof options?.prefix !== 'string')
      throw new TypeError("mount() requires a prefix: mount(other, { prefix: 'shop' })")
    if (other.#contains(this))
      throw new TypeError('A server cannot be mounted in itself, directly or through another server')
    this.#mounts.push({ prefix: options.prefix, server: other })
    other.server.addParent(this.server)
    for (const list of ['tools', 'prompts', 'resources'] as const) this.server.listChanged(list)
    return this
  }

  /** Adds middleware around every request. The first one added is the outermost. */
  use(middleware: Middleware): this {
    this.server.use(middleware)
    return this
  }

  /** Connects one client over a transport. Call it any number of times. */
  connect(transport: Transport): Promise<Link> {
    return this.server.connect(transport)
  }

  /** Waits for running requests, then closes all connections. */
  close(): Promise<void> {
    return this.server.close()
  }

  /** Notifies the subscribers of a resource, and of the resource that contains it, that its contents changed. */
  sendResourceUpdated(resource: string | { uri: string; partOf?: string | undefined }): void {
    this.server.sendResourceUpdated(resource)
  }

  /** Notifies clients that the list of tools changed. `registerTool` and its handle do this for you. */
  sendToolListChanged(): void {
    this.server.sendToolListChanged()
  }

  /** Notifies clients that the list of prompts changed. `registerPrompt` and its handle do this for you. */
  sendPromptListChanged(): void {
    this.server.sendPromptListChanged()
  }

  /** Notifies clients that the list of resources changed, for example what `list` of a template returns. */
  sendResourceListChanged(): void {
    this.server.sendResourceListChanged()
  }

  /** Sends a log message to all sessions. 2026-07-28 has no sessions: use `ctx.log` in a handler instead. */
  sendLoggingMessage(message: LoggingMessageParams): void {
    this.server.sendLoggingMessage(message)
  }

  #contains(server: McpServer): boolean {
    return this === server || this.#mounts.some((mount) => mount.server.#contains(server))
  }

  /** Declares exactly the features that exist (2026-07-28 basic, capabilities). */
  #declared(): ServerCapabilities {
    return {
      ...(this.#options.logging !== false && { logging: {} }),
      ...(this.#offers('completions') && { completions: {} }),
      ...(this.#offers('tools') && { tools: { listChanged: true } }),
      ...(this.#offers('resources') && { resources: { subscribe: true, listChanged: true } }),
      ...(this.#offers('prompts') && { prompts: { listChanged: true } }),
      ...(this.#options.tasks && taskCapabilities),
    }
  }

  #offers(feature: Feature): boolean {
    return this.features[feature].present || this.#options.capabilities?.[feature] !== undefined
  }

  #setMethods(): void {
    const { tools, resources, prompts, completions } = this.features
    const serve = (feature: Feature, method: string, handler: RequestHandler, cacheKey?: MethodEntry['cacheKey']) =>
      this.server.setMethod(method, { handler, isOffered: () => this.#offers(feature), cacheKey })
    const firstPage = (list: string) => (params: Params) => (params.cursor === undefined ? list : undefined)
    const unlessVaries = (list: string, varies: () => boolean) => (params: Params) =>
      varies() ? undefined : firstPage(list)(params)

    serve(
      'tools',
      'tools/list',
      (params, ctx) => tools.list(params, ctx),
      unlessVaries('tools/list', () => tools.listVaries()),
    )
    this.server.setMethod('tools/call', {
      handler: (params, ctx) => tools.call(params, ctx),
      isOffered: () => this.#offers('tools'),
      headersProblem: (params, headers, required) => tools.headersProblem(params, headers, required),
      asTask: this.#options.tasks && ((serving) => this.#options.tasks!.take(serving)),
    })
    serve(
      'prompts',
      'prompts/list',
      (params, ctx) => prompts.list(params, ctx),
      unlessVaries('prompts/list', () => prompts.listVaries()),
    )
    serve('prompts', 'prompts/get', (params, ctx) => prompts.get(params, ctx))
    serve(
      'resources',
      'resources/list',
      (params, ctx) => resources.list(params, ctx),
      unlessVaries('resources/list', () => resources.listVaries()),
    )
    serve(
      'resources',
      'resources/templates/list',
      (params, ctx) => resources.listTemplates(params, ctx),
      unlessVaries('templates', () => resources.templatesVary()),
    )
    serve('resources', 'resources/read', (params, ctx) => resources.read(params, ctx))
    serve('completions', 'completion/complete', (params, ctx) => completions.complete(params, ctx))
  }
}

/** Each client sees only the capability of its own revision. */
const taskCapabilities: ServerCapabilities = {
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [tasksExtension]: {} },
}

type Feature = keyof McpServer['features']

/** 2025-06-18 tools, embedded resources: clients may want to read an embedded resource again. */
function warnAboutMissingResources(tool: string): void {
  warnOnce(
    'embedded-resource',
    `Tool "${tool}" embeds a resource, but the server has no resources. Register it, or declare capabilities: { resources: {} }.`,
  )
}
