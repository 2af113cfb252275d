import type { Link } from '../jsonrpc/link.ts'
import type { Params } from '../jsonrpc/message.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { Implementation, ServerCapabilities } from '../protocol/capabilities.ts'
import type { LoggingMessageParams } from '../protocol/logging.ts'
import { tasksExtension } from '../protocol/tasks.ts'
import type { SchemaLike } from '../schema/standard.ts'
import { warnOnce } from '../util/warn.ts'
import type { MethodEntry, Middleware, RequestHandler } from './dispatch.ts'
import { Completions } from './features/completion.ts'
import type { FeatureHost, Mount } from './features/feature.ts'
import { Pages } from './features/pages.ts'
import { type PromptConfig, type PromptHandler, Prompts, type RegisteredPrompt } from './features/prompts.ts'
import {
  type Reader,
  type ReadResource,
  type ReadTemplate,
  type RegisteredAt,
  type ResourceConfig,
  Resources,
  ResourceTemplate,
} from './features/resources.ts'
import { type RegisteredTool, type ToolConfig, type ToolHandler, Tools, type WithoutTypos } from './features/tools.ts'
import { Server, type ServerOptions } from './server.ts'
import type { TaskRuntime } from './task-runtime.ts'

export interface McpServerOptions extends ServerOptions {
  /** Hide the messages of errors that tools throw; `ToolError` is always shown. Default false. */
  maskErrors?: boolean | undefined
  /**
   * Leave tools, resources, templates and prompts out of lists for callers without their `requiredScopes`. Calls are
   * answered with the missing scopes all the same. Default false: list them, so that clients can request the scopes.
   */
  hideUnauthorized?: boolean | undefined
  /** Items in one page of a list. Default 1000. */
  pageSize?: number | undefined
  /** Lets tools run as tasks: `tasks()` of `tenon/tasks`. Default: every call is answered when it is done. */
  tasks?: TaskRuntime | undefined
  /** Let handlers log to clients. Default true. */
  logging?: boolean | undefined
}

/**
 * A server with tools, resources and prompts. It is a definition: connect it to any number of clients of any revision,
 * at the same time, and change it while they are connected.
 */
export class McpServer {
  /** The bare protocol underneath, for custom methods and notifications. */
  readonly server: Server
  /** @internal */
  readonly features: { tools: Tools; resources: Resources; prompts: Prompts; completions: Completions }
  readonly #mounts: Mount[] = []
  readonly #options: McpServerOptions

