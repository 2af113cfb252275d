import type { CallOptions } from '../era/client.ts'
import { McpError } from '../errors.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { CompleteParams, CompleteResult } from '../protocol/completion.ts'
import type { LoggingLevel, LoggingMessageParams } from '../protocol/logging.ts'
import type { GetPromptResult } from '../protocol/prompts.ts'
import type { ReadResourceResult, Resource, ResourceTemplateInfo } from '../protocol/resources.ts'
import { Emitter } from '../util/emitter.ts'
import { pause } from '../util/scheduler.ts'
import type { Approve } from './action.ts'
import { Catalog, type HostPrompt, type HostTool, searchIn } from './catalog.ts'
import type { ServerConfigs } from './config/server-config.ts'
import { type ActionContext, Consent } from './consent.ts'
import { DataFlows } from './data-flow.ts'
import type { HostEvents, ServerState } from './events.ts'
import type { Finding } from './findings/finding.ts'
import { inspectArguments } from './findings/inspect.ts'
import { flowFindings } from './flow-findings.ts'
import type { Grant, Grants } from './grants.ts'
import { type HostParts, openParts, type SessionOptions } from './host-parts.ts'
import { type ToolFormat, type ToolSet, type ToolsForOptions, toolsFor } from './models/tools-for.ts'
import type { HostOptions } from './options.ts'
import type { RelayedOptions } from './relayed-options.ts'
import { ResourceFinder } from './resource-finder.ts'
import { ServerConnections, type UsedConnection } from './server-connections.ts'
import type { ResourceUpdate } from './server-subscriptions.ts'
import { type HostCallOptions, type HostToolResult, ToolCalls } from './tool-calls.ts'

/** Options of the requests of a host. */
export interface HostRequestOptions {
  /** Cancels the request. */
  signal?: AbortSignal | undefined
  /** @internal For a caller of a gateway. */
  relayed?: RelayedOptions | undefined
}

/** A resource of the catalog. */
export interface HostResource extends Resource {
  /** The id of the server. */
  readonly server: string
}

/** A resource template of the catalog. */
export interface HostResourceTemplate extends ResourceTemplateInfo {
  /** The id of the server. */
  readonly server: string
}

/** A server as a user interface shows it. */
export interface ServerStatus {
  readonly id: string
  readonly state: ServerState
  /** The URL, or the complete command line. */
  readonly address: string
  readonly trust: 'trusted' | 'untrusted'
  /** Why the server is `failed` or `held`. */
  readonly error?: unknown
  /** The name and version that the server gives itself, while it is connected. They are not verified. */
  readonly info?: Implementation | undefined
  /** What the server says about its use, for a model, while it is connected. */
  readonly instructions?: string | undefined
}

/**
 * Creates a host: it joins many servers, and every tool call, resource, root, sampling request and question passes your policy
 * or the user.
 *
 * @example
 * await using host = await createHost({
 *   servers: { files: { command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem@2025.8.21', '.'] } },
 *   policy: [{ server: 'files', tool: 'read_*', decide: 'allow' }],
 *   approve: terminalApproval(),
 * })
 * const result = await host.callTool('files_read_text_file', { path: 'README.md' })
 */
export async function createHost(options: HostOptions): Promise<Host> {
  const parts = await openParts(options)
  return new Host(parts, {})
}

/** Many servers as one, with consent, isolation and an audit trail. `createHost` creates one. */
export class Host {
  readonly #parts: HostParts
  /** The host whose catalog is used: a session has none of its own, so that a call opens only the connection that it needs. */
  readonly #owner: Host
  readonly #session: SessionOptions
  readonly #events: Emitter<HostEvents>
  readonly #closing = new AbortController()
  readonly #connections: ServerConnections
  readonly #consent: Consent
  readonly #grants: Grants
  #flows = new DataFlows()
  readonly #calls: ToolCalls
  readonly #resources: ResourceFinder
  #catalog: Catalog | undefined
  /** The sessions that are open. They close with the host. */
  readonly #sessions = new Set<Host>()

