import type { FetchInit } from 'tenon/client'
import type { FetchLike } from '../core/transport.ts'

/**
 * Calls `fetch` as programs expect it: with a `URL` and `Headers`. The global one is read for each request, because programs
 * replace it and configure proxies for it.
 */
export function createHttpFetch(fetch: FetchLike | undefined): (url: string, init: FetchInit) => Promise<Response> {
  return async (url, init) => {
    const send = fetch ?? globalThis.fetch
    const options = { ...init, redirect: 'follow', headers: new Headers(init.headers) } as const
    const response: Partial<Response> = await send(new URL(url), options)
    return response instanceof Response || response.body ? (response as Response) : withBody(response)
  }
}

/** Test doubles often have `json` or `text` in place of a body. */
async function withBody(response: Partial<Response>): Promise<Response> {
  const { status = 200, statusText = '', headers = new Headers(), type = 'default', redirected = false } = response
  const text = response.ok && response.json ? JSON.stringify(await response.json()) : await response.text?.()
  const body = text ? new Response(text).body : null
  return { status, statusText, headers, type, redirected, body } as Response
}
