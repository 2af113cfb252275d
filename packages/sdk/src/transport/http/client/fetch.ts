import { type Answer, type HttpPort, isConnectFailure, type OutgoingCall } from './call.ts'

/** The part of `fetch` that is used, so that one of your own is easily written. */
export type FetchLike = (url: string, init: FetchInit) => Promise<Response>

export interface FetchInit {
  method: string
  headers: Record<string, string>
  body?: string
  redirect: 'manual'
  signal: AbortSignal
}

/** HTTP requests by `fetch`, on whatever runtime. */
export class FetchPort implements HttpPort {
  readonly #fetch: FetchLike
  readonly #init: object

  /** @param init What else every call of `fetch` is given, such as `credentials`. */
  constructor(fetch: FetchLike, init: object = {}) {
    this.#fetch = fetch
    this.#init = init
  }

  call({ method, url, headers, body }: OutgoingCall, answer: Answer): () => void {
    const stop = new AbortController()
    const init: FetchInit = {
      ...this.#init,
      method,
      headers,
      ...(body !== undefined && { body }),
      redirect: 'manual',
      signal: stop.signal,
    }
    void this.#run(url.href, init, answer)
    return () => stop.abort()
  }

  decode(bytes: Uint8Array): string {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  }

  close(): void {}

  async #run(url: string, init: FetchInit, answer: Answer): Promise<void> {
    try {
      // Called without `this`: browsers insist on it.
      const fetch = this.#fetch
      const response = await fetch(url, init)
      if (init.signal.aborted) return
      if (response.type === 'opaqueredirect')
        throw new Error('the server redirects, and this runtime does not say where')
      answer.head(response.status, (name) => response.headers.get(name) ?? undefined, false)
      await readAll(response.body, init.signal, answer)
    } catch (cause) {
      if (!init.signal.aborted) answer.failed(cause, !isConnectFailure(cause))
      return
    }
    if (!init.signal.aborted) answer.end()
  }
}

async function readAll(body: Response['body'], signal: AbortSignal, answer: Answer): Promise<void> {
  if (!body) return
  const reader = body.getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done || signal.aborted) return
    answer.data(value)
  }
}
