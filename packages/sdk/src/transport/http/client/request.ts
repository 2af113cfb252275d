import { AuthError, HttpError } from '../../../errors.ts'
import { backoffMs, maxTimerMs, retryAfterMs } from '../../../util/backoff.ts'
import { ByteCollector } from '../../../util/bytes.ts'
import { isThenable } from '../../../util/maybe-async.ts'
import type { ClientAuth } from './auth.ts'
import type { Answer, OutgoingCall, ReadHeader } from './call.ts'
import { type ClientConfig, contextOf, redirectTarget } from './config.ts'
import { hintFor, hintForStatus, isTlsFailure } from './hints.ts'

/** Takes what became of a request. Exactly one of `ended` and `failed` is called, unless it was given up before. */
export interface Taker {
  /** The server said yes. How its body is wanted: as one text, as it comes, or not at all. May throw an `HttpError`. */
  accepted(status: number, header: ReadHeader): 'text' | 'bytes' | 'none'
  /** A part of a body that is wanted as it comes. */
  bytes(chunk: Uint8Array): void
  /** The body is complete; `text` is empty unless it was wanted. */
  ended(text: string): void
  failed(error: HttpError, header: ReadHeader): void
}

export interface Request {
  readonly method: OutgoingCall['method']
  /** What it is about, for error messages: a JSON-RPC method. */
  readonly about: string
  /** Headers besides the caller's. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
  /** Where it goes, if not to the destination's own URL. */
  readonly url?: URL | undefined
  /** Whether to try again at all. Default true. */
  readonly insists?: boolean | undefined
  /** Receives the authorization context each time the request is sent. */
  readonly onAuthorized?: ((context: string) => void) | undefined
}

/** What is read of a refusal. */
const maxRefusalBytes = 65_536

/** A server that wants us to stay away for longer is not waited for. */
const longestRetryAfterMs = 60_000

/** How often one request is made again with other credentials. */
const maxRefusals = 4

const noHeader: ReadHeader = () => undefined

/**
 * One HTTP request until its answer is complete. Redirects are followed; while the server cannot be reached, or says
 * when to come again, it is tried again.
 */
export class HttpExchange implements Answer {
  readonly #destination: ClientConfig
  readonly #request: Request
  readonly #taker: Taker
  #attempt = 0
  #redirects = 0
  #url: URL
  #abort: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined
  #isOver = false
  #mode: 'text' | 'bytes' | 'none' | 'refusal' = 'none'
  #status = 0
  #header: ReadHeader = noHeader
  /**
   * The server ended the connection, which it kept for the next request, when that request was on its way (RFC 9110, 15.5.9).
   * It did not read the request, so it may be made again whatever it is.
   */
  #wasUnread = false
  #collected = new ByteCollector()
  #size = 0
  /** The caller's headers and credentials. */
  #sent: Readonly<Record<string, string>> = {}
  #refusals = 0

  constructor(destination: ClientConfig, request: Request, taker: Taker) {
    this.#destination = destination
    this.#request = request
    this.#taker = taker
    this.#url = request.url ?? destination.url
  }

  /** False once the request has left for good or is over: whether giving it up now means that it was never made. */
  get isWaiting(): boolean {
    return this.#timer !== undefined
  }

  start(): this {
    const headers = this.#destination.headers(this.#request.method, this.#url)
    if (isThenable(headers))
      headers.then(
        (own) => this.#send(own),
        (cause) => this.#noHeaders(cause),
      )
    else this.#send(headers)
    return this
  }

