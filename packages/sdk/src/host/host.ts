import type { CallOptions } from '../era/client.ts'
import { McpError, PeerError } from '../errors.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { CompleteParams, CompleteResult } from '../protocol/completion.ts'
import type { LoggingLevel, LoggingMessageParams } from '../protocol/logging.ts'
import type { GetPromptResult } from '../protocol/prompts.ts'
import type { ReadResourceResult, Resource, ResourceTemplateInfo } from '../protocol/resources.ts'
import type { Root } from '../protocol/roots.ts'
import { Emitter } from '../util/emitter.ts'
import { pause } from '../util/scheduler.ts'
import type { Approve } from './action.ts'
import { Catalog, type Collision, type HostPrompt, type HostTool, mayBelongTo, searchIn } from './catalog.ts'
import type { ServerConfig, ServerConfigs } from './config/server-config.ts'
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
import { type ReceivedFromServer, ResultReview } from './result-review.ts'
import type { ServerConnection } from './server-connection.ts'
import { ServerConnections, type UsedConnection } from './server-connections.ts'
import type { ResourceUpdate } from './server-subscriptions.ts'
import { ConversationTaint } from './taint.ts'
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

/** Limits the collisions that are remembered as reported. */
const maxReported = 1_000

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
  readonly #flows: DataFlows
  readonly #calls: ToolCalls
  readonly #review: ResultReview
  readonly #resources: ResourceFinder
  #catalog: Catalog | undefined
  /** The catalogs of callers with other abilities. */
  readonly #variants = new Map<string, Catalog>()
  /** Names that no tool of a server gets. */
  #reserved: ReadonlySet<string> = new Set()
  readonly #reported = new Set<string>()
  /** The sessions that are open. They close with the host. */
  readonly #sessions = new Set<Host>()

  /** @internal Use `createHost`, or `session` for the callers of a gateway. */
  constructor(parts: HostParts, session: SessionOptions, owner?: Host) {
    this.#parts = parts
    this.#owner = owner ?? this
    this.#session = session
    const { audit, policy, limits } = parts
    this.#flows = new DataFlows({ memory: parts.flowMemory })
    const caller = session.caller
    this.#events = new Emitter((error) => console.error('[tenon] An event listener failed:', error))
    const events = this.#events
    const approve = session.approve ?? parts.approve
    const grants = parts.grantsFor(session)
    this.#grants = grants
    const taint = session.taint ?? new ConversationTaint()
    const closing = this.#closing.signal
    this.#consent = new Consent({ policy, approve, grants, taint, events, audit, caller, closing })
    const consent = this.#consent
    this.#connections = new ServerConnections({
      parts,
      session,
      consent,
      events,
      onDefinitions: () => this.#changed(),
      toolNames: () => this.#current().toolNames,
      owner: owner ? owner.#connections : undefined,
    })
    if (!owner) parts.onRootsChanged = () => this.#rootsChanged()
    this.#review = new ResultReview(consent, () => this.#current().toolNames)
    this.#calls = new ToolCalls({
      consent,
      flows: this.#flows,
      events,
      audit,
      caller,
      maxResultBytes: limits.maxResultBytes,
      strictArguments: limits.strictArguments,
      review: this.#review,
      pathFindings: (server, args) => parts.pathFindings(server, args),
    })
    this.#resources = new ResourceFinder(this.#connections, {
      waitMs: limits.listTimeoutMs,
      maxBytes: limits.maxDefinitionBytes,
      onLate: () => this.#changed(),
    })
  }

  /** The servers in the order of the configuration. */
  get servers(): ServerStatus[] {
    return this.#connections.all().map(({ server, state, error, client, definitions }) => ({
      ...server,
      state,
      error,
      // While the server is held, its instructions are a text that nobody approved.
      ...(client && { info: client.getServerVersion(), instructions: definitions?.instructions }),
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
   * The tools of all servers. Connects to servers that were never connected. One that does not answer within `listTimeoutMs` is
   * left out, then and in later lists, until it does; then `catalogChanged` follows.
   */
  async tools(): Promise<HostTool[]> {
    return [...(await this.#ready()).tools.values()]
  }

  /** The prompts of all servers. */
  async prompts(): Promise<HostPrompt[]> {
    return [...(await this.#ready()).prompts.values()]
  }

  /** The resources of all servers: of one that fails, or does not answer within `listTimeoutMs`, those that it listed last. */
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
   *
   * @example
   * // A call that becomes a task does not keep the model waiting.
   * const first = await host.callTool('reports_write', { topic: 'tides' }, { background: true })
   * giveToModel(first.text)
   * if (first.pending) giveToModel((await first.pending).text)
   */
  async callTool(
    name: string,
    args: Readonly<Record<string, unknown>> = {},
    options: HostCallOptions = {},
  ): Promise<HostToolResult> {
    const tool = this.#catalog?.tools.get(name) ?? (await this.#readyFor(name)).tools.get(name)
    if (!tool) throw this.#notFound(name)
    return this.callFound(tool, args, options)
  }

  /** @internal Calls a tool that was found in the catalog of this host, or of the host that this session belongs to. */
  callFound(
    tool: HostTool,
    args: Readonly<Record<string, unknown>>,
    options: HostCallOptions = {},
  ): Promise<HostToolResult> {
    if (!options.background) return this.#callOn(tool, args, options)
    return new Promise((resolve, reject) => {
      // The connection is in use until the task has ended.
      const started = async (result: HostToolResult) => {
        resolve(result)
        await result.pending?.catch(() => {})
        return result
      }
      this.#callOn(tool, args, options, started).catch(reject)
    })
  }

  /** @param then Keeps the connection in use until it resolves. */
  #callOn(
    tool: HostTool,
    args: Readonly<Record<string, unknown>>,
    options: HostCallOptions,
    then?: (result: HostToolResult) => Promise<HostToolResult>,
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
        const found = { client, server, tool, own, isCurrent, send }
        const called = this.#calls.call(found, args, { ...options, timeoutMs })
        return then ? called.then(then) : called
      },
      options,
    )
  }

  /** @internal Keeps names for the tools of a gateway, from its start, so that they never change their owner. */
  reserveToolNames(names: readonly string[]): void {
    this.#owner.#reserved = new Set([...this.#owner.#reserved, ...names])
    this.#catalog = undefined
    this.#variants.clear()
  }

  /** @internal Returns the tool with this name; undefined if there is none. */
  async findTool(name: string, abilities?: string): Promise<HostTool | undefined> {
    const variant = abilities === undefined ? undefined : this.#variant(abilities).tools.get(name)
    return variant ?? this.#catalog?.tools.get(name) ?? (await this.#readyFor(name)).tools.get(name)
  }

  /** @internal Resolves when the tools of all servers that answer are known; undefined if they are. */
  ready(): Promise<void> | undefined {
    return this.#connections.unknown().length === 0 ? undefined : this.#ready().then(() => {})
  }

  /** @internal The tools that servers offer to a caller with these abilities, as far as they are known. */
  async toolsOf(abilities: string): Promise<HostTool[]> {
    await this.#ready()
    return [...this.#variant(abilities).tools.values()]
  }

  /** @internal The prompts that servers offer to a caller with these abilities, as far as they are known. */
  async promptsOf(abilities: string): Promise<HostPrompt[]> {
    await this.#ready()
    return [...this.#variant(abilities).prompts.values()]
  }

  /** @internal Servers that may offer something else to callers with these abilities. */
  unknownFor(abilities: string): string[] {
    return this.#connections.unknownFor(abilities)
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
  async findPrompt(name: string, abilities?: string): Promise<HostPrompt> {
    const variant = abilities === undefined ? undefined : this.#variant(abilities).prompts.get(name)
    if (variant) return variant
    return this.#catalog?.prompts.get(name) ?? (await this.#readyFor(name)).prompt(name)
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

  /** @internal Whether sessions use the connection of the host, for that reason or because the configuration says so. */
  sharesConnection(server: string): boolean {
    return this.standsAlone(server) || this.#owner.#connections.get(server).config.shared === true
  }

  /** @internal Whether this session has, or opens, a connection of its own. */
  get isConnected(): boolean {
    return this.#connections.all().some(({ state }) => state !== 'idle' && state !== 'disabled')
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
    this.#flows.clear()
  }

  /** Gets the messages of a prompt by its name in the catalog. */
  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>> = {},
    options: HostRequestOptions = {},
  ): Promise<GetPromptResult> {
    const prompt = await this.#owner.findPrompt(name, this.#connections.abilities)
    const use = async ({ connection: { server }, client, send }: UsedConnection) => {
      const { originalName, name: catalogName } = prompt
      const action = {
        kind: 'prompt',
        server,
        prompt: originalName,
        name: catalogName,
        arguments: { ...args },
      } as const
      await this.#consent.require(action, this.#inspect(action.arguments, server.id), contextOf(options))
      const get = () => client.getPrompt(originalName, action.arguments, sendOptions(options, send))
      const record = () => this.#record('prompt-get', server.id, { prompt: name })
      return this.#receive({ server, of: 'prompt', name: originalName, catalogName, record }, get, options)
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
      const read = () => client.readResource(uri, sendOptions(options, send))
      const record = () => this.#record('resource-read', id, { uri })
      return this.#receive({ server, of: 'resource', name: uri, record }, read, options)
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
    const received = { server: connection.server, of: 'resource', name: uri } as const
    return this.#reviewed(connection.subscriptions.add(uri, listener), received, options)
  }

  /** Completes an argument of a prompt of the catalog, or of a resource template. The server sees the beginning of the value. */
  async complete(
    { ref, argument, context }: CompleteParams,
    options: HostRequestOptions = {},
  ): Promise<CompleteResult['completion']> {
    const found = await this.#owner.findReference(ref)
    const args = { ...context?.arguments, [argument.name]: argument.value }
    const catalogName = ref.type === 'ref/prompt' ? ref.name : undefined
    const use = async ({ connection: { server }, client, send }: UsedConnection) => {
      const action =
        found.ref.type === 'ref/prompt'
          ? ({ kind: 'prompt', server, prompt: found.ref.name, name: catalogName, arguments: args } as const)
          : ({ kind: 'resource', server, uri: found.ref.uri } as const)
      await this.#consent.require(action, this.#inspect(args, server.id), contextOf(options))
      // Without `_meta`: that of a gateway's caller has the revision and the progress token of the caller.
      const params = { ref: found.ref, argument, ...(context && { context }) }
      const complete = () => client.complete(params, sendOptions(options, send))
      return this.#receive({ server, of: 'completion', name: argument.name }, complete, options)
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

  /**
   * Replaces the configuration. Servers whose entry is the same stay connected. The event `error` reports rules of the policy
   * and roots that name a server which is not configured any more.
   */
  async configure(servers: ServerConfigs): Promise<void> {
    const checked = this.#parts.configure(servers)
    const hosts = [this.#owner, ...this.#owner.#sessions]
    await Promise.all(hosts.map((host) => host.#connections.configure(checked)))
    for (const host of hosts) host.#changed()
    for (const error of this.#parts.unknownServers()) this.#owner.#events.emit('error', { error })
  }

  /** All folders that servers may know. */
  get roots(): readonly Root[] {
    return this.#parts.roots
  }

  /**
   * Replaces the folders that servers may know, and tells the connected servers that the list has changed. Each server gets the
   * new list only with consent.
   *
   * @example
   * host.setRoots(['/home/me/project'])
   */
  setRoots(roots: NonNullable<HostOptions['roots']>): void {
    this.#parts.setRoots(roots)
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

  /** Sessions of callers that answer for their own roots are not concerned. */
  #rootsChanged(): void {
    for (const host of [this, ...this.#sessions])
      if (host.#session.roots === undefined) for (const connection of host.#connections.all()) connection.rootsChanged()
  }

  /** Closes all connections, and the audit log and store that the host opened. */
  async close(): Promise<void> {
    this.#closing.abort(new McpError('closed', 'The host was closed'))
    this.#owner.#sessions.delete(this)
    this.#flows.clear()
    await Promise.all([this.#connections.close(), ...[...this.#sessions].map((session) => session.close())])
    if (this.#owner === this) await this.#parts.close()
  }

  /** Closes the host at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  /** Gets something from a server, and returns it if it may be handed on. Errors of the server carry text as well. */
  async #receive<R extends object>(
    received: Omit<ReceivedFromServer<R>, 'result'>,
    get: () => Promise<R>,
    options: HostRequestOptions,
  ): Promise<R> {
    const { server, of, name, catalogName } = received
    const result = await this.#reviewed(get(), { server, of, name, catalogName }, options)
    this.#flows.note(server.id, result)
    return this.#review.require({ ...received, result }, options)
  }

  /** Replaces an error of the server by one that may be handed on. */
  #reviewed<T>(
    response: Promise<T>,
    received: Omit<ReceivedFromServer<never>, 'result'>,
    options: HostRequestOptions,
  ): Promise<T> {
    return response.catch(async (error: unknown) => {
      throw error instanceof PeerError ? await this.#review.reviewError(error, received, options) : error
    })
  }

  #record(event: 'prompt-get' | 'resource-read', server: string, details: Record<string, unknown>): void {
    this.#parts.audit?.append({ event, server, caller: this.#session.caller, details })
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

  /** Connects to servers whose definitions are unknown, and waits for them, but not for ever and not again and again. */
  async #ready(): Promise<Catalog> {
    const { listTimeoutMs } = this.#parts.limits
    await this.#waitFor(this.#connections.unknown(), (connection) => connection.patienceMs(listTimeoutMs))
    return this.#current()
  }

  /** The catalog for a call of this name: waits for the servers that it may belong to, even if they are late. */
  async #readyFor(name: string): Promise<Catalog> {
    const { listTimeoutMs } = this.#parts.limits
    const wanted = (id: string, { prefix }: ServerConfig) => prefix === false || mayBelongTo(name, id)
    await this.#waitFor(this.#connections.unknown(), (connection) =>
      wanted(connection.server.id, connection.config) ? listTimeoutMs : 0,
    )
    return this.#current()
  }

  async #waitFor(unknown: ServerConnection[], patienceMs: (connection: ServerConnection) => number): Promise<void> {
    const stop = new AbortController()
    const { signal } = stop
    await Promise.all(
      unknown.map((connection) => {
        const opening = connection.ready().catch(() => {})
        const ms = patienceMs(connection)
        return ms > 0 ? Promise.race([opening, pause(ms, { signal })]) : undefined
      }),
    )
    stop.abort()
  }

  #current(): Catalog {
    if (!this.#catalog) {
      this.#catalog = new Catalog(this.#connections.sources(), this.#connections.ids(), this.#owner.#reserved)
      for (const collision of this.#catalog.collisions) this.#report(collision)
    }
    return this.#catalog
  }

  #variant(abilities: string): Catalog {
    const known = this.#variants.get(abilities)
    if (known) return known
    const catalog = new Catalog(this.#connections.sources(abilities), this.#connections.ids(), this.#owner.#reserved)
    this.#variants.set(abilities, catalog)
    return catalog
  }

  /** Once for each collision, however often the catalog is made again. */
  #report({ kind, name, servers }: Collision): void {
    const key = `${kind} ${name} ${servers.join()}`
    if (this.#reported.has(key) || this.#reported.size >= maxReported) return
    this.#reported.add(key)
    const message =
      servers.length > 1
        ? `Several servers claim this name, so none of them gets it: ${servers.join(', ')}.`
        : `The server uses this name for several definitions, so none of them is offered.`
    const finding = { rule: 'shadowing', severity: 'high', where: `${kind} ${name}`, message, excerpt: name } as const
    for (const server of servers) this.#events.emit('finding', { server, finding })
  }

  #changed(): void {
    this.#catalog = undefined
    this.#variants.clear()
    this.#events.emit('catalogChanged', undefined)
  }
}

function contextOf({ signal, relayed }: HostRequestOptions): ActionContext {
  return { signal, origin: relayed?.origin }
}

function sendOptions({ signal }: HostRequestOptions, send: CallOptions): CallOptions {
  return signal ? { ...send, signal } : send
}
