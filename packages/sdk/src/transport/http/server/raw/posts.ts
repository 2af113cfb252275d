import { principalOf } from '../../../../auth/resource/principal.ts'
import { classify, Fault, isRequest, type MessageKind } from '../../../../jsonrpc/message.ts'
import type { Endpoint } from '../../../../protocol/endpoint.ts'
import { revisions } from '../../../../protocol/revisions/index.ts'
import type { MessageHandler } from '../../../../protocol/transport.ts'
import { isThenable } from '../../../../util/maybe-async.ts'
import { type Body, type BodyLimits, type HttpCall, messageIn, Refusal } from '../call.ts'
import { contentProblem } from '../guard.ts'
import { NodeCall } from '../node.ts'
import { checkStatelessPost, classifyPosted, isStatelessPost, Revisions, versionOf } from '../posted-message.ts'
import type { RawHttpOptions } from './options.ts'
import { beginAtEndOfTurn, PostStream } from './post-stream.ts'
import {
  alreadyInitialized,
  batchTooLarge,
  bodyTooLarge,
  failed,
  invalidJson,
  invalidMessage,
  notFound,
  severalInitializations,
} from './refusals.ts'
import { type PostedFacts, PostedMessage, RawReply, type ReplyOwner } from './reply.ts'
import { opensSession, postTypeProblem } from './session-checks.ts'
import { bodyLimitsOf, RawStatelessPosts } from './stateless.ts'
import type { RawStreams } from './streams.ts'

/** Messages in one batch. */
const maxBatch = 100

/** The transport whose POSTs are answered. */
export interface PostReceiver extends ReplyOwner {
  readonly sessionId: string | undefined
  readonly isClosed: boolean
  /** Whether the session is open, so that `initialize` is refused. */
  readonly hasSession: boolean
  /** Opens the session. Resolves when the program knows it. */
  openSession(): Promise<void> | void
  /** Returns the refusal for a request that is not part of the session or names an unsupported version. */
  problemWith(call: HttpCall): Refusal | undefined
  expect(reply: RawReply): void
  receive(message: unknown, extra: PostedMessage, kind: MessageKind): void
  refuse(call: HttpCall, refusal: Refusal): void
}

interface Posted {
  readonly message: unknown
  readonly kind: Exclude<MessageKind, Fault>
}

/** Answers the POSTs of one transport. */
export class RawPosts {
  readonly #receiver: PostReceiver
  readonly #streams: RawStreams
  readonly #options: RawHttpOptions
  readonly #bodyLimits: BodyLimits
  #revisions = allRevisions
  /** Created with the first request of the stateless era, because programs may create a transport for every request. */
  #stateless: RawStatelessPosts | undefined
  #served: Endpoint | undefined
  /** Makes the endpoint that answers requests of the stateless era. */
  #watched: (() => Endpoint) | undefined
  /** Called with each message of the stateless era that the server gets. */
  onStateless: MessageHandler | undefined

  constructor(receiver: PostReceiver, streams: RawStreams, options: RawHttpOptions) {
    this.#receiver = receiver
    this.#streams = streams
    this.#options = options
    this.#bodyLimits = bodyLimitsOf(options)
  }

  /** The server that answers requests of the stateless era. Without one, the program gets them like all others. */
  serve(server: Endpoint, watched: () => Endpoint): void {
    this.#revisions = revisionsOf(server.revisions)
    this.#served = server
    this.#watched = watched
  }

  close(): void {
    this.#stateless?.close()
  }

  /** Whether the headers say that the request belongs to the stateless era. */
  isStateless(call: HttpCall): boolean {
    const version = versionOf(call.request)
    return this.#takesStateless && version !== undefined && this.#revisions.eraOf(version) === 'stateless'
  }

