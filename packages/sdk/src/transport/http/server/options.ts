import type { AuthOptions } from '../../../auth/resource/options.ts'
import type { HttpRequest } from '../../../protocol/http-request.ts'
import type { Bus, EventStore, SessionStore } from '../../../store/ports.ts'
import type { GuardOptions, RateLimitOptions } from './guard.ts'
import type { IncomingLimits } from './incoming-bodies.ts'
import type { SessionLimits } from './sessions/session-table.ts'
import type { StreamLimits } from './streams/open-streams.ts'
import type { UnsentOutputLimits } from './unsent-output.ts'

/** Options of `serveHttp`, `createMcpHandler` and `StreamableHTTPServerTransport`. Every default is safe. */
export interface HttpOptions extends GuardOptions, SessionLimits, StreamLimits, UnsentOutputLimits, IncomingLimits {
  /**
   * Whether clients of the handshake era (2025-03-26 to 2025-11-25) get sessions. With `false` every request is handled on its
   * own, and GET and DELETE are refused. Default true.
   */
  sessions?: boolean | undefined
  /** The largest request body. Default 4 MiB. */
  maxBodyBytes?: number | undefined
  /** How long a request body may take to arrive. Default 30,000. */
  bodyTimeoutMs?: number | undefined
  /** Bytes that the reader of a stream may be behind before it is disconnected. Default 4 MiB. */
  maxQueuedBytes?: number | undefined
  /** Open streams of one session. Default 64. */
  maxStreamsPerSession?: number | undefined
  /** Limits the requests of one caller. Default: no limit. */
  rateLimit?: RateLimitOptions | undefined
  /**
   * How to treat the headers `Mcp-Method` and `Mcp-Name` on revisions that do not require them. `'validate'`: if present they
   * must match the body, and a batch must not have them. `'require'` refuses batches. Default `'validate'`.
   */
  standardHeaders?: 'validate' | 'require' | 'ignore' | undefined
  /**
   * How long a response may take before it becomes a stream: its headers are sent, then comments that keep the connection open,
   * then the response. `Infinity`: the headers wait for the response. Default 1,000.
   */
  streamAfterMs?: number | undefined
  /**
   * Responds to every request with an event stream, even if the response is its only event. For clients and proxies that expect
   * one. Refused requests and errors with a status of their own are still plain JSON. Default false: plain JSON if nothing is sent
   * before the response.
   */
  alwaysStream?: boolean | undefined
  /** Responds with plain JSON only, never with a stream. Progress and logs of requests are then not sent. Default false. */
  enableJsonResponse?: boolean | undefined
  /** Stores sent events, so that streams can be resumed. `false`: streams end with their connection. Default: in memory, bounded. */
  eventStore?: EventStore | false | undefined
  /** Stores sessions, so that another process can take them over. Default: sessions belong to this process. */
  sessionStore?: SessionStore | undefined
  /** Carries changes to the other processes of a cluster, so that every client is notified. */
  bus?: Bus | undefined
  /**
   * Identifies the caller by your own authentication. Sessions, streams and limits belong to this principal. Default: derived
   * from the `auth` that an authentication layer set on the request, otherwise anonymous.
   */
  principal?: ((request: HttpRequest) => string | undefined | PromiseLike<string | undefined>) | undefined
  /**
   * Returns the address of the client behind a proxy, such as `(request) => request.header('x-real-ip')`. Read only headers that
   * your proxy sets itself, because clients can send any header. Limits for anonymous callers use it. Default: the address of
   * the connection on Node, none elsewhere.
   */
  clientAddress?: ((request: HttpRequest) => string | undefined) | undefined
  /** Generates session ids. Default: 256 random bits. */
  sessionIdGenerator?: (() => string) | undefined
  /**
   * Called when a session begins or ends in this process. The client gets its first response when the callback is done. If it
   * throws for a new session, the session is refused and the error goes to `onError`.
   */
  onSession?: ((event: 'opened' | 'closed', sessionId: string) => unknown) | undefined
  /** Requires an OAuth 2.1 access token on every request. Default: everyone may call. */
  auth?: AuthOptions | undefined
  /** Also serves the HTTP+SSE transport of 2024-11-05. Default false. */
  sse?: boolean | SsePaths | undefined
}

/** The two endpoints of the HTTP+SSE transport. */
export interface SsePaths {
  /** The path of the event stream. Default `/sse`. */
  path?: string | undefined
  /** The path that messages are posted to. Default `/messages`. */
  messagesPath?: string | undefined
}
