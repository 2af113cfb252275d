import { isObject } from 'tenon/internal'
import type {
  CallToolResult,
  CompleteRequest,
  CompleteRequestPrompt,
  CompleteRequestResourceTemplate,
  InitializedNotification,
  InitializeRequest,
  InputRequiredResult,
  JSONRPCErrorResponse,
  JSONRPCMessage,
  JSONRPCNotification,
  JSONRPCRequest,
  JSONRPCResponse,
  JSONRPCResultResponse,
  TaskAugmentedRequestParams,
} from './types.ts'

/** Whether a value is a JSON-RPC request. Other members than those of JSON-RPC make it something else. */
export const isJSONRPCRequest = (value: unknown): value is JSONRPCRequest =>
  isMessage(value, requestKeys) && isId(value.id) && typeof value.method === 'string' && isParams(value.params)

export const isJSONRPCNotification = (value: unknown): value is JSONRPCNotification =>
  isMessage(value, notificationKeys) && typeof value.method === 'string' && isParams(value.params)

export const isJSONRPCResultResponse = (value: unknown): value is JSONRPCResultResponse =>
  isMessage(value, resultKeys) && isId(value.id) && isObject(value.result)

export const isJSONRPCErrorResponse = (value: unknown): value is JSONRPCErrorResponse =>
  isMessage(value, errorKeys) && (value.id === undefined || isId(value.id)) && isErrorBody(value.error)

export const isJSONRPCResponse = (value: unknown): value is JSONRPCResponse =>
  isJSONRPCResultResponse(value) || isJSONRPCErrorResponse(value)

/** Returns the value if it is a JSON-RPC message. Throws otherwise. */
export function parseJSONRPCMessage(value: unknown): JSONRPCMessage {
  if (isJSONRPCRequest(value) || isJSONRPCNotification(value) || isJSONRPCResponse(value)) return value
  throw new TypeError('Not a JSON-RPC message: it must be a request, a notification or a response of JSON-RPC 2.0')
}

/** Whether a value is the result of a tool: it has a list of content blocks. */
export const isCallToolResult = (value: unknown): value is CallToolResult =>
  isObject(value) &&
  Array.isArray(value.content) &&
  value.content.every((block) => isObject(block) && typeof block.type === 'string') &&
  (value.isError === undefined || typeof value.isError === 'boolean')

export const isInputRequiredResult = (value: unknown): value is InputRequiredResult =>
  isObject(value) && value.resultType === 'input_required'

export const isTaskAugmentedRequestParams = (value: unknown): value is TaskAugmentedRequestParams =>
  isObject(value) && (value.task === undefined || isObject(value.task))

/**
 * Whether a message opens a session.
 */
export const isInitializeRequest = (value: unknown): value is InitializeRequest => {
  if (!isObject(value) || value.method !== 'initialize' || !isObject(value.params)) return false
  const { protocolVersion, capabilities, clientInfo } = value.params
  return (
    typeof protocolVersion === 'string' &&
    isObject(capabilities) &&
    isObject(clientInfo) &&
    typeof clientInfo.name === 'string' &&
    typeof clientInfo.version === 'string'
  )
}

export const isInitializedNotification = (value: unknown): value is InitializedNotification =>
  isObject(value) && value.method === 'notifications/initialized' && isParams(value.params)

export function assertCompleteRequestPrompt(request: CompleteRequest): asserts request is CompleteRequestPrompt {
  const { type } = request.params.ref
  if (type !== 'ref/prompt') throw new TypeError(`Expected CompleteRequestPrompt, but got ${type}`)
}

export function assertCompleteRequestResourceTemplate(
  request: CompleteRequest,
): asserts request is CompleteRequestResourceTemplate {
  const { type } = request.params.ref
  if (type !== 'ref/resource') throw new TypeError(`Expected CompleteRequestResourceTemplate, but got ${type}`)
}

const requestKeys = new Set(['jsonrpc', 'id', 'method', 'params'])
const notificationKeys = new Set(['jsonrpc', 'method', 'params'])
const resultKeys = new Set(['jsonrpc', 'id', 'result'])
const errorKeys = new Set(['jsonrpc', 'id', 'error'])

function isMessage(value: unknown, keys: ReadonlySet<string>): value is Record<string, unknown> {
  return isObject(value) && value.jsonrpc === '2.0' && Object.keys(value).every((key) => keys.has(key))
}

function isId(value: unknown): boolean {
  return typeof value === 'string' || Number.isInteger(value)
}

function isParams(value: unknown): boolean {
  return value === undefined || isObject(value)
}

function isErrorBody(value: unknown): boolean {
  return isObject(value) && Number.isInteger(value.code) && typeof value.message === 'string'
}
