import type { Endpoint } from '../../jsonrpc/endpoint.ts'
import type { Link } from '../../jsonrpc/link.ts'
import type { RpcMessage } from '../../jsonrpc/message.ts'
import type { Transport } from '../../jsonrpc/transport.ts'
import type { EventStore } from '../../store/ports.ts'
import {
  type EventSink,
  eventHeaders,
  type HeaderFields,
  type HttpCall,
  Refusal,
  refusedCode,
  tooManyStreams,
} from './call.ts'
import { EventStream, type EventStreamOptions } from './event-stream.ts'
import { type OpenStreams, roomFor } from './open-streams.ts'
import type { PostOwner } from './post-reply.ts'

/** What all sessions of one engine share. */
export interface SessionHost extends EventStreamOptions {
  readonly endpoint: Endpoint
  readonly streams: OpenStreams
  readonly eventStore: EventStore | undefined
  readonly maxStreamsPerSession: number
  readonly plainAnswers: boolean
  /** A part of the ids of streams that no other process uses. */
  node(): string
  /** Whether other processes know the sessions too. */
  readonly shared: boolean
  /** A client began or stopped to listen to what belongs to no request. */
  listening(session: HttpSession, isListening: boolean): void
  closed(session: HttpSession): void
}

/** Messages that wait for a client which listens to nothing yet; beyond that the oldest are dropped. */
const maxWaiting = 100

/** One session of 2025-03-26 to 2025-11-25: the peer behind an `Mcp-Session-Id`, and its streams. */
export class HttpSession implements Transport, PostOwner {
  readonly era = 'handshake'
  readonly sessionId: string
  /** Who opened it. Nobody else may use it: an id is not permission. */
  readonly principal: string | undefined
  readonly createdAt = Date.now()
  lastSeen = this.createdAt
  readonly #host: SessionHost
  /** Those that have not ended, whether or not somebody reads them. */
  #streams: Map<string, EventStream> | undefined
  /** Those opened by GET, for what belongs to no request; the oldest that is read gets it. */
  #standalone: EventStream[] | undefined
  #waiting: string[] | undefined
  #nextStream = 1
  #answering = 0
  #closed = false
  /** The client listens at another process, which tells it what there is to tell. */
  listensElsewhere = false
  link!: Link

  constructor(sessionId: string, principal: string | undefined, host: SessionHost) {
    this.sessionId = sessionId
    this.principal = principal
    this.#host = host
  }

  /** Nothing is under way, and nobody listens. */
  get idle(): boolean {
    return this.#answering === 0 && !this.#isRead
  }

