import type { RequestId, RpcMessage } from '../../../../jsonrpc/message.ts'
import type { TextSender, Transport } from '../../../../jsonrpc/transport.ts'
import type { PeerLink } from '../../../../protocol/endpoint.ts'
import type { Disconnectable, HasSession } from '../../../../protocol/transport.ts'
import type { EventStore } from '../../../../store/ports.ts'
import { type Account, accountOf } from '../../../../util/account.ts'
import { clock } from '../../../../util/clock.ts'
import {
  type CallRequest,
  type EventSink,
  eventHeaders,
  type HeaderFields,
  type HttpCall,
  Refusal,
  refusedCode,
  tooManyStreams,
} from '../call.ts'
import type { PostOwner } from '../response.ts'
import type { HandlerServices } from '../single-request.ts'
import { EventStream, type SendEvent } from '../streams/event-stream.ts'
import { followResponse, replayEvents } from '../streams/follow-response.ts'
import { roomFor } from '../streams/open-streams.ts'
import { parseStreamId, type StreamOrigin, toReplyId, toStandaloneId } from '../streams/stream-id.ts'

/** Everything that the sessions of one handler share. */
export interface SessionServices extends HandlerServices {
  readonly eventStore: EventStore | undefined
  readonly maxStreamsPerSession: number
  /** Returns a part of stream ids that no other process uses. */
  node(): string
  /** Whether other processes can take over sessions. */
  readonly shared: boolean
  /** A client started or stopped listening for messages that belong to no request. */
  listening(session: HttpSession, isListening: boolean): void
  /** Repeats changes that the client may have missed. */
  catchUp(session: HttpSession): void
  /** Whether the process that opened a stream still sends on it; undefined if there is no way to find out. */
  isAnswered?: ((session: HttpSession, streamId: string) => Promise<boolean>) | undefined
  closed(session: HttpSession): void
}

/** Messages that wait for a client without a stream; above that the oldest are dropped. */
const maxWaiting = 100

/** One session of 2025-03-26 to 2025-11-25: the peer behind an `Mcp-Session-Id`, and its streams. */
export class HttpSession implements Transport, TextSender, HasSession, Disconnectable, PostOwner {
  readonly era = 'handshake'
  readonly sessionId: string
  /** The user who opened it. Nobody else may use it, even with the session id. */
  readonly principal: string | undefined
  readonly account: Account | undefined
  /** When it was opened, at whichever process. */
  createdAt = clock.now()
  lastSeen = this.createdAt
  readonly #services: SessionServices
  /** Streams that have not ended, connected or not. */
  #streams: Map<string, EventStream> | undefined
  /** Streams opened by GET, for messages that belong to no request. The oldest connected one gets them. */
  #standalone: EventStream[] | undefined
  #waiting: string[] | undefined
  #nextStream = 1
  #answering = 0
  #isClosed = false
  /** The client listens at another process, which sends the messages that belong to no request. */
  listensElsewhere = false
  /** The client opened its session here and has not listened anywhere yet. */
  #isAwaited: boolean
  /** It has to end at every process, even if it is in use. */
  isTooOld = false
  /** `onSession` refused it, so it never opened. */
  isRefused = false
  /** Whether the `onSession` callback for its end succeeded. */
  closedCallback: Promise<boolean> | undefined
  link!: PeerLink

  /** @param isNew False for a session that another process opened. */
  constructor(sessionId: string, { principal, peer }: CallRequest, services: SessionServices, isNew: boolean) {
    this.#isAwaited = isNew
    this.sessionId = sessionId
    this.principal = principal
    this.account = accountOf({ principal, peer })
    this.#services = services
  }

  /** Whether no request is in progress and no stream is connected. */
  get idle(): boolean {
    return this.#answering === 0 && this.#connectedStreams === 0
  }

  get alwaysStreams(): boolean {
    return this.#services.alwaysStream
  }

