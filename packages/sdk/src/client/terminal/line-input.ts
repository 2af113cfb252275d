import { createInterface, type Interface } from 'node:readline'
import { StringDecoder } from 'node:string_decoder'
import { clock } from '../../util/clock.ts'

/** Reads lines from the user. It is open only during a prompt, so that it does not keep the process alive. */
export interface LineInput {
  open(): void
  /** Shows the prompt and waits for a line. Returns undefined on end of input, Ctrl-C and abort. */
  read(prompt: string, signal: AbortSignal): Promise<string | undefined>
  close(): void
}

/** Reads lines from a pipe or a file. Lines that arrive early are kept for the next prompt. */
export class PipedLineInput implements LineInput {
  readonly #input: NodeJS.ReadableStream
  readonly #queue = new LineQueue()
  readonly #decoder = new StringDecoder('utf8')
  #output: NodeJS.WritableStream
  #rest = ''
  #wasFlowing = false

  constructor(input: NodeJS.ReadableStream, output: NodeJS.WritableStream) {
    this.#input = input
    this.#output = output
  }

  /** Changes where prompts are shown. */
  writeTo(output: NodeJS.WritableStream): this {
    this.#output = output
    return this
  }

  open(): void {
    this.#wasFlowing = isFlowing(this.#input)
    if (!this.#input.readable) this.#queue.end()
    this.#input.on('data', this.#add).on('end', this.#end).on('close', this.#end).on('error', this.#end)
    this.#input.resume()
  }

  async read(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    this.#output.write(prompt)
    const line = await this.#queue.next(signal)
    // Input for a withdrawn request must not answer the next one.
    if (signal.aborted) this.#clear()
    // A pipe does not echo the line break.
    this.#output.write('\n')
    return line
  }

  #clear(): void {
    this.#rest = ''
    this.#queue.clear()
  }

  close(): void {
    this.#input.off('data', this.#add).off('end', this.#end).off('close', this.#end).off('error', this.#end)
    if (!this.#wasFlowing) this.#input.pause()
  }

  readonly #add = (chunk: Buffer | string) => {
    const text = this.#rest + (typeof chunk === 'string' ? chunk : this.#decoder.write(chunk))
    const lines = text.split('\n')
    this.#rest = lines.pop()!
    for (const line of lines) this.#queue.push(line)
  }

  readonly #end = () => {
    if (this.#rest) this.#queue.push(this.#rest)
    this.#rest = ''
    this.#queue.end()
  }
}

/** Reads lines from a terminal, with line editing. */
export class TypedLineInput implements LineInput {
  readonly #input: NodeJS.ReadableStream
  readonly #output: NodeJS.WritableStream
  readonly #queue = new LineQueue()
  #keys: Interface | undefined
  #wasFlowing = false

  constructor(input: NodeJS.ReadableStream, output: NodeJS.WritableStream) {
    this.#input = input
    this.#output = output
  }

  open(): void {
    this.#wasFlowing = isFlowing(this.#input)
    if (!this.#input.readable) return this.#queue.end()
    // Answers are private, so there is no history.
    this.#keys = createInterface({ input: this.#input, output: this.#output, historySize: 0 })
    const openedAt = clock.now()
    // The user cannot have read the prompt yet, so this line was meant for something else.
    this.#keys.on('line', (line) => clock.now() - openedAt > unreadMs && this.#queue.push(line))
    this.#keys.on('SIGINT', () => this.#queue.end())
    this.#keys.on('close', () => this.#queue.end())
    this.#input.on('error', this.#fail)
  }

  async read(prompt: string, signal: AbortSignal): Promise<string | undefined> {
    this.#keys?.setPrompt(prompt)
    this.#keys?.prompt()
    const line = await this.#queue.next(signal)
    if (line === undefined) this.#output.write('\n')
    return line
  }

  /** Also ends raw mode, so that Ctrl-C works as usual between prompts. */
  close(): void {
    this.#keys?.close()
    this.#input.off('error', this.#fail)
    if (this.#wasFlowing) this.#input.resume()
  }

  readonly #fail = () => this.#queue.end()
}

/** A person needs longer than this to read a prompt and answer it. */
const unreadMs = 300

class LineQueue {
  readonly #lines: string[] = []
  #reader: ((line: string | undefined) => void) | undefined
  #hasEnded = false

  push(line: string): void {
    if (this.#reader) this.#reader(line)
    else this.#lines.push(line)
  }

  clear(): void {
    this.#lines.length = 0
  }

  end(): void {
    this.#hasEnded = true
    this.#reader?.(undefined)
  }

  next(signal: AbortSignal): Promise<string | undefined> {
    if (signal.aborted) return Promise.resolve(undefined)
    if (this.#lines.length > 0 || this.#hasEnded) return Promise.resolve(this.#lines.shift())
    return new Promise((resolve) => {
      const settle = (line: string | undefined) => {
        this.#reader = undefined
        signal.removeEventListener('abort', stop)
        resolve(line)
      }
      const stop = () => settle(undefined)
      this.#reader = settle
      signal.addEventListener('abort', stop)
    })
  }
}

/** Another part of the program reads this stream too, and has to continue afterwards. */
function isFlowing(input: NodeJS.ReadableStream): boolean {
  return (input as { readableFlowing?: boolean | null }).readableFlowing === true
}
