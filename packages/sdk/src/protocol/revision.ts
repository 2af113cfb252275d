import type { JsonObject } from '../util/objects.ts'

export type RevisionId = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28'
export type EraName = 'handshake' | 'stateless'

/** Changes one message body into its older shape. Returns what it was given when nothing needs changing. */
export type Step = (body: JsonObject) => JsonObject
export type Steps = Readonly<Record<string, Step>>

/** One revision of the protocol as data: its facts, and how it differs from the revision after it. */
export interface RevisionData {
  readonly id: RevisionId
  readonly era: EraName
  /** Whether a peer may send several messages in one array. */
  readonly batching: boolean
  /** Whether an error without a readable request leaves `id` out, rather than saying null. */
  readonly omitsUnknownId: boolean
  /** Arguments that fail a tool's schema: a result the model can read, or a protocol error. */
  readonly argumentErrors: 'result' | 'protocol'
  /** The error code for a resource that does not exist. */
  readonly resourceNotFound: number
  /** Whether servers declare that they complete arguments. */
  readonly announcesCompletions: boolean
  /** What servers may ask of clients that declare it, beyond plain sampling and roots, which every revision has. */
  readonly asks: readonly ('form' | 'url' | 'tools')[]
  /** How a request fails that needs what the client did not declare: in a result the model can read, or as an error. */
  readonly missingCapability: 'result' | 'protocol'
  /** Whether structured content, and the root of its schema, must be an object. */
  readonly objectOutput: boolean
  /** Whether an SSE stream begins with an event that has only an id, so that it can be resumed from the start. */
  readonly primesStreams: boolean
  /** Features that new implementations should not build on. */
  readonly deprecates?: readonly string[]
  /** Methods and notifications that its successor does not have. */
  readonly adds: readonly string[]
  /** Methods and notifications that only its successors have. */
  readonly removes: readonly string[]
  /** From the successor's result to this revision's, by method. */
  readonly results?: Steps
  /** From the successor's params (of requests and notifications that we send) to this revision's. */
  readonly params?: Steps
  /** On results of this revision alone: fields that were dropped after the revision before. */
  readonly ownResults?: Steps
}

/** A revision with the steps of all its successors composed. */
export interface Revision extends RevisionData {
  /** True for a method or notification of the protocol that this revision does not have. Custom methods are not known. */
  lacks(method: string): boolean
  toResult(method: string, result: JsonObject): JsonObject
  toParams(method: string, params: JsonObject): JsonObject
}

/** @param newestFirst All revisions; each one's steps start where those of its successor ended. */
export function composeRevisions(newestFirst: readonly RevisionData[]): Revision[] {
  const known = new Set(newestFirst.flatMap((revision) => revision.adds))
  const methods = new Set<string>()
  let results = new Map<string, Step>()
  let params = new Map<string, Step>()
  return newestFirst.map((data) => {
    for (const method of data.adds) methods.add(method)
    for (const method of data.removes) methods.delete(method)
    results = extend(results, data.results)
    params = extend(params, data.params)
    return withSteps(data, difference(known, methods), extend(results, data.ownResults), params)
  })
}

function withSteps(
  data: RevisionData,
  absent: ReadonlySet<string>,
  results: ReadonlyMap<string, Step>,
  params: ReadonlyMap<string, Step>,
): Revision {
  return {
    ...data,
    lacks: (method) => absent.has(method),
    toResult: (method, result) => results.get(method)?.(result) ?? result,
    toParams: (method, body) => params.get(method)?.(body) ?? body,
  }
}

function extend(steps: ReadonlyMap<string, Step>, more: Steps = {}): Map<string, Step> {
  const extended = new Map(steps)
  for (const [method, step] of Object.entries(more)) {
    const before = extended.get(method)
    extended.set(method, before ? (body) => step(before(body)) : step)
  }
  return extended
}

function difference(all: ReadonlySet<string>, some: ReadonlySet<string>): Set<string> {
  return new Set([...all].filter((item) => !some.has(item)))
}
