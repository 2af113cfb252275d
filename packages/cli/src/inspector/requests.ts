import { type RevisionId, revisionIds } from 'tenon'
import type { Root } from 'tenon/client'
import { isObject, type JsonObject } from 'tenon/internal'
import type { ConnectRequest, OperationRequest, QuestionAnswer } from './protocol.ts'
import { ApiError } from './request-body.ts'

/** Reads the body of `POST /api/servers`. */
export function toConnectRequest(body: unknown): ConnectRequest {
  const request = objectOf(body)
  const { transport, headers } = request
  if (transport !== undefined && transport !== 'sse') throw invalid('"transport" must be "sse", or absent.')
  const given = headers === undefined ? {} : { headers: headersOf(headers) }
  const source = optionalText(request, 'source')
  return {
    target: textOf(request, 'target'),
    ...(source !== undefined && { source }),
    ...revisionOf(request),
    ...(transport !== undefined && { transport }),
    ...given,
  }
}

/** Reads the body of `POST /api/servers/:server/operations`. */
export function toOperationRequest(body: unknown): OperationRequest {
  const request = objectOf(body)
  const { params, asTask } = request
  if (params !== undefined && !isObject(params)) throw invalid('"params" must be an object.')
  if (asTask !== undefined && typeof asTask !== 'boolean') throw invalid('"asTask" must be true or false.')
  const comparison = optionalText(request, 'comparison')
  return {
    method: textOf(request, 'method'),
    ...(params !== undefined && { params }),
    ...(asTask !== undefined && { asTask }),
    ...revisionOf(request),
    ...(comparison !== undefined && { comparison }),
  }
}

/** Reads the body of `POST /api/questions/:question/answer`. */
export function toQuestionAnswer(body: unknown): QuestionAnswer {
  const { action, content, message } = objectOf(body)
  if (isObject(message)) return { message: { ...toMessage(message), role: 'assistant' } }
  if (action === 'decline' || action === 'cancel') return { action }
  if (action !== 'accept') throw invalid('"action" must be "accept", "decline" or "cancel".')
  if (content !== undefined && !isObject(content)) throw invalid('"content" must be an object.')
  return { action, ...(content !== undefined && { content }) }
}

/** Reads the body of `PUT /api/servers/:server/roots`. */
export function toRoots(body: unknown): Root[] {
  if (!Array.isArray(body)) throw invalid('The body must be an array of roots.')
  return body.map((root) => {
    const name = optionalText(objectOf(root), 'name')
    const uri = textOf(objectOf(root), 'uri')
    if (!URL.canParse(uri) || !uri.startsWith('file:///')) throw invalid(`Not a file: URI of this machine: ${uri}`)
    return { uri, ...(name !== undefined && { name }) }
  })
}

function toMessage(message: JsonObject) {
  const stopReason = optionalText(message, 'stopReason')
  if (message.content === undefined) throw invalid('"content" is missing.')
  return {
    content: message.content,
    model: textOf(message, 'model'),
    ...(stopReason !== undefined && { stopReason }),
  }
}

function revisionOf(request: JsonObject): { revision?: RevisionId } {
  const { revision } = request
  if (revision === undefined || revision === null) return {}
  const known = revisionIds.find((id) => id === revision)
  if (known) return { revision: known }
  throw invalid(`"revision" must be one of ${revisionIds.join(', ')}.`)
}

function headersOf(headers: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(objectOf(headers))
  const isValid = entries.every(([name, value]) => /^[!#$%&'*+\-.^_`|~\w]+$/.test(name) && isHeaderValue(value))
  if (!isValid) throw invalid('"headers" must be an object of names and texts.')
  return Object.fromEntries(entries.map(([name, value]) => [name, String(value)]))
}

function isHeaderValue(value: unknown): boolean {
  return typeof value === 'string' && /^[\t\x20-\x7e\x80-\xff]*$/.test(value)
}

function objectOf(value: unknown): JsonObject {
  if (isObject(value)) return value
  throw invalid('The body must be a JSON object.')
}

function textOf(value: JsonObject, name: string): string {
  const text = optionalText(value, name)
  if (text !== undefined) return text
  throw invalid(`"${name}" is missing.`)
}

function optionalText(value: JsonObject, name: string): string | undefined {
  const text = value[name]
  if (text === undefined || text === null) return undefined
  if (typeof text === 'string') return text
  throw invalid(`"${name}" must be a text.`)
}

function invalid(message: string): ApiError {
  return new ApiError(400, 'invalid-request', message)
}
