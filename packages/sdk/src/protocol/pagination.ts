import type { RequestParams, Result } from './base.ts'

/** An opaque position in a list; the empty string is a valid cursor. */
export type Cursor = string

/** Params of a request for one page of a list. */
export interface PaginatedParams extends RequestParams {
  cursor?: Cursor
}

/** One page of a list; the last page has no `nextCursor`. */
export interface PaginatedResult extends Result {
  nextCursor?: Cursor
}
