import type { TextSender, Transport } from '../../../jsonrpc/transport.ts'
import type { Endpoint, PeerLink, RevisionFacts } from '../../../protocol/endpoint.ts'
import { accountOf } from '../../../util/account.ts'
import type { DenseSet, DenseSetItem } from '../../../util/dense-set.ts'
import type { CallRequest, HeaderFields, HttpCall } from './call.ts'
import type { PostOwner, SlowResponses } from './response.ts'
import { EventStream, type EventStreamOptions } from './streams/event-stream.ts'
import type { OpenStreams } from './streams/open-streams.ts'

/**
 * The peer behind one POST outside of any session: every POST of the stateless era, and those of the handshake era where the
 * server keeps no sessions. It ends with its request, so that equal request ids of different clients do not collide.
 */
export class SingleRequest implements Transport, TextSender, PostOwner, DenseSetItem {
  place = -1
  readonly era: 'handshake' | 'stateless'
  readonly assumedRevision: string | undefined
  readonly link: PeerLink
  readonly #services: HandlerServices
  readonly #request: CallRequest
  #stream: EventStream | undefined

  /** @param assumed The revision of a message of the handshake era; undefined for the stateless era, whose messages name it. */
  constructor(services: HandlerServices, request: CallRequest, assumed: RevisionFacts | undefined) {
    this.era = assumed ? 'handshake' : 'stateless'
    this.assumedRevision = assumed?.id
    this.#services = services
    this.#request = request
    this.link = services.endpoint.attach(this)
    if (assumed) {
      this.link.batching = assumed.batching
      this.link.omitsUnknownId = assumed.omitsUnknownId
    }
    services.singleRequests.add(this)
  }

  get alwaysStreams(): boolean {
    return this.#services.alwaysStream
  }

  async start(): Promise<void> {}

  /** A message that belongs to no request has no stream to go to. */
  send(): void {}

  sendText(): void {}

  async close(): Promise<void> {
    this.#stream?.end()
    this.answered()
  }

  openStream(call: HttpCall, headers: HeaderFields, isOptional: boolean): EventStream | undefined {
    const { streams, jsonOnly } = this.#services
    const account = accountOf(this.#request)
    if (jsonOnly || !streams.hasRoom(account, isOptional)) return undefined
    const sink = call.stream(headers)
    const stream = new EventStream('', sink, undefined, this.#streamOptions())
    this.#stream = stream
    streams.add(stream, account)
    call.onClose(() => stream.lost(sink))
    return stream
  }

  answered(): void {
    this.#services.singleRequests.delete(this)
    this.link.ended()
  }

  reportError(error: unknown): void {
    this.#services.endpoint.reportError(error)
  }

  #streamOptions(): EventStreamOptions {
    const { streams, maxQueuedBytes } = this.#services
    return {
      maxQueuedBytes,
      reportError: (error) => this.reportError(error),
      onUnread: (stream) => {
        streams.delete(stream)
        // 2026-07-28 streamable-http, cancellation: a client that closes the stream cancels the request.
        if (!stream.ended && this.era === 'stateless') this.answered()
      },
    }
  }
}

/** Everything that the requests of one `HttpRequestHandler` share. */
export interface HandlerServices {
  readonly endpoint: Endpoint
  readonly streams: OpenStreams
  readonly slowResponses: SlowResponses
  /** The requests outside of sessions that are being answered, so that `close` can wait for them. */
  readonly singleRequests: DenseSet<SingleRequest>
  /** Bytes that the reader of a stream may be behind before it is disconnected. */
  readonly maxQueuedBytes: number
  /** Whether every response is plain JSON and never a stream (`enableJsonResponse`). */
  readonly jsonOnly: boolean
  /** Whether every response is a stream (`alwaysStream`). */
  readonly alwaysStream: boolean
  reportError(error: unknown): void
}
