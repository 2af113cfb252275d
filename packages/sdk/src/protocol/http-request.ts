import type { AuthInfo } from './auth-info.ts'

/** The HTTP request that brought a call, as handlers see it in `ctx.request`. */
export interface HttpRequest {
  readonly url: string
  /** Returns a header by its name, in any case; undefined if it is missing. */
  header(name: string): string | undefined
  /** All headers, with lower-case names. */
  readonly headers: Readonly<Record<string, string>>
  /** Identifies the authenticated caller; undefined for anonymous callers. */
  readonly principal?: string | undefined
  /** The identity from the caller's token, or from an authentication layer in front of this server. */
  readonly auth?: AuthInfo | undefined
  /** The address of the client, if the runtime provides it (Node). Behind a proxy it is the address of the proxy. */
  readonly peer?: string | undefined
}
