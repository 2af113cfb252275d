import { clearLine, createInterface, cursorTo, type Interface } from 'node:readline'

/** Reads what the user types, one line after the other. */
export interface LineSource {
  /** Returns the next line; undefined at the end of the input. */
  next(): Promise<string | undefined>
  /** Runs something that needs the terminal for itself, such as a question. What the user was typing stays. */
  exclusively<T>(work: () => Promise<T>): Promise<T>
  /** Prints something without destroying the line that the user is typing. */
  interject(print: () => void): void
  close(): void
}

/** Lines of a pipe or a file. */
export class PipedLines implements LineSource {
  readonly #lines: Interface
  readonly #iterator: AsyncIterator<string>

  constructor(input: NodeJS.ReadableStream) {
    this.#lines = createInterface({ input, terminal: false })
    // Created now, because lines that arrive before are lost.
    this.#iterator = this.#lines[Symbol.asyncIterator]()
  }

  async next(): Promise<string | undefined> {
    const { done, value } = await this.#iterator.next()
    return done ? undefined : value
  }

  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return work()
  }

  interject(print: () => void): void {
    print()
  }

  close(): void {
    this.#lines.close()
  }
}

/** Options of `TypedLines`. */
export interface TypedLinesOptions {
  readonly input: NodeJS.ReadableStream
  readonly output: NodeJS.WritableStream
  /** Returns all possible completions of a line. */
  complete(line: string): string[]
}

/** Lines of a terminal, with editing, history and completion. Reads only while it waits for a line. */
export class TypedLines implements LineSource {
  readonly #options: TypedLinesOptions
  #history: string[] = []
  /** Lines that were pasted together with an earlier one. */
  readonly #pasted: string[] = []
  #keys: Interface | undefined
  #draft = ''
  #isInterrupted = false
  #users = 0
  #onFree: (() => void) | undefined

  constructor(options: TypedLinesOptions) {
    this.#options = options
  }

  async next(): Promise<string | undefined> {
    for (;;) {
      if (this.#users > 0) await new Promise<void>((resolve) => (this.#onFree = resolve))
      const pasted = this.#pasted.shift()
      if (pasted !== undefined) return pasted
      this.#isInterrupted = false
      const line = await this.#read()
      if (!this.#isInterrupted) return line
    }
  }

  async exclusively<T>(work: () => Promise<T>): Promise<T> {
    this.#users++
    this.#interrupt()
    try {
      return await work()
    } finally {
      this.#users--
      if (this.#users === 0) this.#onFree?.()
    }
  }

  interject(print: () => void): void {
    const keys = this.#keys
    if (!keys) return print()
    clearLine(this.#options.output, 0)
    cursorTo(this.#options.output, 0)
    print()
    keys.prompt(true)
  }

  close(): void {
    this.#keys?.close()
  }

  #read(): Promise<string | undefined> {
    const { input, output, complete } = this.#options
    const keys = createInterface({
      input,
      output,
      prompt: '> ',
      history: [...this.#history],
      historySize: maxHistory,
      completer: (line: string) => [complete(line), line],
    })
    this.#keys = keys
    return new Promise((resolve) => {
      let first: string | undefined
      keys.on('line', (line) => {
        if (first !== undefined) return void this.#pasted.push(line)
        first = line
        this.#remember(line)
        // Not at once: other lines may have been pasted together with this one.
        setImmediate(() => keys.close())
      })
      keys.on('SIGINT', () => {
        if (keys.line === '') keys.close()
        else keys.write(null, { ctrl: true, name: 'u' })
      })
      keys.on('close', () => {
        this.#draft = first === undefined && !this.#isInterrupted ? '' : keys.line
        this.#keys = undefined
        if (first === undefined) output.write('\n')
        resolve(first)
      })
      keys.prompt()
      if (this.#draft !== '') keys.write(this.#draft)
    })
  }

  #remember(line: string): void {
    if (line.trim() === '') return
    this.#history = [line, ...this.#history.filter((other) => other !== line)].slice(0, maxHistory)
  }

  #interrupt(): void {
    if (!this.#keys) return
    this.#isInterrupted = true
    this.#keys.close()
  }
}

const maxHistory = 500
