import { McpError } from '../errors.ts'
import type { Fault } from './message.ts'

export function tooManyQuestions(method: string, limit: number): McpError {
  return new McpError('overloaded', `${method} was not sent: ${limit} requests to this client are still unanswered`)
}

/** @param reason Why the response cannot be a stream, as the transport explains it. */
export function noStream(method: string, reason: string | undefined): McpError {
  const why = reason === undefined ? '' : ` ${reason}`
  return new McpError(
    'capability-missing',
    `${method} cannot be sent: the response to this request cannot be a stream.${why}`,
  )
}

export function unreadable(fault: Fault): McpError {
  return new McpError('invalid-response', `The peer sent an invalid message: ${fault.message}`)
}

export function notJson(method: string, cause: unknown): McpError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new McpError('invalid-argument', `${method}: the params cannot be sent as JSON: ${reason}`, { cause })
}
