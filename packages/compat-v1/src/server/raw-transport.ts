import type { IncomingMessage, ServerResponse } from 'node:http'
import { type RawEventStore, type RawHttpOptions, RawHttpTransport } from 'tenon/server'
import { SUPPORTED_PROTOCOL_VERSIONS } from '../shared/constants.ts'
import { answersWithoutInitialize, wasAdmitted } from '../shared/without-initialize.ts'
import type { JSONRPCMessage, MessageExtraInfo, RequestId } from '../types.ts'
import type { AuthInfo } from './auth/types.ts'
import { resolveMaxRequestBodySize } from './requestBody.ts'
import type { WebStandardStreamableHTTPServerTransportOptions } from './webStandardStreamableHttp.ts'

/** The members of Tenon's `RawHttpTransport`, with the message types of this package. */
export interface RawTransport {
  sessionId?: string
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage, extra?: MessageExtraInfo) => void
  /** Called by `connect` of a server or client. */
  start(): Promise<void>
  /** Ends all streams. Later requests are answered with 404. */
  close(): Promise<void>
  /** Sends a response on the stream of its request, and other messages on that of `relatedRequestId` or of the GET. */
  send(message: JSONRPCMessage, options?: { relatedRequestId?: RequestId }): Promise<void>
  readonly isInitialized: boolean
  resumeSession(sessionId: string | undefined): void
  closeStream(requestId: RequestId): void
  closeStandaloneStream(): void
  handleFetch(request: Request, extras?: { auth?: unknown; parsedBody?: unknown }): Promise<Response>
}

/** `RawHttpTransport` for requests of `node:http`. */
export interface RawNodeTransport extends RawTransport {
  handleRequest(
    request: IncomingMessage & { auth?: AuthInfo },
    response: ServerResponse,
    parsedBody?: unknown,
  ): Promise<void>
}

// The two packages describe the same messages by different types, so the class is seen through the interfaces above.
export const RawNodeTransport: new (options: RawHttpOptions) => RawNodeTransport = RawHttpTransport as never
export const RawWebTransport: new (options: RawHttpOptions) => RawTransport = RawHttpTransport as never

/** Translates the options of the transports of this package. */
export function toRawOptions(options: WebStandardStreamableHTTPServerTransportOptions): RawHttpOptions {
  const { allowedHosts, allowedOrigins, enableDnsRebindingProtection: isProtected } = options
  return {
    sessionIdGenerator: options.sessionIdGenerator,
    onSessionOpened: options.onsessioninitialized,
    onSessionClosed: options.onsessionclosed,
    enableJsonResponse: options.enableJsonResponse,
    eventStore: options.eventStore as RawEventStore | undefined,
    retryMs: options.retryInterval,
    keepAliveMs: options.keepAliveMs,
    maxBodyBytes: resolveMaxRequestBodySize(options.maxRequestBodySize),
    protocolVersions: SUPPORTED_PROTOCOL_VERSIONS,
    // A program with sessions relies on them to keep callers out, and one without a server reads every message itself.
    stateless: options.sessionIdGenerator && !answersWithoutInitialize ? false : 'served',
    ...(isProtected && { allowedHosts, allowedOrigins }),
  }
}

/**
 * Whether a transport was created for one request of 2026-07-28. It then gets the id that the program expects, which no client
 * learns, so that the program finds its own entry when the transport closes.
 */
export function isForOneRequest(
  transport: RawTransport,
  parsedBody: unknown,
  { sessionIdGenerator }: WebStandardStreamableHTTPServerTransportOptions,
): boolean {
  if (!answersWithoutInitialize || transport.isInitialized || !wasAdmitted(parsedBody)) return false
  transport.sessionId ??= sessionIdGenerator?.()
  return true
}

/** Calls back when the body of a response was read to its end, or is not read any more. */
export function afterBody(response: Response, callback: () => void): Response {
  const reader = response.body?.getReader()
  if (!reader) {
    callback()
    return response
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await reader.read()
      if (!done) return controller.enqueue(value)
      controller.close()
      callback()
    },
    async cancel(reason) {
      await reader.cancel(reason).catch(() => {})
      callback()
    },
  })
  return new Response(body, response)
}
