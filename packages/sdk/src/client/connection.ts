import type { CallOptions, ClientIdentity, ServerFacts } from '../era/client.ts'
import { type Negotiated, type NegotiationOrder, negotiate } from '../era/negotiate.ts'
import {
  AuthError,
  type CloseDetail,
  ClosedError,
  describeClose,
  describeOutput,
  McpError,
  TimeoutError,
} from '../errors.ts'
import { defaultPing, Heartbeat, type PingOptions } from '../jsonrpc/heartbeat.ts'
import { handlersOf, Link } from '../jsonrpc/link.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Receiver } from '../jsonrpc/receiver.ts'
import { controlMethods } from '../protocol/control-methods.ts'
import type { Revision } from '../protocol/revision.ts'
import type { TraceListener } from '../protocol/trace.ts'
import { type ClientTransport, clientTransportOf } from '../protocol/transport.ts'
import { clock } from '../util/clock.ts'
import { random } from '../util/random.ts'
import { pause } from '../util/scheduler.ts'
import { retryLostCall, withinTimeout } from './requester.ts'
import { traceTransport } from './traced-transport.ts'

/** The state of a client. `reconnecting`: the connection was lost, and a new one is being opened. */
export type ClientState = 'idle' | 'connecting' | 'ready' | 'reconnecting' | 'closed'

/** The event `state`: the client changed from one state to another. */
export interface StateChange {
  state: ClientState
  previous: ClientState
  /** Why the state changed. */
  reason?: string | undefined
  error?: unknown | undefined
}

/** The event `sessionRenewed`: a new session replaced one that the server lost. */
export interface SessionRenewed {
  sessionId: string | undefined
  previous: string | undefined
}

export interface ConnectionOptions {
  readonly identity: ClientIdentity
  readonly revisions: readonly Revision[]
  readonly probeTimeoutMs: number
  readonly connectTimeoutMs: number
  /** How often per minute a server process that exited is restarted. */
  readonly restarts: number
  readonly negotiation: NegotiationOrder
  /** Whether to reconnect when the connection is lost, and to repeat calls. */
  readonly recovers: boolean
  /** Whether messages are passed on as they are. */
  readonly raw: boolean
  /** How long `close` waits for handlers of requests. Undefined: the default of the link. */
  readonly closeGraceMs: number | undefined
  readonly trace: TraceListener | undefined
  readonly receiver: Omit<Receiver, 'closed' | 'gap' | 'methods'>
  /** Whether repeating the request has no further effect. */
  isIdempotent(method: string, params: Params | undefined): boolean | Promise<boolean>
  onState(change: StateChange): void
  onRenewed(renewed: SessionRenewed): void
  /** Notifications may have been lost. */
  onGap(): void
  /** Opens the streams of change notifications on a new connection. */
  reopenStreams(live: Negotiated): Promise<void>
  /** Closes these streams. `live` is undefined when there is no connection. */
  closeStreams(live: Negotiated | undefined): Promise<void>
  onClosed(): void
}

/** How to open the first connection. */
export interface OpenOptions {
  readonly prior: ServerFacts | undefined
  readonly signal: AbortSignal | undefined
  /** Whether to send `notifications/initialized`. Default true. */
  readonly announces: boolean | undefined
}

const minute = 60_000

/** How many requests of the server are handled at a time. */
const maxServerRequests = 200
const firstDelayMs = 100
const longestDelayMs = 10_000

