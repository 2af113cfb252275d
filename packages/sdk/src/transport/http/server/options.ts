import type { AuthOptions } from '../../../auth/resource/options.ts'
import type { HttpRequest } from '../../../protocol/http-request.ts'
import type { Bus, EventStore, SessionStore } from '../../../store/ports.ts'
import type { GuardOptions } from './guard.ts'
import type { IncomingLimits } from './incoming-bodies.ts'
import type { RateLimitOptions } from './rate-limit.ts'
import type { SessionLimits } from './sessions/session-table.ts'
import type { StreamLimits } from './streams/open-streams.ts'
import type { UnsentOutputLimits } from './unsent-output.ts'

/** How a server is served over HTTP. Everything has a safe default. */
export interface HttpOptions extends GuardOptions, SessionLimits, StreamLimits, UnsentOutputLimits, IncomingLimits {
  /** Keep no sessions: every request of an older revision stands alone, and there is no GET stream. Default false. */
  stateless?: boolean | undefined
  /** The largest body of a request. Default 4 MiB. */
  maxBodyBytes?: number | undefined
  /** How long the body of a request may take to arrive. Default 30,000. */
  bodyTimeoutMs?: number | undefined
  /** Bytes that the reader of a stream may be behind before it is cut off. Default 4 MiB. */
  maxQueuedBytes?: number | undefined
  /** Streams that one session may have open. Default 64. */
  maxStreamsPerSession?: number | undefined
  /** Requests that one caller may make. Default: no limit. */
  rateLimit?: RateLimitOptions | undefined
  /**
   * What to do with the headers `Mcp-Method` and `Mcp-Name` on revisions that do not demand them. Default `'validate'`: one
   * that is there must agree with the body.
   */
  standardHeaders?: 'validate' | 'require' | 'ignore' | undefined
  /**
   * How long a response may stay silent before it becomes a stream: its headers are sent, then comments that keep the
   * connection open, and at last the answer. `Infinity`: the headers wait for the answer. Default 1,000.
   */
  streamAfterMs?: number | undefined
  /** Only plain JSON answers, never a stream: progress and logs of requests are then not sent. Default false. */
  enableJsonResponse?: boolean | undefined
  /** What was sent on streams, so that they can be resumed. Default: in memory, bounded; `false`: streams end with their connection. */
  eventStore?: EventStore | false | undefined
  /** Where sessions are kept so that another process can take them over. Default: only in this process. */
  sessionStore?: SessionStore | undefined
  /** Carries changes to the other processes that serve the same, so that every client hears of them. */
  bus?: Bus | undefined
  /**
   * Who is calling, as your own authentication knows. Sessions, streams and limits belong to it. Default: from what an
   * authenticating layer left on the request (`auth`), else nobody in particular.
   */
  principal?: ((request: HttpRequest) => string | undefined | PromiseLike<string | undefined>) | undefined
  /**
   * The address of the client behind a proxy, such as `(request) => request.header('x-real-ip')`. Only read headers that your
   * proxy sets itself, because clients can send any header. Limits count anonymous callers by it. Default: the address of the
   * connection on Node, none elsewhere.
   */
  clientAddress?: ((request: HttpRequest) => string | undefined) | undefined
  /** Makes the ids of sessions. Default: 256 random bits. */
  sessionIdGenerator?: (() => string) | undefined
  /**
   * Told of every session that begins and ends here. The client has its first answer when this is done. If it throws for a
   * session that begins, the session is refused; the error goes to `onError`.
   */
  onSession?: ((event: 'opened' | 'closed', sessionId: string) => unknown) | undefined
  /** Requires an OAuth 2.1 access token on every request. Default: anyone may call. */
  auth?: AuthOptions | undefined
  /** The old transport of 2024-11-05 beside the new one. Default false. */
  sse?: boolean | SsePaths | undefined
}

/** The two endpoints of the old transport. */
export interface SsePaths {
  /** Where the stream is opened. Default `/sse`. */
  path?: string | undefined
  /** Where messages are posted. Default `/messages`. */
  messagesPath?: string | undefined
}
