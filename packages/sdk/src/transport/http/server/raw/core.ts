import type { ServerResponse } from 'node:http'
import type { MessageKind, RequestId, RpcMessage } from '../../../../jsonrpc/message.ts'
import type { Transport } from '../../../../jsonrpc/transport.ts'
import type { Endpoint } from '../../../../protocol/endpoint.ts'
import { revisions } from '../../../../protocol/revisions/index.ts'
import type { MessageHandler } from '../../../../protocol/transport.ts'
import { isThenable } from '../../../../util/maybe-async.ts'
import { eventHeaders, type HeaderFields, type HttpCall, type Refusal } from '../call.ts'
import { watchEndpoint } from '../classic/watched-endpoint.ts'
import { WatchedMessages } from '../classic/watched-messages.ts'
import { NodeCall } from '../node.ts'
import type { NodeRequest } from '../node-request.ts'
import { versionOf } from '../posted-message.ts'
import { type FetchExtras, WebCall } from '../web.ts'
import type { RawHttpOptions, RawSendOptions } from './options.ts'
import { sessionHeaders } from './post-stream.ts'
import { type PostReceiver, RawPosts } from './posts.ts'
import { methodNotAllowed, noConnection, notFound, streamOpen } from './refusals.ts'
import { resumeStream } from './replay.ts'
import type { PostedMessage, RawReply } from './reply.ts'
import { getTypeProblem, originProblem, type SessionState, sessionProblem, versionProblem } from './session-checks.ts'
import { outputLimits } from './stateless.ts'
import { RawStreams } from './streams.ts'

/** The id of the stream opened by GET, as event stores know it. */
const standaloneId = '_GET_stream'

/** Messages that wait for a client that has not opened a stream. Further ones are dropped. */
const maxUnsent = 100

const handshakeVersions = /* @__PURE__ */ revisions.filter(({ era }) => era === 'handshake').map(({ id }) => id)

/** The members of a transport that programs read, set and replace. */
export interface RawHttpFace extends Transport {
  sessionId: string | undefined
}

/**
 * The state of a `RawHttpTransport` and all its work. It is an object of its own, so that everything that stands for the
 * transport (a `Proxy`, an object created from it) shares one state.
 */
export class RawHttpCore {
  /** What the program or server holds: the transport, or what it wrapped it in. */
  face: RawHttpFace
  onmessage: MessageHandler | undefined
  onerror: Transport['onerror'] | undefined
  onclose: Transport['onclose'] | undefined
  sessionId: string | undefined
  readonly #options: RawHttpOptions
  readonly #originalSend: () => unknown
  readonly #streams: RawStreams
  readonly #posts: RawPosts
  /** The newest request of each id that waits for its response. */
  readonly #requests = new Map<RequestId, RawReply>()
  /** The requests of messages, and of their options, that were passed to a `send` of the program. */
  #origins: WeakMap<object, RawReply> | undefined
  /** The request whose message is being passed to a `send` of the program. */
  #sending: RawReply | undefined
  readonly #versions: readonly string[]
  /** Passes messages of the stateless era through a `send` or `onmessage` that the program replaced. */
  #watched: WatchedMessages | undefined
  /** The handler of the server, and ours in front of it. A program that replaces ours is watching. */
  #serverHandler: MessageHandler | undefined
  #ownHandler: MessageHandler | undefined
  /** Messages that belong to no request, until the client has opened a stream for them. */
  #unsent: string[] | undefined
  #hasListened = false
  #isServed = false
  #isStarted = false
  #isInitialized = false
  #isUsed = false
  #isClosed = false

  /** @param originalSend Returns `send` of the class. Another one belongs to the program, which watches messages. */
  constructor(face: RawHttpFace, options: RawHttpOptions, originalSend: () => unknown) {
    this.face = face
    this.#options = options
    this.#originalSend = originalSend
    this.#streams = new RawStreams(options)
    this.#posts = new RawPosts(this.#receiver(), this.#streams, options)
    this.#versions = options.protocolVersions ?? handshakeVersions
  }

  get isInitialized(): boolean {
    return this.#isInitialized
  }

  resumeSession(sessionId: string | undefined): void {
    this.face.sessionId = sessionId
    this.#isInitialized = true
  }

