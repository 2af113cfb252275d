import { PassThrough } from 'node:stream'
import type {
  ClientHandlers,
  ElicitFormRequest,
  ElicitUrlRequest,
  InputContext,
} from '../../../src/client/input/handlers.ts'
import { type TerminalHandlers, terminalHandlers } from '../../../src/entry/terminal.ts'

export type Properties = ElicitFormRequest['requestedSchema']['properties']

export const server = { name: 'weather', address: 'https://weather.example/mcp' }

/** A simulated user who types lines and reads the screen. */
export class Person {
  readonly input = new PassThrough()
  readonly output = new PassThrough()
  readonly handlers: TerminalHandlers
  #shown = ''
  readonly #isTerminal: boolean
  readonly #watchers = new Set<() => void>()

  constructor({ isTerminal = false, color = false } = {}) {
    this.#isTerminal = isTerminal
    if (isTerminal) {
      Object.assign(this.input, { isTTY: true, setRawMode: () => this.input })
      Object.assign(this.output, { isTTY: true, columns: 80 })
    }
    this.output.on('data', (chunk: Buffer) => {
      this.#shown += chunk
      for (const watcher of this.#watchers) watcher()
    })
    this.handlers = terminalHandlers({ input: this.input, output: this.output, color })
  }

  get screen(): string {
    return this.#shown
  }

  type(...lines: string[]): this {
    this.input.write(lines.map((line) => `${line}\n`).join(''))
    return this
  }

  /** Waits until a text is on the screen `times` times. */
  async sees(text: string, times = 1): Promise<void> {
    while (this.#shown.split(text).length <= times) {
      await new Promise<void>((resolve) => {
        const watcher = () => {
          this.#watchers.delete(watcher)
          resolve()
        }
        this.#watchers.add(watcher)
      })
    }
    // A user reads before typing. Input that arrives faster is not accepted as an answer.
    if (this.#isTerminal) await new Promise((resolve) => setTimeout(resolve, 350))
  }

  fillIn(
    properties: Properties,
    options: { required?: string[]; message?: string; asking?: Partial<InputContext> } = {},
  ) {
    const { required = [], message = 'Please fill in.', asking } = options
    const form = { message, requestedSchema: { type: 'object' as const, properties, required } }
    return Promise.resolve(this.handlers.elicit(form, { ...never(), ...asking }))
  }

  visit(url: string, question: Partial<ElicitUrlRequest> = {}, asking: Partial<InputContext> = {}) {
    const whole = { message: 'Please sign in.', url: new URL(url), warnings: [], ...question }
    return Promise.resolve(this.handlers.elicitUrl(whole, { ...never(), ...asking }))
  }
}

/** Checks at compile time that the handlers can be passed to a client. */
export const fits = (handlers: TerminalHandlers): ClientHandlers => handlers

function never(): InputContext {
  return { server, signal: new AbortController().signal }
}