  get #takesStateless(): boolean {
    const { stateless = true } = this.#options
    return this.#served ? stateless !== false && !this.#served.handshakeOnly?.() : stateless === true
  }

  answer(call: HttpCall): void {
    const problem = postTypeProblem(call.request) ?? contentProblem(call)
    if (problem) return this.#receiver.refuse(call, problem)
    call.body(this.#bodyLimits, (body) => {
      try {
        this.#received(call, body)?.catch((error) => this.#fail(call, error))
      } catch (error) {
        this.#fail(call, error)
      }
    })
  }

  #fail(call: HttpCall, error: unknown): void {
    if (error instanceof Refusal) return this.#receiver.refuse(call, error)
    this.#receiver.reportError(error)
    failed(error).send(call)
  }

  #received(call: HttpCall, body: Body | Refusal): Promise<void> | void {
    const { maxBodyBytes } = this.#bodyLimits
    if (body instanceof Refusal) throw body.status === 413 ? bodyTooLarge(maxBodyBytes) : body
    const value = messageIn(body, maxBodyBytes)
    if (value instanceof Fault) throw invalidJson()
    if (this.#receiver.isClosed) return notFound().send(call)
    const { request } = call
    const principal = principalOf(request)
    if (isThenable(principal)) {
      return principal.then((name) => {
        request.principal = name
        return this.#route(call, value)
      })
    }
    request.principal = principal
    return this.#route(call, value)
  }

  #route(call: HttpCall, value: unknown): Promise<void> | void {
    const version = versionOf(call.request)
    if (this.#takesStateless && isStatelessPost(this.#revisions, version, value))
      return this.#answerStateless(call, value)
    const messages = toMessages(value)
    if (!messages.some(({ message }) => opensSession(message))) {
      const problem = this.#receiver.problemWith(call)
      if (problem) throw problem
      return this.#deliver(call, messages, version)
    }
    if (this.#receiver.hasSession) throw alreadyInitialized()
    if (messages.length > 1) throw severalInitializations()
    const opened = this.#receiver.openSession()
    const { protocolVersion } = (messages[0]!.message as { params: { protocolVersion: string } }).params
    if (isThenable(opened)) return opened.then(() => this.#deliver(call, messages, protocolVersion))
    return this.#deliver(call, messages, protocolVersion)
  }

  #answerStateless(call: HttpCall, value: unknown): void {
    const facts = { request: call.request, era: 'stateless', assumedRevision: undefined, isResumable: false } as const
    if (this.#watched) {
      this.#stateless ??= new RawStatelessPosts(this.#watched(), this.#revisions, this.#options)
      this.onStateless?.(value, new PostedMessage(facts))
      return this.#stateless.answer(call, value)
    }
    const kind = checkStatelessPost(this.#revisions, value, classifyPosted(value), call.request)
    this.#pass(call, [{ message: value, kind }], facts)
  }

  #deliver(call: HttpCall, messages: readonly Posted[], version: string | undefined): Promise<void> | void {
    // The program may have closed the transport when its session opened.
    if (this.#receiver.isClosed) return notFound().send(call)
    const isResumable =
      this.#streams.store !== undefined && revisions.find(({ id }) => id === version)?.primesStreams === true
    const assumedRevision = this.#receiver.sessionId === undefined ? this.#assumed(version) : undefined
    return this.#pass(call, messages, { request: call.request, era: 'handshake', assumedRevision, isResumable })
  }

  /** Without a header, programs expect that nothing is left out of their results. */
  #assumed(version: string | undefined): string | undefined {
    if (!this.#revisions.hasHandshake) return undefined
    return this.#revisions.assumedHandshake(version ?? '').id
  }

  #pass(call: HttpCall, messages: readonly Posted[], facts: PostedFacts): Promise<void> | void {
    const requests = messages.reduce((count, { kind }) => (kind === 'request' ? count + 1 : count), 0)
    if (requests === 0) {
      this.#receiveAll(messages, facts, undefined)
      return call.reply(202, {})
    }
    const { sessionId } = this.#receiver
    const { enableJsonResponse: isJson = false } = this.#options
    const stream = new PostStream(call, this.#streams, sessionId, requests, isJson)
    if (this.#streams.store && !isJson) {
      if (facts.isResumable) return stream.beginResumable().then(() => this.#receiveAll(messages, facts, stream))
      stream.begin()
    }
    this.#receiveAll(messages, facts, stream)
    if (call instanceof NodeCall) beginAtEndOfTurn(stream)
    else stream.begin()
  }

  #receiveAll(messages: readonly Posted[], facts: PostedFacts, stream: PostStream | undefined): void {
    for (const { message, kind } of messages) {
      if (stream && isRequest(message, kind)) {
        const reply = new RawReply(this.#receiver, facts, stream, message.id)
        this.#receiver.expect(reply)
        this.#receiver.receive(message, reply, kind)
      } else this.#receiver.receive(message, new PostedMessage(facts), kind)
    }
  }
}

const allRevisions = /* @__PURE__ */ new Revisions(revisions)
const known = /* @__PURE__ */ new WeakMap<Endpoint['revisions'], Revisions>([[revisions, allRevisions]])

function revisionsOf(served: Endpoint['revisions']): Revisions {
  const found = known.get(served) ?? new Revisions(served)
  known.set(served, found)
  return found
}

/** The messages of a POST. Throws a `Refusal`. */
function toMessages(value: unknown): Posted[] {
  if (!Array.isArray(value)) return [toMessage(value)]
  if (value.length > maxBatch) throw batchTooLarge(maxBatch)
  return value.map(toMessage)
}

function toMessage(message: unknown): Posted {
  const kind = classify(message)
  if (kind instanceof Fault) throw invalidMessage()
  return { message, kind }
}
