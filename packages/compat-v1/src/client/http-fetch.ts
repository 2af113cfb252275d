import type { FetchInit } from 'tenon/client'
import type { FetchLike } from '../shared/transport.ts'

/** How to call `fetch` for requests to the server. */
export interface HttpFetchOptions {
  /** Default: the global `fetch` at the time of the request. */
  readonly fetch: FetchLike | undefined
  /** `follow` leaves redirects to `fetch`. Default: they are followed within the origin of the server. */
  readonly redirectPolicy: 'same-origin' | 'follow' | undefined
}

/**
 * Calls `fetch` as programs of SDK 1.x expect it: with a `URL` and `Headers`. The global one is read for each request, because
 * programs replace it, and configure proxies for it.
 */
export function createHttpFetch({
  fetch,
  redirectPolicy,
}: HttpFetchOptions): (url: string, init: FetchInit) => Promise<Response> {
  return async (url, init) => {
    const redirect = redirectPolicy === 'follow' ? 'follow' : init.redirect
    const headers = new Headers(init.headers)
    return withBody(await (fetch ?? globalThis.fetch)(new URL(url), { ...init, redirect, headers }))
  }
}

/** Test doubles often have `json` or `text` in place of a body. */
async function withBody(response: Partial<Response>): Promise<Response> {
  if (response instanceof Response || response.body) return response as Response
  const text = await readText(response)
  const { status = 200, statusText = '', headers = new Headers(), type = 'default', redirected = false } = response
  const body = text === '' ? null : new Response(text).body
  return { status, statusText, headers, type, redirected, body } as Response
}

async function readText(response: Partial<Response>): Promise<string> {
  try {
    if (response.ok && response.json) return JSON.stringify(await response.json())
    return (await response.text?.()) ?? ''
  } catch {
    return ''
  }
}