  get #isRead(): boolean {
    return this.#streams !== undefined && [...this.#streams.values()].some((stream) => stream.connected)
  }

  async start(): Promise<void> {}

  send(message: RpcMessage | RpcMessage[]): void {
    this.sendText(JSON.stringify(message))
  }

  /** What belongs to no request goes to exactly one stream (2025-11-25 transports, multiple connections). */
  sendText(text: string): void {
    if (this.listensElsewhere) return
    const streams = this.#standalone
    const stream = streams?.find((candidate) => candidate.connected) ?? streams?.find(({ resumable }) => resumable)
    if (stream) return stream.send(text)
    // Another process may be the one that it listens to, or will.
    if (this.#host.shared) return
    this.#waiting ??= []
    if (this.#waiting.length >= maxWaiting) this.#waiting.shift()
    this.#waiting.push(text)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    for (const stream of [...(this.#streams?.values() ?? [])]) stream.end()
    this.#host.closed(this)
    this.link.ended()
  }

  reportError(error: unknown): void {
    this.#host.endpoint.reportError(error)
  }

  /** A POST with requests in it begins. */
  asked(): void {
    this.#answering++
  }

  answered(): void {
    this.#answering--
    this.lastSeen = Date.now()
  }

  openStream(call: HttpCall, headers: HeaderFields, isOptional: boolean): EventStream | undefined {
    if (this.#host.plainAnswers || !this.#hasRoom(isOptional)) return undefined
    return this.#open(call, headers)
  }

  /** Answers a GET with a stream for what belongs to no request. */
  listen(call: HttpCall, headers: HeaderFields | undefined): void {
    if (!this.#hasRoom()) return tooManyStreams(null).send(call, headers)
    // One that nobody reads and nobody came back for is given up.
    for (const old of this.#standalone?.filter((stream) => !stream.connected) ?? []) old.end()
    const stream = this.#open(call, { ...eventHeaders, ...headers })
    this.#standalone ??= []
    this.#standalone.push(stream)
    this.listensElsewhere = false
    this.#host.listening(this, true)
    const waiting = this.#waiting
    this.#waiting = undefined
    for (const text of waiting ?? []) stream.send(text)
  }

  /** Answers a GET that wants to go on after an event: what followed it on the same stream, and no other. */
  async resume(call: HttpCall, lastEventId: string, headers: HeaderFields | undefined): Promise<void> {
    const store = this.#host.eventStore
    const streamId = store && (await replay(store, lastEventId, async () => {}))
    // Also the id of an event of another session ends here: its stream does not begin with our id.
    if (!store || !streamId?.startsWith(`${this.sessionId}/`)) return unknownEvent().send(call, headers)
    if (!this.#hasRoom()) return tooManyStreams(null).send(call, headers)
    const sink = call.stream({ ...eventHeaders, ...headers })
    const stream = this.#streams?.get(streamId) ?? this.#reopen(streamId)
    call.onClose(() => stream.lost(sink))
    this.#host.streams.add(stream, this.principal)
    // Only now is anything sent: with the stream attached, nothing can fall between what was kept and what comes.
    await stream.resume(sink, async (send) => void (await replay(store, lastEventId, send)))
  }

  /** One that is over, or goes on in another process: the client gets what was kept, and the end of the connection. */
  #reopen(id: string): EventStream {
    const stream = this.#create(id, undefined)
    stream.end()
    // To be counted among those of the session while it is read.
    this.#streams ??= new Map()
    this.#streams.set(`${id} ${this.#nextStream++}`, stream)
    return stream
  }

  /** @internal For the host: a stream has no reader any more. */
  unread(stream: EventStream): void {
    this.lastSeen = Date.now()
    if (this.#standalone?.includes(stream) && !this.#standalone.some(({ connected }) => connected)) {
      this.#host.listening(this, false)
    }
    const isOver = stream.ended || !stream.resumable
    if (!isOver) return
    for (const [key, other] of this.#streams ?? []) if (other === stream) this.#streams!.delete(key)
    this.#standalone = this.#standalone?.filter((other) => other !== stream)
  }

  #open(call: HttpCall, headers: HeaderFields): EventStream {
    const sink = call.stream(headers)
    const host = this.#host
    const id = `${this.sessionId}/${host.node()}${this.#nextStream++}`
    const stream = this.#create(id, sink)
    this.#streams ??= new Map()
    this.#streams.set(id, stream)
    host.streams.add(stream, this.principal)
    call.onClose(() => stream.lost(sink))
    if (host.endpoint.revisionOf(this.link)?.primesStreams) stream.prime()
    return stream
  }

  #create(id: string, sink: EventSink | undefined): EventStream {
    const host = this.#host
    return new EventStream(id, sink, host.eventStore, {
      maxQueuedBytes: host.maxQueuedBytes,
      reportError: host.reportError,
      onUnread: (unread) => {
        host.onUnread(unread)
        this.unread(unread)
      },
    })
  }

  #hasRoom(isOptional = false): boolean {
    const { maxStreamsPerSession, streams } = this.#host
    const own = [...(this.#streams?.values() ?? [])].filter((stream) => stream.connected).length
    return own < roomFor(maxStreamsPerSession, isOptional) && streams.hasRoom(this.principal, isOptional)
  }
}

async function replay(
  store: EventStore,
  lastEventId: string,
  send: (id: string, text: string) => Promise<void>,
): Promise<string | undefined> {
  try {
    return await store.replayEventsAfter(lastEventId, {
      send: (id, message) => send(id, typeof message === 'string' ? message : JSON.stringify(message)),
    })
  } catch {
    // A store that does not know the event says so by failing, each in its own way.
    return undefined
  }
}

function unknownEvent(): Refusal {
  return new Refusal(400, refusedCode, 'Last-Event-ID names no event of this session that can be resumed from', null)
}
