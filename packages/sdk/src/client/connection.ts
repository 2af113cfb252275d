import type { ClientIdentity, Listening } from '../era/client.ts'
import { type Negotiated, negotiate } from '../era/negotiate.ts'
import { type CloseDetail, ClosedError, McpError, TimeoutError } from '../errors.ts'
import { Link, type Receiver, type SendOptions } from '../jsonrpc/link.ts'
import type { Params, ResultObject } from '../jsonrpc/message.ts'
import type { Transport } from '../jsonrpc/transport.ts'
import type { Revision } from '../protocol/revision.ts'
import type { SubscriptionFilter } from '../protocol/types.ts'
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
  readonly receiver: Omit<Receiver, 'closed'>
  onState(change: StateChange): void
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
  end(): void
}

const minute = 60_000
const firstDelayMs = 100

/** The life of a connection: made, lost, made again, closed. */
export class Connection {
  readonly #options: ConnectionOptions
  readonly #open = new Map<Subscription, OpenSubscription>()
  #transport: Transport | undefined
  #live: Negotiated | undefined
  #coming: Promise<Negotiated> | undefined
  #restarted: number[] = []
  #state: ClientState = 'idle'
  #reason: string | undefined
  #closing = false
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
    if (live) {
      for (const { listening } of this.#open.values()) if (!live.era.answersRequests) await listening.close()
      await live.link.close()
    } else await this.#transport?.close()
    for (const { end } of this.#open.values()) end()
    this.#setState('closed', 'close() was called')
  }

  /** Goes out at once when the connection is there, and waits for one that is being made again. */
  call(method: string, params: Params | undefined, options: SendOptions | undefined): Promise<ResultObject> {
    const live = this.#live
    if (live) return live.era.call(live.link, method, params, options)
    return this.ready().then(({ era, link }) => era.call(link, method, params, options))
  }

  async listen(filter: SubscriptionFilter): Promise<Subscription> {
    const { era, link } = await this.ready()
    const over = deferred<void>()
    const open: OpenSubscription = { filter, listening: await era.listen(link, filter), end: over.resolve }
    const subscription: Subscription = {
      ended: over.promise,
      get honoured() {
        return open.listening.honoured
      },
      close: () => open.listening.close(),
    }
    this.#open.set(subscription, open)
    this.#watch(subscription, open)
    return subscription
  }

  /** A lost connection is made again and listened on again; any other end is the end. */
  #watch(subscription: Subscription, open: OpenSubscription): void {
    void open.listening.ended.then((how) => {
      if (how === 'lost' && !this.#closing) return
      this.#open.delete(subscription)
      open.end()
    })
  }

  async ready(): Promise<Negotiated> {
    const negotiated = this.#live ?? (this.#state === 'reconnecting' ? await this.#coming : undefined)
    if (!negotiated) throw notConnected(this.#state, this.#reason)
    return negotiated
  }

  async #connect(): Promise<Negotiated> {
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
      this.#watch(subscription, open)
    }
    this.#setState('ready')
    return live
  }

  async #openLink(): Promise<Link> {
    // A server that is being closed is not started once more.
    if (this.#closing) throw new ClosedError('The client was closed')
    const receiver: Receiver = {
      ...this.#options.receiver,
      closed: (link, detail) => this.#lost(link, detail),
    }
    const link = new Link(this.#transport!, receiver)
    link.answersFaults = false
    await link.open()
    return link
  }

  #lost(link: Link, detail: CloseDetail | undefined): void {
    // A server that dies while it is being greeted is the business of negotiation.
    if (this.#closing || this.#live?.link !== link) return
    this.#live = undefined
    const reason = describeEnd(detail)
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
    const said = this.#transport?.stderr?.trim()
    const what = `The server did not answer within ${connectTimeoutMs} ms (connectTimeoutMs)`
    return new TimeoutError(said ? `${what}. The last it wrote to stderr:\n${said}` : what, connectTimeoutMs, { cause })
  }

  #mayRestart(): boolean {
    const now = Date.now()
    this.#restarted = this.#restarted.filter((at) => now - at < minute)
    return this.#restarted.length < this.#options.restarts
  }

  async #reconnect(): Promise<Negotiated> {
    for (;;) {
      await delay(firstDelayMs * 2 ** this.#restarted.length * (0.5 + Math.random()))
      if (this.#closing) throw notConnected('closed')
      this.#restarted.push(Date.now())
      try {
        return await this.#connect()
      } catch (error) {
        // Whatever was started and did not answer must not speak on the next connection.
        await this.#transport!.close()
        if (this.#closing) throw error
        if (this.#mayRestart()) continue
        this.#closing = true
        this.#setState('closed', 'The connection could not be made again', error)
        throw error
      }
    }
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
  return detail.signal ? `The server was ended by ${detail.signal}` : `The server exited with code ${detail.exitCode}`
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
