import { type EndpointResponse, jsonResponse } from '../../auth/http.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { scheduler } from '../../util/scheduler.ts'
import type { EndpointName } from './state.ts'

/**
 * A fault to inject into a request.
 *
 * - `hang`: no response. `reset`: the connection breaks before the request is handled. `lose-reply`: the request is
 *   handled, then the connection breaks.
 * - `server-error`: an empty 500. `html`: a page with status 200. `huge`: the correct response, padded to 100 MB.
 *   `trickle`: the correct response, one byte at a time.
 * - An object changes or replaces the correct response: see `AlteredReply`.
 */
export type Fault = 'hang' | 'reset' | 'lose-reply' | 'server-error' | 'html' | 'huge' | 'trickle' | AlteredReply

export interface AlteredReply {
  /** With `status` or `body` the request is not handled. This is the response. */
  status?: number | undefined
  /** A string is sent unchanged, other values as JSON. */
  body?: unknown
  headers?: Record<string, string> | undefined
  /** Members of the correct response to replace. Undefined removes a member. */
  patch?: Record<string, unknown> | undefined
  /** Delays the response. */
  delayMs?: number | undefined
  /** Delays the response until this resolves. */
  until?: PromiseLike<unknown> | undefined
}

/** The faults that can be injected. */
export class Faults {
  /** Parameters of redirects to replace. Null removes one: `{ iss: 'https://other.example' }`, `{ state: null }`. */
  redirect: Record<string, string | null> = {}
  /** Authorization requests fail with this error, such as `access_denied`. */
  authorizationError: string | undefined
  /** Users grant these scopes, whatever the request asks for. */
  grantedScope: string | undefined
  /** Access tokens have already expired when they are issued, although the response says otherwise. */
  expiredTokens = false
  /** Responses contain no refresh token. */
  noRefreshToken = false
  readonly #next = new Map<EndpointName, Fault[]>()
  readonly #always = new Map<EndpointName, Fault>()

  /** Applies to the next request to this endpoint. A second call applies to the request after that. */
  next(endpoint: EndpointName, fault: Fault): void {
    const waiting = this.#next.get(endpoint) ?? []
    this.#next.set(endpoint, [...waiting, fault])
  }

  /** Applies to every request to this endpoint without a fault of `next`. Undefined removes it. */
  always(endpoint: EndpointName, fault: Fault | undefined): void {
    if (fault === undefined) this.#always.delete(endpoint)
    else this.#always.set(endpoint, fault)
  }

  /** Removes all faults. */
  clear(): void {
    this.#next.clear()
    this.#always.clear()
    this.redirect = {}
    this.authorizationError = undefined
    this.grantedScope = undefined
    this.expiredTokens = false
    this.noRefreshToken = false
  }

  /** @internal */
  take(endpoint: EndpointName): Fault | undefined {
    return this.#next.get(endpoint)?.shift() ?? this.#always.get(endpoint)
  }
}

/** The outcome of a request: a response, whose body may come in pieces, or none. */
export type Outcome = (Omit<EndpointResponse, 'body'> & { body: string | AsyncIterable<Uint8Array> }) | 'hang' | 'reset'

export async function withFault(fault: Fault | undefined, answer: () => Promise<EndpointResponse>): Promise<Outcome> {
  if (fault === undefined) return answer()
  if (typeof fault === 'object') return altered(fault, answer)
  switch (fault) {
    case 'hang':
    case 'reset':
      return fault
    case 'lose-reply':
      await answer()
      return 'reset'
    case 'server-error':
      return { status: 500, headers: {}, body: '' }
    case 'html':
      return { status: 200, headers: { 'content-type': 'text/html' }, body: '<!doctype html><title>Sorry</title>' }
    case 'huge':
      return inPieces(await answer(), padded)
    case 'trickle':
      return inPieces(await answer(), byteByByte)
  }
}

async function altered(fault: AlteredReply, answer: () => Promise<EndpointResponse>): Promise<EndpointResponse> {
  const { status, body, headers, patch, delayMs, until } = fault
  let reply = status !== undefined || body !== undefined ? made(status ?? 200, body) : await answer()
  if (patch) reply = { ...reply, body: patched(reply.body, patch) }
  if (delayMs !== undefined) await new Promise((resolve) => scheduler.setTimeout(resolve, delayMs).unref())
  await until
  return { ...reply, headers: { ...reply.headers, ...headers } }
}

function made(status: number, body: unknown): EndpointResponse {
  if (body === undefined || typeof body === 'string') return { status, headers: {}, body: body ?? '' }
  return { ...jsonResponse({}, status), body: JSON.stringify(body) }
}

function patched(text: string, patch: JsonObject): string {
  const body: unknown = JSON.parse(text)
  return JSON.stringify(isObject(body) ? { ...body, ...patch } : body)
}

function inPieces(reply: EndpointResponse, cut: (text: string) => AsyncIterable<Uint8Array>): Exclude<Outcome, string> {
  return { ...reply, body: cut(reply.body) }
}

/** Yields the same JSON after a hundred million spaces. */
async function* padded(text: string): AsyncIterable<Uint8Array> {
  const piece = Buffer.alloc(1_000_000, ' ')
  for (let sent = 0; sent < 100; sent++) yield piece
  yield Buffer.from(text)
}

async function* byteByByte(text: string): AsyncIterable<Uint8Array> {
  for (const byte of Buffer.from(text)) {
    yield Uint8Array.of(byte)
    await new Promise((resolve) => scheduler.setTimeout(resolve, 100).unref())
  }
}
