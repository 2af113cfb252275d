import { isThenable } from '../util/maybe-async.ts'
import type { RequestId, RpcErrorBody, RpcMessage, RpcResponse } from './message.ts'
import { isWatched, type LinkTransport, type ReplyStream, type TextSender } from './transport.ts'

/** Whether messages can be sent as text. */
export function sendsText(transport: LinkTransport): transport is LinkTransport & TextSender {
  return transport.sendText !== undefined && !isWatched(transport)
}

/**
 * Sends a message on a stream, or on the transport if there is none. Throws if that fails.
 * @param onFailure Called with a failure that happens later.
 */
export function sendMessage(
  transport: LinkTransport,
  message: RpcMessage | RpcMessage[],
  stream: ReplyStream | undefined,
  onFailure: (error: unknown) => void,
): void {
  if (stream) return void stream.sendText(JSON.stringify(message), isResponse(message), errorOf(message))
  if (sendsText(transport)) return transport.sendText(JSON.stringify(message))
  const sent = transport.send(message)
  if (isThenable(sent)) sent.then(undefined, onFailure)
}

export function errorResponse(id: RequestId | null, code: number, message: string): RpcResponse {
  return { jsonrpc: '2.0', id, error: { code, message } }
}

/** The error of a response. A batch has one only if every member is an invalid request. */
export function errorOf(message: RpcMessage | RpcMessage[]): RpcErrorBody | undefined {
  if (!Array.isArray(message)) return 'error' in message ? message.error : undefined
  const [first] = message
  return first && message.every((member) => errorOf(member)?.code === -32600) ? errorOf(first) : undefined
}

/** Responses are the last message on a stream; notifications and our own requests are not. */
function isResponse(message: RpcMessage | RpcMessage[]): boolean {
  return Array.isArray(message) || !('method' in message)
}
