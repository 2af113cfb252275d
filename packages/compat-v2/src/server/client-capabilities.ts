import { isObject } from 'tenon/internal'
import { ProtocolError, ProtocolErrorCode } from '../core/errors.ts'
import type { ClientCapabilities } from '../core/types.ts'

/** A question as a handler returned it, checked. */
export interface Question {
  method: 'elicitation/create' | 'sampling/createMessage' | 'roots/list'
  params?: Record<string, unknown>
  required: ClientCapabilities
}

/** Checks one entry of `inputRequests`. Throws if the handler returned something else than a question. */
export function toQuestion(method: string, key: string, entry: unknown): Question {
  if (!isObject(entry) || typeof entry.method !== 'string') {
    throw internalError(`Handler for ${method} returned an invalid input request '${key}': it is not a request`)
  }
  const params = isObject(entry.params) ? entry.params : undefined
  const required = requiredFor(entry.method, params)
  if (required) return { method: entry.method as Question['method'], ...(params && { params }), required }
  throw internalError(
    `Handler for ${method} returned an input request '${key}' of kind '${entry.method}', which clients cannot be asked`,
  )
}

function requiredFor(method: string, params: Record<string, unknown> | undefined): ClientCapabilities | undefined {
  switch (method) {
    case 'elicitation/create':
      return { elicitation: params?.mode === 'url' ? { url: {} } : { form: {} } }
    case 'sampling/createMessage':
      return { sampling: params?.tools !== undefined || params?.toolChoice !== undefined ? { tools: {} } : {} }
    case 'roots/list':
      return { roots: {} }
    default:
      return undefined
  }
}

/** The part of the required capabilities that the client did not declare; undefined if it declared all. */
export function missingCapabilities(
  required: ClientCapabilities,
  declared: ClientCapabilities | undefined,
): ClientCapabilities | undefined {
  const missing: Record<string, unknown> = {}
  for (const [name, needs] of Object.entries(required)) {
    const has = (declared as Record<string, unknown> | undefined)?.[name]
    if (!isObject(has)) missing[name] = needs
    else {
      const members = Object.entries(needs as object).filter(([member]) => !hasMember(name, member, has))
      if (members.length > 0) missing[name] = Object.fromEntries(members)
    }
  }
  return Object.keys(missing).length > 0 ? (missing as ClientCapabilities) : undefined
}

/** A client that declares elicitation without any mode supports forms. */
function hasMember(name: string, member: string, has: Record<string, unknown>): boolean {
  if (has[member] !== undefined) return true
  return name === 'elicitation' && member === 'form' && has.url === undefined
}

function internalError(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InternalError, message)
}
