/** Servers of ours ask 200 questions at a time at most. */
const maxAnswers = 256

/** What a POST that carries an answer to the server's request is called in errors. */
export const answerNotice = 'A response'

/** The answers to requests of the server that are on their way. */
export class PendingAnswers {
  #count = 0

  begin(): void {
    this.#count++
  }

  end(): void {
    this.#count--
  }

  /** Called with each message that may have to be answered. Throws if the server does not take the answers: the stream must end. */
  check(): void {
    if (this.#count < maxAnswers) return
    throw new RangeError(`the server sends requests, but ${maxAnswers} answers to earlier ones are still on their way`)
  }
}
