import type { ClientAuth } from '../../../auth/client/client-auth.ts'
import { AuthError, HttpError } from '../../../errors.ts'
import { BoundedBody } from '../../../net/limits.ts'
import { wasNotSent } from '../../../net/network-errors.ts'
import { followRedirect, locationOf } from '../../../net/redirect.ts'
import { maxCredentialRetries, retryAfterFailure, retryAfterRefusal } from '../../../net/retry.ts'
import type { ResponseHandler, ResponseHead } from '../../../net/send.ts'
import { maxTimerMs } from '../../../util/backoff.ts'
import { isThenable } from '../../../util/maybe-async.ts'
import { scheduler, type Timer } from '../../../util/scheduler.ts'
import { authorizationContextOf, type ClientConfig } from './config.ts'
import { describeUnreachable, hintFor, hintForStatus } from './hints.ts'

/** How the body of a successful response is read: as one text, in chunks as they arrive, or not at all. */
export type BodyMode = 'text' | 'chunks' | 'none'

/** Receives the outcome of a request. Exactly one of `onComplete` and `onFailure` is called, unless the request is aborted. */
export interface RequestListener {
  /** The server answered with a 2xx status. May throw an `HttpError` to reject the response. */
  onSuccess(head: ResponseHead): BodyMode
  /** A part of a body that is read in chunks. */
  onChunk(chunk: Uint8Array): void
  /** The body is complete; `text` is empty unless the mode is `'text'`. */
  onComplete(text: string): void
  onFailure(error: HttpError): void
}

export interface ClientRequestOptions {
  readonly method: 'POST' | 'GET' | 'DELETE'
  /** The name of the request in errors: a JSON-RPC method, for example. */
  readonly label: string
  /** Headers besides those of the caller. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Default: the URL of the server. */
  readonly url?: URL | undefined
  /** Whether to send it again if it fails without having been processed. Default: that of the transport. */
  readonly retries?: boolean | undefined
  /** Receives the authorization context each time the request is sent. */
  readonly onAuthorized?: ((context: string) => void) | undefined
}

/** How much of an error response, or of a body that is not wanted, is read. */
const maxRefusalBytes = 65_536

/**
 * One HTTP request to an MCP server until its response is complete, with credentials, redirects (`net/redirect.ts`) and retries
 * (`net/retry.ts`).
 */
export class ClientRequest implements ResponseHandler {
  readonly #config: ClientConfig
  readonly #options: ClientRequestOptions
  readonly #listener: RequestListener
  #attempt = 0
  #redirects = 0
  #url: URL
  #abort: (() => void) | undefined
  #timer: Timer | undefined
  #isOver = false
  #mode: BodyMode | 'refusal' = 'none'
  /** Undefined until a response arrives. */
  #head: ResponseHead | undefined
  #body: BoundedBody | undefined
  /** The caller's headers and credentials. */
  #sent: Readonly<Record<string, string>> = {}
  #refusals = 0

  constructor(config: ClientConfig, options: ClientRequestOptions, listener: RequestListener) {
    this.#config = config
    this.#options = options
    this.#listener = listener
    this.#url = options.url ?? config.url
  }

  /** True while it waits to be sent again: aborting it now means that the server never processed it. */
  get isWaiting(): boolean {
    return this.#timer !== undefined
  }

  start(): this {
    const headers = this.#config.headers(this.#options.method, this.#url)
    if (isThenable(headers))
      headers.then(
        (own) => this.#send(own),
        (cause) => this.#failHeaders(cause),
      )
    else this.#send(headers)
    return this
  }

  /** Aborts the request. The listener is not called again. */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    scheduler.clearTimeout(this.#timer)
    this.#timer = undefined
    this.#abort?.()
  }

  #send(headers: Record<string, string>): void {
    if (this.#isOver) return
    this.#sent = headers
    const { method, body, headers: own, onAuthorized } = this.#options
    onAuthorized?.(authorizationContextOf(headers))
    for (const name in own) headers[name] = own[name]!
    this.#head = undefined
    this.#body = undefined
    try {
      this.#abort = this.#config.sender.send({ method, url: this.#url, headers, body }, this)
    } catch (cause) {
      // An invalid header of the caller, or a closed transport.
      this.#fail(`could not be sent: ${messageOf(cause)}`, 'not-sent', cause)
    }
  }

