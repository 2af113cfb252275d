import type { HeaderFields, HttpCall } from './call.ts'
import type { HttpOptions } from './options.ts'
import {
  checkHandshakeVersion,
  checkStandardHeaders,
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
import { replyAccepted, StatelessPosts } from './stateless-posts.ts'

/** Answers POSTs: decides which era a message belongs to, and passes it to its session, or to a link that lasts for this POST only. */
export class Posts {
  readonly #services: HandlerServices
  readonly #sessions: SessionRequests
  readonly #revisions: Revisions
  readonly #options: HttpOptions
  readonly #stateless: StatelessPosts

  constructor(services: HandlerServices, sessions: SessionRequests, revisions: Revisions, options: HttpOptions) {
    this.#services = services
    this.#sessions = sessions
    this.#revisions = revisions
    this.#options = options
    this.#stateless = new StatelessPosts(services, revisions)
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
    if (isStatelessPost(this.#revisions, version, value)) return this.#stateless.answer(call, value, kind, cors)
    checkHandshakeVersion(this.#revisions, version, value, kind)
    checkStandardHeaders(this.#options, this.#services.endpoint, value, kind, call.request)
    if (this.#options.sessions === false) return this.#answerWithoutSession(call, value, kind, version, cors)
    return this.#sessions.post(call, value, kind, cors)
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
}
