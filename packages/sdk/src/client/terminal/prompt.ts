import type { Layout } from './layout.ts'
import type { LineInput } from './line-input.ts'

/** One request on the terminal: prints text and reads lines. */
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

  /** Returns the trimmed input. Throws {@link PromptAborted} if the user declines or cancels, or the input ends. */
  async ask(prompt: string): Promise<string> {
    const line = (await this.#lines.read(prompt, this.#signal))?.trim()
    if (this.#signal.aborted) throw new PromptAborted('cancel', 'The server withdrew the request.')
    if (line === undefined) throw new PromptAborted('cancel')
    const command = line.toLowerCase()
    if (command === '!decline') throw new PromptAborted('decline')
    if (command === '!cancel') throw new PromptAborted('cancel')
    return line
  }
}

/** The user declined or cancelled, which is possible at every line and ends the whole request. */
export class PromptAborted extends Error {
  readonly action: 'decline' | 'cancel'

  constructor(action: 'decline' | 'cancel', message = action === 'decline' ? 'Declined.' : 'Cancelled.') {
    super(message)
    this.action = action
  }
}
