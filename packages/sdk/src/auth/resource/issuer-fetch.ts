import { isSecureUrl } from '../../net/address-policy.ts'
import { BoundedBody } from '../../net/limits.ts'
import { clock } from '../../util/clock.ts'

/** A function with the signature of `fetch`, for tests, proxies and other runtimes. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

/** Keys and responses of issuers are a few kilobytes long. */
const maxBytes = 1024 * 1024
/** How long an issuer that failed is not called again, so that invalid tokens cannot cause a request each. */
export const cooldownMs = 1_000

/** Sends requests to an issuer that the operator has configured, and limits the size of its responses. */
export class IssuerFetch {
  readonly #fetch: Fetch
  #failedAt = 0

  constructor(fetch: Fetch | undefined) {
    // A plain call: browsers and other runtimes reject a `fetch` that is called as a method.
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init))
  }

  /** Returns the response, whatever its status. */
  async send(url: string, init: RequestInit | undefined): Promise<Response> {
    try {
      const { status, headers, body } = await this.#fetch(url, init)
      return new Response(hasNoBody(status) ? null : await readBounded(body), { status, headers })
    } catch (cause) {
      throw new Error(`${withoutQuery(url)} could not be reached: ${cause instanceof Error ? cause.message : cause}`, {
        cause,
      })
    }
  }

  /** Returns a document. Rejects unless the status is 200. */
  async get(url: string, init: RequestInit | undefined): Promise<Response> {
    const response = await this.send(url, init)
    if (response.status === 200) return response
    throw new Error(`${withoutQuery(url)} responded with HTTP ${response.status}`)
  }

  /** Like `get`, but fails at once for a moment after a failure. For documents that every request may look up. */
  async getWithCooldown(url: string, init: RequestInit | undefined): Promise<Response> {
    if (clock.now() - this.#failedAt < cooldownMs) throw new Error(`${withoutQuery(url)} failed a moment ago`)
    try {
      return await this.get(url, init)
    } catch (error) {
      this.#failedAt = clock.now()
      throw error
    }
  }
}

/** Throws unless a URL uses https, or plain http on a loopback address. */
export function checkIssuerUrl(option: string, value: string | URL): URL {
  const url = URL.canParse(String(value)) ? new URL(value) : undefined
  if (url && isSecureUrl(url)) return url
  throw new TypeError(
    `${option} must be an https: URL (http: only on loopback addresses), not ${JSON.stringify(String(value))}.`,
  )
}

async function readBounded(body: Response['body']): Promise<Uint8Array<ArrayBuffer>> {
  const collected = new BoundedBody(maxBytes)
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true as const, value: undefined }
    if (done) return collected.take()
    if (collected.push(value)) continue
    void reader?.cancel().catch(() => {})
    throw new Error(`the response is longer than ${maxBytes} bytes`)
  }
}

/** Statuses whose responses have no body. */
function hasNoBody(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '')
}