  /** @internal Use `createHost`, or `session` for the callers of a gateway. */
  constructor(parts: HostParts, session: SessionOptions, owner?: Host) {
    this.#parts = parts
    this.#owner = owner ?? this
    this.#session = session
    const { audit, policy, limits } = parts
    const caller = session.caller
    this.#events = new Emitter((error) => console.error('[tenon] An event listener failed:', error))
    const events = this.#events
    const approve = session.approve ?? parts.approve
    const grants = parts.grantsFor(session)
    this.#grants = grants
    this.#consent = new Consent({ policy, approve, grants, events, audit, caller, closing: this.#closing.signal })
    const consent = this.#consent
    this.#connections = new ServerConnections({
      parts,
      session,
      consent,
      events,
      onDefinitions: () => this.#changed(),
      owner: owner ? owner.#connections : undefined,
    })
    this.#calls = new ToolCalls({
      consent,
      flows: () => this.#flows,
      events,
      audit,
      caller,
      maxResultBytes: limits.maxResultBytes,
      strictArguments: limits.strictArguments,
      pathFindings: (server, args) => parts.pathFindings(server, args),
    })
    this.#resources = new ResourceFinder(this.#connections)
  }

  /** The servers in the order of the configuration. */
  get servers(): ServerStatus[] {
    return this.#connections.all().map(({ server, state, error, client }) => ({
      ...server,
      state,
      error,
      ...(client && { info: client.getServerVersion(), instructions: client.getInstructions() }),
    }))
  }

  /**
   * Listens for an event.
   *
   * @returns A function that removes the listener.
   */
  on<K extends keyof HostEvents>(name: K, listener: (event: HostEvents[K]) => void): () => void {
    return this.#events.on(name, listener)
  }

  /**
   * The tools of all servers. Connects to servers that were never connected; one that does not answer in time is left out,
   * and `catalogChanged` follows when it does.
   */
  async tools(): Promise<HostTool[]> {
    return [...(await this.#ready()).tools.values()]
  }

  /** The prompts of all servers. */
  async prompts(): Promise<HostPrompt[]> {
    return [...(await this.#ready()).prompts.values()]
  }

  /** The resources of all servers. */
  async resources(): Promise<HostResource[]> {
    await this.#ready()
    return this.#resources.list()
  }

  /** The resource templates of all servers. */
  async resourceTemplates(): Promise<HostResourceTemplate[]> {
    await this.#ready()
    return this.#resources.templates()
  }

  /** The tools that fit a query best, for catalogs that are too large for a model. */
  async searchTools(query: string, { limit = 10 }: { limit?: number } = {}): Promise<HostTool[]> {
    return searchIn((await this.#ready()).tools.values(), query, limit)
  }

  /**
   * The tools as definitions for the SDK of a model. `toCall` converts a call of the model back to a name and arguments of the
   * catalog.
   *
   * @example
   * const { tools, toCall } = await host.toolsFor('anthropic')
   */
  async toolsFor<F extends ToolFormat>(format: F, options?: ToolsForOptions): Promise<ToolSet<F>> {
    return toolsFor(format, await this.tools(), options)
  }

  /**
   * Calls a tool by its name in the catalog. Rejects with a `DeniedError` if the policy or the user denies it.
   *
   * @example
   * const result = await host.callTool('files_read_text_file', { path: 'a.txt' })
   * console.log(result.text, result.source.server)
   */
  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    options: HostCallOptions = {},
  ): Promise<HostToolResult> {
    const tool = this.#catalog?.tools.get(name) ?? (await this.#ready()).tools.get(name)
    if (!tool) throw this.#notFound(name)
    return this.callFound(tool, args, options)
  }

  /** @internal Calls a tool that was found in the catalog of this host, or of the host that this session belongs to. */
  callFound(
    tool: HostTool,
    args: Readonly<Record<string, unknown>>,
    options: HostCallOptions = {},
  ): Promise<HostToolResult> {
    return this.#connections.use(
      tool.server,
      ({ connection, client, send }) => {
        // The definitions may have changed while the connection was opened.
        const own = connection.definitions?.tools.find(({ name }) => name === tool.originalName)
        if (!own) throw new McpError('invalid-argument', `it does not offer the tool ${tool.originalName} any more`)
        const timeoutMs = options.timeoutMs ?? connection.config.timeoutMs
        const isCurrent = () => connection.stillHas(own)
        const { server } = connection
        return this.#calls.call({ client, server, tool, own, isCurrent, send }, args, { ...options, timeoutMs })
      },
      options,
    )
  }

  /** @internal Returns the tool with this name; undefined if there is none. */
  async findTool(name: string): Promise<HostTool | undefined> {
    return this.#catalog?.tools.get(name) ?? (await this.#ready()).tools.get(name)
  }

  /** @internal Resolves when the tools of all servers that answer are known; undefined if they are. */
  ready(): Promise<void> | undefined {
    return this.#connections.unknown().length === 0 ? undefined : this.#ready().then(() => {})
  }

  /** @internal Whether the definitions of a server are not known, but could be. */
  lacksDefinitions(id: string): boolean {
    return this.#connections.unknown().some(({ server }) => server.id === id)
  }

  /** @internal Connects a server, unless it is held, or left alone after a failure. */
  async prepareServer(id: string): Promise<void> {
    await this.#connections.use(id, async () => {})
  }

  /** @internal The tool with this name among those that are known now. */
  knownTool(name: string): HostTool | undefined {
    return this.#current().tools.get(name)
  }

  /** @internal Whether a server runs calls of this tool as tasks. */
  supportsTasks({ server, execution }: HostTool): boolean {
    return (
      this.#connections.get(server).hasTaskExtension ||
      execution?.taskSupport === 'optional' ||
      execution?.taskSupport === 'required'
    )
  }

  /** @internal Throws if there is no such prompt. */
  async findPrompt(name: string): Promise<HostPrompt> {
    return (await this.#ready()).prompt(name)
  }

  /** @internal Returns the server of a prompt or template, and the reference that it knows. */
  async findReference(ref: CompleteParams['ref']): Promise<{ server: string; ref: CompleteParams['ref'] }> {
    if (ref.type === 'ref/prompt') {
      const { server, originalName } = await this.findPrompt(ref.name)
      return { server, ref: { ...ref, name: originalName } }
    }
    const found = (await this.resourceTemplates()).find(({ uriTemplate }) => uriTemplate === ref.uri)
    if (found) return { server: found.server, ref }
    throw new McpError('invalid-argument', `The catalog has no resource template ${JSON.stringify(ref.uri)}`)
  }

  /** @internal Returns the id of the only server that has the resource, among those that count. */
  async findResource(uri: string, counts: (server: string) => boolean = () => true): Promise<string> {
    await this.#ready()
    return (await this.#resources.find(uri, counts)).server.id
  }

  /** @internal Whether sessions use the connection of the host, because every request to this server stands alone. */
  standsAlone(server: string): boolean {
    return this.#owner.#connections.standsAlone(server)
  }

  /** @internal Sets the minimum severity of log messages of all servers with a connection of this session. */
  setLogLevel(level: LoggingLevel): void {
    this.#connections.setLogLevel(level)
  }

  /** @internal Receives log messages of servers that belong to no call. */
  onIdleLog(listener: (server: string, message: LoggingMessageParams) => void): void {
    this.#connections.onIdleLog(listener)
  }

  /** @internal Forgets which data came from which server, because another caller uses this session next. */
  forget(): void {
    this.#flows = new DataFlows()
  }

  /** Gets the messages of a prompt by its name in the catalog. */
  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: HostRequestOptions = {},
  ): Promise<GetPromptResult> {
    const prompt = await this.#owner.findPrompt(name)
    const use = async ({ connection: { server }, client, send }: UsedConnection) => {
      const action = { kind: 'prompt', server, prompt: prompt.originalName, arguments: { ...args } } as const
      await this.#consent.require(action, this.#inspect(action.arguments, server.id), contextOf(options))
      const result = await client.getPrompt(prompt.originalName, action.arguments, sendOptions(options, send))
      this.#flows.note(server.id, result)
      this.#parts.audit?.append({
        event: 'prompt-get',
        server: server.id,
        caller: this.#session.caller,
        details: { prompt: name },
      })
      return result
    }
    return this.#connections.use(prompt.server, use, options)
  }

  /**
   * Reads a resource, for example to give it to a model.
   *
   * @param server The id of the server. Required only if several servers have the URI.
   */
  async readResource(
    uri: string,
    { server, ...options }: HostRequestOptions & { server?: string | undefined } = {},
  ): Promise<ReadResourceResult> {
    const use = async ({ connection: { server }, client, send }: UsedConnection) => {
      const { id } = server
      await this.#consent.require({ kind: 'resource', server, uri }, this.#inspect({ uri }, id), contextOf(options))
      const result = await client.readResource(uri, sendOptions(options, send))
      this.#flows.note(id, result)
      this.#parts.audit?.append({ event: 'resource-read', server: id, caller: this.#session.caller, details: { uri } })
      return result
    }
    return this.#connections.use(server ?? (await this.#owner.findResource(uri)), use, options)
  }

  /**
   * Calls `listener` when a resource changes. Needs the same permission as reading it. Survives the loss of the connection.
   *
   * @param server The id of the server. Required only if several servers have the URI.
   * @returns A function that ends the subscription.
   *
   * @example
   * const unsubscribe = await host.subscribeResource('notes://today', ({ uri }) => show(uri))
   */
  async subscribeResource(
    uri: string,
    listener: (update: ResourceUpdate) => void,
    { server, ...options }: HostRequestOptions & { server?: string | undefined } = {},
  ): Promise<() => Promise<void>> {
    const id = server ?? (await this.#owner.findResource(uri))
    const isPersonal = this.#session.authFor?.(id) !== undefined
    const owner = !isPersonal && this.standsAlone(id) ? this.#owner : this
    const connection = owner.#connections.get(id)
    const action = { kind: 'resource', server: connection.server, uri } as const
    await this.#consent.require(action, this.#inspect({ uri }, id), contextOf(options))
    return connection.subscriptions.add(uri, listener)
  }

  /** Completes an argument of a prompt of the catalog, or of a resource template. The server sees the beginning of the value. */
  async complete(
    { ref, argument, context }: CompleteParams,
    options: HostRequestOptions = {},
  ): Promise<CompleteResult['completion']> {
    const found = await this.#owner.findReference(ref)
    const args = { ...context?.arguments, [argument.name]: argument.value }
    const use = async ({ connection: { server }, client, send }: UsedConnection) => {
      const action =
        found.ref.type === 'ref/prompt'
          ? ({ kind: 'prompt', server, prompt: found.ref.name, arguments: args } as const)
          : ({ kind: 'resource', server, uri: found.ref.uri } as const)
      await this.#consent.require(action, this.#inspect(args, server.id), contextOf(options))
      // Without `_meta`: that of a gateway's caller has the revision and the progress token of the caller.
      const params = { ref: found.ref, argument, ...(context && { context }) }
      return client.complete(params, sendOptions(options, send))
    }
    return this.#connections.use(found.server, use, options)
  }

  /** The grants that are valid now. */
  grants(): Grant[] {
    return this.#grants.list()
  }

  /** Revokes a grant. Returns false if there is no such grant. */
  async revoke(id: string): Promise<boolean> {
    return this.#grants.revoke(id)
  }

  /** Connects a server now, and asks again for definitions that are held. */
  async connectServer(id: string): Promise<void> {
    await this.#connections.get(id).retry()
  }

  /** Disconnects a server. The next call connects it again. */
  async disconnectServer(id: string): Promise<void> {
    await this.#connections.get(id).disconnect()
  }

  /** Replaces the configuration. Servers whose entry is the same stay connected. */
  async configure(servers: ServerConfigs): Promise<void> {
    const checked = this.#parts.configure(servers)
    const hosts = [this.#owner, ...this.#owner.#sessions]
    await Promise.all(hosts.map((host) => host.#connections.configure(checked)))
    for (const host of hosts) host.#changed()
  }

  /** @internal The function that asks the operator of a gateway. */
  get approve(): Approve | undefined {
    return this.#parts.approve
  }

  /** Creates a host for one caller, with connections, grants and questions of its own. Used by gateways. */
  session(options: SessionOptions): Host {
    const owner = this.#owner
    if (owner.#closing.signal.aborted) throw new McpError('closed', 'The host was closed')
    const session = new Host(this.#parts, options, owner)
    owner.#sessions.add(session)
    return session
  }

  /** Closes all connections, and the audit log and store that the host opened. */
  async close(): Promise<void> {
    this.#closing.abort(new McpError('closed', 'The host was closed'))
    this.#owner.#sessions.delete(this)
    await Promise.all([this.#connections.close(), ...[...this.#sessions].map((session) => session.close())])
    if (this.#owner === this) await this.#parts.close()
  }

  /** Closes the host at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** What is suspicious about values that are about to go to a server. Policies look at data flows of tool calls only. */
  #inspect(values: Readonly<Record<string, string>>, to: string): Finding[] {
    return [...inspectArguments(values), ...flowFindings(this.#flows.find(values, to), to)]
  }

  /** If the server of the tool is not available, that is the reason. */
  #notFound(name: string): McpError {
    const failed = this.#connections.all().filter(({ error }) => error)
    const broken =
      failed.find(({ server }) => name.startsWith(`${server.id}_`)) ??
      failed.find(({ config }) => config.prefix === false)
    if (!broken) return this.#current().unknownTool(name)
    const { server, error } = broken
    const why = error instanceof Error ? error.message : String(error)
    return new McpError('not-connected', `${name}: the server "${server.id}" is not available: ${why}`, {
      cause: error,
    })
  }

  /** Connects to servers whose definitions are unknown, and waits for them, but not for ever. */
  async #ready(): Promise<Catalog> {
    const opening = this.#connections.unknown().map((connection) => connection.ready().catch(() => {}))
    if (opening.length > 0) {
      const stop = new AbortController()
      await Promise.race([Promise.all(opening), pause(this.#parts.limits.listTimeoutMs, { signal: stop.signal })])
      stop.abort()
    }
    return this.#current()
  }

  #current(): Catalog {
    this.#catalog ??= new Catalog(this.#connections.sources(), this.#connections.ids())
    return this.#catalog
  }

  #changed(): void {
    this.#catalog = undefined
    this.#events.emit('catalogChanged', undefined)
  }
}

function contextOf({ signal, relayed }: HostRequestOptions): ActionContext {
  return { signal, origin: relayed?.origin }
}

function sendOptions({ signal }: HostRequestOptions, send: CallOptions): CallOptions {
  return signal ? { ...send, signal } : send
}
