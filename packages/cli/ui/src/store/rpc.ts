import { isObject } from 'tenon/internal'
/** The parts of a JSON-RPC message that a row of the wire shows. */
export interface RpcFacts {
  readonly kind: 'request' | 'response' | 'error' | 'notification' | 'invalid'
  readonly id?: string | number | undefined
  readonly method?: string | undefined
  /** What it is about: the name of a tool, a URI, the message of an error. */
  readonly subject?: string | undefined
}

/** Reads a message, or the beginning of one as text. */
export function rpcFacts(message: unknown): RpcFacts {
  if (typeof message === 'string') return factsOfText(message)
  if (!isObject(message)) return { kind: 'invalid' }
  const id = typeof message.id === 'string' || typeof message.id === 'number' ? message.id : undefined
  if (typeof message.method === 'string') {
    const kind = id === undefined ? 'notification' : 'request'
    return { kind, id, method: message.method, subject: subjectOf(message.params) }
  }
  if (isObject(message.error)) return { kind: 'error', id, subject: textOf(message.error.message) }
  if ('result' in message) return { kind: 'response', id, subject: outcomeOf(message.result) }
  return { kind: 'invalid', id }
}

function factsOfText(text: string): RpcFacts {
  const head = text.slice(0, 2_000)
  const method = /"method"\s*:\s*"([^"\\]*)"/.exec(head)?.[1]
  const found = /"id"\s*:\s*(?:"([^"\\]*)"|(-?\d+))/.exec(head)
  const id = found?.[1] ?? (found?.[2] === undefined ? undefined : Number(found[2]))
  if (method !== undefined) return { kind: id === undefined ? 'notification' : 'request', id, method }
  if (/"result"\s*:/.test(head)) return { kind: 'response', id }
  return /"error"\s*:/.test(head) ? { kind: 'error', id } : { kind: 'invalid', id }
}

function subjectOf(params: unknown): string | undefined {
  if (!isObject(params)) return undefined
  const { name, uri, taskId, level, message, ref } = params
  const named = textOf(name) ?? textOf(uri) ?? textOf(taskId) ?? textOf(level) ?? textOf(message)
  if (named !== undefined) return named
  if (isObject(ref)) return textOf(ref.name) ?? textOf(ref.uri)
  return isObject(params.clientInfo) ? textOf(params.protocolVersion) : undefined
}

function outcomeOf(result: unknown): string | undefined {
  if (!isObject(result)) return undefined
  if (result.isError === true) return 'isError'
  if (result.resultType === 'input_required') return 'input_required'
  return textOf(result.protocolVersion)
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined
}
