import type { AuthRoutes } from '../../../auth/http.ts'
import { toChallenge, withoutOffline } from '../../../auth/resource/challenge.ts'
import { ResourceMetadata } from '../../../auth/resource/metadata.ts'
import type { AuthOptions } from '../../../auth/resource/options.ts'
import { TokenCheck, type VerifiedToken } from '../../../auth/resource/token-check.ts'
import type { AuthInfo } from '../../../protocol/auth-info.ts'
import { clock } from '../../../util/clock.ts'
import { isLoopbackHost } from '../../../util/loopback.ts'
import { scheduler, type Timer } from '../../../util/scheduler.ts'
import { headOf, toRefusal } from './auth-routes.ts'
import type { Body, BodyLimits, CallRequest, EventSink, HeaderFields, HttpCall, OutputLimits, Refusal } from './call.ts'
import type { HttpOptions, SsePaths } from './options.ts'

/** The verified token of a call. */
export interface Authorization extends VerifiedToken {
  /** Returns the `WWW-Authenticate` header for missing scopes. */
  challenge(scopes: readonly string[]): string
}

/**
 * A call with an authenticated caller. If the operation needs more scopes than the token has, the response is a 403 with a
 * challenge. Streams that the client listens on end when the token expires.
 */
export class AuthorizedCall implements HttpCall {
  readonly method: string
  readonly request: CallRequest
  readonly #call: HttpCall
  readonly #authorization: Authorization | undefined
  readonly #onClose: (() => void)[] = []
  #timer: Timer | undefined

  /** @param authorization Undefined if a layer in front of us has checked the token. */
  constructor(call: HttpCall, authorization?: Authorization) {
    this.method = call.method
    this.request = authorization ? new AuthorizedRequest(call.request, authorization) : call.request
    this.#call = call
    this.#authorization = authorization
  }

  get allowedOrigin(): string | undefined {
    return this.#call.allowedOrigin
  }

  get exposesHeaders(): boolean {
    return this.#call.exposesHeaders
  }

  body(limits: BodyLimits, done: (body: Body | Refusal) => void): void {
    this.#call.body(limits, done)
  }

  reply(status: number, headers: HeaderFields, body?: string | Uint8Array): void {
    this.#call.reply(status, this.#withOwn(headers), body)
  }

  replyInsufficientScope(scopes: readonly string[], headers: HeaderFields, body: string): void {
    const challenge = this.#authorization?.challenge(scopes) ?? bareChallenge(scopes)
    this.#call.reply(403, { ...this.#withOwn(headers), 'www-authenticate': challenge }, body)
  }

  #withOwn(headers: HeaderFields): HeaderFields {
    return this.#authorization?.headers ? { ...headers, ...this.#authorization.headers } : headers
  }

  /** True if the stream that this call opens is a session of its own, as on HTTP+SSE. */
  isSession = false

  stream(headers: HeaderFields): EventSink {
    const extra = this.#authorization?.headers
    const sink = new WatchedSink(this.#call.stream(extra ? { ...headers, ...extra } : headers), () => this.#stopTimer())
    // Only the stream of a GET ends with the token. A POST is answered even if the token expires meanwhile, and on HTTP+SSE the
    // token of every message is checked.
    if (this.method === 'GET' && !this.isSession) {
      this.atExpiry(() => {
        // The client may reconnect with a new token (2025-11-25 transports, sending `retry` before closing).
        sink.write('retry: 1000\n\n')
        sink.end()
        for (const listener of this.#onClose) listener()
      })
    }
    return sink
  }

  limitOutput(limits: OutputLimits): void {
    this.#call.limitOutput(limits)
  }

  onClose(listener: () => void): void {
    this.#onClose.push(listener)
    this.#call.onClose(() => {
      this.#stopTimer()
      listener()
    })
  }

  atExpiry(end: () => void): void {
    const { expiresAt } = (this.request.auth ?? {}) as { expiresAt?: unknown }
    if (typeof expiresAt !== 'number') return
    const wait = expiresAt * 1000 - clock.now()
    // The longest time that a timer can wait.
    const next = wait > 2 ** 31 - 1 ? () => this.atExpiry(end) : end
    this.#timer = scheduler.setTimeout(next, Math.max(0, Math.min(wait, 2 ** 31 - 1)))
    scheduler.unref(this.#timer)
  }

  #stopTimer(): void {
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
  }
}

