import type { JSONRPCMessage, MessageExtraInfo, RequestId } from './types.ts'

/** A function with the signature of `fetch`. */
export type FetchLike = (url: string | URL, init?: RequestInit) => Promise<Response>

/** Options of `Transport.send`. */
export type TransportSendOptions = {
  /** The request of the other side that the message belongs to. */
  relatedRequestId?: RequestId | undefined
  /** Continues a stream that was interrupted. */
  resumptionToken?: string | undefined
  onresumptiontoken?: ((token: string) => void) | undefined
  /** Ends the stream of this request. */
  requestSignal?: AbortSignal | undefined
  onRequestStreamEnd?: (() => void) | undefined
  /** Headers of the HTTP request that carries the message. */
  headers?: Readonly<Record<string, string>> | undefined
}

/** A channel that carries JSON-RPC messages both ways. */
export interface Transport {
  /** Starts to receive. Called once, after the handlers below are set. */
  start(): Promise<void>
  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void>
  close(): Promise<void>
  /** Whether each request has a stream of its own, so that closing the stream cancels the request. */
  readonly hasPerRequestStream?: boolean
  onclose?: (() => void) | undefined
  onerror?: ((error: Error) => void) | undefined
  onmessage?: (<T extends JSONRPCMessage>(message: T, extra?: MessageExtraInfo) => void) | undefined
  sessionId?: string | undefined
  setProtocolVersion?: ((version: string) => void) | undefined
  setSupportedProtocolVersions?: ((versions: string[]) => void) | undefined
}

/** Returns a `fetch` that adds options to every request. Headers of both are merged. */
export function createFetchWithInit(baseFetch: FetchLike = fetch, baseInit?: RequestInit): FetchLike {
  if (!baseInit) return baseFetch
  return (url, init) => {
    const headers = init?.headers ? { ...toRecord(baseInit.headers), ...toRecord(init.headers) } : baseInit.headers
    return baseFetch(url, { ...baseInit, ...init, ...(headers && { headers }) })
  }
}

function toRecord(headers: RequestInit['headers'] | undefined): Record<string, string> {
  if (!headers) return {}
  if (headers instanceof Headers) return Object.fromEntries(headers)
  return Array.isArray(headers) ? Object.fromEntries(headers) : { ...(headers as Record<string, string>) }
}
