import { McpError } from '../../errors.ts'
import { define, type JsonObject } from '../../util/objects.ts'

/** Options of `parseJsonWithComments`. */
export interface JsonWithCommentsOptions {
  /** The file that the text comes from, for error messages. */
  path?: string | undefined
}

/**
 * Parses JSON that may contain comments and trailing commas, as the configuration files of many hosts do. Everything else is as
 * strict as `JSON.parse`, and a duplicate member is an error. Errors have the line and the column.
 *
 * @example
 * parseJsonWithComments('{ "port": 1, } // local') // { port: 1 }
 */
export function parseJsonWithComments(text: string, options: JsonWithCommentsOptions = {}): unknown {
  return new Reader(text, options.path).read()
}

/** Configuration is a few levels deep. The limit keeps a hostile file from exhausting the stack. */
const maxDepth = 100

const literals = new Map<string, unknown>([
  ['true', true],
  ['false', false],
  ['null', null],
])

class Reader {
  readonly #text: string
  readonly #path: string | undefined
  #at: number
  #depth = 0

  constructor(text: string, path: string | undefined) {
    this.#text = text
    this.#path = path
    // Editors on Windows put a byte order mark at the beginning.
    this.#at = text.startsWith('\uFEFF') ? 1 : 0
  }

  read(): unknown {
    const value = this.#value()
    this.#skip()
    if (this.#at < this.#text.length) this.#fail('Expected the end of the file')
    return value
  }

  #value(): unknown {
    this.#skip()
    const char = this.#text[this.#at]
    if (char === '{') return this.#nested(() => this.#object())
    if (char === '[') return this.#nested(() => this.#array())
    if (char === '"') return this.#string()
    return this.#scalar()
  }

  #nested<T>(read: () => T): T {
    if (this.#depth >= maxDepth) this.#fail(`Nested deeper than ${maxDepth} levels`)
    this.#depth++
    this.#at++
    const value = read()
    this.#depth--
    return value
  }

  #object(): JsonObject {
    const object: JsonObject = {}
    while (!this.#takes('}')) {
      const start = this.#at
      if (this.#text[start] !== '"') this.#fail('Expected a member name in double quotes, or "}"')
      const name = this.#string()
      if (Object.hasOwn(object, name)) this.#fail(`Duplicate member ${JSON.stringify(name)}`, start)
      if (!this.#takes(':')) this.#fail(`Expected ":" after ${JSON.stringify(name)}`)
      define(object, name, this.#value())
      this.#separator('}')
    }
    return object
  }

  #array(): unknown[] {
    const array: unknown[] = []
    while (!this.#takes(']')) {
      array.push(this.#value())
      this.#separator(']')
    }
    return array
  }

  /** Takes a comma. None is needed before the end of the object or array. */
  #separator(end: string): void {
    if (this.#takes(',')) return
    if (this.#text[this.#at] !== end) this.#fail(`Expected "," or "${end}"`)
  }

  #takes(char: string): boolean {
    this.#skip()
    if (this.#text[this.#at] !== char) return false
    this.#at++
    return true
  }

  #string(): string {
    const start = this.#at
    for (this.#at++; this.#text[this.#at] !== '"'; this.#at++) {
      const char = this.#text[this.#at]
      if (char === undefined || char === '\n') this.#fail('The string does not end', start)
      if (char === '\\') this.#at++
    }
    this.#at++
    return this.#parsed(start, 'Invalid string: check its escapes (write \\\\ for a backslash)') as string
  }

  #scalar(): unknown {
    const start = this.#at
    while (this.#at < this.#text.length && !/[\s,:{}[\]"/]/.test(this.#text[this.#at] ?? '')) this.#at++
    const word = this.#text.slice(start, this.#at)
    if (literals.has(word)) return literals.get(word)
    const found = word === '' ? (this.#text[start] ?? 'the end of the file') : word.slice(0, 40)
    const problem = `Expected a value, found ${JSON.stringify(found)}`
    return /^[-\d]/.test(word) ? this.#parsed(start, problem) : this.#fail(problem, start)
  }

  #parsed(start: number, problem: string): unknown {
    try {
      return JSON.parse(this.#text.slice(start, this.#at))
    } catch {
      return this.#fail(problem, start)
    }
  }

  /** Skips whitespace and comments. */
  #skip(): void {
    for (;;) {
      while (isWhitespace(this.#text.charCodeAt(this.#at))) this.#at++
      if (this.#text.startsWith('//', this.#at)) this.#at = this.#endOf('\n')
      else if (this.#text.startsWith('/*', this.#at)) this.#skipBlock()
      else return
    }
  }

  #skipBlock(): void {
    const end = this.#text.indexOf('*/', this.#at + 2)
    if (end < 0) this.#fail('The comment does not end')
    this.#at = end + 2
  }

  #endOf(mark: string): number {
    const end = this.#text.indexOf(mark, this.#at)
    return end < 0 ? this.#text.length : end
  }

  #fail(problem: string, at = this.#at): never {
    const before = this.#text.slice(0, at).split('\n')
    const column = (before.at(-1)?.length ?? 0) + 1
    const where = `line ${before.length}, column ${column}`
    throw new McpError('invalid-argument', `Invalid JSON${this.#path ? ` in ${this.#path}` : ''}: ${where}: ${problem}`)
  }
}

/** Space, tab, line feed and carriage return, as in JSON. */
function isWhitespace(code: number): boolean {
  return code === 32 || code === 9 || code === 10 || code === 13
}
