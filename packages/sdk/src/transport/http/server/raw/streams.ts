import { scheduler, type Timer } from '../../../../util/scheduler.ts'
import type { EventSink, HttpCall } from '../call.ts'
import type { RawEventStore, RawHttpOptions } from './options.ts'

/** The longest interval of a timer. */
const maxTimerMs = 2 ** 31 - 1

/** Unread bytes of a client above which it is disconnected before more is written. */
const maxUnreadBytes = 64 * 1024 * 1024

interface Connection {
  readonly sink: EventSink
  /** Stored events that this connection began with. */
  readonly replayed: ReadonlySet<string> | undefined
}

/** The event streams of one transport by id, and their stored events. A stream may outlive its connection. */
export class RawStreams {
  readonly store: RawEventStore | undefined
  isClosed = false
  readonly #connections = new Map<string, Connection>()
  /** Streams of which the client knows an event id, so that it can resume them. */
  readonly #resumable = new Set<string>()
  /** The last event of each stream that is being stored. Events keep their order. */
  readonly #storing = new Map<string, Promise<void>>()
  readonly #retryMs: number | undefined
  readonly #keepAliveMs: number
  #timer: Timer | undefined

  constructor({ eventStore, retryMs, keepAliveMs = 15_000 }: RawHttpOptions) {
    this.store = eventStore
    this.#retryMs = retryMs
    this.#keepAliveMs = keepAliveMs
  }

  isConnected(id: string): boolean {
    return this.#connections.has(id)
  }

  isResumable(id: string): boolean {
    return this.#resumable.has(id)
  }

  /** Adds the connection of a stream, in place of an earlier one. */
  connect(id: string, call: HttpCall, sink: EventSink, replayed?: ReadonlySet<string>): void {
    if (this.isClosed) return sink.end()
    this.disconnect(id)
    this.#connections.set(id, { sink, replayed })
    if (replayed) this.#resumable.add(id)
    call.onClose(() => this.#lost(id, sink))
    this.#startTimer()
  }

  /** Ends the connection of a stream. With a store, the client can resume it. */
  disconnect(id: string): void {
    const connection = this.#connections.get(id)
    if (!connection) return
    this.#delete(id)
    connection.sink.end()
  }

  /** No message will follow on this stream. */
  complete(id: string): void {
    this.disconnect(id)
    this.#resumable.delete(id)
  }

  /** Ends every connection, and those that are made later. */
  close(): void {
    this.isClosed = true
    for (const id of [...this.#connections.keys()]) this.disconnect(id)
    this.#resumable.clear()
  }

  /** Stores the event that opens a stream. Returns a function that sends it, so that the client can resume the stream from there. */
  async prepare(id: string): Promise<() => void> {
    const eventId = await this.store!.storeEvent(id, {})
    const retry = this.#retryMs === undefined ? '' : `retry: ${this.#retryMs}\n`
    return () => {
      this.#write(id, `id: ${eventId}\n${retry}data: \n\n`)
      this.#resumable.add(id)
    }
  }

  /** Stores a message if there is a store, and writes it if the client is connected. Returns a promise only with a store. */
  send(id: string, text: string): Promise<void> | void {
    if (!this.store) return this.#write(id, toEvent(text, undefined))
    const stored = (this.#storing.get(id) ?? Promise.resolve()).then(() => this.#storeAndWrite(this.store!, id, text))
    const settled = stored.catch(() => {})
    this.#storing.set(id, settled)
    void settled.then(() => {
      if (this.#storing.get(id) === settled) this.#storing.delete(id)
    })
    return stored
  }

  /** Tells the client how long to wait before it reconnects. */
  sendRetry(id: string, retryMs: number): void {
    this.#write(id, `retry: ${retryMs}\n\n`)
  }

  async #storeAndWrite(store: RawEventStore, id: string, text: string): Promise<void> {
    const eventId = await store.storeEvent(id, JSON.parse(text))
    // Looked up now, because the client may have resumed the stream meanwhile, and may have got this event already.
    const connection = this.#connections.get(id)
    if (!connection || connection.replayed?.has(eventId)) return
    this.#write(id, toEvent(text, eventId))
    this.#resumable.add(id)
  }

  #write(id: string, text: string): void {
    const sink = this.#connections.get(id)?.sink
    if (!sink) return
    if (sink.waiting <= maxUnreadBytes) return sink.write(text)
    sink.destroy()
    this.#lost(id, sink)
  }

  #lost(id: string, sink: EventSink): void {
    // A connection that ends late must not end its successor.
    if (this.#connections.get(id)?.sink === sink) this.#delete(id)
  }

  #delete(id: string): void {
    this.#connections.delete(id)
    if (this.#connections.size > 0) return
    scheduler.clearInterval(this.#timer)
    this.#timer = undefined
  }

  #startTimer(): void {
    const everyMs = this.#keepAliveMs
    if (this.#timer || !Number.isFinite(everyMs) || everyMs < 1) return
    this.#timer = scheduler.setInterval(
      () => {
        for (const id of [...this.#connections.keys()]) this.#write(id, ': keepalive\n\n')
      },
      Math.min(everyMs, maxTimerMs),
    )
    scheduler.unref(this.#timer)
  }
}

/** Formats a message as an event. */
export function toEvent(text: string, eventId: string | undefined): string {
  return eventId ? `event: message\nid: ${eventId}\ndata: ${text}\n\n` : `event: message\ndata: ${text}\n\n`
}
