import type { ServerView } from '../store/servers.ts'
import type { EventOf } from '../store/view-model.ts'

/** A request to express in another form. */
export interface Call {
  readonly server: ServerView
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  /** The revision to name, if it is not the one that both sides would choose. */
  readonly revision?: string | undefined
  /** A request that this server got over HTTP before: its address and headers are the pattern. */
  readonly sent?: { readonly message: unknown; readonly exchange: EventOf<'http'> } | undefined
  /** What the call answered. */
  readonly result?: unknown
}
