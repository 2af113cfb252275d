import type { RequestId } from '../../../../jsonrpc/message.ts'

/** What the id of a stream says, so that a process that did not open the stream can go on with it. */
export interface StreamOrigin {
  /** The process that opened it. */
  readonly node: string
  /** True for a stream opened by GET, which carries messages that belong to no request. */
  readonly isStandalone: boolean
  /** The request that the stream answers; undefined for a batch. */
  readonly requestId: RequestId | undefined
}

/** A client chooses the ids of its requests. Longer ones are left out, because every event repeats them. */
const maxRequestIdLength = 200

/** Begins with the id of the session, so that a stream cannot be resumed in another one. */
export function toStandaloneId(sessionId: string, node: string, number: number): string {
  return `${sessionId}/${node}.${number}`
}

export function toReplyId(sessionId: string, node: string, number: number, requestId: RequestId | undefined): string {
  const text = requestId === undefined ? '' : encodeURIComponent(JSON.stringify(requestId))
  return `${sessionId}/${node}.${number}.${text.length > maxRequestIdLength ? '' : text}`
}

/** Undefined when it is not the id of a stream of this session. */
export function parseStreamId(sessionId: string, streamId: string): StreamOrigin | undefined {
  if (!streamId.startsWith(`${sessionId}/`)) return undefined
  const [, node, request] = /^([^./]+)\.\d+(?:\.([^/]*))?$/.exec(streamId.slice(sessionId.length + 1)) ?? []
  if (node === undefined) return undefined
  return { node, isStandalone: request === undefined, requestId: request ? parseRequestId(request) : undefined }
}

function parseRequestId(text: string): RequestId | undefined {
  try {
    return JSON.parse(decodeURIComponent(text))
  } catch {
    // Event ids come from clients, which can send anything.
    return undefined
  }
}
