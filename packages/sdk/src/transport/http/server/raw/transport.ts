import type { ServerResponse } from 'node:http'
import type { MessageKind, RequestId, RpcMessage } from '../../../../jsonrpc/message.ts'
import type { TextSender, Transport } from '../../../../jsonrpc/transport.ts'
import type { Endpoint } from '../../../../protocol/endpoint.ts'
import { revisions } from '../../../../protocol/revisions/index.ts'
import type { CarriesManyPeers, Disconnectable, HasSession, MessageHandler } from '../../../../protocol/transport.ts'
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
import { getTypeProblem, originProblem, sessionProblem, versionProblem } from './session-checks.ts'
import { outputLimits } from './stateless.ts'
import { RawStreams } from './streams.ts'

/** The id of the stream opened by GET, as event stores know it. */
const standaloneId = '_GET_stream'

/** Messages that wait for a client that has not opened a stream. Further ones are dropped. */
const maxUnsent = 100

const handshakeVersions = /* @__PURE__ */ revisions.filter(({ era }) => era === 'handshake').map(({ id }) => id)

/**
 * A Streamable HTTP transport for one client, for programs that route sessions and messages themselves: proxies, and code
 * written for the official SDK. Every response is an event stream unless `enableJsonResponse` is set, refusals have the codes
 * and texts of the official SDK, and `onmessage` gets each message with its HTTP request. Requests of 2026-07-28 need no
 * session: if the transport is connected to a server, they are answered beside it.
 *
 * Most servers use `serveHttp` or `createMcpHandler`.
 */
export class RawHttpTransport implements Transport, TextSender, HasSession, Disconnectable, CarriesManyPeers {
  onmessage?: MessageHandler | undefined
  onerror?: Transport['onerror'] | undefined
  onclose?: Transport['onclose'] | undefined
  sessionId: string | undefined
  readonly hasOwnPeer = true
  readonly #options: RawHttpOptions
  readonly #streams: RawStreams
  readonly #posts: RawPosts
  readonly #requests = new Map<RequestId, RawReply>()
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

  constructor(options: RawHttpOptions = {}) {
    this.#options = options
    this.#streams = new RawStreams(options)
    this.#posts = new RawPosts(this.#receiver(), this.#streams, options)
    this.#versions = options.protocolVersions ?? handshakeVersions
  }

  /** Whether `initialize` was received. */
  get isInitialized(): boolean {
    return this.#isInitialized
  }

  /** Continues a session that was opened elsewhere, for example by another process. */
  resumeSession(sessionId: string | undefined): void {
    this.sessionId = sessionId
    this.#isInitialized = true
  }