  get #connectedStreams(): number {
    let count = 0
    if (this.#streams) for (const stream of this.#streams.values()) if (stream.connected) count++
    return count
  }

  async start(): Promise<void> {}

  send(message: RpcMessage | RpcMessage[]): void {
    this.sendText(JSON.stringify(message))
  }

  /** Sends a message that belongs to no request on exactly one stream (2025-11-25 transports, multiple connections). */
  sendText(text: string): void {
    if (this.listensElsewhere) return
    const streams = this.#standalone
    const stream = streams?.find(({ connected }) => connected) ?? streams?.find(({ resumable }) => resumable)
    if (stream) return stream.send(text)
    // The client may listen at another process. The one that opened the session keeps the messages until then.
    if (this.#services.shared && !this.#isAwaited) return
    this.#waiting ??= []
    if (this.#waiting.length >= maxWaiting) this.#waiting.shift()
    this.#waiting.push(text)
  }

  disconnect(retryMs: number): void {
    for (const stream of [...(this.#standalone ?? [])]) {
      if (stream.connected && stream.resumable) stream.disconnect(retryMs)
    }
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    for (const stream of [...(this.#streams?.values() ?? [])]) stream.end()
    this.#services.closed(this)
    this.link.ended()
  }

  reportError(error: unknown): void {
    this.#services.endpoint.reportError(error)
  }

  /** A POST that needs a response begins. */
  asked(): void {
    this.#answering++
  }

  answered(): void {
    this.#answering--
    this.lastSeen = clock.now()
  }

  openStream(
    call: HttpCall,
    headers: HeaderFields,
    isOptional: boolean,
    requestId: RequestId | undefined,
  ): EventStream | undefined {
    const { jsonOnly, node } = this.#services
    if (jsonOnly || !this.#hasRoom(isOptional)) return undefined
    return this.#open(toReplyId(this.sessionId, node(), this.#nextStream++, requestId), call, headers)
  }

  /** Whether this process sends the response on this stream. */
  answers(streamId: string): boolean {
    return this.#streams?.get(streamId)?.ended === false
  }

  /** The client now listens at another process. Returns the messages that it has not received yet. */
  listenedElsewhere(): string[] {
    this.listensElsewhere = true
    this.#isAwaited = false
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const stream of this.#standalone?.filter(({ connected }) => !connected) ?? []) stream.end()
    return waiting
  }

  /** Answers a GET with a stream for messages that belong to no request. */
  listen(call: HttpCall, headers: HeaderFields | undefined): void {
    if (!this.#hasRoom()) return tooManyStreams(null).send(call, headers)
    const id = toStandaloneId(this.sessionId, this.#services.node(), this.#nextStream++)
    this.#beginListening(this.#open(id, call, { ...eventHeaders, ...headers }))
  }

  #beginListening(stream: EventStream): void {
    // The client opened a new stream, so it will not resume its disconnected ones.
    for (const old of this.#standalone?.filter((other) => other !== stream && !other.connected) ?? []) old.end()
    this.#standalone ??= []
    if (!this.#standalone.includes(stream)) this.#standalone.push(stream)
    this.listensElsewhere = false
    this.#isAwaited = false
    this.#services.listening(this, true)
    this.#services.endpoint.listening?.(this.link, () => this.#hangUp())
    const waiting = this.#waiting
    this.#waiting = undefined
    for (const text of waiting ?? []) stream.send(text)
  }

  #hangUp(): void {
    for (const stream of [...(this.#standalone ?? [])]) stream.hangUp()
  }

  /** Answers a GET with `Last-Event-ID`: resumes the stream of that event, and no other. */
  async resume(call: HttpCall, lastEventId: string, headers: HeaderFields | undefined): Promise<void> {
    const store = this.#services.eventStore
    const streamId = store && (await replayEvents(store, lastEventId, async () => {}))
    // The id of a stream begins with the id of its session, so events of other sessions are rejected here too.
    const origin = streamId === undefined ? undefined : parseStreamId(this.sessionId, streamId)
    if (!store || !streamId || !origin) return unknownEvent().send(call, headers)
    if (!this.#hasRoom()) return tooManyStreams(null).send(call, headers)
    const sink = call.stream({ ...eventHeaders, ...headers })
    const known = this.#streams?.get(streamId)
    const stream = known ?? this.#reopen(streamId, origin.isStandalone)
    call.onClose(() => stream.lost(sink))
    this.#services.streams.add(stream, this.account)
    const replay = async (send: SendEvent) => void (await replayEvents(store, lastEventId, send))
    // Replayed only now: with the stream attached, no event is lost between the stored ones and the new ones.
    if (origin.isStandalone) return this.#resumeListening(stream, sink, replay, known === undefined)
    const { isAnswered } = this.#services
    if (known || !isAnswered || this.#isOwn(origin)) return stream.resume(sink, replay)
    const isWanted = () => stream.connected && !this.#isClosed
    const isRunning = () => isAnswered(this, stream.id)
    await stream.resume(sink, (send) => followResponse({ store, origin, lastEventId, send, isWanted, isRunning }))
  }

  /** Resumes the stream of a GET, which another process may have opened. */
  async #resumeListening(
    stream: EventStream,
    sink: EventSink,
    replay: (send: SendEvent) => Promise<void>,
    isTakenOver: boolean,
  ): Promise<void> {
    const resumed = stream.resume(sink, replay)
    // From now on changes are sent here only. They wait until the stored events were sent.
    this.#beginListening(stream)
    if (isTakenOver) this.#services.catchUp(this)
    await resumed
  }

  /**
   * Creates a stream that this process did not open. One of a GET continues here. One of a request ends with its stored events,
   * because the response comes from the process that runs the request.
   */
  #reopen(id: string, isStandalone: boolean): EventStream {
    const stream = this.#create(id, undefined)
    if (!isStandalone) stream.end()
    // Counted among the streams of the session while it is connected.
    this.#streams ??= new Map()
    this.#streams.set(isStandalone ? id : `${id} ${this.#nextStream++}`, stream)
    return stream
  }

  #isOwn({ node }: StreamOrigin): boolean {
    return node === this.#services.node()
  }

  #open(id: string, call: HttpCall, headers: HeaderFields): EventStream {
    const sink = call.stream(headers)
    const services = this.#services
    const stream = this.#create(id, sink)
    this.#streams ??= new Map()
    this.#streams.set(id, stream)
    services.streams.add(stream, this.account)
    call.onClose(() => stream.lost(sink))
    if (services.endpoint.revisionOf(this.link)?.primesStreams) stream.prime()
    return stream
  }

  #create(id: string, sink: EventSink | undefined): EventStream {
    const { streams, eventStore, maxQueuedBytes, reportError } = this.#services
    return new EventStream(id, sink, eventStore, {
      maxQueuedBytes,
      reportError,
      onUnread: (stream) => {
        streams.delete(stream)
        this.#disconnected(stream)
      },
    })
  }

  #disconnected(stream: EventStream): void {
    this.lastSeen = clock.now()
    if (this.#standalone?.includes(stream) && !this.#standalone.some(({ connected }) => connected)) {
      this.#services.listening(this, false)
      this.#services.endpoint.listening?.(this.link, undefined)
    }
    const isOver = stream.ended || !stream.resumable
    if (!isOver) return
    for (const [key, other] of this.#streams ?? []) if (other === stream) this.#streams?.delete(key)
    this.#standalone = this.#standalone?.filter((other) => other !== stream)
  }

  #hasRoom(isOptional = false): boolean {
    const { maxStreamsPerSession, streams } = this.#services
    const hasOwnRoom = this.#connectedStreams < roomFor(maxStreamsPerSession, isOptional)
    return hasOwnRoom && streams.hasRoom(this.account, isOptional)
  }
}

function unknownEvent(): Refusal {
  return new Refusal(400, refusedCode, 'Last-Event-ID does not match an event of this session', null)
}