/** The request as handlers see it: with the identity from the token, but without the token. */
class AuthorizedRequest implements CallRequest {
  readonly #request: CallRequest
  readonly auth: AuthInfo
  principal: string | undefined

  constructor(request: CallRequest, { auth, principal }: Authorization) {
    this.#request = request
    this.auth = auth
    this.principal = principal
  }

  get url(): string {
    return this.#request.url
  }

  header(name: string): string | undefined {
    return isSecret(name) ? undefined : this.#request.header(name)
  }

  get headers(): Readonly<Record<string, string>> {
    return Object.fromEntries(Object.entries(this.#request.headers).filter(([name]) => !isSecret(name)))
  }

  get truncated(): boolean {
    return this.#request.truncated
  }

  get peer(): string | undefined {
    return this.#request.peer
  }

  set peer(address: string | undefined) {
    this.#request.peer = address
  }
}

/** 2025-06-18 authorization, access token privilege restriction: a handler must not pass the token on, so it does not get it. */
function isSecret(name: string): boolean {
  return (name.length === 13 || name.length === 4) && /^(?:authorization|dpop)$/i.test(name)
}

/** Calls back when the stream ends. */
class WatchedSink implements EventSink {
  readonly #sink: EventSink
  readonly #onEnd: () => void

  constructor(sink: EventSink, onEnd: () => void) {
    this.#sink = sink
    this.#onEnd = onEnd
  }

  write(text: string): void {
    this.#sink.write(text)
  }

  get waiting(): number {
    return this.#sink.waiting
  }

  drained(): Promise<void> | undefined {
    return this.#sink.drained()
  }

  end(): void {
    this.#onEnd()
    this.#sink.end()
  }

  destroy(): void {
    this.#onEnd()
    this.#sink.destroy()
  }
}

function bareChallenge(scopes: readonly string[]): string {
  return toChallenge('Bearer', { error: 'insufficient_scope', scope: withoutOffline(scopes).join(' ') })
}

/** Checks the access token of every call, and tells clients without one where to get it. */
export class Authorizer {
  readonly metadata: ResourceMetadata
  /** Endpoints that need no token. */
  readonly routes: AuthRoutes | undefined
  readonly #check: TokenCheck

  /** @param isTold Whether `servedAt` will be called, which can take the place of `auth.resource`. */
  constructor(options: AuthOptions, sse: boolean | SsePaths | undefined, isTold: boolean) {
    if (options.resource === undefined && !isTold) throw missingResource()
    const { path = '/sse', messagesPath = '/messages' } = typeof sse === 'object' ? sse : {}
    this.routes = options.routes
    this.#check = new TokenCheck(options)
    this.metadata = new ResourceMetadata(options, sse ? { path, messagesPath } : undefined)
  }

  /** Tells the URL that is served, which is the default of `auth.resource`. */
  servedAt(url: string): void {
    this.metadata.servedAt(url)
  }

  /** Returns the call with the identity of its token. Throws a `Refusal` with the challenge. */
  async authorize(call: HttpCall, reportError: (error: unknown) => void): Promise<HttpCall> {
    const head = headOf(call)
    const metadataUrl = this.metadata.urlFor(head)
    const request = this.metadata.toTokenRequest(head)
    const outcome = await this.#check.check(head, { request, metadataUrl, reportError })
    if ('message' in outcome) throw toRefusal(outcome)
    return new AuthorizedCall(call, {
      ...outcome,
      challenge: (scopes) => this.#check.insufficient(outcome.scheme, scopes, metadataUrl),
    })
  }
}

/** Behind a proxy, or on another address than loopback, the public URL is unknown, so the operator has to configure it. */
export function checkResource({ auth, allowedHosts, allowAnyHost }: HttpOptions, host: string): void {
  if (!auth || auth.resource !== undefined || (isLoopbackHost(host) && !allowedHosts && !allowAnyHost)) return
  throw missingResource()
}

function missingResource(): TypeError {
  return new TypeError(
    "auth.resource is required when the server is reachable from other machines. Set it to the public URL, for example 'https://mcp.example.com/mcp'.",
  )
}
