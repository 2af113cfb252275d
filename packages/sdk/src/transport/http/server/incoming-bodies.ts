import { heaviestNetwork, networkOf } from '../../../util/account.ts'

export interface IncomingLimits {
  /**
   * Bytes of request bodies that may be in memory while they arrive. Above that, the oldest requests of the address that sent
   * most are refused with 503. Default 128 MiB.
   */
  maxIncomingBytes?: number | undefined
}

/** A request body that is still arriving. */
export interface IncomingBody {
  /** The address of the client, if known. */
  readonly peer: string | undefined
  /** Answers the request now and drops what has arrived. */
  refuse(): void
}

/** Smaller bodies are not counted: most of them arrive in one piece. */
export const countedFromBytes = 65_536

interface Counted {
  readonly network: string | undefined
  bytes: number
}

/** The large request bodies that one handler is receiving, oldest first. */
export class IncomingBodies {
  readonly #counted = new Map<IncomingBody, Counted>()
  readonly #maxBytes: number
  #bytes = 0

  constructor({ maxIncomingBytes = 128 * 1024 * 1024 }: IncomingLimits) {
    this.#maxBytes = maxIncomingBytes
  }

  /** Sets the number of bytes that have arrived so far. */
  update(body: IncomingBody, bytes: number): void {
    const counted = this.#counted.get(body) ?? this.#begin(body)
    this.#bytes += bytes - counted.bytes
    counted.bytes = bytes
    while (this.#bytes > this.#maxBytes) this.#refuseOneOf(heaviestNetwork(this.#counted.values()))
  }

  delete(body: IncomingBody): void {
    this.#bytes -= this.#counted.get(body)?.bytes ?? 0
    this.#counted.delete(body)
  }

  #begin(body: IncomingBody): Counted {
    const counted = { network: body.peer === undefined ? undefined : networkOf(body.peer), bytes: 0 }
    this.#counted.set(body, counted)
    return counted
  }

  #refuseOneOf(heaviest: string | undefined): void {
    for (const [body, { network }] of this.#counted) {
      if (network !== heaviest) continue
      this.delete(body)
      return body.refuse()
    }
  }
}
