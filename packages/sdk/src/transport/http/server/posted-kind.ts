import { isBatch, type ReceivedKind } from '../../../jsonrpc/batch.ts'
import { classify, type MessageKind } from '../../../jsonrpc/message.ts'
import type { PeerLink } from '../../../protocol/endpoint.ts'

/** The kind of a message that was posted, before it is known which peer sent it. */
export type PostedKind = MessageKind | 'batch'

/** Classifies the body of a POST. */
export function classifyPosted(value: unknown): PostedKind {
  return Array.isArray(value) ? 'batch' : classify(value)
}

/** The kind as the link receives it. The members of a batch are classified now, because only the link knows its limits. */
export function kindFor(link: PeerLink, value: unknown, kind: PostedKind): ReceivedKind {
  return kind === 'batch' ? link.classify(value) : kind
}

/** Whether a POST contains only notifications and responses, so that it is answered with 202. */
export function expectsNoResponse(kind: ReceivedKind): boolean {
  if (isBatch(kind)) return kind.every((member) => expectsNoResponse(member.kind))
  return kind === 'notification' || kind === 'response'
}
