import type { RequestId } from '../../../../jsonrpc/message.ts'
import type { AuthInfo } from '../../../../protocol/auth-info.ts'
import type { HttpRequest } from '../../../../protocol/http-request.ts'
import type { RequestStream } from '../../../../protocol/transport.ts'
import { isThenable } from '../../../../util/maybe-async.ts'
import type { PostStream } from './post-stream.ts'

/** The transport that a reply belongs to. */
export interface ReplyOwner {
  /** Sends through the `send` that a program put in place of ours. False if there is none. */
  sendWatched(text: string, reply: RawReply): boolean
  /** The request has its response. */
  answered(reply: RawReply): void
  closeStandaloneStream(): void
  reportError(error: unknown): void
}

/** What every message of one POST has in common. */
export interface PostedFacts {
  readonly request: HttpRequest
  readonly era: 'handshake' | 'stateless'
  /** The revision that requests outside of any session are treated as. */
  readonly assumedRevision: string | undefined
  /** Whether the client can resume a stream whose connection the program ends. */
  readonly isResumable: boolean
}

/** The HTTP request of a notification or response, as programs that set `onmessage` see it. */
export class PostedMessage implements RequestStream {
  readonly #facts: PostedFacts

  constructor(facts: PostedFacts) {
    this.#facts = facts
  }

  get request(): HttpRequest {
    return this.#facts.request
  }

  get authInfo(): AuthInfo | undefined {
    return this.#facts.request.auth
  }

  get requestInfo(): { headers: Readonly<Record<string, string>>; url: URL | undefined } {
    const { headers, url } = this.#facts.request
    return { headers, url: URL.canParse(url) ? new URL(url) : undefined }
  }

  get era(): 'handshake' | 'stateless' {
    return this.#facts.era
  }

  get assumedRevision(): string | undefined {
    return this.#facts.assumedRevision
  }

  /** Nothing can be sent in response to a notification. */
  sendText(_text: string, _isLast: boolean): boolean {
    return false
  }

  end(): void {}

  protected get isResumable(): boolean {
    return this.#facts.isResumable
  }
}

/** Carries what belongs to one request, and tells programs that set `onmessage` about its HTTP request. */
export class RawReply extends PostedMessage {
  readonly requestId: RequestId
  readonly stream: PostStream
  /** A request with the same id that arrived before this one, if it waits for its response. */
  earlier: RawReply | undefined
  readonly #owner: ReplyOwner
  #isAnswered = false

  constructor(owner: ReplyOwner, facts: PostedFacts, stream: PostStream, requestId: RequestId) {
    super(facts)
    this.#owner = owner
    this.stream = stream
    this.requestId = requestId
  }

  get isAnswered(): boolean {
    return this.#isAnswered
  }

  get noStreamReason(): string {
    return 'enableJsonResponse is set.'
  }

  /** Ends the connection of this request, so that the client resumes it later. Undefined if the client cannot. */
  get closeSSEStream(): (() => void) | undefined {
    return this.isResumable ? () => this.stream.disconnect() : undefined
  }

  /** Ends the connection of the stream opened by GET, so that the client resumes it later. Undefined if the client cannot. */
  get closeStandaloneSSEStream(): (() => void) | undefined {
    return this.isResumable ? () => this.#owner.closeStandaloneStream() : undefined
  }

  override sendText(text: string, isLast: boolean): boolean {
    if (!isLast && !this.stream.carriesMessages) return false
    if (this.#owner.sendWatched(text, this)) return true
    try {
      const sent = isLast ? this.respond(text) : this.stream.notify(text)
      if (isThenable(sent)) sent.then(undefined, (error) => this.#owner.reportError(error))
    } catch (error) {
      this.#owner.reportError(error)
    }
    return true
  }

  respond(text: string): Promise<void> | void {
    if (this.#isAnswered) return
    this.#answered()
    return this.stream.respond(this.requestId, text)
  }

  begin(): boolean {
    this.stream.begin()
    return this.stream.carriesMessages
  }

  override end(): void {
    if (this.#isAnswered) return
    this.#answered()
    this.stream.skip()
  }

  disconnect(retryMs: number): void {
    if (this.isResumable) this.stream.disconnect(retryMs)
  }

  #answered(): void {
    this.#isAnswered = true
    this.#owner.answered(this)
  }
}
