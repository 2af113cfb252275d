import type { JsonObject, RequestId, RpcMessage, RpcNotification, RpcRequest, RpcResponse } from 'tenon'
import { isObject } from 'tenon/internal'

/** Whether a received value is a request. Other members are not checked: the receiver of the message does that. */
export function isRequest(value: unknown): value is RpcRequest {
  return isObject(value) && typeof value.method === 'string' && isId(value.id)
}

/** Whether a received value is a notification. */
export function isNotification(value: unknown): value is RpcNotification {
  return isObject(value) && typeof value.method === 'string' && value.id === undefined
}

/** Whether a received value responds to a request whose id is known. */
export function isResponse(value: unknown): value is RpcResponse & { id: RequestId } {
  return isObject(value) && value.method === undefined && isId(value.id)
}

/** Whether a value can be the id of a request. */
export function isId(value: unknown): value is RequestId {
  return typeof value === 'string' || typeof value === 'number'
}

/** The `_meta` of a request or a notification. */
export function metaOf({ params }: RpcRequest | RpcNotification): JsonObject {
  return isObject(params?._meta) ? params._meta : {}
}

/** The tool, prompt, resource or task that a request is about. */
export function subjectOf({ params = {} }: RpcRequest): string {
  const { name, uri, taskId, ref } = params
  const found = name ?? uri ?? taskId ?? (isObject(ref) ? (ref.name ?? ref.uri) : undefined)
  return typeof found === 'string' ? found : ''
}

/** A copy of a request or notification with another `_meta`. */
export function withMeta<T extends RpcRequest | RpcNotification>(message: T, meta: JsonObject): T {
  return { ...message, params: { ...message.params, _meta: { ...metaOf(message), ...meta } } }
}

/** An error response. */
export function errorResponse(id: RequestId, message: string, data?: unknown): RpcMessage {
  return { jsonrpc: '2.0', id, error: { code: serverErrorCode, message, ...(data !== undefined && { data }) } }
}

/** JSON-RPC leaves this code to implementations. It is no error of the protocol: the server was not there to answer. */
const serverErrorCode = -32_000
