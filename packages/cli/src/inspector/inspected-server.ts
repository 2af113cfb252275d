import type { RevisionId } from 'tenon'
import { type ClientAuthFactory, oauth, type TokenStore } from 'tenon/auth/client'
import type { Client, Root } from 'tenon/client'
import { CliError, exitCodes } from '../exit-codes.ts'
import { describeTarget, type Target } from '../target.ts'
import { errorNotice, listenForChanges, reportClient } from './client-reports.ts'
import { ComparedConnections } from './compared-connections.ts'
import { type OpenOptions, openConnection } from './connection.ts'
import type { EventLog } from './event-log.ts'
import { ListReader } from './list-reader.ts'
import { readTools } from './lists.ts'
import { clientName } from './login.ts'
import { inOperation } from './operation-context.ts'
import type { ConnectRequest, ListName, ServerAdded, ServerState, ShownError } from './protocol.ts'
import type { Questions } from './questions.ts'
import { ServerFacts } from './server-facts.ts'
import { isUnauthorized, toLoginError, toShownError } from './shown-error.ts'
import { WireRecorder } from './wire-recorder.ts'

/** How to connect to a target. */
export type TargetOptions = Pick<ConnectRequest, 'revision' | 'transport' | 'headers'>

/** Options of an `InspectedServer`. */
export interface InspectedServerOptions {
  readonly id: string
  readonly target: Target
  readonly request: TargetOptions
  readonly log: EventLog
  readonly questions: Questions
  readonly tokens: TokenStore
  readonly timeoutMs?: number | undefined
}

/** An open connection, and what was recorded of it. */
export interface OpenConnection {
  readonly client: Client
  readonly recorder: WireRecorder
}

/** A server on the page: its connection, its lists, and connections of other revisions to compare with. */
export class InspectedServer {
  readonly id: string
  readonly facts: ServerFacts
  readonly lists: ListReader
  readonly #options: InspectedServerOptions
  readonly #compared = new ComparedConnections((revision) => this.#openComparison(revision))
  #roots: readonly Root[] = []
  #attempt = new AbortController()
  #state: ServerState['state'] = 'closed'
  #open: OpenConnection | undefined

  constructor(options: InspectedServerOptions) {
    this.#options = options
    this.id = options.id
    this.facts = new ServerFacts(options.id, options.log)
    this.lists = new ListReader(options.id, options.log)
    options.log.append(this.#added)
  }

  /** The URL; undefined for a command. */
  get url(): string | undefined {
    const { config } = this.#options.target
    return 'url' in config ? config.url : undefined
  }

  /**
   * Connects, also if there is a connection already. Failures are logged.
   * @param auth Lets the user log in. Default: uses the tokens of an earlier login.
   */
  async connect(auth: ClientAuthFactory = this.#storedLogin): Promise<void> {
    const ending = this.#end()
    const { signal } = this.#attempt
    this.#log({ state: 'connecting' })
    await ending
    try {
      const open = await this.#openConnection({ auth, signal, revision: this.#options.request.revision })
      if (signal.aborted) return await open.client.close()
      this.#open = open
      this.#watch(open)
      this.#ready(open)
    } catch (error) {
      if (signal.aborted) return
      if (isUnauthorized(error)) this.#log({ state: 'unauthorized', error: this.#loginError(error) })
      else this.#log({ state: 'failed', error: toShownError(error) })
    }
  }

  /** Disconnects, and stops connecting. */
  async disconnect(): Promise<void> {
    const isActive = this.#state === 'connecting' || this.#state === 'ready'
    const ending = this.#end()
    // Before it ended, because the user may connect again in the meantime.
    if (isActive) this.#log({ state: 'closed' })
    await ending
  }

  /** Disconnects, and removes the server from the page. */
  async remove(): Promise<void> {
    const ending = this.#end()
    this.#options.log.append({ kind: 'server-removed', server: this.id })
    await ending
  }

  /** Replaces the roots. Throws if one is not a folder. */
  async setRoots(roots: readonly Root[]): Promise<void> {
    this.#open?.client.setRoots(roots)
    this.#roots = roots
    this.#logRoots()
    await this.#compared.each(({ client }) => client.setRoots(roots))
  }

  /**
   * Returns the connection for an operation.
   * @param revision Another revision than that of the connection: a connection is opened for it.
   */
  connectionFor(revision: RevisionId | undefined): OpenConnection | Promise<OpenConnection> {
    const open = this.#open
    if (!open) throw new CliError('not-connected', 'The server is not connected.', { exitCode: exitCodes.connection })
    if (revision === undefined || revision === open.client.revision) return open
    return this.#compared.get(revision)
  }

  get #storedLogin(): ClientAuthFactory {
    return oauth({ store: this.#options.tokens, interactive: false, clientName })
  }

  get #added(): ServerAdded {
    const { target, request } = this.#options
    const isNamed = target.source !== undefined
    return {
      kind: 'server-added',
      server: this.id,
      name: isNamed || this.url === undefined ? target.id : new URL(this.url).host,
      ...(isNamed && { isNamed }),
      address: describeTarget(target),
      transport: this.url === undefined ? 'stdio' : (request.transport ?? 'http'),
      revision: request.revision ?? null,
    }
  }

  async #openConnection(
    options: Pick<OpenOptions, 'auth' | 'signal' | 'revision'> & { comparedRevision?: RevisionId },
  ): Promise<OpenConnection> {
    const { target, request, log, questions, timeoutMs } = this.#options
    const { comparedRevision, ...rest } = options
    const { transport, headers } = request
    const recorder = new WireRecorder({ server: this.id, log, facts: this.facts, url: this.url, comparedRevision })
    const handlers = questions.handlersOf(this.id, (method) => recorder.lastOwner(method))
    const { trace } = recorder
    const roots = this.#roots
    const own = { target, transport, headers, timeoutMs, handlers, trace, roots }
    const client = await openConnection({ ...rest, ...own })
    // They may have been edited in the meantime.
    if (this.#roots !== roots) client.setRoots(this.#roots)
    reportClient(client, this.id, this.facts)
    return { client, recorder }
  }

  /** The client needs the list for calls on some revisions. Read first, it is not part of the calls that are compared. */
  async #openComparison(revision: RevisionId): Promise<OpenConnection> {
    const { signal } = this.#attempt
    const auth = this.#storedLogin
    const open = await this.#openConnection({ auth, signal, revision, comparedRevision: revision })
    await inOperation(undefined, () => readTools(open.client)).catch((error) =>
      this.facts.add(errorNotice(this.id, error)),
    )
    return open
  }

