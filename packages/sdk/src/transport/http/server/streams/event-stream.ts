import type { EventStore } from '../../../../store/ports.ts'
import { isThenable } from '../../../../util/maybe-async.ts'
import type { EventSink } from '../call.ts'

export interface EventStreamOptions {
  /** Bytes that a client may be behind before it is cut off. */
  readonly maxQueuedBytes: number
  /** Nobody reads it any more: it ended, its reader is gone, or was too slow. */
  onUnread(stream: EventStream): void
  reportError(error: unknown): void
}

/** Sends an event that was kept. Resolves when the client has taken it. */
export type SendEvent = (id: string | undefined, text: string) => Promise<void>

interface Held {
  readonly id: string | undefined
  readonly text: string
}

/**
 * One SSE stream, which may outlive the connection it is sent on: with a store, what is sent while nobody reads is kept and
 * sent when the client comes back for it (2025-11-25 transports, resumability).
 */
export class EventStream {
  readonly id: string
  readonly #options: EventStreamOptions
  readonly #store: EventStore | undefined
  #sink: EventSink | undefined
  /** What came while earlier events are replayed; they go first. */
  #held: Held[] | undefined
  #heldSize = 0
  /** The last store operation under way, for stores that take their time. */
  #storing: Promise<void> | undefined
  #ended = false

  /**
   * @param id Begins with the id of its session, so that it can be told whose it is.
   * @param store Without one, events have no ids, and the stream ends with its connection.
   */
  constructor(id: string, sink: EventSink | undefined, store: EventStore | undefined, options: EventStreamOptions) {
    this.id = id
    this.#sink = sink
    this.#store = store
    this.#options = options
  }

  get ended(): boolean {
    return this.#ended
  }

  /** Whether somebody reads it now. */
  get connected(): boolean {
    return this.#sink !== undefined
  }

  get resumable(): boolean {
    return this.#store !== undefined
  }

  /** An event with nothing but an id, so that a client which loses the stream at once can resume it. */
  prime(): void {
    if (!this.#store) return
    this.#keep('', (id) => {
      if (id !== undefined) this.#write(`id: ${id}\ndata: \n\n`)
    })
  }

  send(message: string): void {
    if (this.#ended) return
    if (this.#store) this.#keep(message, (id) => this.#deliver({ id, text: message }))
    else this.#deliver({ id: undefined, text: message })
  }

  /** A comment, which clients ignore; it keeps proxies from taking a quiet stream for a dead one. */
  keepAlive(): void {
    // A reader that still takes what it came back for shows by that that it is there.
    if (!this.#held || this.#sink?.waiting === 0) this.#write(':\n\n')
  }

  /** Nothing more comes on this stream. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#afterStoring(() => {
      // What is being replayed is finished first.
      if (!this.#held) this.#letGo()
    })
  }

  /** Ends the connection, not the stream: the client is to come back after a while. */
  disconnect(retryMs: number): void {
    this.#afterStoring(() => {
      this.#write(`retry: ${retryMs}\n\n`)
      this.#letGo()
    })
  }

  /** The connection is gone. */
  lost(sink: EventSink): void {
    if (this.#sink !== sink) return
    this.#sink = undefined
    this.#options.onUnread(this)
  }

  /**
   * Goes on with another connection: first what it missed, as fast as it is taken, then what came meanwhile.
   * @param replay Sends what was kept; it may have been interrupted by yet another connection.
   */
  async resume(sink: EventSink, replay: (send: SendEvent) => Promise<void>): Promise<void> {
    this.#sink?.end()
    this.#sink = sink
    const held: Held[] = []
    this.#held = held
    this.#heldSize = 0
    const sent = new Set<string | undefined>()
    const send: SendEvent = async (id, text) => {
      if (this.#sink !== sink) return
      sent.add(id)
      if (text !== '') sink.write(toEvent({ id, text }))
      await sink.drained()
    }
    await replay(send)
    await this.#storing
    // Taken one by one, since more may come while the client takes these.
    for (let event = held.shift(); event; event = held.shift()) {
      if (event.id === undefined || !sent.has(event.id)) await send(event.id, event.text)
    }
    if (this.#held === held) this.#held = undefined
    if (this.#ended && this.#sink === sink) this.#letGo()
  }

  #letGo(): void {
    this.#sink?.end()
    this.#sink = undefined
    this.#options.onUnread(this)
  }

  #deliver(event: Held): void {
    if (this.#held) this.#hold(this.#held, event)
    else this.#write(toEvent(event))
  }

  /** A reader that does not take what it came back for may not make us keep ever more for it. */
  #hold(held: Held[], event: Held): void {
    held.push(event)
    this.#heldSize += event.text.length
    const sink = this.#sink
    if (this.#heldSize <= this.#options.maxQueuedBytes || !sink) return
    held.length = 0
    this.#held = undefined
    sink.destroy()
    this.lost(sink)
  }

  #write(text: string): void {
    const sink = this.#sink
    if (!sink) return
    sink.write(text)
    if (sink.waiting <= this.#options.maxQueuedBytes) return
    // It takes nothing any more: better without it than without memory. With a store it can come back for the rest.
    sink.destroy()
    this.lost(sink)
  }

  /** Memory answers at once; a store that does not is waited for, in order. */
  #keep(message: string, then: (id: string | undefined) => void): void {
    if (this.#storing) return this.#chain(async () => then(await this.#storeEvent(message)))
    const id = this.#storeEvent(message)
    if (isThenable(id)) this.#chain(async () => then(await id))
    else then(id)
  }

  /** A store that fails costs the event its id, and nobody the event. */
  #storeEvent(message: string): string | undefined | Promise<string | undefined> {
    const failed = (error: unknown) => void this.#options.reportError(error)
    try {
      const id = this.#store!.storeEvent(this.id, message)
      return isThenable(id) ? id.then(undefined, failed) : id
    } catch (error) {
      return failed(error) as undefined
    }
  }

  #chain(work: () => Promise<void>): void {
    const before = this.#storing ?? Promise.resolve()
    const storing = before.then(work).catch((error) => this.#options.reportError(error))
    this.#storing = storing
    void storing.then(() => {
      if (this.#storing === storing) this.#storing = undefined
    })
  }

  #afterStoring(work: () => void): void {
    if (this.#storing) this.#chain(async () => work())
    else work()
  }
}

function toEvent({ id, text }: Held): string {
  return id === undefined ? `event: message\ndata: ${text}\n\n` : `event: message\nid: ${id}\ndata: ${text}\n\n`
}
