import { type CloseDetail, ClosedError, McpError } from '../errors.ts'
import type { Fault } from './message.ts'

export function tooManyQuestions(method: string, limit: number): McpError {
  return new McpError('overloaded', `${method} was not sent: ${limit} requests to this client are still unanswered`)
}

export function noStream(method: string): McpError {
  return new McpError(
    'capability-missing',
    `${method} cannot be sent: the response to this request cannot be a stream. Either enableJsonResponse is set, or the stream limit is reached (maxStreams, maxStreamsPerSession).`,
  )
}

export function unreadable(fault: Fault): McpError {
  return new McpError('invalid-response', `The peer sent an invalid message: ${fault.message}`)
}

export function notJson(method: string, cause: unknown): McpError {
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new McpError('invalid-argument', `${method}: the params cannot be sent as JSON: ${reason}`, { cause })
}

/** @param method The request that was not sent; undefined for one that was. */
export function closedError(detail: CloseDetail | undefined, method?: string): ClosedError {
  const what = method ? `${method} was not sent: the connection is closed` : 'The connection closed before the response'
  return new ClosedError(what + describeClose(detail), detail)
}

function describeClose(detail: CloseDetail | undefined): string {
  if (!detail) return ''
  const how = detail.reason ?? (detail.signal ? `signal ${detail.signal}` : `exit code ${detail.exitCode}`)
  return ` (${how})${describeOutput(detail.stderr, detail.stdout)}`
}

/** The output of a server process, for error messages. */
export function describeOutput(stderr: string | undefined, stdout: string | undefined): string {
  const errors = stderr?.trim()
  const printed = stdout?.trim()
  const stray = printed
    ? `. It printed text to stdout, which must carry MCP messages only. Is it an MCP server?\n${printed}`
    : ''
  return `${stray}${errors ? `${stray ? '\n' : '. '}The end of its stderr:\n${errors}` : ''}`
}
