import { McpError } from '../../../errors.ts'
import type { Fault } from '../../../jsonrpc/message.ts'
import type { ResponseHead } from '../../../net/send.ts'

export function isEventStream(head: ResponseHead): boolean {
  return mediaType(head) === 'text/event-stream'
}

export function mediaType(head: ResponseHead): string {
  const type = head.header('content-type') ?? ''
  const end = type.indexOf(';')
  return (end === -1 ? type : type.slice(0, end)).trim().toLowerCase()
}

/** A session id consists of visible ASCII characters (2025-11-25 transports, session management). */
export function readSessionId(head: ResponseHead): string | undefined {
  const id = head.header('mcp-session-id')
  if (id === undefined || /^[\x21-\x7e]{1,1024}$/.test(id)) return id
  throw new McpError('invalid-response', 'The server sent a session id with characters that are not visible ASCII')
}

/** The error for a message of the server that cannot be parsed. */
export function unreadable(fault: Fault): McpError {
  return new McpError('invalid-response', `The server sent an invalid message: ${fault.message}`)
}
