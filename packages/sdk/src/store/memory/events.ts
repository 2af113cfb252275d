import { McpError } from '../../errors.ts'
import { clock } from '../../util/clock.ts'
import { isThenable } from '../../util/maybe-async.ts'
import { type EventReceiver, type EventStore, UnknownEventError } from '../ports.ts'

/** Options of `MemoryEventStore`. */
export interface MemoryEventStoreOptions {
  /** Maximum number of events. Default 10,000. */
  maxEvents?: number | undefined
  /** Maximum size of all messages, counted as two bytes per character. Default 16 MiB. */
  maxBytes?: number | undefined
  /** How long an event is kept. Checked whenever the store is used, so no timer runs. Default 5 minutes. */
  maxAgeMs?: number | undefined
  /** Maximum number of events per stream. Default 1,000. */
  maxEventsPerStream?: number | undefined
  /** Returns the time in milliseconds since 1970. Default: the system clock. */
  now?: (() => number) | undefined
}

/**
 * Keeps events in the memory of this process. They are lost when it exits. Methods are synchronous unless a receiver
 * returns a promise. At a limit the oldest event is dropped; a stream can then be resumed from the events that remain.
 */
export class MemoryEventStore implements EventStore {
  readonly #maxEvents: number
  readonly #maxBytes: number
  readonly #maxAgeMs: number
  readonly #maxEventsPerStream: number
  readonly #now: () => number
  /** Streams by the first segment of their ids, so that `forget` of a session visits only its own streams. */
  readonly #groups = new Map<string, Map<string, Stream>>()
  #oldest: StoredEvent | undefined
  #newest: StoredEvent | undefined
  #events = 0
  #bytes = 0
  #lastNumber: number

  constructor(options: MemoryEventStoreOptions = {}) {
    this.#maxEvents = options.maxEvents ?? 10_000
    this.#maxBytes = options.maxBytes ?? 16 * 1024 * 1024
    this.#maxAgeMs = options.maxAgeMs ?? 5 * 60_000
    this.#maxEventsPerStream = options.maxEventsPerStream ?? 1_000
    this.#now = options.now ?? (() => clock.now())
    // One counter for all streams: a dropped stream needs no memory, and its ids are not used again. The counter starts
    // with the time, so that an id from before a restart does not match a newer event.
    this.#lastNumber = Math.max(0, Math.floor(this.#now())) * 1000
  }

  /** Current number of streams, events and bytes. */
  get usage(): { streams: number; events: number; bytes: number } {
    let streams = 0
    for (const group of this.#groups.values()) streams += group.size
    return { streams, events: this.#events, bytes: this.#bytes }
  }

  storeEvent(streamId: string, message: unknown): string {
    const text = toText(message)
    const at = this.#now()
    this.#dropExpired(at)
    const event: StoredEvent = {
      stream: this.#streamFor(streamId),
      number: ++this.#lastNumber,
      text,
      isText: typeof message === 'string',
      at,
      older: this.#newest,
      newer: undefined,
      next: undefined,
    }
    this.#append(event)
    this.#makeRoom(event)
    return idOf(event)
  }

  replayEventsAfter(lastEventId: string, to: EventReceiver): string | Promise<string> {
    this.#dropExpired(this.#now())
    const from = this.#find(lastEventId)
    if (!from) throw new UnknownEventError(lastEventId)
    return replay(from, from.stream.last ?? from, to)
  }

  forget(prefix: string): void {
    this.#dropExpired(this.#now())
    const below = prefix.endsWith('/') ? prefix : `${prefix}/`
    for (const [id, stream] of this.#groups.get(groupOf(prefix)) ?? []) {
      if (id === prefix || id.startsWith(below)) this.#dropStream(stream)
    }
  }

  #streamFor(id: string): Stream {
    const name = groupOf(id)
    const group = this.#groups.get(name) ?? new Map<string, Stream>()
    const known = group.get(id)
    if (known) return known
    const stream: Stream = { id, count: 0, first: undefined, last: undefined }
    this.#groups.set(name, group.set(id, stream))
    return stream
  }

  #find(eventId: string): StoredEvent | undefined {
    const slash = eventId.lastIndexOf('/')
    if (slash < 0) return undefined
    const streamId = eventId.slice(0, slash)
    const number = Number(eventId.slice(slash + 1))
    let event = this.#groups.get(groupOf(streamId))?.get(streamId)?.first
    while (event && event.number < number) event = event.next
    // Compare the whole id: a number can be written in several ways, and only one was issued.
    return event && idOf(event) === eventId ? event : undefined
  }

