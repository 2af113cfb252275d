import { type AddressPolicy, GuardError } from './address-policy.ts'

/** One request to one place. */
export interface SingleRequest {
  readonly url: URL
  readonly method: string
  /** Names in lower case. */
  readonly headers: Record<string, string>
  readonly body: string | undefined
  readonly signal: AbortSignal
  readonly judge: AddressPolicy
}

/** What came back, with its body still to be read. */
export interface SingleResponse {
  readonly status: number
  readonly headers: Headers
  /** The next piece of the body; undefined when there is none. */
  readonly read: (() => Promise<IteratorResult<Uint8Array>>) | undefined
  discard(): void
}

export type SendSingle = (request: SingleRequest) => Promise<SingleResponse>

/** The part of `fetch` that is used. */
export type SingleFetch = (url: string, init: SingleFetchInit) => Promise<Response>

export interface SingleFetchInit {
  method: string
  headers: Record<string, string>
  body?: string
  redirect: 'manual'
  signal: AbortSignal
}

/** By a `fetch`, on whatever runtime. */
export function sendWithFetch(fetch: SingleFetch): SendSingle {
  return async ({ url, method, headers, body, signal }) => {
    const init: SingleFetchInit = { method, headers, ...(body !== undefined && { body }), redirect: 'manual', signal }
    const response = await fetch(url.href, init)
    const reader = response.body?.getReader()
    const discard = () => void reader?.cancel().catch(() => {})
    const { status } = response
    if (response.type === 'opaqueredirect' || response.redirected) {
      discard()
      throw new GuardError('redirect', url.host, `${url.host} redirects, and nobody could judge where to`, status)
    }
    const read = reader && (() => reader.read() as Promise<IteratorResult<Uint8Array>>)
    return { status, headers: response.headers, read, discard }
  }
}
