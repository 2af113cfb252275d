import type { CallOptions, ClientIdentity, Listening } from '../era/client.ts'
import { type Negotiated, negotiate } from '../era/negotiate.ts'
import { AuthError, type CloseDetail, ClosedError, HttpError, McpError, TimeoutError } from '../errors.ts'
import { describeOutput, Link, type Receiver } from '../jsonrpc/link.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { Revision } from '../protocol/revision.ts'
import type { SubscriptionFilter } from '../protocol/subscriptions.ts'
import { type Backoff, backoffMs, defaultBackoff } from '../util/backoff.ts'
import { clock } from '../util/clock.ts'
import { deferred } from '../util/deferred.ts'

export type ClientState = 'idle' | 'connecting' | 'ready' | 'reconnecting' | 'needs-auth' | 'closed'

export interface StateChange {
  state: ClientState
  previous: ClientState
  /** Why it is no longer what it was. */
  reason?: string | undefined
  error?: unknown | undefined
}

export interface ConnectionOptions {
  readonly identity: ClientIdentity
  readonly revisions: readonly Revision[]
  readonly probeTimeoutMs: number
  readonly connectTimeoutMs: number
  /** How often in a minute a server that ended by itself is started again. */
  readonly restarts: number
  readonly receiver: Omit<Receiver, 'closed' | 'gap'>
  /** Whether making the request twice does no more than making it once. */
  isIdempotent(method: string, params: Params | undefined): boolean | Promise<boolean>
  onState(change: StateChange): void
  /** A session took the place of one that the server forgot. */
  onRenewed(renewed: SessionRenewed): void
  /** Changes may have gone unheard for a while. */
  onGap(): void
}

export interface SessionRenewed {
  sessionId: string | undefined
  previous: string | undefined
}

/** A wish to hear of changes that outlives a lost connection. */
export interface Subscription {
  readonly honoured: SubscriptionFilter
  /** Settles when it is over for good: it was closed here or by the server, or the client was closed. */
  readonly ended: Promise<void>
  close(): Promise<void>
}

interface OpenSubscription {
  readonly filter: SubscriptionFilter
  /** The one on the present connection. */
  listening: Listening
  /** When that began, and how often it was lost right after it did. */
  since: number
  losses: number
  end(): void
}

const minute = 60_000

/** What a server may ask at a time. */
const maxQuestions = 200
const firstDelayMs = 100
const longestDelayMs = 10_000

/** How often a call that may be repeated is. */
const maxRepeats = 2

/** A stream of changes that lasted this long was a good one. */
const goodStreamMs = 10_000
const listenBackoff: Backoff = { ...defaultBackoff, maxDelayMs: 30_000 }

