import { metaKeys } from 'tenon'
import { isObject, type JsonObject } from 'tenon/internal'

/** What came back for something that was sent. */
export interface Reply {
  /** The response; undefined if there was none. */
  readonly message?: JsonObject | undefined
  /** The status, on HTTP. */
  readonly status?: number | undefined
  /** Why there is no message: nothing came in time, or the connection ended. */
  readonly missing?: 'timeout' | 'closed' | undefined
}

/** A connection on which anything can be sent, also what no client would send. */
export interface RawPeer {
  /** Sends a text as a message, and waits for the response with this id; with `null` for any error without an id. */
  exchange(text: string, id: number | string | null, timeoutMs?: number): Promise<Reply>
  /** Sends a well-formed request. */
  request(method: string, params?: JsonObject, timeoutMs?: number): Promise<Reply>
  /** Sends a notification. */
  notify(method: string, params?: JsonObject): Promise<void>
  /** Whether the server still answers. */
  isAlive(): Promise<boolean>
  /** Connects again after the server stopped. */
  restart(): Promise<void>
  /** Number of responses with this id so far; undefined if that cannot be known. */
  countResponses?(id: number | string): number
  close(): Promise<void>
}

/** How requests look: with a session that `initialize` opened, or each on its own. */
export type Style = 'handshake' | 'stateless'

/** The revisions in which the raw messages are written. */
export const handshakeRevision = '2025-11-25'
export const statelessRevision = '2026-07-28'

const clientInfo = { name: 'tenon-test', version: '1.0.0' }

/** The request that opens a session. */
export function initializeRequest(id: number): JsonObject {
  const params = { protocolVersion: handshakeRevision, capabilities: {}, clientInfo }
  return { jsonrpc: '2.0', id, method: 'initialize', params }
}

/** Creates a request in a style. */
export function toRequest(style: Style, id: number | string, method: string, params?: JsonObject): JsonObject {
  const meta = {
    [metaKeys.protocolVersion]: statelessRevision,
    [metaKeys.clientInfo]: clientInfo,
    [metaKeys.clientCapabilities]: {},
  }
  const whole = style === 'stateless' ? { ...params, _meta: meta } : params
  return { jsonrpc: '2.0', id, method, ...(whole && { params: whole }) }
}

/** The cheapest request that every server of a style answers. */
export function pingMethod(style: Style): string {
  return style === 'handshake' ? 'ping' : 'server/discover'
}

/** Whether a message is the response to a request. */
export function isResponseTo(message: unknown, id: number | string | null): message is JsonObject {
  if (!isObject(message) || message.method !== undefined) return false
  if (id !== null) return message.id === id
  return (message.id === null || message.id === undefined) && message.error !== undefined
}

/** Whether a reply is a JSON-RPC error, or a refusal by HTTP. */
export function isRefusal({ message, status = 200 }: Reply): boolean {
  return status >= 400 || (isObject(message) && message.error !== undefined)
}

/** Describes a reply in a few words. */
export function describeReply({ message, status, missing }: Reply): string {
  const error = isObject(message) && isObject(message.error) ? message.error : undefined
  if (error) return `error ${String(error.code)}${status === undefined || status === 200 ? '' : ` (HTTP ${status})`}`
  if (status !== undefined && status !== 200) return `HTTP ${status}`
  if (message) return 'a result'
  return missing === 'closed' ? 'the end of the connection' : 'no answer'
}
