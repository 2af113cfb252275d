import { RpcCode } from '../../../../errors.ts'
import type { RequestId, RpcMessage } from '../../../../jsonrpc/message.ts'
import type { TextSender, Transport } from '../../../../jsonrpc/transport.ts'
import type { PeerLink } from '../../../../protocol/endpoint.ts'
import type { Disconnectable, HasSession } from '../../../../protocol/transport.ts'
import type { EventStore } from '../../../../store/ports.ts'
import { type Account, accountOf } from '../../../../util/account.ts'
import { clock } from '../../../../util/clock.ts'
import { isObject } from '../../../../util/objects.ts'
import { pause } from '../../../../util/pause.ts'
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
import type { HandlerServices } from '../services.ts'
import { EventStream, type EventStreamOptions, type SendEvent } from '../streams/event-stream.ts'
import { roomFor } from '../streams/open-streams.ts'
import { parseStreamId, type StreamOrigin, toReplyId, toStandaloneId } from '../streams/stream-id.ts'

/** Everything that the sessions of one handler share. */
export interface SessionServices extends HandlerServices, EventStreamOptions {
  readonly eventStore: EventStore | undefined
  readonly maxStreamsPerSession: number
  /** A part of the ids of streams that no other process uses. */
  node(): string
  /** Whether other processes know the sessions too. */
  readonly shared: boolean
  /** A client began or stopped to listen to what belongs to no request. */
  listening(session: HttpSession, isListening: boolean): void
  /** Repeats changes that the client may have missed. */
  catchUp(session: HttpSession): void
  /** Whether the process that opened a stream still sends on it; undefined where there is no way to find out. */
  isAnswered?: ((session: HttpSession, streamId: string) => Promise<boolean>) | undefined
  closed(session: HttpSession): void
}

/** Messages that wait for a client which listens to nothing yet; beyond that the oldest are dropped. */
const maxWaiting = 100

/** How often to look for more of an answer that another process is working on. */
const followMs = 500

