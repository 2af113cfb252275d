import { AuthError, McpError } from '../../errors.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import type { Trace } from './trace.ts'

export type AuthFetch = (url: string, init: RequestInit) => Promise<Response>

/** What every step on the way to a token has at hand. */
export class AuthContext {
  readonly serverUrl: URL
  readonly trace: Trace
  readonly fetch: AuthFetch

  constructor(serverUrl: URL, trace: Trace, fetch: AuthFetch) {
    this.serverUrl = serverUrl
    this.trace = trace
    this.fetch = fetch
  }

  /** A metadata document; undefined when there is none at this place. Fails when it cannot be known whether there is. */
  async fetchJson(url: URL, what: string): Promise<JsonObject | undefined> {
    let response: Response
    try {
      response = await this.fetch(url.href, { method: 'GET', headers: { accept: 'application/json' } })
    } catch (cause) {
      this.trace.failed(what, `${url.href}: ${messageOf(cause)}`)
      throw new AuthError(`The ${what} could not be read from ${url.href}: ${messageOf(cause)}`, this.trace, {
        cause: plain(cause),
      })
    }
    if (response.status >= 500) {
      this.trace.failed(what, `${url.href}: HTTP ${response.status}`)
      throw new AuthError(`The ${what} could not be read from ${url.href}: HTTP ${response.status}`, this.trace)
    }
    const document = response.status === 200 ? await response.json().catch(() => undefined) : undefined
    if (isObject(document)) {
      this.trace.done(what, url.href)
      return document
    }
    this.trace.skipped(what, `${url.href}: ${response.status === 200 ? 'no JSON object' : `HTTP ${response.status}`}`)
    if (response.status !== 200) await response.body?.cancel()
    return undefined
  }
}

/** What went wrong, in words that can be shown: an authorization server may have written some of them. */
export function messageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  const { error, error_description: description } = cause as { error?: unknown; error_description?: unknown }
  const said = [error, description].filter((part) => typeof part === 'string').join(': ')
  const inner = said || (cause.cause instanceof Error ? cause.cause.message : '')
  return (cause.message + (inner && ` (${inner})`)).replace(/\p{Cc}+/gu, ' ').slice(0, 1_000)
}

/** The cause of an error without what came with it, which may be codes and tokens. */
export function plain(cause: unknown): Error {
  // Our own have nothing with them that is not to be seen.
  if (cause instanceof McpError) return cause
  const error = new Error(messageOf(cause))
  const { name, code, error: said } = (cause ?? {}) as { name?: unknown; code?: unknown; error?: unknown }
  return Object.assign(error, {
    ...(typeof name === 'string' && { name }),
    ...(typeof code === 'string' && { code }),
    ...(typeof said === 'string' && { error: said }),
  })
}
