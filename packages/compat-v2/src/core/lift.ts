import { isObject } from 'tenon/internal'
import {
  CLIENT_CAPABILITIES_META_KEY,
  CLIENT_INFO_META_KEY,
  LOG_LEVEL_META_KEY,
  PROTOCOL_VERSION_META_KEY,
} from './constants.ts'
import type { RequestMetaEnvelope } from './types.ts'

type Params = Record<string, unknown>

/** What belongs to the protocol and not to the handler: the envelope, and the material of a repeated request. */
export interface Lifted {
  params: Params | undefined
  envelope?: Partial<RequestMetaEnvelope>
  inputResponses?: unknown
  requestState?: unknown
}

const envelopeKeys = [
  PROTOCOL_VERSION_META_KEY,
  CLIENT_INFO_META_KEY,
  CLIENT_CAPABILITIES_META_KEY,
  LOG_LEVEL_META_KEY,
] as const

/** Separates the params that a handler sees from those that the protocol adds. */
export function lift(params: Params | undefined, isRequest: boolean): Lifted {
  const meta = params?._meta
  const hasEnvelope = isObject(meta) && envelopeKeys.some((key) => key in meta)
  const hasRetry = isRequest && params !== undefined && ('inputResponses' in params || 'requestState' in params)
  if (!hasEnvelope && !hasRetry) return { params }
  const { _meta: _, inputResponses, requestState, ...own } = params as Params
  const lifted: Lifted = { params: own }
  if (hasEnvelope) {
    const { envelope, rest } = splitMeta(meta as Params)
    lifted.envelope = envelope
    if (Object.keys(rest).length > 0) own._meta = rest
  } else if (meta !== undefined) own._meta = meta
  if (isRequest) {
    if (inputResponses !== undefined) lifted.inputResponses = inputResponses
    if (requestState !== undefined) lifted.requestState = requestState
  } else
    Object.assign(
      own,
      inputResponses !== undefined && { inputResponses },
      requestState !== undefined && { requestState },
    )
  return lifted
}

function splitMeta(meta: Params): { envelope: Partial<RequestMetaEnvelope>; rest: Params } {
  const envelope: Params = {}
  const rest = { ...meta }
  for (const key of envelopeKeys) {
    if (!(key in rest)) continue
    envelope[key] = rest[key]
    delete rest[key]
  }
  return { envelope: envelope as Partial<RequestMetaEnvelope>, rest }
}

/** Keeps the answers that are plain results. Others were sent in the form of an earlier draft and are dropped. */
export function splitResponses(responses: unknown): { accepted: Params; dropped: string[] } {
  const accepted: Params = {}
  const dropped: string[] = []
  for (const [key, response] of Object.entries(isObject(responses) ? responses : {})) {
    if (!isObject(response) || 'method' in response || 'result' in response) dropped.push(key)
    else accepted[key] = response
  }
  return { accepted, dropped }
}
