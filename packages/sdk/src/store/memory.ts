import { McpError } from '../errors.ts'
import { isThenable } from '../util/maybe-async.ts'
import { warnOnce } from '../util/warn.ts'
import { deliver, type Subscription } from './deliver.ts'
import {
  type Bus,
  type EventReceiver,
  type EventStore,
  type SessionRecord,
  type SessionStore,
  UnknownEvent,
  type ValueStore,
} from './ports.ts'

export interface MemoryEventStoreOptions {
  /** Events kept in all. Default 10,000. */
  maxEvents?: number | undefined
  /** Size of the messages kept in all, at two bytes a character, the most that a string takes. Default 16 MiB. */
  maxBytes?: number | undefined
  /** How long an event is kept. Looked at whenever the store is used, so no timer runs. Default 5 minutes. */
  maxAgeMs?: number | undefined
  /** Events kept of one stream. Default 1,000. */
  maxEventsPerStream?: number | undefined
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined
}

/**
 * Events in this process, gone with it. Answers at once, with promises only where a receiver gives them. At a limit the
 * oldest event goes first, and with it the right to resume there: what is left of a stream is always its unbroken end.
 */
export class MemoryEventStore implements EventStore {
  readonly #maxEvents: number
  readonly #maxBytes: number
  readonly #maxAgeMs: number
  readonly #maxEventsPerStream: number
  readonly #now: () => number
  /** By the first part of their ids, so that forgetting a session looks at its own streams only. */
  readonly #groups = new Map<string, Map<string, Stream>>()
  #oldest: Kept | undefined
  #newest: Kept | undefined
  #events = 0
  #bytes = 0
  #lastNumber: number

  constructor(options: MemoryEventStoreOptions = {}) {
    this.#maxEvents = options.maxEvents ?? 10_000
    this.#maxBytes = options.maxBytes ?? 16 * 1024 * 1024
    this.#maxAgeMs = options.maxAgeMs ?? 5 * 60_000
    this.#maxEventsPerStream = options.maxEventsPerStream ?? 1_000
    this.#now = options.now ?? Date.now
    // One count for all streams, so that a stream of which nothing is left needs no memory and still repeats no id. It
    // begins with the time, so that an id from before a restart does not meet a later event of the same number.
    this.#lastNumber = Math.max(0, Math.floor(this.#now())) * 1000
  }

  /** What is kept now. */
  get usage(): { streams: number; events: number; bytes: number } {
    let streams = 0
    for (const group of this.#groups.values()) streams += group.size
    return { streams, events: this.#events, bytes: this.#bytes }
  }

  storeEvent(streamId: string, message: unknown): string {
    const text = toText(message)
    const at = this.#now()
    this.#dropExpired(at)
    const kept: Kept = {
      stream: this.#streamFor(streamId),
      number: ++this.#lastNumber,
      text,
      isText: typeof message === 'string',
      at,
      older: this.#newest,
      newer: undefined,
      next: undefined,
    }
    this.#append(kept)
    this.#makeRoom(kept)
    return idOf(kept)
  }

  replayEventsAfter(lastEventId: string, to: EventReceiver): string | Promise<string> {
    this.#dropExpired(this.#now())
    const from = this.#find(lastEventId)
    if (!from) throw new UnknownEvent(lastEventId)
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

  #find(eventId: string): Kept | undefined {
    const slash = eventId.lastIndexOf('/')
    if (slash < 0) return undefined
    const streamId = eventId.slice(0, slash)
    const number = Number(eventId.slice(slash + 1))
    let kept = this.#groups.get(groupOf(streamId))?.get(streamId)?.first
    while (kept && kept.number < number) kept = kept.next
    // The whole id, because a number can be written in several ways and only one was given out.
    return kept && idOf(kept) === eventId ? kept : undefined
  }

  #append(kept: Kept): void {
    const { stream } = kept
    if (stream.last) stream.last.next = kept
    else stream.first = kept
    stream.last = kept
    stream.count++
    if (this.#newest) this.#newest.newer = kept
    else this.#oldest = kept
    this.#newest = kept
    this.#events++
    this.#bytes += bytesOf(kept)
  }

  #makeRoom(added: Kept): void {
    const { stream } = added
    // What can never fit costs its own stream the resumption, not everyone else's.
    if (bytesOf(added) > this.#maxBytes) return this.#dropStream(stream)
    while (stream.first && stream.count > this.#maxEventsPerStream) this.#dropFirst(stream)
    while (this.#oldest && this.#isOverfull()) this.#dropFirst(this.#oldest.stream)
  }

  #isOverfull(): boolean {
    return this.#events > this.#maxEvents || this.#bytes > this.#maxBytes
  }

  #dropExpired(now: number): void {
    while (this.#oldest && now - this.#oldest.at >= this.#maxAgeMs) this.#dropFirst(this.#oldest.stream)
  }

  #dropStream(stream: Stream): void {
    while (stream.first) this.#dropFirst(stream)
  }

  /** Events only ever leave a stream at its beginning; the oldest event of all is the first of its stream. */
  #dropFirst(stream: Stream): void {
    const kept = stream.first
    if (!kept) return
    stream.first = kept.next
    stream.count--
    if (!stream.first) this.#removeStream(stream)
    if (kept.older) kept.older.newer = kept.newer
    else this.#oldest = kept.newer
    if (kept.newer) kept.newer.older = kept.older
    else this.#newest = kept.older
    this.#events--
    this.#bytes -= bytesOf(kept)
    // A replay that waits for its receiver may hold this event; it shall not hold all that follows as well.
    kept.older = undefined
    kept.newer = undefined
    kept.next = undefined
  }

  #removeStream(stream: Stream): void {
    const name = groupOf(stream.id)
    const group = this.#groups.get(name)
    group?.delete(stream.id)
    if (group?.size === 0) this.#groups.delete(name)
  }
}

