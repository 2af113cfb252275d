import { deferred } from '../../util/deferred.ts'
import { type LineInput, PipedLineInput, TypedLineInput } from './line-input.ts'

/** The one place where a person answers: the questions of all clients that share an input come here in turn. */
export class PromptQueue {
  readonly #input: NodeJS.ReadableStream
  #piped: PipedLineInput | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(input: NodeJS.ReadableStream) {
    this.#input = input
  }

  /** Waits in line. Undefined when the question was taken back before its turn. */
  async takeTurn(signal: AbortSignal): Promise<(() => void) | undefined> {
    const before = this.#last
    const done = deferred<void>()
    this.#last = before.then(() => done.promise)
    await unlessAborted(before, signal)
    if (!signal.aborted) return done.resolve
    done.resolve()
    return undefined
  }

  lines(output: NodeJS.WritableStream): LineInput {
    if (isTerminal(this.#input) && isTerminal(output)) return new TypedLineInput(this.#input, output)
    this.#piped ??= new PipedLineInput(this.#input, output)
    return this.#piped.writeTo(output)
  }
}

/** The desk of an input. */
export function promptQueueOf(input: NodeJS.ReadableStream): PromptQueue {
  const desk = desks.get(input) ?? new PromptQueue(input)
  desks.set(input, desk)
  return desk
}

export function isTerminal(stream: NodeJS.ReadableStream | NodeJS.WritableStream): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true
}

const desks = new WeakMap<NodeJS.ReadableStream, PromptQueue>()

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = deferred<void>()
  const stop = () => aborted.resolve()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  await Promise.race([work, aborted.promise])
  signal.removeEventListener('abort', stop)
}
