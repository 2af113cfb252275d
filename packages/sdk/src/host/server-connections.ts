import { OAuthSession } from '../auth/client/session.ts'
import type { Client } from '../client/client.ts'
import type { CallOptions } from '../era/client.ts'
import { McpError } from '../errors.ts'
import type { LoggingLevel, LoggingMessageParams } from '../protocol/logging.ts'
import { clock } from '../util/clock.ts'
import type { Emitter } from '../util/emitter.ts'
import type { TokenBucket } from '../util/token-bucket.ts'
import type { ActionServer } from './action.ts'
import { coversCommand } from './approver.ts'
import type { CatalogSource } from './catalog.ts'
import type { ServerConfig, ServerConfigs, UrlServerConfig } from './config/server-config.ts'
import type { Consent } from './consent.ts'
import { type Definitions, digestOf } from './definitions.ts'
import type { FloodKind, HostEvents, ServerState } from './events.ts'
import { inspectDefinitions } from './findings/inspect.ts'
import { cleanNotification } from './findings/notifications.ts'
import type { OtherServer } from './findings/shadowing.ts'
import type { ToolNames } from './findings/tool-orders.ts'
import type { HostParts, SessionOptions } from './host-parts.ts'
import { addressOf, openClient, type Target } from './open-client.ts'
import { comparePins, type PinnedDefinitions, pinDefinitions, sharesDefinitions, withPinnedVersion } from './pins.ts'
import type { RelayedOptions } from './relayed-options.ts'
import { ServerConnection } from './server-connection.ts'
import { handlersFor } from './server-questions.ts'
import { createUpdateBudget } from './update-queue.ts'

export interface ServerConnectionsOptions {
  readonly parts: HostParts
  readonly session: SessionOptions
  readonly consent: Consent
  readonly events: Emitter<HostEvents>
  onDefinitions(): void
  /** The tools of the catalog, which messages of servers must not order the model to call. */
  toolNames(): ToolNames
  /** The connections of the host that this session belongs to. Servers with `shared` use those. */
  readonly owner: ServerConnections | undefined
}

/** How often a flood is reported. */
const floodReportMs = 60_000

/** A connection while work uses it. */
export interface UsedConnection {
  readonly connection: ServerConnection
  readonly client: Client
  /** Options of every request of this work. */
  readonly send: CallOptions
}

export interface UseOptions {
  readonly signal?: AbortSignal | undefined
  readonly relayed?: RelayedOptions | undefined
}

/** The connections of one host, by server id. */
export class ServerConnections {
  readonly #options: ServerConnectionsOptions
  readonly #connections = new Map<string, ServerConnection>()
  /** By server, for the connections of all sessions. */
  readonly #budgets = new Map<string, TokenBucket>()
  /** When a flood was last reported, by server and kind. */
  readonly #reported = new Map<string, number>()
  /** What servers can ask on these connections. They may offer other tools to a client that can be asked other things. */
  #abilities = ''
  /** Definitions that sessions with other abilities got, by abilities and server id. */
  readonly #variants = new Map<string, Map<string, Definitions>>()
  #logLevel: LoggingLevel | undefined
  #onIdleLog: ((server: string, message: LoggingMessageParams) => void) | undefined

  constructor(options: ServerConnectionsOptions) {
    this.#options = options
    for (const [id, config] of Object.entries(options.parts.servers))
      this.#connections.set(id, this.#create(id, config))
  }

  /** What servers can ask on these connections, as a key. */
  get abilities(): string {
    return this.#abilities
  }