export interface MemorySessionStoreOptions {
  /** Sessions kept at a time; beyond it the one unused for longest goes. Default 10,000. */
  maxSessions?: number | undefined
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined
}

/** Sessions in this process, gone with it. Expired ones are removed when they are met, without timers. */
export class MemorySessionStore implements SessionStore {
  readonly #maxSessions: number
  readonly #now: () => number
  /** The one unused for longest comes first. With one time to live for all, that is also the order of expiry. */
  readonly #kept = new Map<string, KeptSession>()

  constructor(options: MemorySessionStoreOptions = {}) {
    this.#maxSessions = options.maxSessions ?? 10_000
    this.#now = options.now ?? Date.now
  }

  /** How many are kept now, with expired ones that nobody has met yet. */
  get size(): number {
    return this.#kept.size
  }

  get(id: string): SessionRecord | undefined {
    const kept = this.#alive(id)
    return kept && JSON.parse(kept.json)
  }

  set(record: SessionRecord, ttlMs: number): void {
    const json = JSON.stringify(record)
    this.#kept.delete(record.id)
    this.#sweep()
    this.#kept.set(record.id, { json, expiresAt: this.#now() + ttlMs })
  }

  replace(record: SessionRecord, ttlMs: number, before: SessionRecord): boolean {
    if (this.#alive(record.id)?.json !== JSON.stringify(before)) return false
    this.set(record, ttlMs)
    return true
  }

  touch(id: string, ttlMs: number): boolean {
    const kept = this.#alive(id)
    if (!kept) return false
    kept.expiresAt = this.#now() + ttlMs
    this.#kept.delete(id)
    this.#kept.set(id, kept)
    return true
  }

  delete(id: string): boolean {
    return this.#alive(id) !== undefined && this.#kept.delete(id)
  }

  #alive(id: string): KeptSession | undefined {
    const kept = this.#kept.get(id)
    if (!kept || this.#now() < kept.expiresAt) return kept
    this.#kept.delete(id)
    return undefined
  }

  /** Makes room for one. Stops at the first session that is alive, so each is removed once and looked at seldom. */
  #sweep(): void {
    const now = this.#now()
    for (const [id, { expiresAt }] of this.#kept) {
      if (now < expiresAt && this.#kept.size < this.#maxSessions) return
      this.#kept.delete(id)
    }
  }
}

export interface MemoryValueStoreOptions {
  /** Values kept at a time; beyond it the one that was set first goes. Default 100,000. */
  maxValues?: number | undefined
  /** Size of all values and their names, at two bytes a character. Default 64 MiB. */
  maxBytes?: number | undefined
  /** The clock, in milliseconds. Default `Date.now`. */
  now?: (() => number) | undefined
}

/** How many values are set between two looks for expired ones. */
const valuesBetweenSweeps = 1_000

/** Values in this process, gone with it. Expired ones are looked for now and then, without timers. */
export class MemoryValueStore implements ValueStore {
  readonly #maxValues: number
  readonly #maxBytes: number
  readonly #now: () => number
  /** The one that was set first comes first. */
  readonly #kept = new Map<string, KeptValue>()
  #bytes = 0
  #untilSweep = valuesBetweenSweeps

  constructor(options: MemoryValueStoreOptions = {}) {
    this.#maxValues = options.maxValues ?? 100_000
    this.#maxBytes = options.maxBytes ?? 64 * 1024 * 1024
    this.#now = options.now ?? Date.now
  }

