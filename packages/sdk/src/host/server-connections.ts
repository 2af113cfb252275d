import type { Client } from '../client/client.ts'
import type { CallOptions } from '../era/client.ts'
import { McpError } from '../errors.ts'
import type { LoggingLevel, LoggingMessageParams } from '../protocol/logging.ts'
import type { Emitter } from '../util/emitter.ts'
import type { ActionServer } from './action.ts'
import type { CatalogSource } from './catalog.ts'
import type { ServerConfig, ServerConfigs } from './config/server-config.ts'
import type { Consent } from './consent.ts'
import { type Definitions, digestOf } from './definitions.ts'
import type { HostEvents, ServerState } from './events.ts'
import { inspectDefinitions } from './findings/inspect.ts'
import type { OtherServer } from './findings/shadowing.ts'
import type { HostParts, SessionOptions } from './host-parts.ts'
import { addressOf, openClient, type Target } from './open-client.ts'
import { comparePins, type PinnedDefinitions, pinDefinitions } from './pins.ts'
import type { RelayedOptions } from './relayed-options.ts'
import { ServerConnection } from './server-connection.ts'
import { handlersFor } from './server-questions.ts'

export interface ServerConnectionsOptions {
  readonly parts: HostParts
  readonly session: SessionOptions
  readonly consent: Consent
  readonly events: Emitter<HostEvents>
  onDefinitions(): void
  /** The connections of the host that this session belongs to. Servers with `shared` use those. */
  readonly owner: ServerConnections | undefined
}

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
  #logLevel: LoggingLevel | undefined
  #onIdleLog: ((server: string, message: LoggingMessageParams) => void) | undefined

  constructor(options: ServerConnectionsOptions) {
    this.#options = options
    for (const [id, config] of Object.entries(options.parts.servers))
      this.#connections.set(id, this.#create(id, config))
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
    const own = this.get(id)
    const run = async (connection: ServerConnection, client: Client, send: CallOptions): Promise<T> => {
      const log = connection.logs.listen(client, relayed?.logLevel && relayed.onLog)
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
        // The server may have been replaced by one of an earlier revision.
        if (!client.rules?.multiRoundTrip) return undefined
        return {
          value: await run(shared, client, sendFor(own, relayed)),
        }
      }, signal)
      if (done) return done.value
    }
    return own.use(async (client) => {
      if (relayed && client.rules?.multiRoundTrip) return run(own, client, sendFor(own, relayed))
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

  /** What the catalog is made of. */
  sources(): CatalogSource[] {
    return this.all().flatMap(({ server, config, definitions }) => {
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
    const { parts, session, consent, events, onDefinitions } = this.#options
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
    const client = { handlers, trusted: server.trust === 'trusted', tasks: true }
    const auth = session.authFor?.(id)
    const open = {
      server,
      config: auth && 'url' in config ? { ...config, auth } : config,
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
      approveDefinitions: (definitions) => this.#approveDefinitions(server, definitions),
      onState: (state, error) => this.#changed(id, state, error),
      onDefinitions: () => {
        const { definitions } = connection
        const { owner } = this.#options
        if (definitions && owner) owner.#own(id).adopt(definitions)
        onDefinitions()
      },
      onError: (error) => events.emit('error', { server: id, error }),
    })
    connection.logs.onIdle = (message) => this.#onIdleLog?.(id, message)
    if (this.#logLevel) connection.setLogLevel(this.#logLevel)
    return connection
  }

  /** A command or URL that was approved before is not asked about again, unless it changed. */
  async #approveTarget(server: ActionServer, { target, env, findings }: Target): Promise<void> {
    const { parts, consent } = this.#options
    const { state, approvedTargets } = parts
    const { id } = server
    const digest = await digestOf([target, ...env])
    const before = state.record.connections[id]
    if (before?.digest === digest || approvedTargets.get(id) === digest) return
    const verdict = await consent.require({ kind: 'connect', server, target, env, before: before?.target }, findings)
    approvedTargets.set(id, digest)
    if (verdict?.duration !== 'always') return
    await state.update(({ connections }) => {
      connections[id] = { digest, target }
    })
  }

  /**
   * Definitions that were approved before are used at once. Those of the first use are too, unless something is suspicious;
   * the connection was approved a moment ago. Changed ones need approval.
   */
  async #approveDefinitions(server: ActionServer, definitions: Definitions): Promise<void> {
    const { parts, consent, events } = this.#options
    const { state, audit, approvedPins } = parts
    const { id } = server
    const pinned = approvedPins.get(id) ?? state.record.pins[id]
    const isFirstUse = pinned === undefined
    const compared = await comparePins(pinned as PinnedDefinitions | undefined, definitions)
    if (compared.outcome === 'same') return
    const { changes } = compared
    const findings = inspectDefinitions(id, definitions, this.#others(id))
    for (const finding of findings) events.emit('finding', { server: id, finding })
    if (!isFirstUse) audit?.append({ event: 'definitions-changed', server: id, details: { changes } })
    const isAsked = !isFirstUse || findings.some(({ severity }) => severity === 'high')
    const verdict = isAsked
      ? await consent.require({ kind: 'definitions', server, changes, isFirstUse }, findings)
      : undefined
    const pin = await pinDefinitions(definitions)
    approvedPins.set(id, pin)
    // An approval for once is forgotten when the host closes.
    if (verdict?.by === 'user' && verdict.duration !== 'always') return
    await state.update(({ pins }) => {
      pins[id] = pin
    })
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
