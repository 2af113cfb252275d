import type { Layout } from './layout.ts'
import type { LineInput } from './line-input.ts'

/** One question on the screen: prints, and asks line by line. */
export class Prompt {
  readonly layout: Layout
  readonly #lines: LineInput
  readonly #output: NodeJS.WritableStream
  readonly #signal: AbortSignal

  constructor(lines: LineInput, output: NodeJS.WritableStream, layout: Layout, signal: AbortSignal) {
    this.#lines = lines
    this.#output = output
    this.layout = layout
    this.#signal = signal
  }

  print(...lines: string[]): void {
    this.#output.write(`${lines.join('\n')}\n`)
  }

  /** What the person typed, without blanks around it. Throws {@link Left} when they do not answer. */
  async ask(prompt: string): Promise<string> {
    const line = (await this.#lines.read(prompt, this.#signal))?.trim()
    if (this.#signal.aborted) throw new Left('cancel', 'The server took the question back.')
    if (line === undefined) throw new Left('cancel')
    const command = line.toLowerCase()
    if (command === '!decline') throw new Left('decline')
    if (command === '!cancel') throw new Left('cancel')
    return line
  }
}

/** The person left the question. It can happen at every line, and each time it ends everything. */
export class Left extends Error {
  readonly action: 'decline' | 'cancel'

  constructor(action: 'decline' | 'cancel', message = action === 'decline' ? 'Declined.' : 'Cancelled.') {
    super(message)
    this.action = action
  }
}
