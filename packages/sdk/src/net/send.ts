import { usesNodeHttp } from '../util/runtime.ts'

/** One HTTP request to one URL. */
export interface HttpRequest {
  readonly method: string
  readonly url: URL
  /** Names in lower case. */
  readonly headers: Record<string, string>
  readonly body: string | undefined
}

/** Reads one header by its name in lower case. */
export type ReadHeader = (name: string) => string | undefined

/** Status and headers of a response, before its body. */
export interface ResponseHead {
  readonly status: number
  /** The reason phrase, if there is one. */
  readonly statusText?: string | undefined
  /** Reads one header by its name in lower case. */
  header(name: string): string | undefined
  /** True if the connection carried another request before this one. */
  readonly isReused: boolean
  /** All headers, for callers that build a `Response`. */
  toHeaders(): Headers
}

/** Receives one response: `onHead`, any number of `onData`, then `onEnd`; or `onError` at any point. */
export interface ResponseHandler {
  onHead(head: ResponseHead): void
  onData(chunk: Uint8Array): void
  onEnd(): void
  onError(cause: unknown): void
}

/**
 * Sends one HTTP request and streams its response. It does not follow redirects, retry, or limit anything: see `redirect.ts`,
 * `retry.ts` and `limits.ts`.
 */
export interface Sender {
  /** Returns a function that aborts the request. After that, the handler is not called again. */
  send(request: HttpRequest, handler: ResponseHandler): () => void
  /** True if compressed bodies arrive decompressed. */
  readonly decompresses: boolean
  /** Closes idle connections. */
  close(): void
}

/** The part of `fetch` that is used, which makes it easy to pass your own. */
export type FetchLike = (url: string, init: FetchInit) => Promise<Response>

export interface FetchInit {
  method: string
  headers: Record<string, string>
  body?: string
  redirect: 'manual'
  signal: AbortSignal
}

export interface FetchSenderOptions {
  /** Further options for every call of `fetch`, such as `credentials`. */
  readonly init?: object | undefined
  /** Accept the response of a `fetch` that ignores `redirect: 'manual'` and followed redirects itself. Default false. */
  readonly allowFollowed?: boolean | undefined
}

/** Sends over Node's HTTP client with pooled connections, or over `fetch` if one is given or this is not Node. */
export async function createSender(fetch: FetchLike | undefined, options: FetchSenderOptions = {}): Promise<Sender> {
  if (fetch || !usesNodeHttp()) return new FetchSender(fetch ?? globalFetch, options)
  const { PooledSender } = await import('./node/pooled-sender.ts')
  return new PooledSender()
}

/** Looked up at each call: applications replace the global. */
const globalFetch: FetchLike = (url, init) => globalThis.fetch(url, init)

/** A redirect whose target was hidden: the runtime does not reveal it, or `fetch` has already followed it. */
export class HiddenRedirectError extends Error {
  readonly status: number

  constructor(status: number) {
    super('the server redirects, and this runtime does not say where to')
    this.status = status
  }
}

/** Sends over `fetch`, on any runtime. */
export class FetchSender implements Sender {
  readonly decompresses = true
  readonly #fetch: FetchLike
  readonly #init: object | undefined
  readonly #allowFollowed: boolean

  constructor(fetch: FetchLike = globalFetch, { init, allowFollowed = false }: FetchSenderOptions = {}) {
    this.#fetch = fetch
    this.#init = init
    this.#allowFollowed = allowFollowed
  }

  send({ method, url, headers, body }: HttpRequest, handler: ResponseHandler): () => void {
    const stop = new AbortController()
    const init: FetchInit = {
      ...this.#init,
      method,
      headers,
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: stop.signal,
    }
    void this.#run(url.href, init, handler)
    return () => stop.abort()
  }

  close(): void {}

  async #run(url: string, init: FetchInit, handler: ResponseHandler): Promise<void> {
    const { signal } = init
    try {
      // Called without `this`: browsers reject a `fetch` that is called as a method.
      const fetch = this.#fetch
      const response = await fetch(url, init)
      const reader: Reader | undefined = response.body?.getReader()
      // Not every `fetch` obeys its signal, so the body is cancelled here as well.
      const cancel = () => void reader?.cancel().catch(() => {})
      if (signal.aborted) return cancel()
      signal.addEventListener('abort', cancel)
      if (response.type === 'opaqueredirect' || (response.redirected && !this.#allowFollowed)) {
        cancel()
        throw new HiddenRedirectError(response.status)
      }
      handler.onHead(new FetchHead(response))
      if (reader) await readAll(reader, signal, handler)
    } catch (cause) {
      if (!signal.aborted) handler.onError(cause)
      return
    }
    if (!signal.aborted) handler.onEnd()
  }
}

type Reader = ReadableStreamDefaultReader<Uint8Array>

class FetchHead implements ResponseHead {
  readonly isReused = false
  readonly #response: Response

  constructor(response: Response) {
    this.#response = response
  }

  get status(): number {
    return this.#response.status
  }

  get statusText(): string | undefined {
    return this.#response.statusText || undefined
  }

  header(name: string): string | undefined {
    return this.#response.headers.get(name) ?? undefined
  }

  toHeaders(): Headers {
    return new Headers(this.#response.headers)
  }
}

async function readAll(reader: Reader, signal: AbortSignal, handler: ResponseHandler): Promise<void> {
  while (!signal.aborted) {
    const { done, value } = await reader.read()
    if (done || signal.aborted) return
    handler.onData(value)
  }
}
