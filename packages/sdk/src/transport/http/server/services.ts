import type { Endpoint } from '../../../protocol/endpoint.ts'
import type { DenseSet } from '../../../util/dense-set.ts'
import type { SingleRequest } from './single-request.ts'
import type { OpenStreams } from './streams/open-streams.ts'
import type { SlowResponses } from './streams/slow-responses.ts'

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
  reportError(error: unknown): void
}