  #append(event: StoredEvent): void {
    const { stream } = event
    if (stream.last) stream.last.next = event
    else stream.first = event
    stream.last = event
    stream.count++
    if (this.#newest) this.#newest.newer = event
    else this.#oldest = event
    this.#newest = event
    this.#events++
    this.#bytes += bytesOf(event)
  }

  #makeRoom(added: StoredEvent): void {
    const { stream } = added
    // An event that can never fit ends the resumption of its own stream instead of evicting all others.
    if (bytesOf(added) > this.#maxBytes) return this.#dropStream(stream)
    while (stream.first && stream.count > this.#maxEventsPerStream) this.#dropFirst(stream)
    while (this.#oldest && this.#isOverLimit()) this.#dropFirst(this.#oldest.stream)
  }

  #isOverLimit(): boolean {
    return this.#events > this.#maxEvents || this.#bytes > this.#maxBytes
  }

  #dropExpired(now: number): void {
    while (this.#oldest && now - this.#oldest.at >= this.#maxAgeMs) this.#dropFirst(this.#oldest.stream)
  }

  #dropStream(stream: Stream): void {
    while (stream.first) this.#dropFirst(stream)
  }

  /** Events leave a stream only at its start; the oldest event of all is the first of its stream. */
  #dropFirst(stream: Stream): void {
    const event = stream.first
    if (!event) return
    stream.first = event.next
    stream.count--
    if (!stream.first) this.#removeStream(stream)
    if (event.older) event.older.newer = event.newer
    else this.#oldest = event.newer
    if (event.newer) event.newer.older = event.older
    else this.#newest = event.older
    this.#events--
    this.#bytes -= bytesOf(event)
    // A replay that awaits its receiver may hold this event. Unlink it, so that it does not hold all later events too.
    event.older = undefined
    event.newer = undefined
    event.next = undefined
  }

  #removeStream(stream: Stream): void {
    const name = groupOf(stream.id)
    const group = this.#groups.get(name)
    group?.delete(stream.id)
    if (group?.size === 0) this.#groups.delete(name)
  }
}

interface Stream {
  readonly id: string
  count: number
  first: StoredEvent | undefined
  last: StoredEvent | undefined
}

/** An event in two linked lists: all events by age, and the events of its stream. */
interface StoredEvent {
  readonly stream: Stream
  readonly number: number
  readonly text: string
  /** True when the message was stored as text; otherwise `text` is its JSON. */
  readonly isText: boolean
  readonly at: number
  older: StoredEvent | undefined
  newer: StoredEvent | undefined
  /** The next event of the same stream. */
  next: StoredEvent | undefined
}

/** Replays up to `last`, the newest event at the start, so that a receiver that stores events cannot prolong it. */
function replay(from: StoredEvent, last: StoredEvent, to: EventReceiver): string | Promise<string> {
  for (let event = from; event !== last; ) {
    event = following(event)
    const sent = send(event, to)
    if (isThenable(sent)) return replayInTurn(sent, event, last, to)
  }
  return from.stream.id
}

async function replayInTurn(
  sent: PromiseLike<void>,
  from: StoredEvent,
  last: StoredEvent,
  to: EventReceiver,
): Promise<string> {
  await sent
  for (let event = from; event !== last; ) {
    event = following(event)
    await send(event, to)
  }
  return from.stream.id
}

function following(event: StoredEvent): StoredEvent {
  // The event was dropped while the receiver was busy, so the events after it may be gone too.
  if (!event.next) throw new UnknownEventError(idOf(event))
  return event.next
}

function send(event: StoredEvent, to: EventReceiver): void | Promise<void> {
  return to.send(idOf(event), event.isText ? event.text : JSON.parse(event.text))
}

function idOf(event: StoredEvent): string {
  return `${event.stream.id}/${event.number}`
}

function groupOf(id: string): string {
  const slash = id.indexOf('/')
  return slash < 0 ? id : id.slice(0, slash)
}

/** Values are stored as text: that is a copy, and its size is known. */
function toText(message: unknown): string {
  const text = typeof message === 'string' ? message : JSON.stringify(message)
  if (text === undefined) throw new McpError('invalid-argument', 'An event must be text or a JSON value')
  return text
}

function bytesOf({ text }: { readonly text: string }): number {
  return text.length * 2
}
