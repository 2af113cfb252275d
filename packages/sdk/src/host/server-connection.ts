import type { Client } from '../client/client.ts'
import { CallQuestions } from '../client/input/call-questions.ts'
import type { ClientOptions } from '../client/options.ts'
import type { CallInput } from '../era/client.ts'
import { DeniedError, McpError, UrlElicitationRequiredError } from '../errors.ts'
import { isAtLeast, type LoggingLevel } from '../protocol/logging.ts'
import { tasksExtension } from '../protocol/tasks.ts'
import type { Tool } from '../protocol/tools.ts'
import { untilAborted } from '../util/abort.ts'
import { type Backoff, backoffMs } from '../util/backoff.ts'
import { clock } from '../util/clock.ts'
import { pause, scheduler, type Timer } from '../util/scheduler.ts'
import { TokenBucket } from '../util/token-bucket.ts'
import type { ActionServer } from './action.ts'
import { CallLogs } from './call-logs.ts'
import type { ServerConfig } from './config/server-config.ts'
import { type Definitions, digestOf } from './definitions.ts'
import type { FloodKind, ServerState } from './events.ts'
import { cleanConnectError, cleanServerError } from './findings/server-errors.ts'
import { loadDefinitions } from './load-definitions.ts'
import type { QuestionOrigin } from './relayed-options.ts'
import { ServerSubscriptions } from './server-subscriptions.ts'

const defaultIdleMs = 300_000

/** How long a server that could not be reached is left alone. */
const retries: Backoff = { initialDelayMs: 1_000, maxDelayMs: 60_000, growth: 2, maxRetries: 1_000 }

/** Changes that a server announces in quick succession are checked together. */
const changeDelayMs = 20

/** How often the definitions of a server are read again. One that announces more changes is checked late. */
const changeBurst = 10
const changesPerSecond = 0.5
const lateChangeDelayMs = 2_000

export interface ServerConnectionOptions {
  readonly server: ActionServer
  readonly config: ServerConfig
  readonly client: ClientOptions
  readonly maxDefinitionBytes: number
  /** Opens the connection, after the user has approved it. */
  open(client: ClientOptions, signal: AbortSignal): Promise<Client>
  /** Resolves when the definitions may be used; rejects if they may not. */
  approveDefinitions(definitions: Definitions): Promise<void>
  onState(state: ServerState, error?: unknown): void
  /** The definitions are different from before. */
  onDefinitions(): void
  onError(error: unknown): void
  /** The notifications about updates that the server may cause. */
  readonly updateBudget: TokenBucket
  /** Replaces what must not be handed on in log messages. */
  cleanLog(value: unknown): unknown
  /** The server sends more of these messages than are passed on. */
  onFlood(what: FloodKind): void
}

/** The connection to one server: opened by the first call, closed when idle, and opened again after a failure. */
export class ServerConnection {
  readonly #options: ServerConnectionOptions
  #state: ServerState
  #error: unknown
  #client: Client | undefined
  #opening: Promise<Client> | undefined
  #checking: Promise<void> | undefined
  /** The server announced a change that was not read yet. */
  #isChanged = false
  /** The user denied the definitions. Asking again is up to the user. */
  #isDenied = false
  readonly #changeRate = new TokenBucket(changeBurst, changesPerSecond, clock.monotonic())
  #definitions: Definitions | undefined
  #hasResources = false
  #activeCalls = 0
  #idleTimer: Timer | undefined
  #failures = 0
  #retryAt = 0
  /** When a list first waited for definitions that are not known yet. */
  #awaitedSince: number | undefined
  #isStateless = false
  #hasTaskExtension = false
  #questions: CallQuestions | undefined
  #logLevel: LoggingLevel | undefined
  readonly logs: CallLogs
  readonly subscriptions: ServerSubscriptions
  readonly #closing = new AbortController()

