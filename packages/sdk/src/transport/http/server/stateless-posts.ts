import { isRequest } from '../../../jsonrpc/message.ts'
import { accountOf } from '../../../util/account.ts'
import { type HeaderFields, type HttpCall, tooManyStreams } from './call.ts'
import { checkStatelessPost, type PostedKind, type Revisions } from './posted-message.ts'
import { PostResponse } from './response.ts'
import { type HandlerServices, SingleRequest } from './single-request.ts'

const noHeaders: HeaderFields = /* @__PURE__ */ Object.freeze({})

/** Answers POSTs of the stateless era, each with a link of its own. */
export class StatelessPosts {
  readonly #services: HandlerServices
  readonly #revisions: Revisions

  constructor(services: HandlerServices, revisions: Revisions) {
    this.#services = services
    this.#revisions = revisions
  }

  /** Throws a `Refusal`. */
  answer(call: HttpCall, value: unknown, posted: PostedKind, cors: HeaderFields | undefined): void {
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

  #checkStreamLimit(call: HttpCall): void {
    const { streams, jsonOnly } = this.#services
    if (jsonOnly || !streams.hasRoom(accountOf(call.request))) throw tooManyStreams()
  }
}

/** Answers a POST that needs no response. */
export function replyAccepted(single: SingleRequest, call: HttpCall, cors: HeaderFields | undefined): void {
  single.answered()
  call.reply(202, cors ?? noHeaders)
}
