import type { RpcMessage } from '../jsonrpc/message.ts'
import { inputRequestMethods, isInputRequired } from '../protocol/input-check.ts'
import { isObject, type JsonObject } from '../util/objects.ts'

/** A question that a server asked its client: a form, a URL, a completion of a model, or the list of roots. */
export interface AskedQuestion {
  /** `elicitation/create`, `sampling/createMessage` or `roots/list`. */
  readonly method: string
  readonly params: JsonObject
}

/**
 * Finds the questions in the messages of a server: its own requests on revisions with a handshake, and `inputRequests` of
 * results and tasks on 2026-07-28.
 */
export function findQuestions(messages: readonly RpcMessage[]): AskedQuestion[] {
  return messages.flatMap((message) => {
    if ('method' in message && inputRequestMethods.has(message.method)) return [toQuestion(message)]
    const outer = 'method' in message ? message.params : message.result
    const { inputRequests, status } = outer ?? {}
    const asks = isInputRequired(outer) || status === 'input_required'
    return asks && isObject(inputRequests) ? Object.values(inputRequests).filter(isObject).map(toQuestion) : []
  })
}

/** The text that a person or a model reads in a question. Roots have none. */
export function textOfQuestion({ method, params }: AskedQuestion): string {
  if (method === 'elicitation/create') return typeof params.message === 'string' ? params.message : ''
  const messages = Array.isArray(params.messages) ? params.messages.filter(isObject) : []
  return messages
    .flatMap(({ content }) => content)
    .filter(isObject)
    .flatMap(({ text }) => (typeof text === 'string' ? text : []))
    .join('\n')
}

function toQuestion({ method, params }: { method?: unknown; params?: unknown }): AskedQuestion {
  return { method: String(method), params: isObject(params) ? params : {} }
}
