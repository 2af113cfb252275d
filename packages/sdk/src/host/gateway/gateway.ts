import { ErrorCode, McpError, PeerError, ProtocolError, Suspended, withoutOutput } from '../../errors.ts'
import type { Implementation } from '../../protocol/capabilities.ts'
import type { RequestMeta } from '../../protocol/meta.ts'
import type { GetPromptParams, GetPromptResult } from '../../protocol/prompts.ts'
import type { ReadResourceResult } from '../../protocol/resources.ts'
import type { CallToolParams, CallToolResult, Tool } from '../../protocol/tools.ts'
import type { Context } from '../../server/context.ts'
import type { RequestHandler } from '../../server/dispatch.ts'
import type { ServerOptions } from '../../server/options.ts'
import { Server } from '../../server/server.ts'
import type { TaskRuntime } from '../../server/task-runtime.ts'
import { omit } from '../../util/objects.ts'
import { version } from '../../util/version.ts'
import type { HostTool } from '../catalog.ts'
import type { Host } from '../host.ts'
import type { HostToolResult } from '../tool-calls.ts'
import { toAccess } from './access.ts'
import { abilitiesOf, CallerTable } from './caller-table.ts'
import { CallerVariants } from './caller-variants.ts'
import { GatewayTasks, taskCapabilities } from './gateway-tasks.ts'
import { fromGatewayUri, isGatewayUri, toGatewayUris } from './gateway-uri.ts'
import { checkMirroredArguments } from './mirrored-arguments.ts'
import { resourceNotFound, toReferenceError, toResourceError } from './not-found.ts'
import type { GatewayOptions, IsAllowed } from './options.ts'
import { Pages } from './pages.ts'
import { PersonalServers } from './personal-servers.ts'
import { withoutRelatedTask } from './related-task.ts'
import { Relay } from './relay.ts'
import { GatewaySubscriptions } from './subscriptions.ts'
import { isSearchTool, runToolSearch, searchTools } from './tool-search.ts'

const defaultParkedMs = 600_000

/** From this number of tools on, a model cannot choose well. */
const searchFrom = 100

/**
 * Serves a host as one MCP server, on every revision and transport. Each caller gets connections of its own, so that questions
 * of servers reach only the caller whose request caused them.
 *
 * @example
 * const gateway = createGateway(host)
 * await serveHttp(gateway, { port: 3000, auth })
 */
export function createGateway(host: Host, options: GatewayOptions = {}): Server {
  return new Gateway(host, options).server
}

class Gateway {
  readonly server: Server
  readonly #host: Host
  readonly #relay: Relay
  readonly #personal: PersonalServers
  readonly #variants: CallerVariants
  readonly #isAllowed: IsAllowed
  readonly #toolSearch: boolean | 'auto'
  readonly #tasks: GatewayTasks | undefined