  constructor(info: Implementation, options: McpServerOptions = {}) {
    this.#options = options
    if (options.tasks !== undefined && typeof options.tasks.attach !== 'function') {
      throw new TypeError(
        "tasks must be what tasks() of 'tenon/tasks' returns: new McpServer(info, { tasks: tasks() })",
      )
    }
    this.server = new Server(info, options)
    const host: FeatureHost = {
      pages: new Pages(this.server.sealer, options.pageSize ?? 1000),
      mounts: this.#mounts,
      maskErrors: options.maskErrors ?? false,
      hideUnauthorized: options.hideUnauthorized ?? false,
      hasTasks: options.tasks !== undefined,
      changed: (list) => this.server.listChanged(list),
      embedsResource: (tool) => {
        if (!this.#offers('resources')) warnNoResources(tool)
      },
      reportError: (error) => this.server.reportError(error),
    }
    const prompts = new Prompts(host)
    const resources = new Resources(host)
    this.features = {
      tools: new Tools(host),
      resources,
      prompts,
      completions: new Completions(host, prompts, resources),
    }
    this.server.setDeclared(() => this.#declared())
    this.server.guardResources((uri) => resources.requiredScopesOf(uri))
    this.#answer()
    if (options.tasks) this.server.useTasks(options.tasks, (params) => this.features.tools.taskConfig(params))
  }

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

  registerPrompt<Args extends SchemaLike | undefined = undefined>(
    name: string,
    config: PromptConfig<Args>,
    handler: PromptHandler<Args>,
  ): RegisteredPrompt<Args> {
    return this.features.prompts.register(name, config as PromptConfig<SchemaLike>, handler)
  }

  registerResource<const Where extends string | ResourceTemplate<string>>(
    name: string,
    where: Where,
    config: ResourceConfig,
    read: Reader<Where>,
  ): RegisteredAt<Where> {
    const { resources } = this.features
    const registered =
      where instanceof ResourceTemplate
        ? resources.registerTemplate(name, where, config, read as ReadTemplate)
        : resources.register(name, where, config, read as ReadResource)
    return registered as RegisteredAt<Where>
  }

  /**
   * Offers everything of another server here too: tools and prompts as `prefix_name`, resources under their own URIs.
   * Later changes of the other server show up by themselves.
   */
  mount(other: McpServer, options: { prefix: string }): this {
    if (typeof options?.prefix !== 'string')
      throw new TypeError("mount() needs a prefix: mount(other, { prefix: 'shop' })")
    if (other.#contains(this)) throw new TypeError('A server cannot be mounted in itself, also not by way of another')
    this.#mounts.push({ prefix: options.prefix, server: other })
    other.server.addParent(this.server)
    for (const list of ['tools', 'prompts', 'resources'] as const) this.server.listChanged(list)
    return this
  }

  use(middleware: Middleware): this {
    this.server.use(middleware)
    return this
  }

  /** Serves one more peer over a transport. */
  connect(transport: Transport): Promise<Link> {
    return this.server.connect(transport)
  }

  close(): Promise<void> {
    return this.server.close()
  }

  /** Tells the subscribers of a resource, and of the one that it is part of, that it has new contents. */
  sendResourceUpdated(resource: string | { uri: string; partOf?: string | undefined }): void {
    this.server.sendResourceUpdated(resource)
  }

  sendToolListChanged(): void {
    this.server.sendToolListChanged()
  }

  sendPromptListChanged(): void {
    this.server.sendPromptListChanged()
  }

  sendResourceListChanged(): void {
    this.server.sendResourceListChanged()
  }

  sendLoggingMessage(message: LoggingMessageParams): void {
    this.server.sendLoggingMessage(message)
  }

  #contains(server: McpServer): boolean {
    return this === server || this.#mounts.some((mount) => mount.server.#contains(server))
  }

  /** Everything that is on offer is declared, and nothing else (2026-07-28 basic, capabilities). */
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

  #answer(): void {
    const { tools, resources, prompts, completions } = this.features
    const answer = (feature: Feature, method: string, handler: RequestHandler, keeps?: MethodEntry['keeps']) =>
      this.server.setMethod(method, { handler, isOffered: () => this.#offers(feature), keeps })
    const firstPage = (list: string) => (params: Params) => (params.cursor === undefined ? list : undefined)
    const unlessVaries = (list: string, varies: () => boolean) => (params: Params) =>
      varies() ? undefined : firstPage(list)(params)

    answer(
      'tools',
      'tools/list',
      (params, ctx) => tools.list(params, ctx),
      unlessVaries('tools/list', () => tools.listVaries()),
    )
    this.server.setMethod('tools/call', {
      handler: (params, ctx) => tools.call(params, ctx),
      isOffered: () => this.#offers('tools'),
      headersProblem: (params, headers) => tools.headersProblem(params, headers),
      asTask: this.#options.tasks && ((serving) => this.#options.tasks!.take(serving)),
    })
    answer(
      'prompts',
      'prompts/list',
      (params, ctx) => prompts.list(params, ctx),
      unlessVaries('prompts/list', () => prompts.listVaries()),
    )
    answer('prompts', 'prompts/get', (params, ctx) => prompts.get(params, ctx))
    answer(
      'resources',
      'resources/list',
      (params, ctx) => resources.list(params, ctx),
      unlessVaries('resources/list', () => resources.listVaries()),
    )
    answer(
      'resources',
      'resources/templates/list',
      (params, ctx) => resources.listTemplates(params, ctx),
      unlessVaries('templates', () => resources.templatesVary()),
    )
    answer('resources', 'resources/read', (params, ctx) => resources.read(params, ctx))
    answer('completions', 'completion/complete', (params, ctx) => completions.complete(params, ctx))
  }
}

/** Each revision is told of its own kind of tasks alone. */
const taskCapabilities: ServerCapabilities = {
  tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
  extensions: { [tasksExtension]: {} },
}

type Feature = keyof McpServer['features']

/** 2025-06-18 tools, embedded resources: clients may want to read again what they were shown. */
function warnNoResources(tool: string): void {
  warnOnce(
    'embedded-resource',
    `Tool ${tool} embeds a resource, but the server has no resources. Register it, or declare capabilities: { resources: {} }.`,
  )
}