  /** Gives it up; the taker hears nothing more. */
  abort(): void {
    if (this.#isOver) return
    this.#isOver = true
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#abort?.()
  }

  #send(headers: Record<string, string>): void {
    if (this.#isOver) return
    this.#sent = headers
    const { method, body, headers: ours, onAuthorized } = this.#request
    onAuthorized?.(contextOf(headers))
    for (const name in ours) headers[name] = ours[name]!
    this.#collected = new ByteCollector()
    this.#size = 0
    this.#status = 0
    try {
      this.#abort = this.#destination.port.call({ method, url: this.#url, headers, body }, this)
    } catch (cause) {
      // A header of the caller's that cannot be sent, or a transport that was closed.
      this.#fail(`could not be sent: ${messageOf(cause)}`, 'not-sent', cause)
    }
  }

  #noHeaders(cause: unknown): void {
    if (this.#isOver) return
    if (cause instanceof AuthError) return this.#fail(`was not sent: ${cause.message}`, 'not-sent', cause)
    this.#fail(`was not sent: the headers function failed: ${messageOf(cause)}`, 'not-sent', cause)
  }

  head(status: number, header: ReadHeader, isReused: boolean): void {
    if (this.#isOver) return
    this.#status = status
    this.#wasUnread = status === 408 && isReused && header('connection')?.toLowerCase() === 'close'
    this.#header = header
    const location = status >= 300 && status < 400 ? header('location') : undefined
    if (location !== undefined) return this.#redirect(location)
    if (status < 200 || status >= 300) {
      this.#mode = 'refusal'
      return
    }
    this.#destination.auth?.taken?.(header)
    try {
      this.#mode = this.#taker.accepted(status, header)
    } catch (error) {
      this.#giveUp(error as HttpError)
    }
  }

  data(chunk: Uint8Array): void {
    if (this.#isOver) return
    if (this.#mode === 'bytes') return this.#pass(chunk)
    this.#size += chunk.length
    if (this.#mode === 'none') return this.#ignore()
    if (this.#mode === 'refusal') return this.#keepRefusal(chunk)
    const { maxMessageBytes } = this.#destination
    if (this.#size <= maxMessageBytes) this.#collected.push(chunk)
    else this.#giveUp(this.#error(`was answered with more than ${maxMessageBytes} bytes (maxMessageBytes)`, 'refused'))
  }

  /** What nobody wants is not read for ever. */
  #ignore(): void {
    if (this.#size < maxRefusalBytes) return
    this.#abort?.()
    this.end()
  }

  end(): void {
    if (this.#isOver) return
    if (this.#mode === 'refusal') return this.#refused()
    let text = ''
    try {
      if (this.#mode === 'text') text = this.#destination.port.decode(this.#collected.take())
    } catch (cause) {
      return this.#giveUp(this.#unreadable(cause))
    }
    this.#isOver = true
    this.#taker.ended(text)
  }

  failed(cause: unknown, reached: boolean): void {
    if (this.#isOver) return
    const hint = hintFor(cause, this.#url, this.#request.about)
    if (isTlsFailure(cause)) {
      return this.#fail(`could not reach the server: ${messageOf(cause)}${hint}`, 'not-sent', cause)
    }
    if (!reached && this.#mayTryAgain()) return this.#again(backoffMs(this.#destination.backoff, this.#attempt))
    if (!reached) return this.#fail(`could not reach the server: ${messageOf(cause)}`, 'not-sent', cause)
    if (this.#mode === 'refusal' && this.#status !== 0) return this.#refused()
    this.#fail(`got no complete answer: ${messageOf(cause)}${hint}`, 'unknown', cause)
  }

  #pass(chunk: Uint8Array): void {
    try {
      this.#taker.bytes(chunk)
    } catch (cause) {
      this.#giveUp(this.#unreadable(cause))
    }
  }

  #unreadable(cause: unknown): HttpError {
    return this.#error(`was answered with something unreadable: ${messageOf(cause)}`, 'refused', cause)
  }

  #redirect(location: string): void {
    this.#abort?.()
    try {
      if (++this.#redirects > this.#destination.maxRedirects) {
        throw this.#error(`was redirected more than ${this.#destination.maxRedirects} times (maxRedirects)`, 'refused')
      }
      this.#url = redirectTarget(this.#url, this.#request.method, this.#status, location)
      if (this.#status === 308 && !this.#request.url) this.#destination.move(this.#url)
    } catch (error) {
      return this.#giveUp(error as HttpError)
    }
    this.start()
  }

  /** The rest of a long refusal is of no interest. */
  #keepRefusal(chunk: Uint8Array): void {
    this.#collected.push(chunk)
    if (this.#size < maxRefusalBytes) return
    this.#abort?.()
    this.#refused()
  }

  #refused(): void {
    const status = this.#status
    const { auth } = this.#destination
    if (auth && (status === 401 || status === 403)) return void this.#askForPermission(auth)
    if (this.#wasUnread && this.#mayTryAgain()) return this.#again(0)
    const waitMs = status === 429 || status === 503 ? retryAfterMs(this.#header('retry-after')) : undefined
    // Neither was acted on (RFC 6585, 4; RFC 9110, 15.6.4), so it may be made again whatever it is.
    if (waitMs !== undefined && waitMs <= longestRetryAfterMs && this.#mayTryAgain()) {
      return this.#again(waitMs + backoffMs(this.#destination.backoff, 0))
    }
    this.#giveUpRefused()
  }

  #giveUpRefused(cause?: unknown): void {
    const body = refusalText(this.#collected.take())
    const why = cause instanceof Error ? `: ${cause.message}` : (this.#permissionNeeded() ?? excerpt(body))
    const hint = hintForStatus(this.#status, body, this.#url)
    this.#giveUp(this.#error(`was refused: HTTP ${this.#status}${why}${hint}`, 'refused', cause, body))
  }

  /** What to do about a refusal that is about permission, where the server says which (RFC 6750, 3). */
  #permissionNeeded(): string | undefined {
    const challenge = this.#header('www-authenticate') ?? ''
    const [, scope] = /scope="([^"\\]{1,300})"/.exec(challenge) ?? []
    if (this.#status === 401 && !this.#destination.auth) {
      return ': the server wants to know who calls; give `auth`, such as oauth() or bearer(token) of tenon/auth/client'
    }
    if (this.#status !== 403 || scope === undefined || !challenge.includes('insufficient_scope')) return undefined
    return `: the token does not allow this, which needs the scope ${JSON.stringify(scope)}`
  }

  /** With other credentials it may be made again: whoever refuses it for these has not acted on it. */
  async #askForPermission(auth: ClientAuth): Promise<void> {
    const { method } = this.#request
    const { revision } = this.#destination
    const refusal = { method, url: this.#url, revision, status: this.#status, header: this.#header, sent: this.#sent }
    const goOn = this.#destination.onWait?.()
    try {
      const isWorthIt = await auth.refused({ ...refusal, count: ++this.#refusals }).finally(goOn)
      if (this.#isOver) return
      if (isWorthIt && this.#refusals <= maxRefusals) this.start()
      else this.#giveUpRefused()
    } catch (error) {
      if (!this.#isOver) this.#giveUpRefused(error)
    }
  }

  #mayTryAgain(): boolean {
    return this.#request.insists !== false && this.#attempt < this.#destination.backoff.maxRetries
  }

  #again(waitMs: number): void {
    this.#attempt++
    this.#timer = setTimeout(
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
    const header = this.#header
    this.abort()
    this.#taker.failed(error, header)
  }

  #error(what: string, outcome: HttpError['outcome'], cause?: unknown, body?: string): HttpError {
    const { method, about } = this.#request
    return new HttpError(`${about} (${method} ${this.#url.origin}${this.#url.pathname}) ${what}`, {
      outcome,
      status: this.#status || undefined,
      body,
      ...(cause !== undefined && { cause }),
    })
  }
}

/** What a caller is told: where there was no way to permission, that is the error, and not the status that asked for it. */
export function reasonOf(error: HttpError): HttpError | AuthError {
  return error.cause instanceof AuthError ? error.cause : error
}

function refusalText(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes.subarray(0, maxRefusalBytes))
}

/** The beginning of a refusal, on one line: it may be a page. */
function excerpt(body: string): string {
  const text = body
    .slice(0, 1_000)
    .replace(/[\s\p{Cc}]+/gu, ' ')
    .trim()
  return text === '' ? '' : `, ${JSON.stringify(text.length > 200 ? `${text.slice(0, 200)}…` : text)}`
}

function messageOf(cause: unknown): string {
  const { message, code } = cause as { message?: unknown; code?: unknown }
  const said = typeof message === 'string' && message !== '' ? message.trim() : String(code ?? cause)
  const inner = (cause as { cause?: unknown } | undefined)?.cause
  return inner instanceof Error && inner.message !== '' ? `${said} (${inner.message.trim()})` : said
}