  /** @internal */
  serves(server: Endpoint): void {
    this.#isServed = true
    // Called with every message, like the handlers that a program sets later.
    const before = this.onmessage
    this.#posts.onStateless = before && ((message, extra) => before.call(this, message, extra))
    this.#posts.serve(server.revisions, () => {
      this.#watched = new WatchedMessages(this)
      this.#watched.startedWith(this.#ownHandler)
      return watchEndpoint(server, this.#watched)
    })
  }

  /** Called by `server.connect`. Programs without a server set `onmessage` and call it themselves. */
  async start(): Promise<void> {
    if (this.#isStarted) throw new Error('Transport already started')
    this.#isStarted = true
    if (this.#isServed) this.#interpose()
  }

  #interpose(): void {
    this.#serverHandler = this.onmessage
    this.#ownHandler = (message, extra, kind) => {
      if (!this.#watched?.enter(message, extra)) this.#serverHandler?.(message, extra, kind)
    }
    this.onmessage = this.#ownHandler
  }

  /**
   * Sends a message. A response goes to the stream of its request, other messages to the stream of `relatedRequestId` or to
   * the one that the client opened by GET. Rejects if the client cannot get it.
   */
  async send(message: RpcMessage, options?: RawSendOptions): Promise<void> {
    if (this.#watched?.deliverKnown(message, options)) return
    const isResponse = !('method' in message)
    const requestId = isResponse ? message.id : options?.relatedRequestId
    if (requestId !== undefined && requestId !== null) return this.#sendFor(requestId, message, isResponse)
    if (isResponse) {
      throw new Error('Cannot send a response on a standalone SSE stream unless resuming a previous client request')
    }
    await this.#sendStandalone(JSON.stringify(message))
  }

  async #sendFor(requestId: RequestId, message: RpcMessage, isResponse: boolean): Promise<void> {
    const reply = this.#requests.get(requestId)
    if (!reply) throw noConnection(requestId)
    const text = JSON.stringify(message)
    await (isResponse ? reply.respond(text) : reply.stream.notify(text))
  }

  /** Sends a message that belongs to no request on the stream that the client opened by GET. */
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
    for (const { stream } of this.#requests.values()) stream.abandon()
    this.#requests.clear()
    this.#posts.close()
    this.onclose?.()
  }

  /** Handles a request of `node:http`, Express or the like. Resolves when the response was sent or the client is gone. */
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

  /** Handles a web-standard request. */
  async handleFetch(request: Request, extras?: FetchExtras): Promise<Response> {
    const call = new WebCall(request, extras)
    await this.#handle(call)
    return call.response
  }

  /** Ends the connection of a request, so that the client resumes it later. Use it with an event store. */
  closeStream(requestId: RequestId): void {
    this.#requests.get(requestId)?.stream.disconnect()
  }

  /** Ends the connection of the stream opened by GET, so that the client resumes it later. */
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
      await this.#options.onSessionClosed?.(this.sessionId!)
      call.reply(200, {})
    } finally {
      await this.close()
    }
  }

  #problemWith({ request }: HttpCall): Refusal | undefined {
    const problem = this.#options.sessionIdGenerator ? sessionProblem(this, request) : undefined
    return problem ?? versionProblem(this.#versions, versionOf(request))
  }

  #openSession(): Promise<void> | void {
    this.sessionId = this.#options.sessionIdGenerator?.()
    this.#isInitialized = true
    const opened = this.sessionId && this.#options.onSessionOpened?.(this.sessionId)
    if (isThenable(opened)) return Promise.resolve(opened).then(() => {})
  }

  get #streamHeaders(): HeaderFields {
    return this.sessionId === undefined ? eventHeaders : sessionHeaders(this.sessionId)
  }

  #refuse(call: HttpCall, refusal: Refusal): void {
    this.#reportError(new Error(refusal.message))
    refusal.send(call)
  }

  #reportError(error: unknown): void {
    try {
      this.onerror?.(error instanceof Error ? error : new Error(String(error)))
    } catch {
      // Nothing above would catch it: a client could end the process with a malformed request.
    }
  }

  /** Whether a program put its own `send` in place of ours, on the object or in a subclass. */
  get #isWatched(): boolean {
    return this.send !== originalSend()
  }

  #sendWatched(text: string, relatedRequestId: RequestId | undefined): void {
    const options = relatedRequestId === undefined ? undefined : { relatedRequestId }
    this.send(JSON.parse(text), options).then(undefined, (error) => this.#reportError(error))
  }

  #receiver(): PostReceiver {
    const transport = this
    return {
      get sessionId() {
        return transport.sessionId
      },
      get isClosed() {
        return transport.#isClosed
      },
      get hasSession() {
        return transport.#isInitialized && transport.sessionId !== undefined
      },
      openSession: () => this.#openSession(),
      problemWith: (call) => this.#problemWith(call),
      expect: (reply) => void this.#requests.set(reply.requestId, reply),
      receive: (message: unknown, extra: PostedMessage, kind: MessageKind) => {
        if (this.#isServed && this.onmessage === this.#ownHandler) this.#serverHandler?.(message, extra, kind)
        else this.onmessage?.(message, extra, kind)
      },
      refuse: (call, refusal) => this.#refuse(call, refusal),
      sendWatched: (text, relatedId) => {
        if (!this.#isWatched) return false
        this.#sendWatched(text, relatedId)
        return true
      },
      answered: (reply) => {
        if (this.#requests.get(reply.requestId) === reply) this.#requests.delete(reply.requestId)
      },
      closeStandaloneStream: () => this.closeStandaloneStream(),
      reportError: (error) => this.#reportError(error),
    }
  }
}

/** The `send` of the class. Named outside of it, because a class that names itself stays in every bundle. */
function originalSend(): RawHttpTransport['send'] {
  return RawHttpTransport.prototype.send
}
