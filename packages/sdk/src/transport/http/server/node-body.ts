import type { IncomingMessage } from 'node:http'
import { ByteCollector, decodeUtf8 } from '../../../util/bytes.ts'
import { type BodyLimits, type CallRequest, notUtf8, Refusal, tooLarge, tooManyBodies, tooSlow } from './call.ts'
import { countedFromBytes, type IncomingBody } from './incoming-bodies.ts'

/** Reads the body of one request as text. */
export class BodyReader implements IncomingBody {
  readonly #request: CallRequest
  readonly #incoming: IncomingMessage
  readonly #limits: BodyLimits
  readonly #done: (body: string | Refusal) => void
  readonly #collected = new ByteCollector()
  readonly #onDeadline = () => this.#finish(tooSlow(this.#limits.bodyTimeoutMs))
  #isCounted = false
  #isDone = false

  constructor(
    request: CallRequest,
    incoming: IncomingMessage,
    limits: BodyLimits,
    done: (body: string | Refusal) => void,
  ) {
    this.#request = request
    this.#incoming = incoming
    this.#limits = limits
    this.#done = done
    limits.deadlines?.add(this.#onDeadline)
    incoming.on('data', (chunk: Buffer) => this.#isDone || this.#push(chunk))
    incoming.on('end', () => this.#isDone || this.#finish(decodeUtf8(this.#collected.take()) ?? notUtf8()))
  }

  get peer(): string | undefined {
    return this.#request.peer
  }

  refuse(): void {
    this.#finish(tooManyBodies())
  }

  #push(chunk: Buffer): void {
    const { maxBodyBytes } = this.#limits
    this.#collected.push(chunk)
    if (this.#collected.length > maxBodyBytes) this.#finish(tooLarge(maxBodyBytes))
    else if (this.#collected.length > countedFromBytes) this.#count()
  }

  #count(): void {
    const { incoming } = this.#limits
    // The client may disconnect before the body has arrived.
    if (!this.#isCounted) this.#incoming.on('close', () => incoming?.delete(this))
    this.#isCounted = true
    incoming?.update(this, this.#collected.length)
  }

  #finish(body: string | Refusal): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#limits.deadlines?.delete(this.#onDeadline)
    if (this.#isCounted) this.#limits.incoming?.delete(this)
    if (body instanceof Refusal) this.#incoming.pause()
    this.#done(body)
  }
}
