import { kindOf, type RpcRequest } from '../jsonrpc/message.ts'
import { paramsChecks } from './params.ts'

/** Whether a parsed body is the request that opens a session, for those who route sessions themselves. */
export function isInitializeRequest(value: unknown): value is RpcRequest {
  if (kindOf(value) !== 'request') return false
  const { method, params } = value as RpcRequest
  return method === 'initialize' && paramsChecks.get('initialize')?.(params ?? {}) === undefined
}