  constructor(host: Host, options: GatewayOptions) {
    const { info = { name: 'tenon-gateway', version }, access, server = {}, parkedMs = defaultParkedMs } = options
    this.#host = host
    this.#isAllowed = toAccess(access)
    this.#toolSearch = options.toolSearch ?? 'auto'
    if (this.#toolSearch !== false) host.reserveToolNames(searchTools.map(({ name }) => name))
    const capabilities = {
      tools: { listChanged: true },
      prompts: { listChanged: true },
      resources: { listChanged: true, subscribe: true },
      completions: {},
      logging: {},
      ...(options.tasks && taskCapabilities),
    }
    this.server = new GatewayServer(info, { ...server, capabilities }, async () => {
      await Promise.all([callers.close(), this.#relay.close()])
    })
    const onError = (error: unknown) => this.server.reportError(error)
    const callers = new CallerTable({
      host,
      approve: host.approve,
      maxCallers: options.maxCallers ?? 200,
      userTokens: options.userTokens ?? {},
      isOneOfSeveral: options.bus !== undefined || server.stateKey !== undefined,
      log: (link, message) => this.server.sendLogTo(link, message),
      onError,
    })
    this.server.onClosed((link) => callers.left(link))
    const personal = Object.keys(options.userTokens ?? {})
    new GatewaySubscriptions({
      server: this.server,
      host,
      callers,
      isShared: (id) => !personal.includes(id) && host.sharesConnection(id),
      isAllowed: (auth, id) => this.#isAllowed({ auth }, { server: id, originalName: '' }),
    })
    this.server.setRequestHandler('logging/setLevel', ({ level }, ctx) => {
      callers.find(ctx)?.host.setLogLevel(level)
      return {}
    })
    this.#personal = new PersonalServers({ host, callers, ids: personal, onError })
    this.#variants = new CallerVariants({ host, callers, onError })
    const standsAlone = (id: string) => !personal.includes(id) && host.standsAlone(id)
    this.#relay = new Relay({ standsAlone, callers, parkedMs, bus: options.bus, onError })
    host.on('catalogChanged', () => this.#changed())
    this.#tasks = options.tasks && this.#createTasks(options.tasks)
    this.#serveTools()
    this.#servePrompts()
    this.#serveResources()
    this.#serveCompletion()
  }

  #changed(): void {
    this.server.sendToolListChanged()
    this.server.sendPromptListChanged()
    this.server.sendResourceListChanged()
  }

  #serveTools(): void {
    const pages = new Pages(this.server.sealer, 'tools')
    this.server.setRequestHandler('tools/list', async (params, ctx) => {
      const tools = await this.#toolsFor(ctx)
      return pages.of(
        tools,
        ({ name }) => name,
        params?.cursor,
        (page) => ({ tools: page }),
      )
    })
    const tasks = this.#tasks
    // The params of this method were checked.
    const handler = ((params: CallToolParams, ctx: Context) => this.#callTool(params, ctx)) as unknown as RequestHandler
    this.server.setMethod('tools/call', {
      handler,
      asTask: tasks && ((serving) => tasks.take(serving)),
    })
  }

  #createTasks(runtime: TaskRuntime): GatewayTasks {
    const findTool = (name: string) => {
      const tool = this.#host.knownTool(name)
      return tool && this.#host.supportsTasks(tool) ? tool : undefined
    }
    return new GatewayTasks({
      server: this.server,
      runtime,
      isAllowed: this.#isAllowed,
      findTool,
      ready: () => this.#host.ready(),
    })
  }

  async #toolsFor(ctx: Context): Promise<readonly Tool[]> {
    const allowed = await this.#allowedTools(ctx)
    const usesSearch = this.#toolSearch === 'auto' ? allowed.length > searchFrom : this.#toolSearch
    return usesSearch ? searchTools : allowed.map((tool) => this.#toDefinition(tool))
  }

  /** The definition as callers see it: without what only the host knows. Tasks are those of the gateway. */
  #toDefinition(tool: HostTool): Tool {
    const { server: _server, originalName: _originalName, trust: _trust, execution: _execution, ...definition } = tool
    const isTask = this.#tasks !== undefined && this.#host.supportsTasks(tool)
    return isTask ? { ...definition, execution: { taskSupport: 'optional' } } : definition
  }

  async #allowedTools(ctx: Context): Promise<HostTool[]> {
    await this.#personal.prepare(ctx)
    const abilities = await this.#variants.prepare(ctx)
    return (await this.#host.toolsOf(abilities)).filter((tool) => this.#isAllowed(ctx, tool))
  }

  async #callTool({ name, arguments: args = {} }: CallToolParams, ctx: Context): Promise<CallToolResult> {
    // Also while the catalog is small: a caller may have listed the tools when it was large.
    const isSearch = this.#toolSearch !== false && isSearchTool(name)
    const found = isSearch ? runToolSearch(await this.#allowedTools(ctx), name, args) : undefined
    if (found && 'result' in found) return found.result
    const target = found?.call ?? { name, arguments: args }
    await this.#personal.prepare(ctx)
    const tool = await this.#host.findTool(target.name, abilitiesOf(ctx.caller).sort().join(' '))
    if (!tool || !this.#isAllowed(ctx, tool)) {
      throw new ProtocolError(ErrorCode.InvalidParams, `Unknown tool: ${target.name.slice(0, 100)}`)
    }
    // The arguments of `call_tool` have no headers. Some that are sent all the same must not say something else.
    if (found) checkMirroredArguments(tool, target.arguments, ctx, false)
    else checkMirroredArguments(tool, args, ctx)
    try {
      const result = await this.#relay.run(ctx, tool.server, (host, call) =>
        host.callFound(tool, target.arguments, {
          signal: call.signal,
          onProgress: (progress) => call.onProgress(progress),
          _meta: forwarded(ctx),
          headers: found ? undefined : forwardedHeaders(ctx),
          relayed: call.relayed,
        }),
      )
      return toResult(result)
    } catch (error) {
      return toErrorResult(error)
    }
  }