/** One session of 2025-03-26 to 2025-11-25: the peer behind an `Mcp-Session-Id`, and its streams. */
export class HttpSession implements Transport, TextSender, HasSession, Disconnectable, PostOwner {
  readonly era = 'handshake'
  readonly sessionId: string
  /** Who opened it. Nobody else may use it: an id is not permission. */
  readonly principal: string | undefined
  readonly account: Account | undefined
  /** When it was opened, wherever that was. */
  createdAt = clock.now()
  lastSeen = this.createdAt
  readonly #services: SessionServices
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
  /** The client, which opened its session here, listened nowhere yet. */
  #isAwaited: boolean
  /** It has to end everywhere, whether or not it is in use. */
  isTooOld = false
  /** The application refused it, so it never opened. */
  isRefused = false
  /** Whether the application's callback for its end succeeded. */
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
    // Another process may be the one that it listens to, or will. The one that opened the session keeps what comes before.
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
    if (this.#closed) return
    this.#closed = true
    for (const stream of [...(this.#streams?.values() ?? [])]) stream.end()
    this.#services.closed(this)
    this.link.ended()
  }

  reportError(error: unknown): void {
    this.#services.endpoint.reportError(error)
  }

  /** A POST with requests in it begins. */
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

  /** Whether a request is answered here on this stream. */
  answers(streamId: string): boolean {
    return this.#streams?.get(streamId)?.ended === false
  }

  /**
   * The client listens at another process, which took over a stream of ours or opened one of its own. Gives what that
   * process has to send, because the client listened nowhere before.
   */
  listenedElsewhere(): string[] {
    this.listensElsewhere = true
    this.#isAwaited = false
    const waiting = this.#waiting ?? []
    this.#waiting = undefined
    for (const stream of this.#standalone?.filter(({ connected }) => !connected) ?? []) stream.end()
    return waiting
  }

  /** Answers a GET with a stream for what belongs to no request. */
  listen(call: HttpCall, headers: HeaderFields | undefined): void {
    if (!this.#hasRoom()) return tooManyStreams(null).send(call, headers)
    const id = toStandaloneId(this.sessionId, this.#services.node(), this.#nextStream++)
    this.#beginListening(this.#open(id, call, { ...eventHeaders, ...headers }))
  }

  #beginListening(stream: EventStream): void {
    // One that nobody reads and nobody came back for is given up.
    for (const old of this.#standalone?.filter((other) => other !== stream && !other.connected) ?? []) old.end()
    this.#standalone ??= []
    if (!this.#standalone.includes(stream)) this.#standalone.push(stream)
    this.listensElsewhere = false
    this.#isAwaited = false
    this.#services.listening(this, true)
    const waiting = this.#waiting
    this.#waiting = undefined
    for (const text of waiting ?? []) stream.send(text)
  }

  /** Answers a GET that wants to go on after an event: what followed it on the same stream, and no other. */
  async resume(call: HttpCall, lastEventId: string, headers: HeaderFields | undefined): Promise<void> {
    const store = this.#services.eventStore
    const streamId = store && (await replay(store, lastEventId, async () => {}))
    // Also the id of an event of another session ends here: its stream does not begin with our id.
    const origin = streamId === undefined ? undefined : parseStreamId(this.sessionId, streamId)
    if (!store || !streamId || !origin) return unknownEvent().send(call, headers)
    if (!this.#hasRoom()) return tooManyStreams(null).send(call, headers)
    const sink = call.stream({ ...eventHeaders, ...headers })
    const known = this.#streams?.get(streamId)
    const stream = known ?? this.#reopen(streamId, origin.isStandalone)
    call.onClose(() => stream.lost(sink))
    this.#services.streams.add(stream, this.account)
    const rest = (send: SendEvent) => replay(store, lastEventId, send)
    // Only now is anything sent: with the stream attached, nothing can fall between what was kept and what comes.
    if (origin.isStandalone) return this.#listenOn(stream, sink, rest, known === undefined)
    if (known || !this.#isAnsweredElsewhere(origin)) return stream.resume(sink, async (send) => void (await rest(send)))
    await stream.resume(sink, (send) => this.#follow(stream, origin, lastEventId, send))
  }

  /** Goes on with the stream of a GET, which another process may have opened. */
  async #listenOn(
    stream: EventStream,
    sink: EventSink,
    rest: (send: SendEvent) => Promise<unknown>,
    isTakenOver: boolean,
  ): Promise<void> {
    const resumed = stream.resume(sink, async (send) => void (await rest(send)))
    // From now on changes are sent here, and nowhere else; they wait until the older ones were sent.
    this.#beginListening(stream)
    if (isTakenOver) this.#services.catchUp(this)
    await resumed
  }

  /**
   * A stream that is not ours. The one of a GET goes on here. The answer to a request comes from the process that carries it
   * out, so here the stream ends with what is kept.
   */
  #reopen(id: string, isStandalone: boolean): EventStream {
    const stream = this.#create(id, undefined)
    if (!isStandalone) stream.end()
    // To be counted among those of the session while it is read.
    this.#streams ??= new Map()
    this.#streams.set(isStandalone ? id : `${id} ${this.#nextStream++}`, stream)
    return stream
  }

  #isAnsweredElsewhere({ node }: StreamOrigin): boolean {
    return this.#services.isAnswered !== undefined && node !== this.#services.node()
  }

  /**
   * Sends what another process stores of its answer until the answer is complete. If that process is gone the request is
   * answered with an error, because nobody else ever will.
   */
  async #follow(stream: EventStream, origin: StreamOrigin, lastEventId: string, send: SendEvent): Promise<void> {
    const { eventStore, isAnswered } = this.#services
    let last = lastEventId
    let isComplete = false
    const pass = async (id: string, text: string) => {
      last = id
      isComplete ||= isAnswerTo(origin.requestId, text)
      await send(id, text)
    }
    for (let isRunning = true; stream.connected && !this.#closed; ) {
      await replay(eventStore!, last, pass)
      if (isComplete) return
      // Once more after the last answer of its process: the two may have crossed.
      if (!isRunning) return this.#answerLost(origin, send)
      isRunning = await isAnswered!(this, stream.id)
      if (isRunning) await pause(followMs, { unref: true })
    }
  }

  async #answerLost({ requestId: id }: StreamOrigin, send: SendEvent): Promise<void> {
    const message = 'The server process ended before it answered. The request may have been carried out.'
    const error = { code: RpcCode.InternalError, message }
    if (id !== undefined) await send(undefined, JSON.stringify({ jsonrpc: '2.0', id, error }))
  }

  /** @internal For the host: a stream has no reader any more. */
  unread(stream: EventStream): void {
    this.lastSeen = clock.now()
    if (this.#standalone?.includes(stream) && !this.#standalone.some(({ connected }) => connected)) {
      this.#services.listening(this, false)
    }
    const isOver = stream.ended || !stream.resumable
    if (!isOver) return
    for (const [key, other] of this.#streams ?? []) if (other === stream) this.#streams!.delete(key)
    this.#standalone = this.#standalone?.filter((other) => other !== stream)
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
    const services = this.#services
    return new EventStream(id, sink, services.eventStore, {
      maxQueuedBytes: services.maxQueuedBytes,
      reportError: services.reportError,
      onUnread: (unread) => {
        services.onUnread(unread)
        this.unread(unread)
      },
    })
  }

  #hasRoom(isOptional = false): boolean {
    const { maxStreamsPerSession, streams } = this.#services
    const own = [...(this.#streams?.values() ?? [])].filter((stream) => stream.connected).length
    return own < roomFor(maxStreamsPerSession, isOptional) && streams.hasRoom(this.account, isOptional)
  }
}

/** Whether this is the answer to the request; undefined stands for a batch. */
function isAnswerTo(requestId: RequestId | undefined, text: string): boolean {
  if (text === '') return false
  const message = JSON.parse(text)
  if (requestId === undefined) return Array.isArray(message)
  return isObject(message) && message.method === undefined && message.id === requestId
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
