/** A Tenon server has at most 200 open requests to a client. */
const maxAnswers = 256

/** The name of a POST with the response to a request of the server in errors. */
export const answerLabel = 'A response'

/** Counts the responses to requests of the server that are being sent. */
export class PendingAnswers {
  #count = 0

  begin(): void {
    this.#count++
  }

  end(): void {
    this.#count--
  }

  /**
   * Called for each message that may need a response. Throws if the server sends requests but does not read the responses, which
   * ends the stream.
   */
  check(): void {
    if (this.#count < maxAnswers) return
    throw new RangeError(`the server sends requests, but has not accepted ${maxAnswers} responses to earlier ones`)
  }
}