  /** What is kept now, with expired ones that nobody has met yet. */
  get usage(): { values: number; bytes: number } {
    return { values: this.#kept.size, bytes: this.#bytes }
  }

  get(key: string): string | undefined {
    const kept = this.#kept.get(key)
    if (!kept || this.#now() < kept.expiresAt) return kept?.text
    this.delete(key)
    return undefined
  }

  set(key: string, value: string, ttlMs: number): void {
    this.delete(key)
    if (--this.#untilSweep <= 0) this.#sweep()
    this.#kept.set(key, { text: value, expiresAt: this.#now() + ttlMs })
    this.#bytes += (key.length + value.length) * 2
    this.#makeRoom()
  }

  take(key: string): string | undefined {
    const value = this.get(key)
    this.delete(key)
    return value
  }

  delete(key: string): void {
    const kept = this.#kept.get(key)
    if (!kept) return
    this.#kept.delete(key)
    this.#bytes -= (key.length + kept.text.length) * 2
  }

  #makeRoom(): void {
    for (const key of this.#kept.keys()) {
      if (this.#kept.size <= this.#maxValues && this.#bytes <= this.#maxBytes) return
      this.delete(key)
    }
  }

  #sweep(): void {
    this.#untilSweep = valuesBetweenSweeps
    const now = this.#now()
    for (const [key, { expiresAt }] of this.#kept) if (now >= expiresAt) this.delete(key)
  }
}

export interface MemoryBusOptions {
  /** Takes what a listener throws. Default: a warning, once per process. */
  onError?: ((error: unknown) => void) | undefined
}

/** A bus for one process. Listeners are called inside `publish`. */
export class MemoryBus implements Bus {
  readonly #topics = new Map<string, Set<Subscription>>()
  readonly #onError: (error: unknown) => void
  readonly #waiting: Array<{ topic: string; message: string }> = []
  #publishing = false

  constructor(options: MemoryBusOptions = {}) {
    this.#onError = options.onError ?? warnOfListener
  }

  publish(topic: string, message: string): void {
    this.#waiting.push({ topic, message })
    // What a listener publishes waits for its turn, so that all listeners hear everything in the same order.
    if (this.#publishing) return
    this.#publishing = true
    try {
      for (let next = this.#waiting.shift(); next; next = this.#waiting.shift()) {
        deliver(this.#topics.get(next.topic), next.message, this.#onError)
      }
    } finally {
      this.#publishing = false
    }
  }

  subscribe(topic: string, listener: (message: string) => void): () => void {
    const subscriptions = this.#topics.get(topic) ?? new Set()
    this.#topics.set(topic, subscriptions)
    const subscription = { listener }
    subscriptions.add(subscription)
    return () => {
      subscriptions.delete(subscription)
      if (subscriptions.size === 0 && this.#topics.get(topic) === subscriptions) this.#topics.delete(topic)
    }
  }

  /** Nobody listens any more. */
  close(): void {
    for (const subscriptions of this.#topics.values()) subscriptions.clear()
    this.#topics.clear()
  }
}

interface Stream {
  readonly id: string
  count: number
  first: Kept | undefined
  last: Kept | undefined
}

/** An event, in two lists: all events by age, and those of its stream. */
interface Kept {
  readonly stream: Stream
  readonly number: number
  readonly text: string
  /** The message came as text; otherwise `text` is its JSON. */
  readonly isText: boolean
  readonly at: number
  older: Kept | undefined
  newer: Kept | undefined
  /** The next one of the same stream. */
  next: Kept | undefined
}

interface KeptSession {
  /** As text, because it is a copy that nobody can change. */
  readonly json: string
  expiresAt: number
}

interface KeptValue {
  readonly text: string
  readonly expiresAt: number
}

/** Up to `last`, which was the newest event when this began: a receiver that stores events cannot keep it going. */
function replay(from: Kept, last: Kept, to: EventReceiver): string | Promise<string> {
  for (let kept = from; kept !== last; ) {
    kept = following(kept)
    const sent = send(kept, to)
    if (isThenable(sent)) return replayInTurn(sent, kept, last, to)
  }
  return from.stream.id
}

async function replayInTurn(sent: PromiseLike<void>, from: Kept, last: Kept, to: EventReceiver): Promise<string> {
  await sent
  for (let kept = from; kept !== last; ) {
    kept = following(kept)
    await send(kept, to)
  }
  return from.stream.id
}

function following(kept: Kept): Kept {
  // Dropped while the receiver took its time: the rest of the stream may be gone too.
  if (!kept.next) throw new UnknownEvent(idOf(kept))
  return kept.next
}

function send(kept: Kept, to: EventReceiver): void | Promise<void> {
  return to.send(idOf(kept), kept.isText ? kept.text : JSON.parse(kept.text))
}

function idOf(kept: Kept): string {
  return `${kept.stream.id}/${kept.number}`
}

function groupOf(id: string): string {
  const slash = id.indexOf('/')
  return slash < 0 ? id : id.slice(0, slash)
}

/** A value is kept as text too: that is a copy, and its size is known. */
function toText(message: unknown): string {
  const text = typeof message === 'string' ? message : JSON.stringify(message)
  if (text === undefined) throw new McpError('invalid-argument', 'An event holds text or a JSON value')
  return text
}

function bytesOf({ text }: { readonly text: string }): number {
  return text.length * 2
}

function warnOfListener(error: unknown): void {
  warnOnce('bus-listener', `A listener of a bus failed: ${error}. Pass onError to hear of all failures.`)
}
