import type { RevisionId } from '../protocol/revision.ts'

/**
 * The notation of `messages.ts`, and its parser:
 *
 * - `Name = type` and `Name : Base, Other { fields }` define a name; `base` before it keeps the name out of the schemas.
 * - `client request Name 'method' Params? -> Result` defines a message. Params and result are named after the message by default.
 * - A field is `name: type` or `name?: type`.
 * - Types are `string number integer boolean null object unknown`, strings with a format (`uri`, `uri-template`, `base64`),
 *   `number(0..1)`, literals, names, `T[]`, `T[..100]`, `map<T>`, unions and objects in braces.
 * - `since` and `until` limit a definition, message or field to revisions, and `#` begins a description.
 */

/** The revisions in which something exists, both ends included. */
export interface Range {
  since?: string
  until?: string
}

export type TypeNode =
  | { kind: 'leaf'; name: Leaf; min?: number; max?: number }
  | { kind: 'literals'; values: (string | number)[] }
  | { kind: 'name'; name: string }
  | { kind: 'array'; items: TypeNode; max?: number }
  | { kind: 'map'; values: TypeNode }
  | { kind: 'union'; members: TypeNode[] }
  | { kind: 'object'; bases: string[]; fields: Field[] }

const leaves = [
  'string',
  'number',
  'integer',
  'boolean',
  'null',
  'object',
  'unknown',
  'uri',
  'uri-template',
  'base64',
] as const
export type Leaf = (typeof leaves)[number]

export interface Field extends Range {
  name: string
  optional: boolean
  type: TypeNode
  doc?: string
}

export interface Definition extends Range {
  name: string
  type: TypeNode
  doc?: string
  /** Only other definitions use it. */
  isBase?: boolean
}

/** A request or notification. */
export interface MessageNode extends Range {
  name: string
  kind: 'request' | 'notification'
  from: 'client' | 'server' | 'any'
  method: string
  params?: string
  paramsOptional?: boolean
  result?: string
  doc?: string
}

export interface Description {
  definitions: Definition[]
  messages: MessageNode[]
}

export const existsIn = ({ since = '', until = '9' }: Range, revision: RevisionId): boolean =>
  since <= revision && revision <= until

/** Reads a description. Throws a SyntaxError that names the line. */
export function parse(text: string): Description {
  return new Parser(text).description()
}

const token = /#[^\n]*|'[^']*'|\d{4}-\d\d-\d\d|->|\.\.|-?\d+|[A-Za-z_$][\w$]*(?:-[a-z]\w*)*|[{}[\]()|<>:;?=,]|\s+|./g

class Parser {
  readonly #tokens: { text: string; line: number }[] = []
  #at = 0

  constructor(text: string) {
    let line = 1
    for (const [part] of text.matchAll(token)) {
      if (part.trim() !== '') this.#tokens.push({ text: part, line })
      line += part.split('\n').length - 1
    }
  }

  description(): Description {
    const found: Description = { definitions: [], messages: [] }
    while (this.#at < this.#tokens.length) {
      if (/^(?:client|server|any)$/.test(this.#peek())) found.messages.push(this.#message())
      else found.definitions.push(this.#definition())
    }
    return found
  }

  #message(): MessageNode {
    const from = this.#next() as MessageNode['from']
    const kind = this.#next() as MessageNode['kind']
    const name = this.#next()
    const method = this.#quoted()
    const node: MessageNode = { name, kind, from, method }
    if (/^[A-Z]/.test(this.#peek())) {
      // An upper-case word on this line: the next line may begin with one as well.
      if (this.#tokens[this.#at]!.line === this.#tokens[this.#at - 1]!.line) {
        node.params = this.#next()
        if (this.#accept('?')) node.paramsOptional = true
      }
    }
    Object.assign(node, this.#range())
    if (this.#accept('->')) node.result = this.#next()
    return { ...node, ...this.#doc() }
  }

  #definition(): Definition {
    const isBase = this.#accept('base')
    const name = this.#next()
    const range = this.#range()
    const common = { name, ...range, ...(isBase && { isBase }) }
    if (this.#accept('=')) return { ...common, type: this.#type(), ...this.#doc() }
    const bases: string[] = []
    if (this.#accept(':')) bases.push(this.#next())
    while (this.#accept(',')) bases.push(this.#next())
    this.#expect('{')
    const first = this.#doc()
    const fields = this.#fields()
    return { ...common, type: { kind: 'object', bases, fields }, ...first, ...this.#doc() }
  }

  /** Reads up to the closing brace. */
  #fields(): Field[] {
    const fields: Field[] = []
    while (!this.#accept('}')) {
      const name = this.#peek().startsWith("'") ? this.#quoted() : this.#next()
      const optional = this.#accept('?')
      this.#expect(':')
      fields.push({ name, optional, type: this.#type(), ...this.#range(), ...this.#doc() })
      this.#accept(';')
    }
    return fields
  }

  #range(): Range {
    const range: Range = {}
    if (this.#accept('since')) range.since = this.#next()
    if (this.#accept('until')) range.until = this.#next()
    return range
  }

  #doc(): { doc?: string } {
    return this.#peek().startsWith('#') ? { doc: this.#next().slice(1).trim() } : {}
  }

  #type(): TypeNode {
    const members = [this.#postfix()]
    while (this.#accept('|')) members.push(this.#postfix())
    if (members.every((member) => member.kind === 'literals'))
      return { kind: 'literals', values: members.flatMap(({ values }) => values) }
    return members.length === 1 ? members[0]! : { kind: 'union', members }
  }

  #postfix(): TypeNode {
    let type = this.#primary()
    while (this.#accept('[')) {
      const max = this.#accept('..') ? { max: Number(this.#next()) } : {}
      this.#expect(']')
      type = { kind: 'array', items: type, ...max }
    }
    return type
  }

  #primary(): TypeNode {
    const { text, line } = this.#tokens[this.#at]!
    if (text.startsWith("'")) return { kind: 'literals', values: [this.#quoted()] }
    this.#at++
    if (/^-?\d+$/.test(text)) return { kind: 'literals', values: [Number(text)] }
    if (text === '{') return { kind: 'object', bases: [], fields: this.#fields() }
    if (text === '(') return this.#enclosed(')')
    if (text === 'map') {
      this.#expect('<')
      return { kind: 'map', values: this.#enclosed('>') }
    }
    if (leaves.includes(text as Leaf)) return { kind: 'leaf', name: text as Leaf, ...this.#limits() }
    if (/^[A-Z]/.test(text)) return { kind: 'name', name: text }
    throw new SyntaxError(`Line ${line}: "${text}" is not a type`)
  }

  #enclosed(close: string): TypeNode {
    const type = this.#type()
    this.#expect(close)
    return type
  }

  #limits(): { min?: number; max?: number } {
    if (!this.#accept('(')) return {}
    const min = Number(this.#next())
    this.#expect('..')
    if (this.#accept(')')) return { min }
    const max = Number(this.#next())
    this.#expect(')')
    return { min, max }
  }

  #quoted(): string {
    return this.#next().slice(1, -1)
  }

  #peek(): string {
    return this.#tokens[this.#at]?.text ?? ''
  }

  #next(): string {
    const found = this.#tokens[this.#at++]
    if (!found) throw new SyntaxError('Unexpected end')
    return found.text
  }

  #accept(text: string): boolean {
    if (this.#peek() !== text) return false
    this.#at++
    return true
  }

  #expect(text: string): void {
    if (!this.#accept(text))
      throw new SyntaxError(`Line ${this.#tokens[this.#at]?.line}: expected "${text}" instead of "${this.#peek()}"`)
  }
}