  constructor(options: ServerConnectionOptions) {
    this.#options = options
    this.#state = options.config.disabled ? 'disabled' : 'idle'
    this.logs = new CallLogs(() => options.onFlood('log messages'), options.cleanLog)
    this.subscriptions = new ServerSubscriptions({
      updateBudget: options.updateBudget,
      onFlood: () => options.onFlood('resource updates'),
      use: (work) => this.use(work),
      onEmpty: () => this.#startIdleTimer(),
      onError: options.onError,
    })
  }

  get server(): ActionServer {
    return this.#options.server
  }

  get config(): ServerConfig {
    return this.#options.config
  }

  get state(): ServerState {
    return this.#state
  }

  /** Why the server is `failed` or `held`. */
  get error(): unknown {
    return this.#error
  }

  /** The client, if there is a connection. */
  get client(): Client | undefined {
    return this.#client
  }

  /** The approved definitions. They are kept while the server is not connected; undefined until the first connection. */
  get definitions(): Definitions | undefined {
    return this.#state === 'held' || this.#state === 'disabled' ? undefined : this.#definitions
  }

  /** Whether the server had resources when it was last connected. */
  get hasResources(): boolean {
    return this.#hasResources && this.definitions !== undefined
  }

  /** Whether every request to the server stood alone when it was last connected, so that many callers can share it. */
  get isStateless(): boolean {
    return this.#isStateless
  }

  /** Whether the server decides which calls become tasks (2026-07-28). */
  get hasTaskExtension(): boolean {
    return this.#hasTaskExtension
  }