  #failHeaders(cause: unknown): void {
    if (this.#isOver) return
    if (cause instanceof AuthError) return this.#fail(`was not sent: ${cause.message}`, 'not-sent', cause)
    this.#fail(`was not sent: the headers function failed: ${messageOf(cause)}`, 'not-sent', cause)
  }

  onHead(head: ResponseHead): void {
    if (this.#isOver) return
    this.#head = head
    const { status } = head
    const location = locationOf(head)
    if (location !== undefined) return this.#redirect(status, location)
    if (status < 200 || status >= 300) {
      this.#mode = 'refusal'
      return
    }
    this.#config.auth?.onAccepted?.(head)
    try {
      this.#mode = this.#listener.onSuccess(head)
    } catch (error) {
      this.#giveUp(error as HttpError)
    }
  }

  onData(chunk: Uint8Array): void {
    if (this.#isOver) return
    if (this.#mode === 'chunks') return this.#pass(chunk)
    this.#body ??= new BoundedBody(this.#mode === 'text' ? this.#config.maxMessageBytes : maxRefusalBytes)
    if (!this.#body.push(chunk)) this.#exceed()
  }

  /** The rest of an error response, or of a body that is not wanted, is not read. */
  #exceed(): void {
    const { maxMessageBytes } = this.#config
    if (this.#mode === 'text') {
      const what = `was answered with more than ${maxMessageBytes} bytes (maxMessageBytes)`
      return this.#giveUp(this.#error(what, 'refused'))
    }
    this.#abort?.()
    this.onEnd()
  }

  onEnd(): void {
    if (this.#isOver) return
    if (this.#mode === 'refusal') return this.#refused()
    let text = ''
    try {
      if (this.#mode === 'text' && this.#body) text = this.#config.decode(this.#body.take())
    } catch (cause) {
      return this.#giveUp(this.#unreadable(cause))
    }
    this.#isOver = true
    this.#listener.onComplete(text)
  }

  onError(cause: unknown): void {
    if (this.#isOver) return
    // It has ended, so there is nothing to abort.
    this.#abort = undefined
    const { retries = this.#config.recovers } = this.#options
    const waitMs = retries ? retryAfterFailure(cause, this.#config.backoff, this.#attempt) : undefined
    if (waitMs !== undefined) return this.#retry(waitMs)
    const { label, method } = this.#options
    if (wasNotSent(cause)) {
      const message = describeUnreachable(cause, this.#url, label)
      return this.#giveUp(new HttpError(message, { outcome: 'not-sent', method, cause }))
    }
    if (this.#mode === 'refusal' && this.#head) return this.#refused()
    const hint = hintFor(cause, this.#url, label)
    this.#fail(`did not get a complete response: ${messageOf(cause)}${hint}`, 'unknown', cause)
  }

  #pass(chunk: Uint8Array): void {
    try {
      this.#listener.onChunk(chunk)
    } catch (cause) {
      this.#giveUp(this.#unreadable(cause))
    }
  }

  #unreadable(cause: unknown): HttpError {
    return this.#error(`was answered with something unreadable: ${messageOf(cause)}`, 'refused', cause)
  }

  #redirect(status: number, location: string): void {
    this.#abort?.()
    const { method, body, url } = this.#options
    const { redirects } = this.#config
    try {
      const request = { method, url: this.#url, headers: {}, body }
      // The next request gets new headers: a proof of possession is valid for one URL only.
      this.#url = followRedirect(request, status, location, ++this.#redirects, redirects).url
    } catch (error) {
      return this.#giveUp(error as HttpError)
    }
    if (status === 308 && !url) this.#config.moveTo(this.#url)
    this.start()
  }

  #refused(): void {
    const { auth, backoff } = this.#config
    const head = this.#head
    if (!head) return
    const { status } = head
    if (auth && (status === 401 || status === 403)) return void this.#authorize(auth, head)
    const { retries = this.#config.recovers } = this.#options
    const waitMs = retries ? retryAfterRefusal(head, backoff, this.#attempt) : undefined
    if (waitMs !== undefined) return this.#retry(waitMs)
    this.#giveUpRefused(head)
  }

  #giveUpRefused(head: ResponseHead, cause?: unknown): void {
    const { status } = head
    const body = refusalText(this.#body)
    const why = cause instanceof Error ? `: ${cause.message}` : (this.#missingPermission(head) ?? excerpt(body))
    // Without a cause, the token was sent as it is, and there is no way to get another.
    const isRejected = status === 401 && this.#config.auth && cause === undefined
    const hint = isRejected ? rejectedToken : hintForStatus(status, body, this.#url)
    const what = `was refused: HTTP ${status}${hint ? why.replace(/\.$/, '') : why}${hint}`
    this.#giveUp(this.#error(what, 'refused', cause, body))
  }

  /** Advice about a missing token or scope, if the server reports one (RFC 6750, 3). */
  #missingPermission(head: ResponseHead): string | undefined {
    const challenge = head.header('www-authenticate') ?? ''
    const [, scope] = /scope="([^"\\]{1,300})"/.exec(challenge) ?? []
    if (head.status === 401 && !this.#config.auth) {
      return ': authentication required. Pass `auth`, for example oauth() or bearer(token) of tenon/auth/client'
    }
    if (head.status !== 403 || scope === undefined || !challenge.includes('insufficient_scope')) return undefined
    return `: the token does not allow this, which needs the scope ${JSON.stringify(scope)}`
  }

  /** A server that refuses the credentials has not processed the request, so it is safe to send it again with others. */
  async #authorize(auth: ClientAuth, head: ResponseHead): Promise<void> {
    const { method } = this.#options
    const { revision } = this.#config
    const header = (name: string) => head.header(name)
    const refusal = { method, url: this.#url, revision, status: head.status, header, sent: this.#sent }
    const onDone = this.#config.onWait?.()
    try {
      const isChanged = await auth.onUnauthorized({ ...refusal, count: ++this.#refusals }).finally(onDone)
      if (this.#isOver) return
      if (isChanged && this.#refusals <= maxCredentialRetries) this.start()
      else this.#giveUpRefused(head)
    } catch (error) {
      if (!this.#isOver) this.#giveUpRefused(head, error)
    }
  }

  #retry(waitMs: number): void {
    this.#attempt++
    this.#timer = scheduler.setTimeout(
      () => {
        this.#timer = undefined
        this.start()
      },
      Math.min(waitMs, maxTimerMs),
    )
  }

  #fail(what: string, outcome: HttpError['outcome'], cause: unknown): void {
    this.#giveUp(this.#error(what, outcome, cause))
  }

  #giveUp(error: HttpError): void {
    this.abort()
    this.#listener.onFailure(error)
  }

  #error(what: string, outcome: HttpError['outcome'], cause?: unknown, body?: string): HttpError {
    const { method, label } = this.#options
    return new HttpError(`${label} (${method} ${this.#url.origin}${this.#url.pathname}) ${what}`, {
      outcome,
      status: this.#head?.status || undefined,
      statusText: this.#head?.statusText,
      method,
      body,
      ...(cause !== undefined && { cause }),
    })
  }
}

const rejectedToken =
  '. Get a new token for this server: it expired, was revoked or belongs to another server, if it was ever valid'

/** The error for the caller: if authorization failed, that is the reason, not the status that asked for it. */
export function reasonOf(error: HttpError): HttpError | AuthError {
  return error.cause instanceof AuthError ? error.cause : error
}

function refusalText(body: BoundedBody | undefined): string {
  return body ? new TextDecoder().decode(body.take().subarray(0, maxRefusalBytes)) : ''
}

/** What an error response says: the message of a JSON error, otherwise the beginning of the body, which may be a web page. */
function excerpt(body: string): string {
  const said = messageIn(body)
  const text = (said ?? body)
    .slice(0, 1_000)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  if (text === '') return ''
  const short = text.length > 200 ? `${text.slice(0, 200)}…` : text
  return said === undefined ? `, ${JSON.stringify(short)}` : `: ${short}`
}

/** The message of a JSON-RPC error, or of an OAuth error (RFC 6749, 5.2). */
function messageIn(body: string): string | undefined {
  if (!body.startsWith('{')) return undefined
  try {
    const { error, error_description: description } = JSON.parse(body)
    const said = error?.message ?? description
    return typeof said === 'string' ? said : undefined
  } catch {
    return undefined
  }
}

function messageOf(cause: unknown): string {
  const { message, code } = cause as { message?: unknown; code?: unknown }
  const said = typeof message === 'string' && message !== '' ? message.trim() : String(code ?? cause)
  const inner = (cause as { cause?: unknown } | undefined)?.cause
  return inner instanceof Error && inner.message !== '' ? `${said} (${inner.message.trim()})` : said
}
