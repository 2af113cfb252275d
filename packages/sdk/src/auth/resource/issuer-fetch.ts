import { isLoopbackUrl } from '../../net/addresses.ts'
import { ByteCollector } from '../../util/bytes.ts'
import { clock } from '../../util/clock.ts'

/** `fetch`, or one's own in its place: for tests, proxies, and other runtimes. */
export type Fetch = (url: string, init?: RequestInit) => Promise<Response>

/** Keys and answers of issuers are a few kilobytes. */
const maxBytes = 1024 * 1024
/** How long an issuer that failed is left alone, so that nobody can make us call it with every bad token. */
export const pauseMs = 1_000

/** Asks an issuer that the operator chose: only over https (http on this machine), with a bound to what it may answer. */
export class IssuerFetch {
  readonly #fetch: Fetch
  #failedAt = 0

  constructor(fetch: Fetch | undefined) {
    // Not bound to an object: browsers and others refuse a `fetch` that is called as a method.
    this.#fetch = fetch ?? ((url, init) => globalThis.fetch(url, init))
  }

  /** Any answer at all. */
  async ask(url: string, init: RequestInit | undefined): Promise<Response> {
    try {
      const { status, headers, body } = await this.#fetch(url, init)
      return new Response(isEmpty(status) ? null : await readBounded(body), { status, headers })
    } catch (cause) {
      throw new Error(`${withoutQuery(url)} could not be asked: ${(cause as Error).message}`, { cause })
    }
  }

  /** A document: nothing but a 200 will do. */
  async get(url: string, init: RequestInit | undefined): Promise<Response> {
    const response = await this.ask(url, init)
    if (response.status === 200) return response
    throw new Error(`${withoutQuery(url)} answered with ${response.status}`)
  }

  /** A document that every request may make us look for. */
  async getWithPauses(url: string, init: RequestInit | undefined): Promise<Response> {
    if (clock.now() - this.#failedAt < pauseMs) throw new Error(`${withoutQuery(url)} failed a moment ago`)
    try {
      return await this.get(url, init)
    } catch (error) {
      this.#failedAt = clock.now()
      throw error
    }
  }
}

/** Throws on a place that tokens and keys should not travel to or from. */
export function checkIssuerUrl(option: string, value: string | URL): URL {
  const url = URL.canParse(String(value)) ? new URL(value) : undefined
  const isLocal = url?.protocol === 'http:' && isLoopbackUrl(url)
  if (url && (url.protocol === 'https:' || isLocal)) return url
  throw new TypeError(`${option} must be an https: URL (http: on this machine), not ${JSON.stringify(String(value))}`)
}

async function readBounded(body: Response['body']): Promise<Uint8Array<ArrayBuffer>> {
  const collected = new ByteCollector()
  const reader: ReadableStreamDefaultReader<Uint8Array> | undefined = body?.getReader()
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true as const, value: undefined }
    if (done) return collected.take() as Uint8Array<ArrayBuffer>
    collected.push(value)
    if (collected.length <= maxBytes) continue
    void reader?.cancel().catch(() => {})
    throw new Error(`the answer is longer than ${maxBytes} bytes`)
  }
}

/** Answers that may have no body. */
function isEmpty(status: number): boolean {
  return status === 204 || status === 205 || status === 304
}

function withoutQuery(url: string): string {
  return url.replace(/[?#].*$/s, '')
}
