import type { JsonObject } from '../util/objects.ts'

export type RevisionId = '2024-11-05' | '2025-03-26' | '2025-06-18' | '2025-11-25' | '2026-07-28'
export type EraName = 'handshake' | 'stateless'

/** Converts a message body to the previous revision. Returns its argument if nothing has to change. */
export type Step = (body: JsonObject) => JsonObject
export type Steps = Readonly<Record<string, Step>>

/** One revision of the protocol as data: its facts, and how it differs from its successor. */
export interface RevisionData {
  readonly id: RevisionId
  /** Chooses the implementation in `era/`. Other code asks for one of the facts below. */
  readonly era: EraName
  /** Whether a peer may send several messages in one array. */
  readonly batching: boolean
  /** Whether an error response to an unreadable request has no `id`, instead of `id: null`. */
  readonly omitsUnknownId: boolean
  /** How a tool call with invalid arguments fails: with a result that the model can read, or with a protocol error. */
  readonly argumentErrors: 'result' | 'protocol'
  /** The error code for a resource that does not exist. */
  readonly resourceNotFound: number
  /** Whether servers declare that they complete arguments. */
  readonly announcesCompletions: boolean
  /** Questions that servers can ask, besides sampling without tools and roots, which every revision has. */
  readonly asks: readonly ('form' | 'url' | 'tools')[]
  /** Whether servers ask the client in an `input_required` result, instead of with a request of their own. */
  readonly multiRoundTrip: boolean
  /** Whether every request describes its caller in `_meta`, instead of `initialize` once. */
  readonly describesCaller: boolean
  /** Whether trace values in `_meta` have the format of W3C Trace Context. */
  readonly traceFormat: boolean
  /** How a request fails if the client did not declare a capability: with a result that the model can read, or an error. */
  readonly missingCapability: 'result' | 'protocol'
  /** Whether structured content, and the root of its schema, must be an object. */
  readonly objectOutput: boolean
  /** Whether an SSE stream starts with an event that has only an id, so that it can be resumed from the beginning. */
  readonly primesStreams: boolean
  /** Whether HTTP headers repeat parts of the request and must match it. */
  readonly mirrorsHeaders: boolean
  /** Features that new implementations should not use. */
  readonly deprecates?: readonly string[]
  /** Methods and notifications that its successor does not have. */
  readonly adds: readonly string[]
  /** Methods and notifications that only its successors have. */
  readonly removes: readonly string[]
  /** From the successor's result to this revision's, by method. */
  readonly results?: Steps
  /** From the successor's params (of requests and notifications that we send) to this revision's. */
  readonly params?: Steps
  /** On results of this revision alone: removes fields that only the revision before has. */
  readonly ownResults?: Steps
}

/** A revision with the steps of all its successors composed. */
export interface Revision extends RevisionData {
  /** True for a method or notification of the protocol that this revision does not have. False for custom methods. */
  lacks(method: string): boolean
  /** Converts a result from the newest revision to this one. */
  toResult(method: string, result: JsonObject): JsonObject
  /** Converts params from the newest revision to this one. */
  toParams(method: string, params: JsonObject): JsonObject
}

/** @param newestFirst All revisions. The steps of each continue those of its successor. */
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
