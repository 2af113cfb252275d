import { Fault } from '../../../jsonrpc/message.ts'
import type { HeaderReader } from '../../../protocol/mirrored-headers.ts'
import { revisions } from '../../../protocol/revisions/index.ts'
import { messageIn, Refusal } from './call.ts'
import { checkStatelessPost, classifyPosted, Revisions } from './posted-message.ts'

/** How a POST is refused: the status and the JSON of the response. */
export interface PostProblem {
  readonly status: number
  readonly json: string
}

const allRevisions = /* @__PURE__ */ new Revisions(revisions)

/**
 * Checks a POST of 2026-07-28 that your program has parsed, as `createMcpHandler` does before it looks up the method: the limits
 * on size and nesting, the envelope, and headers that disagree with the body. Returns undefined if nothing is wrong.
 * @param maxBodyBytes Default 4 MiB.
 */
export function statelessPostProblem(
  message: unknown,
  headers: HeaderReader,
  maxBodyBytes: number = 4 * 1024 * 1024,
): PostProblem | undefined {
  try {
    const read = messageIn({ value: message }, maxBodyBytes)
    if (read instanceof Fault) return new Refusal(400, read.code, read.message, read.id)
    checkStatelessPost(allRevisions, read, classifyPosted(read), headers)
    return undefined
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
}