/** The connection to one server: opens it, reconnects when it is lost, closes it. */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #closing = new AbortController()
  #transport: ClientTransport | undefined
  #live: Negotiated | undefined
  #reconnecting: Promise<Negotiated> | undefined
  #restartTimes: number[] = []
  #state: ClientState = 'idle'
  #reason: string | undefined
  #resetReason: string | undefined
  #isClosing = false
  #isConnecting = false
  #hasStarted = false
  /** Over a network, requests and sessions can be lost although the server is healthy. */
  #isRemote = false
  #sessionId: string | undefined
  /** Counts connections: cursors and progress tokens of one are invalid on the next. */
  generation = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  get state(): ClientState {
    return this.#state
  }

  /** The connection in use; undefined while there is none. */
  get live(): Negotiated | undefined {
    return this.#live
  }

  get transport(): ClientTransport | undefined {
    return this.#transport
  }

  async open(given: ClientTransport, options?: OpenOptions): Promise<void> {
    if (this.#transport) {
      throw new McpError(
        'invalid-argument',
        'This client is already connected. Create another client for another server.',
      )
    }
    const { trace } = this.#options
    const transport = trace ? traceTransport(given, trace) : given
    this.#transport = transport
    this.#isRemote = transport.readsHeaders === true || transport.handshakeOnly === true
    this.#setState('connecting')
    try {
      await this.#connect(options)
    } catch (cause) {
      this.#isClosing = true
      const error = cause instanceof TimeoutError ? this.#connectTimeout(cause) : cause
      // A transport that refuses to start, for example because it runs already, is left to the program.
      if (!this.#options.raw || this.#hasStarted) await transport.close()
      this.#setState('closed', 'The connection failed', error)
      throw error
    }
  }

  async close(): Promise<void> {
    if (this.#isClosing) return
    this.#isClosing = true
    const live = this.#live
    this.#live = undefined
    this.#closing.abort()
    await this.#options.closeStreams(live)
    await (live ? live.link.close(this.#options.closeGraceMs) : this.#transport?.close())
    this.#options.onClosed()
    this.#setState('closed', 'close() was called')
  }

  /** Drops a connection that no longer responds. Reconnects if the transport supports it. */
  async reset(reason: string): Promise<void> {
    const live = this.#live
    if (this.#isClosing || !live) return
    this.#resetReason = reason
    await this.#transport?.close()
    live.link.ended({ reason })
  }

  /** Sends a request at once, or after a reconnect that is in progress. */
  call(method: string, params: Params | undefined, options: CallOptions | undefined): Promise<ResultObject> {
    const answer = this.#send(method, params, options)
    return this.#isRemote && this.#options.recovers ? this.#retry(answer, method, params, options) : answer
  }

  /** Resolves with the connection in use, or with the next one while the client reconnects. */
  async ready(): Promise<Negotiated> {
    const negotiated = this.#live ?? (this.#state === 'reconnecting' ? await this.#reconnecting : undefined)
    if (!negotiated) throw notConnected(this.#state, this.#reason)
    return negotiated
  }

  /** Waits. Ends early when the client is closed. */
  pause(delayMs: number): Promise<void> {
    return pause(delayMs, { signal: this.#closing.signal })
  }

  get isClosing(): boolean {
    return this.#isClosing
  }

  #send(method: string, params: Params | undefined, options: CallOptions | undefined): Promise<ResultObject> {
    const live = this.#live
    if (live) return live.era.call(live.link, method, params, options)
    return withinTimeout(this.ready(), method, options).then(({ era, link }) => era.call(link, method, params, options))
  }

  #retry(
    first: Promise<ResultObject>,
    method: string,
    params: Params | undefined,
    options: CallOptions | undefined,
  ): Promise<ResultObject> {
    return retryLostCall(first, method, options, {
      send: () => this.#send(method, params, options),
      isIdempotent: async () => this.#options.isIdempotent(method, params),
      ready: () => this.ready(),
      pause: (delayMs) => this.pause(delayMs),
    })
  }

  async #connect(options?: OpenOptions): Promise<Negotiated> {
    this.#isConnecting = true
    try {
      return await this.#negotiate(options)
    } finally {
      this.#isConnecting = false
    }
  }

  async #negotiate(options: OpenOptions | undefined): Promise<Negotiated> {
    const { identity, revisions, probeTimeoutMs, connectTimeoutMs, negotiation } = this.#options
    const live = await negotiate({
      identity,
      revisions,
      probeTimeoutMs,
      timeoutMs: connectTimeoutMs,
      order: negotiation,
      announces: options?.announces === false ? false : !this.#options.raw || 'delivered',
      prior: options?.prior,
      signal: options?.signal,
      open: () => this.#openLink(),
    })
    if (this.#isClosing) {
      await live.link.close(0)
      throw notConnected('closed')
    }
    this.#live = live
    this.generation++
    await this.#options.reopenStreams(live)
    if (this.#live !== live) throw new ClosedError('The connection was lost while it was being opened')
    const renewed = { sessionId: this.#transport?.sessionId, previous: this.#sessionId }
    this.#sessionId = renewed.sessionId
    this.#setState('ready')
    if (this.#isRemote && this.generation > 1) this.#options.onRenewed(renewed)
    if (this.generation > 1) this.#options.onGap()
    return live
  }

  async #openLink(): Promise<Link> {
    // A server process must not be started again while the client closes.
    if (this.#isClosing || !this.#transport) throw new ClosedError('The client was closed')
    const receiver: Receiver = {
      ...this.#options.receiver,
      methods: controlMethods,
      closed: (link, detail) => this.#lost(link, detail),
      gap: () => this.#options.onGap(),
      describeClose,
    }
    const link = new Link(this.#transport, receiver, { maxInFlight: maxServerRequests })
    link.answersFaults = false
    if (!this.#options.raw) {
      await link.open()
      return link
    }
    link.firstId = 0
    await link.open(handlersOf(this.#transport))
    this.#hasStarted = true
    return link
  }

  #lost(link: Link, detail: CloseDetail | undefined): void {
    // Negotiation handles a server that exits during the handshake.
    if (this.#isClosing || this.#live?.link !== link) return
    this.#live = undefined
    // #connect is running: it fails, and its caller decides whether to try again. A second attempt would interfere with it.
    if (this.#isConnecting) return
    const reason = this.#resetReason ?? describeEnd(detail)
    this.#resetReason = undefined
    if (!this.#options.recovers || !this.#transport?.restartable || !this.#mayRestart()) {
      this.#isClosing = true
      this.#setState('closed', reason)
      return
    }
    this.#setState('reconnecting', reason)
    this.#reconnecting = this.#reconnect()
    this.#reconnecting.catch(() => {})
  }

  #connectTimeout(cause: TimeoutError): TimeoutError {
    const { connectTimeoutMs } = this.#options
    const { lastStderr, strayOutput } = this.#transport ?? {}
    const what = `The server did not answer within ${connectTimeoutMs} ms (connectTimeoutMs)`
    return new TimeoutError(what + describeOutput(lastStderr, strayOutput), connectTimeoutMs, { cause })
  }

  /** Reconnecting over a network restarts no process, so only the backoff limits it. */
  #mayRestart(): boolean {
    const now = clock.now()
    this.#restartTimes = this.#restartTimes.filter((at) => now - at < minute)
    return this.#isRemote || this.#restartTimes.length < this.#options.restarts
  }

  async #reconnect(): Promise<Negotiated> {
    for (;;) {
      await this.pause(this.#restartDelayMs())
      if (this.#isClosing) throw notConnected('closed')
      this.#restartTimes.push(clock.now())
      try {
        return await this.#connect()
      } catch (error) {
        // A process that started but did not answer must not write to the next connection.
        await this.#transport?.close()
        if (this.#isClosing) throw error
        // After a failed login the user has to act, so repeating it would only bother them.
        if (this.#mayRestart() && !(error instanceof AuthError)) continue
        this.#isClosing = true
        this.#setState('closed', 'Reconnecting failed', error)
        throw error
      }
    }
  }

  /** Reconnects at once to a remote server, which may only have lost the session; a process gets a moment to recover. */
  #restartDelayMs(): number {
    const recent = this.#restartTimes.length
    if (this.#isRemote && recent === 0) return 0
    return Math.min(longestDelayMs, firstDelayMs * 2 ** recent) * (0.5 + random.fraction())
  }

  #setState(state: ClientState, reason?: string, error?: unknown): void {
    const previous = this.#state
    if (state === previous) return
    this.#state = state
    this.#reason = reason
    this.#options.onState({ state, previous, ...(reason && { reason }), ...(error !== undefined && { error }) })
  }
}

export function notConnected(state: ClientState, reason?: string): McpError {
  const why = reason ? ` (${reason})` : ''
  const wayOut = state === 'closed' ? `the connection is closed${why}. Create a new client.` : 'call connect() first.'
  return new McpError('not-connected', `The client is not connected: ${wayOut}`)
}

function describeEnd(detail: CloseDetail | undefined): string {
  if (!detail) return 'The server closed the connection'
  if (detail.reason !== undefined) return `The connection was lost: ${detail.reason}`
  return detail.signal
    ? `The server process was killed by ${detail.signal}`
    : `The server process exited with code ${detail.exitCode}`
}

/**
 * Pings the server periodically, and resets the connection when it no longer answers.
 * @param given Undefined: the default, only while a stream is open that could be lost without a sign.
 */
export function startPings(
  given: PingOptions | undefined,
  { era, link }: Negotiated,
  connection: Connection,
  onFailure: (error: unknown) => void,
): Heartbeat | undefined {
  const hasPing = !era.facts.revision.lacks('ping')
  const transport = clientTransportOf(link)
  if (!given && !(hasPing && 'quietMs' in transport)) return undefined
  const options = given ?? defaultPing
  const isDue = () => given !== undefined || (transport.quietMs ?? 0) > options.intervalMs / 2
  const method = hasPing ? 'ping' : 'server/discover'
  return new Heartbeat(options, {
    name: 'The server',
    isLenient: given === undefined,
    ping: (timeoutMs) =>
      isDue() ? era.call(link, method, undefined, { timeoutMs, maxTotalTimeoutMs: timeoutMs }) : undefined,
    onFailure,
    onDead: (reason) => void connection.reset(reason).catch(onFailure),
  })
}