  /** Ends every connection, also one that is being opened. */
  async #end(): Promise<void> {
    const open = this.#open
    this.#open = undefined
    this.lists.stop()
    this.#attempt.abort()
    this.#attempt = new AbortController()
    await Promise.allSettled([open?.client.close(), this.#compared.close()])
  }

  #ready({ client, recorder }: OpenConnection): void {
    const { revision, info, capabilities, instructions } = client.server
    const { sessionId } = recorder
    const shown = info && { name: info.name, version: info.version, ...(info.title && { title: info.title }) }
    const all = { revision, info: shown, capabilities: { ...capabilities }, instructions, sessionId }
    this.#log({ state: 'ready', ...all })
    this.#logRoots()
    this.lists.start(client)
  }

  #watch(open: OpenConnection): void {
    const { client } = open
    const { facts, lists, id: server } = this
    const changed = (what: ListName, ...more: ListName[]) => {
      facts.add({ kind: 'changed', server, what })
      for (const list of [what, ...more]) lists.refresh(list)
    }
    client.on('toolsChanged', () => changed('tools'))
    client.on('promptsChanged', () => changed('prompts'))
    client.on('resourcesChanged', () => changed('resources', 'resourceTemplates'))
    client.on('state', ({ state, error }) => {
      if (this.#open !== open) return
      if (state === 'ready') this.#ready(open)
      else if (state === 'reconnecting') this.#log({ state: 'connecting' })
      else if (state === 'closed') this.#closed(error)
    })
    listenForChanges(client).catch((error) => {
      if (this.#open === open) facts.add(errorNotice(server, error))
    })
  }

  #loginError(error: unknown): ShownError | undefined {
    const { target, request } = this.#options
    const own = 'url' in target.config ? target.config.headers : {}
    return toLoginError(error, { ...own, ...request.headers })
  }

  #closed(error: unknown): void {
    void this.#end()
    this.#log({ state: 'closed', ...(error !== undefined && { error: toShownError(error) }) })
  }

  #log(state: Omit<ServerState, 'kind' | 'server'>): void {
    this.#state = state.state
    this.#options.log.append({ kind: 'server-state', server: this.id, ...state })
  }

  #logRoots(): void {
    this.#options.log.append({ kind: 'roots', server: this.id, roots: this.#roots })
  }
}
