import type { RpcResponse } from './message.ts'

/**
 * Collects the answers of one batch (2025-03-26) and sends them together when the last is there. A batch of nothing but
 * notifications has none.
 */
export class Batch {
  readonly #answers: RpcResponse[] = []
  readonly #send: (answers: RpcResponse[]) => void
  #expected = 0
  #sealed = false

  constructor(send: (answers: RpcResponse[]) => void) {
    this.#send = send
  }

  /** One more member will be settled later. */
  expect(): void {
    this.#expected++
  }

  answer(response: RpcResponse): void {
    this.#answers.push(response)
  }

  /** @param response Undefined when the member was cancelled and gets no answer. */
  settle(response: RpcResponse | undefined): void {
    if (response) this.#answers.push(response)
    this.#expected--
    this.#finish()
  }

  /** All members were handed on. */
  seal(): void {
    this.#sealed = true
    this.#finish()
  }

  #finish(): void {
    if (this.#sealed && this.#expected === 0) this.#send(this.#answers)
  }
}
