import type { Result } from './base.ts'
import type { Meta } from './meta.ts'

/** A folder or file that a server may work in. */
export interface Root {
  /** A `file:` URI. */
  uri: string
  name?: string
  /** Since 2025-06-18. */
  _meta?: Meta
}

/** Result of `roots/list`. */
export interface ListRootsResult extends Result {
  roots: Root[]
}
