import type { RpcRequest } from '../../jsonrpc/message.ts'
import { isObject, omit } from '../../util/objects.ts'

/** Identifies a request: two requests with the same key get the same response. */
export function requestKey({ method, params = {} }: RpcRequest): string {
  // The server may choose another revision than the client offers, so the recorded response is valid for any client.
  if (method === 'initialize') return method
  return toText([method, omit(params, ['_meta'])])
}

/** Describes a request in one line, for error messages. */
export function describeRequest({ method, params = {} }: RpcRequest): string {
  const shown = omit(params, ['_meta'])
  const text = Object.keys(shown).length === 0 ? method : `${method} ${JSON.stringify(shown)}`
  return text.length > maxChars ? `${text.slice(0, maxChars)}…` : text
}

/** JSON with sorted members. */
export function toText(value: unknown): string {
  return JSON.stringify(value, (_, member: unknown) =>
    isObject(member) ? Object.fromEntries(Object.entries(member).sort(([a], [b]) => (a < b ? -1 : 1))) : member,
  )
}

const maxChars = 300
