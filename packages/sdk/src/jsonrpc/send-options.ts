import type { RequestOptions } from './pending.ts'
import type { ReplyStream } from './transport.ts'

/** Options of `Link.request`, beyond those that users can pass. */
export interface SendOptions extends RequestOptions {
  /** Requests progress even if only the timeout uses it. */
  progress?: boolean | undefined
  /** Called with the id of the request when it is sent. */
  onSent?: ((id: number) => void) | undefined
  /** Members of `_meta` that every request carries, as JSON text without braces. */
  meta?: string | undefined
  /** The stream of the peer's request that this one belongs to. */
  stream?: ReplyStream | undefined
}
