import type { ClientAuth } from 'oauth4webapi'
import { AuthError, McpError } from '../../errors.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import type { Trace } from './trace.ts'

export type AuthFetch = (url: string, init: RequestInit) => Promise<Response>

/** What every step on the way to a token has at hand. */
export class AuthContext {
  readonly serverUrl: URL
  readonly trace: Trace
  readonly fetch: AuthFetch
  /** Shows by a key of the client who it is. */
  readonly signature: ClientAuth | undefined
  readonly #revision: string | undefined

  /** @param revision The newest that the connection would speak, where there is one. */
  constructor(serverUrl: URL, trace: Trace, fetch: AuthFetch, revision?: string, signature?: ClientAuth) {
    this.serverUrl = serverUrl
    this.trace = trace
    this.fetch = fetch
    this.signature = signature
    this.#revision = revision
  }

  /** A metadata document; undefined when there is none at this place. Fails when it cannot be known whether there is. */
  async fetchJson(url: URL, what: string): Promise<JsonObject | undefined> {
    let response: Response
    try {
      response = await this.fetch(url.href, { method: 'GET', headers: this.#metadataHeaders(url) })
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

  /**
   * 2025-03-26 authorization, server metadata discovery: the server may answer by the revision. Others do not know the header,
   * and in a browser it would keep their answers from us.
   */
  #metadataHeaders(url: URL): Record<string, string> {
    const isServer = url.origin === this.serverUrl.origin && this.#revision !== undefined
    return { accept: 'application/json', ...(isServer && { 'mcp-protocol-version': this.#revision }) }
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

/**
 * What an application's own code throws may hold what it was given: tokens, codes, secrets. Only its words are passed on.
 *
 * @param failed How the message begins.
 */
export async function inPlainWords<T>(trace: Trace, failed: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof McpError) throw cause
    trace.failed(failed, messageOf(cause))
    throw new AuthError(`${failed}: ${messageOf(cause)}`, trace, { cause: plain(cause) })
  }
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
