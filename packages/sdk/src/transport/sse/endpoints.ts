import { Fault } from '../../jsonrpc/message.ts'
import { accountOf } from '../../util/account.ts'
import {
  type Body,
  type BodyLimits,
  type HeaderFields,
  type HttpCall,
  messageIn,
  Refusal,
  refusedCode,
  sessionNotFoundCode,
  tooManyStreams,
} from '../http/server/call.ts'
import { contentProblem, getProblem } from '../http/server/guard.ts'
import type { SsePaths } from '../http/server/options.ts'
import type { HandlerServices } from '../http/server/single-request.ts'
import { SsePeer } from './peer.ts'

/** The two endpoints of the HTTP+SSE transport: one for the stream, one for messages. */
export class SseEndpoints {
  readonly #services: HandlerServices
  readonly #limits: BodyLimits
  readonly #path: string
  readonly #messagesPath: string
  readonly #peers = new Map<string, SsePeer>()

  constructor(services: HandlerServices, limits: BodyLimits, paths: true | SsePaths) {
    const { path = '/sse', messagesPath = '/messages' } = paths === true ? {} : paths
    this.#services = services
    this.#limits = limits
    this.#path = path
    this.#messagesPath = messagesPath
  }

  handles(call: HttpCall): boolean {
    const path = pathOf(call)
    return path === this.#path || path === this.#messagesPath
  }

  async answer(call: HttpCall, headers: HeaderFields | undefined): Promise<void> {
    if (pathOf(call) === this.#path) {
      if (call.method !== 'GET') throw notAllowed('GET')
      return this.#open(call, headers)
    }
    if (call.method !== 'POST') throw notAllowed('POST')
    await this.#receive(call, headers)
  }

  async close(graceMs: number): Promise<void> {
    await Promise.all([...this.#peers.values()].map(({ link }) => link?.close(graceMs)))
  }

  #open(call: HttpCall, headers: HeaderFields | undefined): void {
    const problem = getProblem(call)
    if (problem) throw problem
    if (!this.#services.streams.hasRoom(accountOf(call.request))) throw tooManyStreams(null)
    const peer = new SsePeer(call, this.#messagesPath, this.#services, headers, (id) => this.#peers.delete(id))
    // The client may have disconnected already.
    if (peer.isClosed) return
    this.#peers.set(peer.sessionId, peer)
    peer.attach(this.#services.endpoint.attach(peer))
  }

  async #receive(call: HttpCall, headers: HeaderFields | undefined): Promise<void> {
    const id = /[?&]sessionId=([^&#]*)/.exec(call.request.url)?.[1] ?? null
    const peer = id === null ? undefined : this.#peers.get(id)
    if (!peer || peer.principal !== call.request.principal) {
      throw new Refusal(
        404,
        sessionNotFoundCode,
        'Session not found: it ended with its stream. Open the stream again.',
        null,
      )
    }
    peer.receive(await readMessage(call, this.#limits), call.request)
    call.reply(202, headers ?? {})
  }
}

/** Reads the message of a POST; throws a `Refusal`. */
export async function readMessage(call: HttpCall, limits: BodyLimits): Promise<unknown> {
  const problem = contentProblem(call)
  if (problem) throw problem
  const body = await new Promise<Body | Refusal>((resolve) => call.body(limits, resolve))
  if (body instanceof Refusal) throw body
  const value = messageIn(body, limits.maxBodyBytes)
  if (value instanceof Fault) throw new Refusal(400, value.code, value.message, value.id ?? null)
  return value
}

/** On Node the URL may be a path only. */
function pathOf({ request }: HttpCall): string {
  return request.url.replace(/^https?:\/\/[^/]*/, '').replace(/[?#].*$/s, '')
}

function notAllowed(allow: string): Refusal {
  return new Refusal(405, refusedCode, `Method not allowed: use ${allow}`, null, { allow })
}
