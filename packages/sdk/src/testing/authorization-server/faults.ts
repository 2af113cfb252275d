import { type EndpointResponse, jsonResponse } from '../../auth/http.ts'
import { isObject, type JsonObject } from '../../util/objects.ts'
import { scheduler } from '../../util/scheduler.ts'
import type { EndpointName } from './state.ts'

/**
 * What goes wrong with a request.
 *
 * - `hang`: no answer. `reset`: the connection breaks before anything happened. `lose-reply`: what was asked for happens,
 *   then the connection breaks.
 * - `server-error`: a bare 500. `html`: a page with status 200. `huge`: the right answer, made 100 MB large. `trickle`: the
 *   right answer, one byte at a time.
 * - An object changes the right answer, or gives another one: see `AlteredReply`.
 */
export type Fault = 'hang' | 'reset' | 'lose-reply' | 'server-error' | 'html' | 'huge' | 'trickle' | AlteredReply

export interface AlteredReply {
  /** With `status` or `body` nothing that was asked for happens; this is the answer. */
  status?: number | undefined
  /** Text as it is; anything else becomes JSON. */
  body?: unknown
  headers?: Record<string, string> | undefined
  /** Members of the right answer to replace; those that are undefined are left out. */
  patch?: Record<string, unknown> | undefined
  /** The answer comes that much later. */
  delayMs?: number | undefined
  /** The answer waits for this. */
  until?: PromiseLike<unknown> | undefined
}

/** Everything that can be made to go wrong. */
export class Faults {
  /** Parameters of redirects to replace, or with null to leave out: `{ iss: 'https://other.example' }`, `{ state: null }`. */
  redirect: Record<string, string | null> = {}
  /** Whoever asks for authorization gets this error, such as `access_denied`. */
  authorizationError: string | undefined
  /** Users grant these scopes, whatever was asked for. */
  grantedScope: string | undefined
  /** Access tokens are past their time when they come, although the answer says otherwise. */
  expiredTokens = false
  /** No answer has a refresh token in it. */
  noRefreshToken = false
  readonly #next = new Map<EndpointName, Fault[]>()
  readonly #always = new Map<EndpointName, Fault>()

  /** Happens to the next request to this endpoint. Called again, to the one after. */
  next(endpoint: EndpointName, fault: Fault): void {
    const waiting = this.#next.get(endpoint) ?? []
    this.#next.set(endpoint, [...waiting, fault])
  }

  /** Happens to every request to this endpoint that `next` says nothing about; undefined ends it. */
  always(endpoint: EndpointName, fault: Fault | undefined): void {
    if (fault === undefined) this.#always.delete(endpoint)
    else this.#always.set(endpoint, fault)
  }

  /** All is well again. */
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

/** What becomes of a request: an answer, with the body perhaps in pieces, or none. */
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

/** The same JSON, after a hundred million spaces. */
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
