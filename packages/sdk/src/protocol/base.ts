import type { NotificationMeta, RequestMeta, ResultMeta } from './meta.ts'

// The files of this folder describe MCP messages in their newest shape, as a superset of every supported revision.
//
// A member without a note exists in all revisions. "Since", "until" and "only" name the revisions that have it; the
// steps in `revisions/` remove what a peer does not know. Objects on the wire are open: unknown members are kept. Only
// results and `_meta` declare this in their type, because an index signature on the rest would hide typing mistakes.

/** Whether a result is final (`complete`) or an intermediate step. Extensions add values. */
export type ResultType = 'complete' | 'input_required' | 'task' | (string & {})

/** The members that every result has. */
export interface Result {
  _meta?: ResultMeta
  /** Since 2026-07-28, and required there; treated as `complete` when absent. */
  resultType?: ResultType
  [key: string]: unknown
}

/** A result without data: the request succeeded. */
export interface EmptyResult extends Result {}

/** The members that the params of every request have. */
export interface RequestParams {
  _meta?: RequestMeta
}

/** The members that the params of every notification have. */
export interface NotificationParams {
  _meta?: NotificationMeta
}
