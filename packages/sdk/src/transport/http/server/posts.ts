import { isRequest } from '../../../jsonrpc/message.ts'
import { accountOf } from '../../../util/account.ts'
import { type HeaderFields, type HttpCall, tooManyStreams } from './call.ts'
import type { HttpOptions } from './options.ts'
import {
  checkHandshakeVersion,
  checkStandardHeaders,
  checkStatelessPost,
  classifyPosted,
  expectsNoResponse,
  isStatelessPost,
  kindFor,
  type PostedKind,
  type Revisions,
} from './posted-message.ts'
import { PostResponse } from './response.ts'
import type { SessionRequests } from './sessions/session-requests.ts'
import { type HandlerServices, SingleRequest } from './single-request.ts'

const noHeaders: HeaderFields = Object.freeze({})

/** Answers POSTs: decides which era a message belongs to, and passes it to its session, or to a link that lasts for this POST only. */
export class Posts {
  readonly #services: HandlerServices
  readonly #sessions: SessionRequests
  readonly #revisions: Revisions
  readonly #options: HttpOptions

  constructor(services: HandlerServices, sessions: SessionRequests, revisions: Revisions, options: HttpOptions) {
    this.#services = services
    this.#sessions = sessions
    this.#revisions = revisions
    this.#options = options
  }

  /**
   * @param value The parsed body.
   * @param version What the version header says.
   */
  answer(
    call: HttpCall,
    value: unknown,
    version: string | undefined,
    cors: HeaderFields | undefined,
  ): Promise<void> | void {
    const kind = classifyPosted(value)
    if (isStatelessPost(this.#revisions, version, value)) return this.#answerStateless(call, value, kind, cors)
    checkHandshakeVersion(this.#revisions, version, value, kind)
    checkStandardHeaders(this.#options, value, kind, call.request)
    if (this.#options.sessions === false) return this.#answerWithoutSession(call, value, kind, version, cors)
    return this.#sessions.post(call, value, kind, cors)
  }

  #answerStateless(call: HttpCall, value: unknown, posted: PostedKind, cors: HeaderFields | undefined): void {
    const kind = checkStatelessPost(this.#revisions, value, posted, call.request)
    const isListen = isRequest(value, kind) && value.method === 'subscriptions/listen'
    if (isListen) this.#checkStreamLimit(call)
    const single = new SingleRequest(this.#services, call.request, undefined)
    if (kind === 'notification') {
      single.link.receive(value, undefined, kind)
      return replyAccepted(single, call, cors)
    }
    const response = new PostResponse(call, single, cors)
    single.link.receive(value, response, kind)
    // Most responses have been sent by now.
    if (response.done) return
    // 2026-07-28 streamable-http, cancellation: a client that disconnects cancels its request.
    call.onClose(() => single.answered())
    this.#services.slowResponses.add(response)
    if (isListen) call.atExpiry?.(() => void single.link.close(0))
  }

  /** Answers a message of the handshake era where the server keeps no sessions. */
  #answerWithoutSession(
    call: HttpCall,
    value: unknown,
    posted: PostedKind,
    version: string | undefined,
    cors: HeaderFields | undefined,
  ): void {
    const single = new SingleRequest(this.#services, call.request, this.#revisions.assumedHandshake(version))
    const kind = kindFor(single.link, value, posted)
    if (expectsNoResponse(kind)) {
      single.link.receive(value, undefined, kind)
      return replyAccepted(single, call, cors)
    }
    const response = new PostResponse(call, single, cors)
    single.link.receive(value, response, kind)
    this.#services.slowResponses.add(response)
  }

  #checkStreamLimit(call: HttpCall): void {
    const { streams, jsonOnly } = this.#services
    if (jsonOnly || !streams.hasRoom(accountOf(call.request))) throw tooManyStreams()
  }
}

function replyAccepted(single: SingleRequest, call: HttpCall, cors: HeaderFields | undefined): void {
  single.answered()
  call.reply(202, cors ?? noHeaders)
}