  /** Uses definitions that were approved on another connection to the same server, while there are none of this one. */
  adopt(definitions: Definitions): void {
    if (this.#definitions) return
    this.#definitions = definitions
    this.#options.onDefinitions()
  }

  /** What a call on another connection to the same server needs to ask the user of this one. */
  inputFor(origin: QuestionOrigin | undefined, exchange: CallInput['exchange']): CallInput {
    const { server, client } = this.#options
    this.#questions ??= new CallQuestions(client.handlers ?? {}, { name: server.id, address: server.address })
    return this.#questions.of((key) => origin?.withKey?.(key) ?? origin, exchange)
  }

  /** Sets the minimum severity of log messages, also for later connections. */
  setLogLevel(level: LoggingLevel): void {
    this.#logLevel = level
    if (this.#client) void this.#applyLogLevel(this.#client)
  }

  /** Makes the server send messages of this severity, if it does not yet. Calls that want fewer filter them. */
  async lowerLogLevel(client: Client, level: LoggingLevel): Promise<void> {
    if (this.#logLevel !== undefined && isAtLeast(level, this.#logLevel)) return
    this.#logLevel = level
    await this.#applyLogLevel(client)
  }

  /** Whether the server still has exactly this tool, and may be used. Waits for definitions that are being read. */
  async stillHas(tool: Tool): Promise<boolean> {
    await this.#checking
    const now = this.definitions?.tools.find(({ name }) => name === tool.name)
    return now !== undefined && (now === tool || (await digestOf(now)) === (await digestOf(tool)))
  }

  /** Tells the server that the list of roots has changed, if its revision has that. */
  rootsChanged(): void {
    const method = 'notifications/roots/list_changed'
    if (this.#client?.state === 'ready' && this.#client.rules?.lacks(method) === false) this.#client.notify(method)
  }

  /** Runs work with a connected client whose definitions are approved. */
  async use<T>(work: (client: Client) => Promise<T>, signal?: AbortSignal | undefined): Promise<T> {
    this.#activeCalls++
    this.#stopIdleTimer()
    try {
      const client = await (signal ? untilAborted(this.ready(), signal, cancelled) : this.ready())
      return await work(client)
    } catch (error) {
      throw loginRequired(error) ?? this.#named(cleanServerError(error, this.#options.cleanLog))
    } finally {
      this.#activeCalls--
      this.#startIdleTimer()
    }
  }

  /** Connects if necessary. Rejects at once while the server is left alone after a failure. */
  async ready(): Promise<Client> {
    if (this.#closing.signal.aborted) throw hostClosed()
    if (this.#state === 'disabled')
      throw new McpError('not-connected', `Server "${this.server.id}" is disabled in the configuration`)
    if (this.#checking) await this.#checking
    if (this.#state === 'held') throw this.#held(this.#error)
    if (this.#client) return this.#client
    if (this.#state === 'failed' && clock.monotonic() < this.#retryAt) throw this.#error
    this.#opening ??= this.#open().finally(() => {
      this.#opening = undefined
    })
    return this.#opening
  }

  /**
   * How much longer lists wait for the definitions, of `limitMs` in total. A server that was late once is not waited for again,
   * so that it does not delay every list.
   */
  patienceMs(limitMs: number): number {
    const now = clock.monotonic()
    this.#awaitedSince ??= now
    return Math.max(this.#awaitedSince + limitMs - now, 0)
  }

  /** Connects now, and asks again for definitions that are held. */
  async retry(): Promise<void> {
    this.#retryAt = 0
    this.#awaitedSince = undefined
    if (this.#state === 'held') await this.disconnect()
    await this.use(async () => {})
  }

  /** Closes the connection. The next call opens it again. */
  async disconnect(): Promise<void> {
    this.#stopIdleTimer()
    const client = this.#client
    this.#client = undefined
    this.subscriptions.lost()
    if (this.#state !== 'disabled') this.#setState('idle')
    this.#failures = 0
    this.#retryAt = 0
    this.#isDenied = false
    await client?.close()
  }

  /** Closes the connection for good. */
  async close(): Promise<void> {
    this.#closing.abort(hostClosed())
    await this.#opening?.catch(() => {})
    await this.disconnect()
  }

  /**
   * Reads the definitions again, and asks for approval if they changed. A server that announces changes all the time is checked
   * less and less often, and not at all after the user denied its definitions.
   */
  check(): void {
    this.#isChanged = true
    if (this.#isDenied) return
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined
      if (this.#isChanged && !this.#closing.signal.aborted) this.check()
    })
  }

  async #open(): Promise<Client> {
    this.#setState('connecting')
    let client: Client | undefined
    try {
      client = await this.#options.open(this.#options.client, this.#closing.signal)
      if (this.#closing.signal.aborted) throw hostClosed()
      await this.#approve(client)
      // The user may have thought about it for minutes.
      if (client.state === 'closed') throw new McpError('closed', 'the connection was lost')
      this.#listen(client)
      this.#isStateless = client.rules?.multiRoundTrip === true
      this.#hasTaskExtension = client.server.capabilities.extensions?.[tasksExtension] !== undefined
      void this.#applyLogLevel(client)
      this.#client = client
      this.subscriptions.connected(client)
      this.#failures = 0
      this.#setState('ready')
      this.#startIdleTimer()
      return client
    } catch (failure) {
      const error = loginRequired(failure) ?? cleanConnectError(failure, this.#options.cleanLog)
      await client?.close().catch(() => {})
      this.#fail(error)
      throw error
    }
  }

  async #approve(client: Client): Promise<void> {
    // Before the approval, because the connection may be lost meanwhile.
    const { capabilities } = client.server
    const definitions = await loadDefinitions(client, this.#options)
    try {
      await this.#options.approveDefinitions(definitions)
    } catch (error) {
      this.#isDenied = error instanceof DeniedError
      this.#setState('held', error)
      throw this.#held(error)
    }
    this.#isDenied = false
    this.#awaitedSince = undefined
    this.#definitions = definitions
    this.#hasResources = capabilities.resources !== undefined
    this.#options.onDefinitions()
  }

  async #check(): Promise<void> {
    const isLate = !this.#changeRate.take(clock.monotonic())
    await pause(isLate ? lateChangeDelayMs : changeDelayMs, { signal: this.#closing.signal, unref: true })
    this.#isChanged = false
    const client = this.#client
    if (!client || this.#closing.signal.aborted) return
    try {
      await this.#approve(client)
      if (this.#state === 'held') this.#setState(this.#client === client ? 'ready' : 'idle')
    } catch (error) {
      this.#options.onError(error)
      // What a server cannot list any more may have changed as well.
      if (this.#state !== 'held') this.#setState('held', error)
      this.#options.onDefinitions()
    }
  }

  #listen(client: Client): void {
    const check = () => this.check()
    client.on('toolsChanged', check)
    client.on('promptsChanged', check)
    client.on('updatesMissed', check)
    client.on('error', ({ error }) => this.#options.onError(error))
    client.on('state', ({ state }) => {
      if (this.#client !== client) return
      // A restarted process or a new session may offer something else.
      if (state === 'ready') {
        this.#isStateless = client.rules?.multiRoundTrip === true
        check()
      }
      if (state === 'closed') this.#lost()
    })
    void client.listen({ toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }).catch(() => {})
  }

  async #applyLogLevel(client: Client): Promise<void> {
    if (this.#logLevel === undefined || !client.getServerCapabilities()?.logging) return
    this.logs.attach(client)
    await client.setLoggingLevel(this.#logLevel).catch(this.#options.onError)
  }

  #lost(): void {
    this.#client = undefined
    this.#stopIdleTimer()
    this.subscriptions.lost()
    this.#fail(new McpError('closed', 'the connection was lost'))
    if (!this.subscriptions.isEmpty) void this.#restoreSubscriptions()
  }

  /** Subscribers do not call, so nothing else would connect again. */
  async #restoreSubscriptions(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted && !this.#client && !this.subscriptions.isEmpty) {
      await pause(Math.max(this.#retryAt - clock.monotonic(), 0) + 1, { signal, unref: true })
      if (this.#state === 'held' || this.#state === 'disabled') return
      await this.ready().catch(() => {})
    }
  }

  #fail(error: unknown): void {
    if (this.#state === 'held' || this.#closing.signal.aborted) return
    // The user may log in at any moment.
    if (error instanceof UrlElicitationRequiredError) return this.#setState('failed', error)
    this.#retryAt = clock.monotonic() + backoffMs(retries, this.#failures++)
    this.#setState('failed', error)
  }

  #setState(state: ServerState, error?: unknown): void {
    if (this.#state === state && error === undefined) return
    this.#state = state
    this.#error = error
    this.#options.onState(state, error)
  }

  #startIdleTimer(): void {
    const { idleMs = defaultIdleMs } = this.#options.config
    if (!this.#client || this.#activeCalls > 0 || !this.subscriptions.isEmpty || idleMs === Number.POSITIVE_INFINITY)
      return
    this.#stopIdleTimer()
    this.#idleTimer = scheduler.setTimeout(() => void this.disconnect().catch(this.#options.onError), idleMs)
    scheduler.unref(this.#idleTimer)
  }

  #stopIdleTimer(): void {
    scheduler.clearTimeout(this.#idleTimer)
    this.#idleTimer = undefined
  }

  /** Names the server in errors of the connection. Errors that the server sent stay as they are. */
  #named(error: unknown): unknown {
    if (!(error instanceof McpError) || error.code === 'peer' || error.code === 'denied') return error
    const name = `Server "${this.server.id}"`
    if (!error.message.startsWith(name)) error.message = `${name}: ${error.message}`
    return error
  }

  #held(cause: unknown): McpError {
    const message = `Server "${this.server.id}" is not used until its definitions are approved`
    if (cause instanceof McpError && cause.message.startsWith(message)) return cause
    return new McpError('denied', cause instanceof Error ? `${message}: ${cause.message}` : message, { cause })
  }
}

/** The credentials of a user may need a login first. Whatever failed because of that, the user has to know. */
function loginRequired(error: unknown): UrlElicitationRequiredError | undefined {
  let cause = error
  for (let depth = 0; depth < 10 && cause instanceof Error; depth++) {
    if (cause instanceof UrlElicitationRequiredError) return cause
    cause = cause.cause
  }
  return undefined
}

function hostClosed(): McpError {
  return new McpError('closed', 'The host is closed')
}

function cancelled(reason: unknown): McpError {
  return new McpError('cancelled', 'The call was cancelled while it waited for the connection', { cause: reason })
}