  #servePrompts(): void {
    const pages = new Pages(this.server.sealer, 'prompts')
    this.server.setRequestHandler('prompts/list', async (params, ctx) => {
      const abilities = await this.#variants.prepare(ctx)
      const prompts = (await this.#host.promptsOf(abilities)).filter((prompt) => this.#isAllowed(ctx, prompt))
      const definitions = prompts.map(({ server: _server, originalName: _original, ...prompt }) => prompt)
      return pages.of(
        definitions,
        ({ name }) => name,
        params?.cursor,
        (page) => ({ prompts: page }),
      )
    })
    this.server.setRequestHandler('prompts/get', (params, ctx) => this.#getPrompt(params, ctx))
  }

  async #getPrompt({ name, arguments: args }: GetPromptParams, ctx: Context): Promise<GetPromptResult> {
    const prompt = await this.#host.findPrompt(name, abilitiesOf(ctx.caller).sort().join(' ')).catch(() => undefined)
    if (!prompt || !this.#isAllowed(ctx, prompt)) {
      throw new ProtocolError(ErrorCode.InvalidParams, `Unknown prompt: ${name.slice(0, 100)}`)
    }
    try {
      return await this.#relay.run(ctx, prompt.server, (host, { signal, relayed }) =>
        host.getPrompt(name, args, { signal, relayed }),
      )
    } catch (error) {
      throw toProtocolError(error)
    }
  }

  #serveResources(): void {
    const pages = new Pages(this.server.sealer, 'resources')
    const templatePages = new Pages(this.server.sealer, 'templates')
    this.server.setRequestHandler('resources/list', async (params, ctx) => {
      const resources = toGatewayUris(await this.#allowed(ctx, this.#host.resources()))
      return pages.of(
        resources,
        ({ uri }) => uri,
        params?.cursor,
        (page) => ({ resources: page }),
      )
    })
    this.server.setRequestHandler('resources/templates/list', async (params, ctx) => {
      const templates = await this.#allowed(ctx, this.#host.resourceTemplates())
      // What a caller makes of such a template would go to the server that it names.
      const own = templates.filter(({ uriTemplate }) => !isGatewayUri(uriTemplate))
      const definitions = own.map(({ server: _server, ...template }) => template)
      return templatePages.of(
        definitions,
        ({ name }) => name,
        params?.cursor,
        (page) => ({ resourceTemplates: page }),
      )
    })
    this.server.setRequestHandler('resources/read', ({ uri }, ctx) => this.#readResource(uri, ctx))
  }

  async #readResource(given: string, ctx: Context): Promise<ReadResourceResult> {
    const { uri, server: named } = fromGatewayUri(given)
    const isAllowed = (server: string) => this.#isAllowed(ctx, { server, originalName: '' })
    try {
      const server = named ?? (await this.#host.findResource(uri, isAllowed))
      if (!isAllowed(server)) throw resourceNotFound(given)
      return await this.#relay.run(ctx, server, (host, { signal, relayed }) =>
        host.readResource(uri, { server, signal, relayed }),
      )
    } catch (error) {
      throw toProtocolError(toResourceError(error, given))
    }
  }

  #serveCompletion(): void {
    this.server.setRequestHandler('completion/complete', async (params, ctx) => {
      try {
        const { server } = await this.#host.findReference(params.ref)
        if (!this.#isAllowed(ctx, { server, originalName: '' }))
          throw new McpError('invalid-argument', 'Unknown reference')
        return await this.#relay.run(ctx, server, async (host, { signal, relayed }) => ({
          completion: await host.complete(params, { signal, relayed }),
        }))
      } catch (error) {
        throw toProtocolError(toReferenceError(error))
      }
    })
  }

  async #allowed<T extends { readonly server: string }>(ctx: Context, items: Promise<T[]>): Promise<T[]> {
    return (await items).filter(({ server }) => this.#isAllowed(ctx, { server, originalName: '' }))
  }
}

/** The server that callers see. When it stops, the connections of callers are closed. */
class GatewayServer extends Server {
  readonly #closeCallers: () => Promise<void>
  #holds = 0

  constructor(info: Implementation, options: ServerOptions, closeCallers: () => Promise<void>) {
    super(info, options)
    this.#closeCallers = closeCallers
  }

  override async close(): Promise<void> {
    await super.close()
    await this.#closeCallers()
  }

  /** A transport that carries many clients holds the server until it stops. */
  override hold(): () => Promise<void> {
    const release = super.hold()
    this.#holds++
    let isHeld = true
    return async () => {
      await release()
      if (isHeld && --this.#holds === 0) await this.#closeCallers()
      isHeld = false
    }
  }
}

/** Intermediaries forward these headers, also those that they do not know (2026-07-28 streamable-http). */
function forwardedHeaders({ request }: Context): Record<string, string> | undefined {
  if (!request) return undefined
  const found = Object.entries(request.headers).filter(([name]) => name.startsWith('mcp-param-'))
  return found.length > 0 ? Object.fromEntries(found) : undefined
}

/** Members by which a server could pretend that the gateway asks something, or began a task. */
const gatewayMembers = ['resultType', 'inputRequests', 'requestState', 'task']

/** What the server sent, without what the host added. */
function toResult(result: HostToolResult): CallToolResult {
  return withoutRelatedTask(omit(result, gatewayMembers) as object as CallToolResult)
}

/** Trace context is passed on. Other members, such as the progress token, belong to the request of the caller. */
function forwarded({ meta }: Context): RequestMeta {
  const { traceparent, tracestate, baggage } = meta
  return {
    ...(traceparent !== undefined && { traceparent }),
    ...(tracestate !== undefined && { tracestate }),
    ...(baggage !== undefined && { baggage }),
  }
}

/** Errors of the host and its connections are results, so that a model can react. Errors of the server stay what they are. */
function toErrorResult(error: unknown): CallToolResult {
  if (!(error instanceof McpError) || error instanceof Suspended || error instanceof ProtocolError) throw error
  if (error instanceof PeerError) throw toProtocolError(error)
  return { content: [{ type: 'text', text: withoutOutput(error.message) }], isError: true }
}

function toProtocolError(error: unknown): unknown {
  if (error instanceof PeerError) return new ProtocolError(error.rpcCode, error.message, error.data)
  if (!(error instanceof McpError) || error instanceof Suspended || error instanceof ProtocolError) return error
  return new ProtocolError(ErrorCode.InternalError, withoutOutput(error.message))
}
