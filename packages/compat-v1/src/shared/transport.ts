import type { JSONRPCMessage, MessageExtraInfo, RequestId } from '../types.ts'

/** A function that works like `fetch`. */
export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Headers of any kind as an object. */
export function normalizeHeaders(headers: RequestInit['headers'] | undefined): Record<string, string> {
  if (!headers) return {}
  if (headers instanceof Headers || Array.isArray(headers))
    return Object.fromEntries(headers as Iterable<[string, string]>)
  return { ...(headers as Record<string, string>) }
}

/**
 * Wraps `fetch` so that every call has these options. Options of a call take precedence; headers are merged.
 *
 * @param baseFetch Default: the global `fetch`.
 */
export function createFetchWithInit(baseFetch: FetchLike = fetch, baseInit?: RequestInit): FetchLike {
  if (!baseInit) return baseFetch
  return async (url, init) => {
    const headers = init?.headers
      ? { ...normalizeHeaders(baseInit.headers), ...normalizeHeaders(init.headers) }
      : baseInit.headers
    return baseFetch(url, { ...baseInit, ...init, ...(headers && { headers }) })
  }
}

/** How to send a message. */
export type TransportSendOptions = {
  /** The incoming request that this message belongs to. It is sent on the stream of that request. */
  relatedRequestId?: RequestId | undefined
  /** Continues a response stream that was interrupted, after the event with this id. */
  resumptionToken?: string | undefined
  /** Called with the id of each event that the stream can be continued from. */
  onresumptiontoken?: ((token: string) => void) | undefined
}

/** Carries messages between a client and a server. */
export interface Transport {
  /** Starts receiving. Set the callbacks first. `Client` and `Server` call this when they connect. */
  start(): Promise<void>
  /** Sends a message. */
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void>
  /** Closes the connection. */
  close(): Promise<void>
  /** Called when the connection has closed. */
  onclose?: (() => void) | undefined
  /** Called for errors, which need not end the connection. */
  onerror?: ((error: Error) => void) | undefined
  /** Called for each message. */
  onmessage?: (<T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void) | undefined
  /** Identifies the session, if the transport has one. */
  sessionId?: string | undefined
  /** Called with the negotiated protocol revision. */
  setProtocolVersion?: ((version: string) => void) | undefined
}
