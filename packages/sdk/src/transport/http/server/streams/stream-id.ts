import type { RequestId } from '../../../../jsonrpc/message.ts'

/** What the id of a stream contains, so that another process can resume the stream. */
export interface StreamOrigin {
  /** The process that opened the stream. */
  readonly node: string
  /** True for a stream opened by GET, for messages that belong to no request. */
  readonly isStandalone: boolean
  /** The request whose response the stream carries; undefined for a batch. */
  readonly requestId: RequestId | undefined
}

/** Longer request ids, which clients choose, are left out, because every event repeats them. */
const maxRequestIdLength = 200

/** Creates the id of a stream opened by GET. It begins with the session id, so that no other session can resume it. */
export function toStandaloneId(sessionId: string, node: string, number: number): string {
  return `${sessionId}/${node}.${number}`
}

/** Creates the id of a stream that carries a response. */
export function toReplyId(sessionId: string, node: string, number: number, requestId: RequestId | undefined): string {
  const text = requestId === undefined ? '' : encodeURIComponent(JSON.stringify(requestId))
  return `${sessionId}/${node}.${number}.${text.length > maxRequestIdLength ? '' : text}`
}

/** Returns undefined if it is not the id of a stream of this session. */
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
    // Event ids come from clients and can be anything.
    return undefined
  }
}
