import { type HttpError, McpError } from '../../../errors.ts'
import type { Fault } from '../../../jsonrpc/message.ts'
import type { ReadHeader } from './call.ts'

export function isEventStream(header: ReadHeader): boolean {
  return mediaType(header) === 'text/event-stream'
}

export function mediaType(header: ReadHeader): string {
  const type = header('content-type') ?? ''
  const end = type.indexOf(';')
  return (end === -1 ? type : type.slice(0, end)).trim().toLowerCase()
}

/** A session id is visible ASCII (2025-11-25 transports, session management). */
export function readSessionId(header: ReadHeader): string | undefined {
  const id = header('mcp-session-id')
  if (id === undefined || /^[\x21-\x7e]{1,1024}$/.test(id)) return id
  throw new McpError('invalid-response', 'The server gave a session id that is not made of visible ASCII characters')
}

export function unreadable(fault: Fault): McpError {
  return new McpError('invalid-response', `The server sent something unreadable: ${fault.message}`)
}

/** Whether the same request may fare better later: the server was not reached, or refuses it for a while. */
export function isPassing({ outcome, status = 0 }: HttpError): boolean {
  return outcome !== 'refused' || status >= 500 || status === 429 || status === 408
}