  all(): ServerConnection[] {
    return [...this.#connections.values()]
  }

  ids(): string[] {
    return [...this.#connections.keys()]
  }

  /** Throws if there is no server with this id. */
  get(id: string): ServerConnection {
    const found = this.#own(id)
    return (found.config.shared && this.#options.owner?.get(id)) || found
  }

  /**
   * Runs work with a connected client whose definitions are approved. If every request to a server stands alone, callers
   * share the connection of the host: what a call may ask travels with the call.
   */
  async use<T>(
    id: string,
    work: (used: UsedConnection) => Promise<T>,
    { signal, relayed }: UseOptions = {},
  ): Promise<T> {
    const exclusive = this.#own(id)
    const own = this.get(id)
    const run = async (connection: ServerConnection, client: Client, send: CallOptions): Promise<T> => {
      const isAlone = connection === exclusive || isStandalone(client)
      const log = connection.logs.listen(client, relayed?.logLevel && relayed.onLog, isAlone)
      const { onNotification } = log
      try {
        return await work({ connection, client, send: { ...send, ...(onNotification && { onNotification }) } })
      } finally {
        log.stop()
      }
    }
    const isPersonal = this.#options.session.authFor?.(id) !== undefined
    const shared = !isPersonal && this.#options.owner?.standsAlone(id) ? this.#options.owner.get(id) : undefined
    if (shared) {
      const done = await shared.use(async (client) => {
        // The server may have been replaced by one of an earlier revision. After a crash, this waits for the new process: a
        // connection of its own for every caller would start as many.
        if (!(await client.readyRules()).multiRoundTrip) return undefined
        return {
          value: await run(shared, client, sendFor(own, relayed)),
        }
      }, signal)
      if (done) return done.value
    }
    return own.use(async (client) => {
      if (relayed && (await client.readyRules()).multiRoundTrip) return run(own, client, sendFor(own, relayed))
      if (relayed?.statesLogLevel && relayed.logLevel) await own.lowerLogLevel(client, relayed.logLevel)
      return run(own, client, {})
    }, signal)
  }

  /** Whether sessions use this connection, because every request to this server stands alone. */
  standsAlone(id: string): boolean {
    const { config, isStateless } = this.#own(id)
    return !config.shared && isStateless
  }

  /** Sets the minimum severity of log messages of all servers. */
  setLogLevel(level: LoggingLevel): void {
    this.#logLevel = level
    for (const connection of this.all()) connection.setLogLevel(level)
  }

  /** Receives log messages that belong to no call. */
  onIdleLog(listener: (server: string, message: LoggingMessageParams) => void): void {
    this.#onIdleLog = listener
  }

  #own(id: string): ServerConnection {
    const found = this.#connections.get(id)
    if (found) return found
    throw new McpError(
      'invalid-argument',
      `There is no server ${JSON.stringify(id)}. There are: ${this.ids().join(', ')}`,
    )
  }

  /** Servers whose definitions are not known yet. */
  unknown(): ServerConnection[] {
    return this.all().filter(
      ({ definitions, state }) => !definitions && (state === 'idle' || state === 'connecting' || state === 'failed'),
    )
  }

  /**
   * Servers whose definitions for callers with other abilities are not known, and may differ. Requests to servers that all
   * callers share do not have abilities of their own when they list.
   */
  unknownFor(abilities: string): string[] {
    if (abilities === this.#abilities) return []
    const known = this.#variants.get(abilities)
    return this.all()
      .filter(({ server, config, definitions, isStateless }) => {
        return definitions && !config.shared && !isStateless && !known?.has(server.id)
      })
      .map(({ server }) => server.id)
  }

  /** @param abilities Those of the caller. Default: those of these connections. */
  sources(abilities = this.#abilities): CatalogSource[] {
    const variants = abilities === this.#abilities ? undefined : this.#variants.get(abilities)
    return this.all().flatMap(({ server, config, definitions: own }) => {
      const definitions = own && (variants?.get(server.id) ?? own)
      if (!definitions) return []
      const { tools, prompts } = definitions
      return [{ id: server.id, trust: server.trust, isPrefixed: config.prefix !== false, tools, prompts }]
    })
  }

  /** Applies a new configuration. Servers whose entry is the same stay connected. */
  async configure(servers: ServerConfigs): Promise<void> {
    const ended: ServerConnection[] = []
    const next = new Map<string, ServerConnection>()
    for (const [id, config] of Object.entries(servers)) {
      const known = this.#connections.get(id)
      if (known && isSame(known.config, config)) next.set(id, known)
      else next.set(id, this.#create(id, config))
    }
    for (const [id, connection] of this.#connections) if (next.get(id) !== connection) ended.push(connection)
    this.#connections.clear()
    for (const [id, connection] of next) this.#connections.set(id, connection)
    await Promise.all(ended.map((connection) => connection.close()))
  }

  async close(): Promise<void> {
    await Promise.all(this.all().map((connection) => connection.close()))
  }

  #create(id: string, config: ServerConfig): ServerConnection {
    const { parts, session, consent, events, onDefinitions, toolNames } = this.#options
    const { limits, info, audit } = parts
    const server: ActionServer = { id, trust: config.trust ?? 'untrusted', address: addressOf(config) }
    const handlers = handlersFor({
      server,
      input: session.input ?? parts.input,
      sampling: parts.samplingFor(consent, session),
      roots: parts.rootsFor(consent, session),
      consent,
      audit,
      caller: session.caller,
      questionsPerMinute: limits.questionsPerMinute,
    })
    this.#abilities = abilitiesOf(handlers)
    // The host tells servers about changes, also of what a caller of a gateway shares.
    const capabilities = {
      ...(handlers.roots && session.roots === undefined && { roots: { listChanged: true } }),
      ...(parts.hasContext(session) && { sampling: { context: {} } }),
    }
    const client = { handlers, capabilities, trusted: server.trust === 'trusted', tasks: true }
    const auth = 'url' in config ? (session.authFor?.(id) ?? config.auth) : undefined
    const scopes = new GrantedScopes(auth)
    const open = {
      server,
      config: auth && 'url' in config ? { ...config, auth: scopes.auth } : config,
      info,
      connectTimeoutMs: limits.connectTimeoutMs,
    }
    const connection: ServerConnection = new ServerConnection({
      server,
      config,
      client,
      maxDefinitionBytes: limits.maxDefinitionBytes,
      open: (options, signal) =>
        openClient({ ...open, signal, approve: (target) => this.#approveTarget(server, target) }, options),
      approveDefinitions: async (definitions) => this.#approveDefinitions(server, definitions, await scopes.current()),
      onState: (state, error) => this.#changed(id, state, error),
      onDefinitions: () => {
        const { definitions } = connection
        const { owner } = this.#options
        if (definitions && owner) {
          owner.#own(id).adopt(definitions)
          owner.#learn(this.#abilities, id, definitions)
        }
        onDefinitions()
      },
      onError: (error) => events.emit('error', { server: id, error }),
      cleanLog: (value) => cleanNotification(value, toolNames(), id),
      updateBudget: (this.#options.owner ?? this).#budgetOf(id),
      onFlood: (what) => (this.#options.owner ?? this).#flooded(id, what),
    })
    connection.logs.onIdle = (message) => this.#onIdleLog?.(id, message)
    if (this.#logLevel) connection.setLogLevel(this.#logLevel)
    return connection
  }

  /** The resource templates of a server that were approved, also while it is not available. */
  approvedTemplates(id: string): string[] {
    const { state, approvedPins } = this.#options.parts
    const pinned = approvedPins.get(id) ?? (state.record.pins[id] as PinnedDefinitions | undefined)
    return (pinned?.items ?? []).filter(({ kind }) => kind === 'resource template').map(({ name }) => name)
  }

  /** Remembers what a session got, for other callers with the same abilities. */
  #learn(abilities: string, id: string, definitions: Definitions): void {
    if (abilities === this.#abilities) return
    const variants = this.#variants.get(abilities) ?? new Map<string, Definitions>()
    this.#variants.set(abilities, variants)
    if (variants.get(id) === definitions) return
    variants.set(id, definitions)
    this.#options.onDefinitions()
  }

  /** Definitions are approved for each set of abilities. Those of the host itself have the id alone. */
  get #pinSuffix(): string {
    const { owner } = this.#options
    return owner && owner.#abilities !== this.#abilities ? ` ${this.#abilities || 'none'}` : ''
  }

  /** A command or URL that was approved before is not asked about again, unless it changed, or looks dangerous and no person saw it. */
  async #approveTarget(server: ActionServer, given: Target): Promise<void> {
    const { parts, consent } = this.#options
    const { state, approvedTargets } = parts
    const { id } = server
    const { target, env, findings } = given
    const before = state.record.connections[id]
    // The salt of the stored approval, so that a grant that was stored with it is found.
    const salt = before?.salt ?? parts.salt
    const { digest, envDigest } = await digestsOf(given, salt)
    const own = salt === parts.salt ? digest : (await digestsOf(given, parts.salt)).digest
    const isKnown = before?.digest === digest && coversCommand(before, findings)
    if (isKnown || approvedTargets.get(id) === own) return
    const action = { kind: 'connect', server, target, env, ...(envDigest !== undefined && { envDigest }) } as const
    const verdict = await consent.require({ ...action, before: before?.target }, findings)
    approvedTargets.set(id, own)
    if (verdict?.duration !== 'always') return
    const { by, program } = verdict
    await state.update(({ connections }) => {
      connections[id] = {
        digest,
        ...(envDigest !== undefined && { salt }),
        target,
        by: by === 'user' ? by : 'program',
        ...(program !== undefined && { program }),
      }
    })
  }

  /**
   * Definitions that were approved before are used at once. Those of the first use are too, unless something is suspicious;
   * the connection was approved a moment ago. Changed ones need approval.
   */
  async #approveDefinitions(server: ActionServer, definitions: Definitions, scopes: readonly string[]): Promise<void> {
    const { parts, consent, events } = this.#options
    const { state, audit, approvedPins } = parts
    const { id } = server
    const key = `${id}${this.#pinSuffix}`
    const pinOf = (name: string) => approvedPins.get(name) ?? (state.record.pins[name] as PinnedDefinitions | undefined)
    const base = pinOf(id)
    // What the user approved may be missing for other abilities, and more may be there, but it must not be different.
    const differs =
      key !== id && base !== undefined && !(await sharesDefinitions(base, withPinnedVersion(base, definitions)))
    const pinned = pinOf(key) ?? (differs ? base : undefined)
    const isFirstUse = pinned === undefined
    const apart = pinned ? withPinnedVersion(pinned, definitions) : definitions
    const compared = await comparePins(pinned, apart)
    if (compared.outcome === 'same') {
      if (apart !== definitions) await this.#noteVersion(key, server, definitions)
      return
    }
    const { changes } = compared
    const findings = inspectDefinitions(id, definitions, this.#others(id), scopes)
    for (const finding of findings) events.emit('finding', { server: id, finding })
    if (!isFirstUse) audit?.append({ event: 'definitions-changed', server: id, details: { changes } })
    const isAsked = !isFirstUse || findings.some(({ severity }) => severity === 'high')
    const verdict = isAsked
      ? await consent.require({ kind: 'definitions', server, changes, isFirstUse }, findings)
      : undefined
    const pin = await pinDefinitions(definitions)
    approvedPins.set(key, pin)
    // Any other approval is forgotten when the host closes.
    if (verdict?.duration !== undefined && verdict.duration !== 'always') return
    await state.update(({ pins }) => {
      pins[key] = pin
    })
  }

  /** Pins a new version of a server that offers the same as before. Whether the pin is stored does not change. */
  async #noteVersion(key: string, { id }: ActionServer, definitions: Definitions): Promise<void> {
    const { state, audit, approvedPins } = this.#options.parts
    const { version = '' } = definitions.identity ?? {}
    const changes = [
      { kind: 'changed', what: 'server', details: [`version: now ${JSON.stringify(version.slice(0, 100))}`] },
    ]
    audit?.append({ event: 'definitions-changed', server: id, details: { changes } })
    const pin = await pinDefinitions(definitions)
    if (approvedPins.has(key)) approvedPins.set(key, pin)
    if (!state.record.pins[key]) return
    await state.update(({ pins }) => {
      if (pins[key]) pins[key] = pin
    })
  }

  #budgetOf(id: string): TokenBucket {
    const budget = this.#budgets.get(id) ?? createUpdateBudget()
    this.#budgets.set(id, budget)
    return budget
  }

  /** Reports that messages of a server are dropped or joined, once in a while and not for every caller. */
  #flooded(id: string, what: FloodKind): void {
    const { parts, events } = this.#options
    const key = `${what} ${id}`
    const now = clock.monotonic()
    if (now - (this.#reported.get(key) ?? Number.NEGATIVE_INFINITY) < floodReportMs) return
    this.#reported.set(key, now)
    parts.audit?.append({ event: 'flood', server: id, details: { what } })
    const message = `Server "${id}" sends too many ${what}: most of them are not passed on.`
    events.emit('error', { server: id, error: new McpError('overloaded', message) })
  }

  #others(id: string): OtherServer[] {
    return this.all().flatMap(({ server, definitions }) =>
      server.id !== id && definitions ? [{ id: server.id, definitions }] : [],
    )
  }

  #changed(id: string, state: ServerState, error: unknown): void {
    const { parts, session, events } = this.#options
    const event = auditEvents[state]
    const details = error === undefined ? {} : { error: error instanceof Error ? error.message : String(error) }
    if (event) parts.audit?.append({ event, server: id, caller: session.caller, details })
    events.emit('server', { id, state, ...(error !== undefined && { error }) })
  }
}

/** Digests of what is approved. Without values that are part of it, there is nothing to keep secret. */
async function digestsOf(
  { target, env, variables }: Target,
  salt: string,
): Promise<{ readonly digest: string; readonly envDigest?: string }> {
  if (variables.length === 0) return { digest: await digestOf([target, ...env]) }
  const envDigest = await digestOf([salt, variables])
  return { digest: await digestOf([target, ...env, { envDigest }]), envDigest }
}

type Auth = UrlServerConfig['auth']

/** The scopes that a connection has got: known once the server has required a login. */
class GrantedScopes {
  readonly auth: Auth
  #session: unknown

  constructor(auth: Auth) {
    this.#session = auth
    this.auth = typeof auth === 'function' ? (server) => this.#keep(auth(server)) : auth
  }

  async current(): Promise<readonly string[]> {
    return this.#session instanceof OAuthSession ? this.#session.scopes() : []
  }

  #keep<T>(session: T): T {
    this.#session = session
    return session
  }
}

/** Whether the server sends log messages only for a request that is open, because its revision knows no others. */
function isStandalone({ rules }: Client): boolean {
  return rules?.multiRoundTrip === true
}

/** The abilities that handlers give a client, as a key. */
function abilitiesOf(handlers: object): string {
  return Object.keys(handlers).sort().join(' ')
}

/** What a request that stands alone says about its caller, so that its questions reach the call that caused them. */
function sendFor(own: ServerConnection, relayed: RelayedOptions | undefined): CallOptions {
  return { input: own.inputFor(relayed?.origin, relayed?.exchange), logLevel: relayed?.logLevel }
}

const auditEvents: Partial<Record<ServerState, 'connected' | 'disconnected' | 'connect-failed'>> = {
  ready: 'connected',
  idle: 'disconnected',
  failed: 'connect-failed',
}

/** Objects such as `auth` and `sandbox` cannot be compared, so the entry counts as changed unless they are identical. */
function isSame(a: ServerConfig, b: ServerConfig): boolean {
  const keys = new Set([...Object.keys(a), ...Object.keys(b)])
  return [...keys].every((key) => {
    const [left, right] = [Reflect.get(a, key), Reflect.get(b, key)]
    const isPlain = key !== 'auth' && key !== 'sandbox' && key !== 'server'
    return left === right || (isPlain && JSON.stringify(left) === JSON.stringify(right))
  })
}
