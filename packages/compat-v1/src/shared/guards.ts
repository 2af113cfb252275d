import { isObject } from 'tenon/internal'
// Checks of messages that need no zod, so that servers start without loading it. They accept what the schemas of
// `types.ts` accept.

import type {
  JSONRPCErrorResponse,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResultResponse,
  TaskAugmentedRequestParams,
} from '../generated/protocol-types.ts'
import { JSONRPC_VERSION, RELATED_TASK_META_KEY } from './constants.ts'

/** Whether a value is a request in its JSON-RPC envelope. */
export const isJSONRPCRequest = (value: unknown): value is JSONRPCRequest =>
  isEnvelope(value, requestKeys) && isRequestId(value.id) && typeof value.method === 'string' && hasValidParams(value)

/** Whether a value is a notification in its JSON-RPC envelope. */
export const isJSONRPCNotification = (value: unknown): value is JSONRPCNotification =>
  isEnvelope(value, notificationKeys) && typeof value.method === 'string' && hasValidParams(value)

/** Whether a value is a response with a result. */
export const isJSONRPCResultResponse = (value: unknown): value is JSONRPCResultResponse =>
  isEnvelope(value, resultKeys) && isRequestId(value.id) && isObject(value.result) && hasValidMeta(value.result)

/**
 * Whether a value is a response with a result.
 *
 * @deprecated Use `isJSONRPCResultResponse`.
 */
export const isJSONRPCResponse = isJSONRPCResultResponse

/** Whether a value is a response with an error. */
export const isJSONRPCErrorResponse = (value: unknown): value is JSONRPCErrorResponse =>
  isEnvelope(value, errorKeys) &&
  (value.id === undefined || isRequestId(value.id)) &&
  isObject(value.error) &&
  Number.isSafeInteger(value.error.code) &&
  typeof value.error.message === 'string'

/**
 * Whether a value is a response with an error.
 *
 * @deprecated Use `isJSONRPCErrorResponse`.
 */
export const isJSONRPCError = isJSONRPCErrorResponse

/** Whether a value has the fields that requests which can run as a task share. */
export const isTaskAugmentedRequestParams = (value: unknown): value is TaskAugmentedRequestParams =>
  isObject(value) &&
  hasValidMeta(value) &&
  (value.task === undefined ||
    (isObject(value.task) && (value.task.ttl === undefined || Number.isFinite(value.task.ttl))))

const requestKeys = new Set(['jsonrpc', 'id', 'method', 'params'])
const notificationKeys = new Set(['jsonrpc', 'method', 'params'])
const resultKeys = new Set(['jsonrpc', 'id', 'result'])
const errorKeys = new Set(['jsonrpc', 'id', 'error'])

function isEnvelope(value: unknown, keys: ReadonlySet<string>): value is Record<string, unknown> {
  return isObject(value) && value.jsonrpc === JSONRPC_VERSION && Object.keys(value).every((key) => keys.has(key))
}

function isRequestId(value: unknown): boolean {
  return typeof value === 'string' || Number.isSafeInteger(value)
}

function hasValidParams({ params }: Record<string, unknown>): boolean {
  return params === undefined || (isObject(params) && hasValidMeta(params))
}

function hasValidMeta({ _meta: meta }: Record<string, unknown>): boolean {
  if (meta === undefined) return true
  if (!isObject(meta)) return false
  const { progressToken, [RELATED_TASK_META_KEY]: task } = meta
  return (
    (progressToken === undefined || isRequestId(progressToken)) &&
    (task === undefined || (isObject(task) && typeof task.taskId === 'string'))
  )
}