  serves(server: Endpoint, face: RawHttpFace): void {
    this.face = face
    this.#isServed = true
    // Called with every message, like the handlers that a program sets later.
    const before = face.onmessage
    this.#posts.onStateless = before && ((message, extra) => before.call(face, message, extra))
    this.#posts.serve(server, () => {
      this.#watched = new WatchedMessages(face)
      this.#watched.startedWith(this.#ownHandler)
      return watchEndpoint(server, this.#watched)
    })
  }

  start(face: RawHttpFace): void {
    if (this.#isStarted) throw new Error('Transport already started')
    this.face = face
    this.#isStarted = true
    if (this.#isServed) this.#interpose()
  }

  #interpose(): void {
    this.#serverHandler = this.face.onmessage
    this.#ownHandler = (message, extra, kind) => {
      if (!this.#watched?.enter(message, extra)) this.#serverHandler?.(message, extra, kind)
    }
    this.face.onmessage = this.#ownHandler
  }

  async send(message: RpcMessage, options?: RawSendOptions): Promise<void> {
    if (this.#watched?.deliverKnown(message, options)) return
    const isResponse = !('method' in message)
    const requestId = isResponse ? message.id : options?.relatedRequestId
    if (requestId !== undefined && requestId !== null) return this.#sendFor(requestId, message, options)
    if (isResponse) {
      throw new Error('Cannot send a response on a standalone SSE stream unless resuming a previous client request')
    }
    await this.#sendStandalone(JSON.stringify(message))
  }

  async #sendFor(requestId: RequestId, message: RpcMessage, options: RawSendOptions | undefined): Promise<void> {
    const reply = this.#originOf(requestId, message, options) ?? this.#requests.get(requestId)
    if (!reply) throw noConnection(requestId)
    const text = JSON.stringify(message)
    await ('method' in message ? reply.stream.notify(text) : reply.respond(text))
  }

  /** The request that a message belongs to, of several with the same id. */
  #originOf(requestId: RequestId, message: RpcMessage, options: RawSendOptions | undefined): RawReply | undefined {
    const origin = this.#origins?.get(message) ?? (options && this.#origins?.get(options)) ?? this.#sending
    return origin?.requestId === requestId && !origin.isAnswered ? origin : undefined
  }

  sendText(text: string): void {
    if (this.#isWatched) return this.#sendWatched(text, undefined)
    const sent = this.#sendStandalone(text)
    if (isThenable(sent)) sent.then(undefined, (error) => this.#reportError(error))
  }

  /** A client opens its stream after the handshake. What is sent earlier waits for it, unless the store keeps it anyway. */
  #sendStandalone(text: string): Promise<void> | void {
    if (this.#streams.store || this.#hasListened) return this.#streams.send(standaloneId, text)
    this.#unsent ??= []
    if (this.#unsent.length < maxUnsent) this.#unsent.push(text)
  }

  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#streams.close()
    for (const newest of this.#requests.values())
      for (let reply: RawReply | undefined = newest; reply; reply = reply.earlier) reply.stream.abandon()
    this.#requests.clear()
    this.#posts.close()
    this.face.onclose?.()
  }

  handleRequest(request: NodeRequest, response: ServerResponse, parsedBody?: unknown): Promise<void> {
    const call = new NodeCall(request, response, parsedBody)
    const finished = call.finished()
    const fail = (error: unknown) => {
      this.#reportError(error)
      call.reply(500, {})
    }
    try {
      const handled = this.#handle(call)
      if (isThenable(handled)) handled.then(undefined, fail)
    } catch (error) {
      fail(error)
    }
    return finished
  }

  async handleFetch(request: Request, extras?: FetchExtras): Promise<Response> {
    const call = new WebCall(request, extras)
    await this.#handle(call)
    return call.response
  }

  closeStream(requestId: RequestId): void {
    this.#requests.get(requestId)?.stream.disconnect()
  }

  closeStandaloneStream(): void {
    this.#streams.disconnect(standaloneId)
  }

  disconnect(retryMs: number): void {
    this.#streams.sendRetry(standaloneId, retryMs)
    this.closeStandaloneStream()
  }

  #handle(call: HttpCall): Promise<void> | void {
    call.limitOutput(outputLimits)
    if (this.#isClosed) return notFound().send(call)
    this.#checkReuse(call)
    const foreign = originProblem(this.#options, call.request)
    if (foreign) return this.#refuse(call, foreign)
    if (call.method === 'POST') return this.#posts.answer(call)
    if (call.method === 'GET') return this.#get(call)
    if (call.method === 'DELETE') return this.#delete(call)
    this.#refuse(call, methodNotAllowed())
  }

  /** Without sessions nothing tells clients apart, so their request ids would collide. */
  #checkReuse(call: HttpCall): void {
    const { sessionIdGenerator, reusable } = this.#options
    if (sessionIdGenerator || reusable || this.#posts.isStateless(call)) return
    if (this.#isUsed) {
      throw new Error('Stateless transport cannot be reused across requests. Create a new transport per request.')
    }
    this.#isUsed = true
  }

  #get(call: HttpCall): Promise<void> | void {
    const problem = getTypeProblem(call.request) ?? this.#problemWith(call)
    if (problem) return this.#refuse(call, problem)
    const headers = this.#streamHeaders
    const lastEventId = call.request.header('last-event-id')
    const { store } = this.#streams
    if (store && lastEventId) return this.#resume(call, lastEventId, headers)
    if (this.#streams.isConnected(standaloneId)) return this.#refuse(call, streamOpen())
    this.#streams.connect(standaloneId, call, call.stream(headers))
    this.#hasListened = true
    for (const text of this.#unsent ?? []) this.#streams.send(standaloneId, text)
    this.#unsent = undefined
  }

  async #resume(call: HttpCall, lastEventId: string, headers: HeaderFields): Promise<void> {
    const report = (error: unknown) => this.#reportError(error)
    const refusal = await resumeStream(this.#streams, call, lastEventId, headers, report)
    if (!refusal) return
    // The transport closed meanwhile, which is not an error.
    if (this.#isClosed) return notFound().send(call)
    this.#refuse(call, refusal)
  }

  async #delete(call: HttpCall): Promise<void> {
    const problem = this.#problemWith(call)
    if (problem) return this.#refuse(call, problem)
    try {
      await this.#options.onSessionClosed?.(this.face.sessionId!)
      call.reply(200, {})
    } finally {
      await this.face.close()
    }
  }

  #problemWith({ request }: HttpCall): Refusal | undefined {
    const problem = this.#options.sessionIdGenerator ? sessionProblem(this.#session, request) : undefined
    return problem ?? versionProblem(this.#versions, versionOf(request))
  }

  get #session(): SessionState {
    return { isInitialized: this.#isInitialized, sessionId: this.face.sessionId }
  }

  #openSession(): Promise<void> | void {
    const sessionId = this.#options.sessionIdGenerator?.()
    this.face.sessionId = sessionId
    this.#isInitialized = true
    const opened = sessionId && this.#options.onSessionOpened?.(sessionId)
    if (isThenable(opened)) return Promise.resolve(opened).then(() => {})
  }

  get #streamHeaders(): HeaderFields {
    const { sessionId } = this.face
    return sessionId === undefined ? eventHeaders : sessionHeaders(sessionId)
  }

  #refuse(call: HttpCall, refusal: Refusal): void {
    this.#reportError(new Error(refusal.message))
    refusal.send(call)
  }

  #reportError(error: unknown): void {
    try {
      this.face.onerror?.(error instanceof Error ? error : new Error(String(error)))
    } catch {
      // Nothing above would catch it: a client could end the process with a malformed request.
    }
  }

  /** Whether a program put its own `send` in place of ours, on the object or in a subclass. */
  get #isWatched(): boolean {
    return this.face.send !== this.#originalSend()
  }

  #sendWatched(text: string, reply: RawReply | undefined): void {
    const options = reply && { relatedRequestId: reply.requestId }
    const message = JSON.parse(text)
    if (reply) {
      this.#origins ??= new WeakMap()
      this.#origins.set(message, reply).set(options!, reply)
    }
    this.#sending = reply
    const send = this.face.send as (message: RpcMessage, options: RawSendOptions | undefined) => Promise<void>
    try {
      send.call(this.face, message, options).then(undefined, (error) => this.#reportError(error))
    } finally {
      this.#sending = undefined
    }
  }

  #expect(reply: RawReply): void {
    reply.earlier = this.#requests.get(reply.requestId)
    this.#requests.set(reply.requestId, reply)
  }

  #answered(reply: RawReply): void {
    if (this.#requests.get(reply.requestId) !== reply) return
    let { earlier } = reply
    while (earlier?.isAnswered) earlier = earlier.earlier
    if (earlier) this.#requests.set(reply.requestId, earlier)
    else this.#requests.delete(reply.requestId)
  }

  #receiver(): PostReceiver {
    const core = this
    return {
      get sessionId() {
        return core.face.sessionId
      },
      get isClosed() {
        return core.#isClosed
      },
      get hasSession() {
        return core.#isInitialized && core.face.sessionId !== undefined
      },
      openSession: () => this.#openSession(),
      problemWith: (call) => this.#problemWith(call),
      expect: (reply) => this.#expect(reply),
      receive: (message: unknown, extra: PostedMessage, kind: MessageKind) => {
        const { face } = this
        if (this.#isServed && face.onmessage === this.#ownHandler) this.#serverHandler?.(message, extra, kind)
        else face.onmessage?.(message, extra, kind)
      },
      refuse: (call, refusal) => this.#refuse(call, refusal),
      sendWatched: (text, reply) => {
        if (!this.#isWatched) return false
        this.#sendWatched(text, reply)
        return true
      },
      answered: (reply) => this.#answered(reply),
      closeStandaloneStream: () => this.closeStandaloneStream(),
      reportError: (error) => this.#reportError(error),
    }
  }
}
