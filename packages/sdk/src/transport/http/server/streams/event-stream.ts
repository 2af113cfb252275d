import type { EventStore } from '../../../../store/ports.ts'
import { isThenable } from '../../../../util/maybe-async.ts'
import type { EventSink } from '../call.ts'

/** Options of an event stream. */
export interface EventStreamOptions {
  /** Bytes that the client may be behind before it is disconnected. */
  readonly maxQueuedBytes: number
  /** The stream lost its reader: it ended, or the client is gone or was too slow. */
  onUnread(stream: EventStream): void
  reportError(error: unknown): void
}

/** Sends a stored event. Resolves when the client has read it. */
export type SendEvent = (id: string | undefined, text: string) => Promise<void>

interface StreamEvent {
  readonly id: string | undefined
  readonly text: string
}

/**
 * One SSE stream, which may outlive its connection: with a store, events are kept while the client is away and sent when it
 * resumes the stream (2025-11-25 transports, resumability).
 */
export class EventStream {
  readonly id: string
  readonly #options: EventStreamOptions
  readonly #store: EventStore | undefined
  #sink: EventSink | undefined
  /** Events that were sent during a replay. They follow the replayed ones. */
  #queue: StreamEvent[] | undefined
  #queuedSize = 0
  /** The last pending operation of an asynchronous store. */
  #storing: Promise<void> | undefined
  #ended = false

  /**
   * @param id Begins with the id of its session.
   * @param store Without one, events have no ids and the stream ends with its connection.
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

  /** Whether a client is connected. */
  get connected(): boolean {
    return this.#sink !== undefined
  }

  get resumable(): boolean {
    return this.#store !== undefined
  }

  /** Sends an event that has only an id, so that a client that loses the connection at once can resume the stream. */
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

  /** Sends a comment, which clients ignore, so that proxies do not close a quiet stream. */
  keepAlive(): void {
    // During a replay the events themselves keep the connection alive.
    if (!this.#queue || this.#sink?.waiting === 0) this.#write(':\n\n')
  }

  /** Ends the stream after the events that were sent. */
  end(): void {
    if (this.#ended) return
    this.#ended = true
    this.#afterStoring(() => {
      // A replay finishes first.
      if (!this.#queue) this.#release()
    })
  }

  /** Ends the connection but not the stream: the client resumes it after `retryMs`. */
  disconnect(retryMs: number): void {
    this.#afterStoring(() => {
      this.#write(`retry: ${retryMs}\n\n`)
      this.#release()
    })
  }

  /** Ends the connection at once: its client does not read or answer. With a store, the client can resume the stream. */
  hangUp(): void {
    const sink = this.#sink
    sink?.destroy()
    if (sink) this.lost(sink)
  }

  /** The connection of this sink is gone. */
  lost(sink: EventSink): void {
    if (this.#sink !== sink) return
    this.#sink = undefined
    this.#options.onUnread(this)
  }

  /**
   * Continues on another connection: first the stored events, as fast as the client reads, then those sent meanwhile.
   * @param replay Sends the stored events. Another connection may interrupt it.
   */
  async resume(sink: EventSink, replay: (send: SendEvent) => Promise<void>): Promise<void> {
    this.#sink?.end()
    this.#sink = sink
    const queue: StreamEvent[] = []
    this.#queue = queue
    this.#queuedSize = 0
    const sent = new Set<string | undefined>()
    const send: SendEvent = async (id, text) => {
      if (this.#sink !== sink) return
      sent.add(id)
      if (text !== '') sink.write(toEvent({ id, text }))
      await sink.drained()
    }
    await replay(send)
    await this.#storing
    // One by one, because more may be added while the client reads.
    for (let event = queue.shift(); event; event = queue.shift()) {
      if (event.id === undefined || !sent.has(event.id)) await send(event.id, event.text)
    }
    if (this.#queue === queue) this.#queue = undefined
    if (this.#ended && this.#sink === sink) this.#release()
  }

  #release(): void {
    this.#sink?.end()
    this.#sink = undefined
    this.#options.onUnread(this)
  }

  #deliver(event: StreamEvent): void {
    if (this.#queue) this.#enqueue(this.#queue, event)
    else this.#write(toEvent(event))
  }

  /** A client that resumes a stream and does not read must not fill the memory. */
  #enqueue(queue: StreamEvent[], event: StreamEvent): void {
    queue.push(event)
    this.#queuedSize += event.text.length
    if (this.#queuedSize <= this.#options.maxQueuedBytes || !this.#sink) return
    queue.length = 0
    this.#queue = undefined
    this.hangUp()
  }

  #write(text: string): void {
    const sink = this.#sink
    if (!sink) return
    sink.write(text)
    if (sink.waiting > this.#options.maxQueuedBytes) this.hangUp()
  }

  /** Stores an event. A memory store answers at once; asynchronous stores are awaited in order. */
  #keep(message: string, then: (id: string | undefined) => void): void {
    if (this.#storing) return this.#chain(async () => then(await this.#storeEvent(message)))
    const id = this.#storeEvent(message)
    if (isThenable(id)) this.#chain(async () => then(await id))
    else then(id)
  }

  /** If the store fails, the event is still sent, without an id. */
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

function toEvent({ id, text }: StreamEvent): string {
  return id === undefined ? `event: message\ndata: ${text}\n\n` : `event: message\nid: ${id}\ndata: ${text}\n\n`
}
