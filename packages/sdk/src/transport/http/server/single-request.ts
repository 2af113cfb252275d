import type { Endpoint, PeerLink, RevisionFacts } from '../../../jsonrpc/endpoint.ts'
import type { Transport } from '../../../jsonrpc/transport.ts'
import { accountOf } from '../../../util/account.ts'
import type { DenseSet, DenseSetItem } from '../../../util/dense-set.ts'
import type { CallRequest, HeaderFields, HttpCall } from './call.ts'
import type { PostOwner } from './response.ts'
import { EventStream, type EventStreamOptions } from './streams/event-stream.ts'
import type { OpenStreams } from './streams/open-streams.ts'

/** What all calls of one engine share. */
export interface CallHost {
  readonly endpoint: Endpoint
  readonly streams: OpenStreams
  readonly maxQueuedBytes: number
  readonly plainAnswers: boolean
  /** Those under way, so that they can be waited for. */
  readonly calls: DenseSet<SingleRequest>
}

/**
 * The peer behind one POST that belongs to no session: on 2026-07-28 always, before where the server keeps none. It lasts as
 * long as its call, so equal ids of different clients never meet.
 */
export class SingleRequest implements Transport, PostOwner, DenseSetItem {
  place = -1
  readonly era: 'handshake' | 'stateless'
  readonly assumedRevision: string | undefined
  readonly link: PeerLink
  readonly #host: CallHost
  readonly #request: CallRequest
  #stream: EventStream | undefined

  /** @param assumed What the call is taken for, where neither a session nor the call itself says it. */
  constructor(host: CallHost, request: CallRequest, assumed: RevisionFacts | undefined) {
    this.era = assumed ? 'handshake' : 'stateless'
    this.assumedRevision = assumed?.id
    this.#host = host
    this.#request = request
    this.link = host.endpoint.attach(this)
    if (assumed) {
      this.link.batching = assumed.batching
      this.link.omitsUnknownId = assumed.omitsUnknownId
    }
    host.calls.add(this)
  }

  async start(): Promise<void> {}

  /** There is no stream for what belongs to no request. */
  send(): void {}

  sendText(): void {}

  async close(): Promise<void> {
    this.#stream?.end()
    this.answered()
  }

  openStream(call: HttpCall, headers: HeaderFields, isOptional: boolean): EventStream | undefined {
    const { streams, plainAnswers } = this.#host
    const account = accountOf(this.#request)
    if (plainAnswers || !streams.hasRoom(account, isOptional)) return undefined
    const sink = call.stream(headers)
    const stream = new EventStream('', sink, undefined, this.#streamOptions())
    this.#stream = stream
    streams.add(stream, account)
    call.onClose(() => stream.lost(sink))
    return stream
  }

  answered(): void {
    this.#host.calls.delete(this)
    this.link.ended()
  }

  reportError(error: unknown): void {
    this.#host.endpoint.reportError(error)
  }

  #streamOptions(): EventStreamOptions {
    const { streams, maxQueuedBytes } = this.#host
    return {
      maxQueuedBytes,
      reportError: (error) => this.reportError(error),
      onUnread: (stream) => {
        streams.delete(stream)
        // 2026-07-28 streamable-http, cancellation: a stream that is closed cancels its request.
        if (!stream.ended && this.era === 'stateless') this.answered()
      },
    }
  }
}
