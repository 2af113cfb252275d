import { deferred } from '../../util/deferred.ts'
import { type Lines, PipedLines, TypedLines } from './lines.ts'

/** The one place where a person answers: the questions of all clients that share an input come here in turn. */
export class Desk {
  readonly #input: NodeJS.ReadableStream
  #piped: PipedLines | undefined
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

  lines(output: NodeJS.WritableStream): Lines {
    if (isTerminal(this.#input) && isTerminal(output)) return new TypedLines(this.#input, output)
    this.#piped ??= new PipedLines(this.#input, output)
    return this.#piped.writeTo(output)
  }
}

/** The desk of an input. */
export function deskOf(input: NodeJS.ReadableStream): Desk {
  const desk = desks.get(input) ?? new Desk(input)
  desks.set(input, desk)
  return desk
}

export function isTerminal(stream: NodeJS.ReadableStream | NodeJS.WritableStream): boolean {
  return (stream as { isTTY?: boolean }).isTTY === true
}

const desks = new WeakMap<NodeJS.ReadableStream, Desk>()

async function unlessAborted(work: Promise<void>, signal: AbortSignal): Promise<void> {
  const aborted = deferred<void>()
  const stop = () => aborted.resolve()
  signal.addEventListener('abort', stop)
  if (signal.aborted) stop()
  await Promise.race([work, aborted.promise])
  signal.removeEventListener('abort', stop)
}
