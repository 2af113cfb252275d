import { deferred } from '../../util/deferred.ts'
import { type LineInput, PipedLineInput, TypedLineInput } from './line-input.ts'

/** Shows the prompts of all clients that share an input one after the other. */
export class PromptQueue {
  readonly #input: NodeJS.ReadableStream
  #piped: PipedLineInput | undefined
  #last: Promise<void> = Promise.resolve()

  constructor(input: NodeJS.ReadableStream) {
    this.#input = input
  }

  /** Waits for its turn. Returns undefined if the request was withdrawn before. */
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

/** Returns the queue of an input. */
export function promptQueueOf(input: NodeJS.ReadableStream): PromptQueue {
  const queue = queues.get(input) ?? new PromptQueue(input)
  queues.set(input, queue)
  return queue
}

export function isTerminal(stream: NodeJS.ReadableStream | NodeJS.WritableStream): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true
}

const queues = new WeakMap<NodeJS.ReadableStream, PromptQueue>()

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = deferred<void>()
  const stop = () => aborted.resolve()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  await Promise.race([work, aborted.promise])
  signal.removeEventListener('abort', stop)
}
