import { classify, type RpcRequest } from '../jsonrpc/message.ts'
import type { RequestParams, Result } from './base.ts'
import type { ClientCapabilities, Implementation, ServerCapabilities } from './capabilities.ts'
import { paramsChecks } from './params.ts'

/** Params of `initialize`. Until 2025-11-25. */
export interface InitializeParams extends RequestParams {
  protocolVersion: string
  capabilities: ClientCapabilities
  clientInfo: Implementation
}

/** Result of `initialize`. Until 2025-11-25. */
export interface InitializeResult extends Result {
  protocolVersion: string
  capabilities: ServerCapabilities
  serverInfo: Implementation
  instructions?: string
}

/** Returns whether a parsed body is a valid `initialize` request. Use it to route sessions yourself. */
export function isInitializeRequest(value: unknown): value is RpcRequest {
  if (classify(value) !== 'request') return false
  const { method, params } = value as RpcRequest
  return method === 'initialize' && paramsChecks.get('initialize')?.(params ?? {}) === undefined
}