/** The life of a connection: made, lost, made again, closed. */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #open = new Map<Subscription, OpenSubscription>()
  readonly #pauses = new Set<() => void>()
  #transport: Transport | undefined
  #live: Negotiated | undefined
  #coming: Promise<Negotiated> | undefined
  #restarted: number[] = []
  #state: ClientState = 'idle'
  #reason: string | undefined
  #resetReason: string | undefined
  #closing = false
  #isConnecting = false
  /** Over a network calls and sessions get lost on servers that are fine. */
  #isRemote = false
  #sessionId: string | undefined
  /** Counts the connections made: what belongs to one is of no use on the next. */
  generation = 0

  constructor(options: ConnectionOptions) {
    this.#options = options
  }

  get state(): ClientState {
    return this.#state
  }

  get live(): Negotiated | undefined {
    return this.#live
  }

  get transport(): Transport | undefined {
    return this.#transport
  }

  async open(transport: Transport): Promise<void> {
    if (this.#transport) {
      throw new McpError('invalid-argument', 'This client was connected already; make another for another server')
    }
    this.#transport = transport
    this.#isRemote = transport.readsHeaders === true || transport.handshakeOnly === true
    this.#setState('connecting')
    try {
      await this.#connect()
    } catch (cause) {
      this.#closing = true
      const error = cause instanceof TimeoutError ? this.#tooSlow(cause) : cause
      await transport.close()
      this.#setState('closed', 'The connection could not be made', error)
      throw error
    }
  }

  async close(): Promise<void> {
    if (this.#closing) return
    this.#closing = true
    const live = this.#live
    this.#live = undefined
    for (const end of this.#pauses) end()
    if (live) {
      // Elsewhere subscriptions end with the session.
      const hasStreams = !live.era.facts.revision.lacks('subscriptions/listen')
      for (const { listening } of this.#open.values()) if (hasStreams) await listening.close()
      await live.link.close()
    } else await this.#transport?.close()
    for (const { end } of this.#open.values()) end()
    this.#setState('closed', 'close() was called')
  }

  /** Closes a connection that no longer answers. It is made again where the transport allows that. */
  async reset(reason: string): Promise<void> {
    const live = this.#live
    if (this.#closing || !live) return
    this.#resetReason = reason
    await this.#transport?.close()
    live.link.ended({ reason })
  }

  /** Goes out at once when the connection is there, and waits for one that is being made again. */
  call(method: string, params: Params | undefined, options: CallOptions | undefined): Promise<ResultObject> {
    const answer = this.#send(method, params, options)
    return this.#isRemote ? this.#insist(answer, method, params, options) : answer
  }

  #send(method: string, params: Params | undefined, options: CallOptions | undefined): Promise<ResultObject> {
    const live = this.#live
    if (live) return live.era.call(live.link, method, params, options)
    return within(this.ready(), method, options).then(({ era, link }) => era.call(link, method, params, options))
  }

  /** 2026-07-28 streamable-http: what broke is never resumed but asked for again, as a new request. */
  async #insist(
    first: Promise<ResultObject>,
    method: string,
    params: Params | undefined,
    options: CallOptions | undefined,
  ): Promise<ResultObject> {
    let answer = first
    for (let repeats = 0; ; repeats++) {
      try {
        return await answer
      } catch (error) {
        if (!isSessionLoss(error) && !isBroken(error)) throw error
        const isIdempotent = await within(this.#isIdempotent(method, params), method, options).catch(() => false)
        const mayRepeat = isIdempotent && repeats < maxRepeats
        if (isSessionLoss(error)) {
          await within(this.#renewed(error, mayRepeat, notRepeated(method, isIdempotent)), method, options)
        } else if (mayRepeat) await this.#pause(backoffMs(defaultBackoff, repeats))
        else throw error
      }
      answer = this.#send(method, params, options)
    }
  }

  async #isIdempotent(method: string, params: Params | undefined): Promise<boolean> {
    return this.#options.isIdempotent(method, params)
  }

  /** Waits for the next session; a call that may have had an effect is not made again in it unasked. */
  async #renewed(cause: ClosedError, mayRepeat: boolean, otherwise: string): Promise<void> {
    await this.ready().catch(() => Promise.reject(cause))
    if (!mayRepeat) throw new McpError('session-renewed', otherwise, { cause })
  }

  async listen(filter: SubscriptionFilter): Promise<Subscription> {
    const live = await this.ready()
    const over = deferred<void>()
    const listening = await live.era.listen(live.link, filter)
    const open: OpenSubscription = { filter, listening, since: clock.now(), losses: 0, end: over.resolve }
    const subscription: Subscription = {
      ended: over.promise,
      get honoured() {
        return open.listening.honoured
      },
      close: async () => {
        this.#open.delete(subscription)
        await open.listening.close()
        open.end()
      },
    }
    this.#open.set(subscription, open)
    this.#watch(subscription, open, live)
    return subscription
  }

  /** A lost connection is made again and listened on again; so is a stream that was lost alone. Any other end is the end. */
  #watch(subscription: Subscription, open: OpenSubscription, live: Negotiated): void {
    void open.listening.ended.then((how) => {
      if (how === 'closed' || this.#closing) this.#over(subscription, open)
      else if (this.#live === live) void this.#listenAgain(subscription, open, live)
    })
  }

  /** For as long as the client lives: the server may be away for long, and come back. */
  async #listenAgain(subscription: Subscription, open: OpenSubscription, live: Negotiated): Promise<void> {
    if (clock.now() - open.since > goodStreamMs) open.losses = 0
    for (let failures = 0; ; failures++) {
      await this.#pause(backoffMs(listenBackoff, open.losses++))
      if (this.#live !== live || !this.#open.has(subscription)) return
      try {
        const listening = await live.era.listen(live.link, open.filter)
        if (!this.#open.has(subscription)) return await listening.close()
        open.listening = listening
        open.since = clock.now()
        this.#options.onGap()
        return this.#watch(subscription, open, live)
      } catch (error) {
        if (failures === 0) this.#options.receiver.error(error)
      }
    }
  }

  #over(subscription: Subscription, open: OpenSubscription): void {
    this.#open.delete(subscription)
    open.end()
  }

  async ready(): Promise<Negotiated> {
    const negotiated = this.#live ?? (this.#state === 'reconnecting' ? await this.#coming : undefined)
    if (!negotiated) throw notConnected(this.#state, this.#reason)
    return negotiated
  }

  async #connect(): Promise<Negotiated> {
    this.#isConnecting = true
    try {
      return await this.#negotiate()
    } finally {
      this.#isConnecting = false
    }
  }

  async #negotiate(): Promise<Negotiated> {
    const { identity, revisions, probeTimeoutMs, connectTimeoutMs } = this.#options
    const live = await negotiate({
      identity,
      revisions,
      probeTimeoutMs,
      timeoutMs: connectTimeoutMs,
      open: () => this.#openLink(),
    })
    if (this.#closing) {
      await live.link.close(0)
      throw notConnected('closed')
    }
    this.#live = live
    this.generation++
    // Nothing of a subscription survives the connection it was made on (2026-07-28 subscriptions).
    for (const [subscription, open] of this.#open) {
      open.listening = await live.era.listen(live.link, open.filter)
      open.since = clock.now()
      this.#watch(subscription, open, live)
    }
    if (this.#live !== live) throw new ClosedError('The connection was lost while it was being made')
    const renewed = { sessionId: this.#transport!.sessionId, previous: this.#sessionId }
    this.#sessionId = renewed.sessionId
    this.#setState('ready')
    if (this.#isRemote && this.generation > 1) this.#options.onRenewed(renewed)
    if (this.generation > 1) this.#options.onGap()
    return live
  }

  async #openLink(): Promise<Link> {
    // A server that is being closed is not started once more.
    if (this.#closing) throw new ClosedError('The client was closed')
    const receiver: Receiver = {
      ...this.#options.receiver,
      closed: (link, detail) => this.#lost(link, detail),
      gap: () => this.#options.onGap(),
    }
    const link = new Link(this.#transport!, receiver, { maxInFlight: maxQuestions })
    link.answersFaults = false
    await link.open()
    return link
  }

  #lost(link: Link, detail: CloseDetail | undefined): void {
    // A server that dies while it is being greeted is the business of negotiation.
    if (this.#closing || this.#live?.link !== link) return
    this.#live = undefined
    // Whoever makes the connection finds out, and tries again; two at once would end each other's.
    if (this.#isConnecting) return
    const reason = this.#resetReason ?? describeEnd(detail)
    this.#resetReason = undefined
    if (!this.#transport!.restartable || !this.#mayRestart()) {
      this.#closing = true
      this.#setState('closed', reason)
      return
    }
    this.#setState('reconnecting', reason)
    this.#coming = this.#reconnect()
    this.#coming.catch(() => {})
  }

  #tooSlow(cause: TimeoutError): TimeoutError {
    const { connectTimeoutMs } = this.#options
    const { lastStderr, strayOutput } = this.#transport ?? {}
    const what = `The server did not answer within ${connectTimeoutMs} ms (connectTimeoutMs)`
    return new TimeoutError(what + describeOutput(lastStderr, strayOutput), connectTimeoutMs, { cause })
  }

  /** A server over a network is not ours to start, so it is waited for; the pauses grow. */
  #mayRestart(): boolean {
    const now = clock.now()
    this.#restarted = this.#restarted.filter((at) => now - at < minute)
    return this.#isRemote || this.#restarted.length < this.#options.restarts
  }

  async #reconnect(): Promise<Negotiated> {
    for (;;) {
      await this.#pause(this.#restartDelayMs())
      if (this.#closing) throw notConnected('closed')
      this.#restarted.push(clock.now())
      try {
        return await this.#connect()
      } catch (error) {
        // Whatever was started and did not answer must not speak on the next connection.
        await this.#transport!.close()
        if (this.#closing) throw error
        // A person has to log in again, and is not asked over and over.
        if (this.#mayRestart() && !(error instanceof AuthError)) continue
        this.#closing = true
        this.#setState('closed', 'The connection could not be made again', error)
        throw error
      }
    }
  }

  /** Ends early when the client is closed, so that nothing waits for it. */
  #pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = () => {
        clearTimeout(timer)
        this.#pauses.delete(end)
        resolve()
      }
      const timer = setTimeout(end, ms)
      this.#pauses.add(end)
    })
  }

  /** A server that forgot a session is there and can be greeted at once; one that ended is given a moment. */
  #restartDelayMs(): number {
    const recent = this.#restarted.length
    if (this.#isRemote && recent === 0) return 0
    return Math.min(longestDelayMs, firstDelayMs * 2 ** recent) * (0.5 + Math.random())
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
  const way = state === 'closed' ? `the connection is closed${why}; make a new client` : 'call connect() first'
  return new McpError('not-connected', `The client is not connected: ${way}`)
}

function describeEnd(detail: CloseDetail | undefined): string {
  if (!detail) return 'The server closed the connection'
  if (detail.reason !== undefined) return `The connection was lost: ${detail.reason}`
  return detail.signal ? `The server was ended by ${detail.signal}` : `The server exited with code ${detail.exitCode}`
}

function notRepeated(method: string, isIdempotent: boolean): string {
  const why = isIdempotent ? ' once more: it was tried in several sessions' : ', because it may have had an effect'
  return `${method} was under way when the server lost the session. There is a new one; the call was not repeated${why}`
}

function isSessionLoss(error: unknown): error is ClosedError {
  return error instanceof ClosedError && error.detail?.sessionLost === true
}

/** The request was sent, and the connection broke before the answer came: ours, or that of a gateway (502, 504). */
function isBroken(error: unknown): boolean {
  if (!(error instanceof HttpError)) return false
  return error.outcome === 'unknown' || error.status === 502 || error.status === 504
}

/** Waiting for a connection counts as waiting for the answer: the caller's time and signal hold there too. */
function within<T>(work: Promise<T>, method: string, options: CallOptions | undefined): Promise<T> {
  const { timeoutMs = 60_000, signal } = options ?? {}
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new McpError('cancelled', `${method} was cancelled`, { cause: signal?.reason }))
    if (signal?.aborted) return giveUp()
    const late = () => {
      const what = `${method} waited longer than ${timeoutMs} ms for the connection to be made again (timeoutMs)`
      reject(new TimeoutError(what, timeoutMs))
    }
    const timer = timeoutMs > 0 ? setTimeout(late, timeoutMs) : undefined
    signal?.addEventListener('abort', giveUp, { once: true })
    work.then(resolve, reject).finally(() => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', giveUp)
    })
  })
}
