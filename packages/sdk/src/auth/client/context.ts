import { allowInsecureRequests, type ClientAuth, customFetch } from 'oauth4webapi'
import { AuthError, McpError } from '../../errors.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'

export type AuthFetch = (url: string, init: RequestInit) => Promise<Response>

/** Shared by all steps of an authorization. */
export class AuthContext {
  readonly serverUrl: URL
  readonly trace: Trace
  readonly fetch: AuthFetch
  /** Authenticates the client with a private key. */
  readonly signature: ClientAuth | undefined
  /** Whether no metadata was found, so that only the default paths of 2025-03-26 are left to try. */
  triesDefaultPaths = false
  readonly #revision: string | undefined

  /** @param revision The newest revision that the client offers, if there is a connection. */
  constructor(serverUrl: URL, trace: Trace, fetch: AuthFetch, revision?: string, signature?: ClientAuth) {
    this.serverUrl = serverUrl
    this.trace = trace
    this.fetch = fetch
    this.signature = signature
    this.#revision = revision
  }

  /** Fetches a metadata document; undefined if there is none at this URL. Throws if the server fails, so that this is unknown. */
  async fetchJson(url: URL, what: string): Promise<JsonObject | undefined> {
    let response: Response
    try {
      response = await this.fetch(url.href, { method: 'GET', headers: this.#metadataHeaders(url) })
    } catch (cause) {
      this.trace.failed(what, `${url.href}: ${messageOf(cause)}`)
      throw new AuthError(`The ${what} could not be fetched from ${url.href}: ${messageOf(cause)}`, this.trace, {
        cause: redacted(cause),
      })
    }
    if (response.status >= 500) {
      this.trace.failed(what, `${url.href}: HTTP ${response.status}`)
      throw new AuthError(`The ${what} could not be fetched from ${url.href}: HTTP ${response.status}`, this.trace)
    }
    const document = response.status === 200 ? await response.json().catch(() => undefined) : undefined
    if (isObject(document)) {
      this.trace.done(what, url.href)
      return document
    }
    this.trace.skipped(
      what,
      `${url.href}: ${response.status === 200 ? 'not a JSON object' : `HTTP ${response.status}`}`,
    )
    if (response.status !== 200) await response.body?.cancel()
    return undefined
  }

  /**
   * 2025-03-26 authorization, server metadata discovery: the MCP server may answer by revision. Other servers do not know the
   * header, and in a browser it would trigger a CORS preflight that they reject.
   */
  #metadataHeaders(url: URL): Record<string, string> {
    const isServer = url.origin === this.serverUrl.origin && this.#revision !== undefined
    return { accept: 'application/json', ...(isServer && { 'mcp-protocol-version': this.#revision }) }
  }
}

/** The message of an error, in a form that can be shown: parts of it may come from an authorization server. */
export function messageOf(cause: unknown): string {
  if (!(cause instanceof Error)) return 'unknown'
  const { error, error_description: description } = cause as { error?: unknown; error_description?: unknown }
  const said = [error, description].filter((part) => typeof part === 'string').join(': ')
  const inner = said || (cause.cause instanceof Error ? cause.cause.message : '')
  return (cause.message + (inner && ` (${inner})`)).replace(/\p{Cc}+/gu, ' ').slice(0, 1_000)
}

/**
 * Replaces errors of the application's own code, which may contain tokens, codes and secrets, with an `AuthError` that has only
 * their message.
 *
 * @param message How the message of the error begins.
 */
export async function wrapErrors<T>(trace: Trace, message: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof McpError) throw cause
    trace.failed(message, messageOf(cause))
    throw new AuthError(`${message}: ${messageOf(cause)}`, trace, { cause: redacted(cause) })
  }
}

/** A copy of an error without further properties, which may be codes and tokens. */
export function redacted(cause: unknown): Error {
  // Our own errors contain no secrets.
  if (cause instanceof McpError) return cause
  const error = new Error(messageOf(cause))
  const { name, code, error: said } = (cause ?? {}) as { name?: unknown; code?: unknown; error?: unknown }
  return Object.assign(error, {
    ...(typeof name === 'string' && { name }),
    ...(typeof code === 'string' && { code }),
    ...(typeof said === 'string' && { error: said }),
  })
}

/** Options for requests to an authorization server: they are sent by the guarded fetch of the context. */
export function requestOptions({ fetch }: AuthContext) {
  return {
    [customFetch]: async (url: string, init: unknown) => withoutChallenge(await fetch(url, init as RequestInit)),
    // The fetch above allows http: only on this machine.
    [allowInsecureRequests]: true,
  }
}

/** RFC 6749, 5.2: the error is in the body, which oauth4webapi does not read if there is a challenge. */
function withoutChallenge(response: Response): Response {
  if (response.status !== 401 || !response.headers.has('www-authenticate')) return response
  const headers = new Headers(response.headers)
  headers.delete('www-authenticate')
  return new Response(response.body, { status: response.status, headers })
}

/** One step of an authorization, and its outcome. */
export interface TraceStep {
  readonly step: string
  readonly outcome: 'done' | 'skipped' | 'failed'
  readonly detail: string
}

/** The steps of an authorization in order, to explain a failure. It never contains secrets. */
export class Trace {
  readonly steps: TraceStep[] = []

  done(step: string, detail: string): void {
    this.#add(step, 'done', detail)
  }

  skipped(step: string, detail: string): void {
    this.#add(step, 'skipped', detail)
  }

  failed(step: string, detail: string): void {
    this.#add(step, 'failed', detail)
  }

  toString(): string {
    return this.steps.map(({ step, outcome, detail }) => `${marks[outcome]} ${step}: ${detail}`).join('\n')
  }

  #add(step: string, outcome: TraceStep['outcome'], detail: string): void {
    // Parts of it come from servers.
    this.steps.push({ step, outcome, detail: detail.replace(/\p{Cc}+/gu, ' ').slice(0, 500) })
    if (this.steps.length > maxSteps) this.steps.shift()
  }
}

const maxSteps = 200
const marks = { done: '+', skipped: '-', failed: '!' } as const
