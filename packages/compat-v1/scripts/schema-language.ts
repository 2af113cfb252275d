/**
 * The small language in which `protocol.ts` describes the messages of the protocol, and its parser.
 *
 * A field is `name` or `name?`, and its value a type expression, optionally followed by `# documentation`:
 *
 * - `string`, `number`, `integer`, `natural`, `fraction`, `boolean`, `null`, `unknown`, `any`, `object`
 * - `numeric`: a number, or a text that is converted to one
 * - `base64`, `datetime`, `url`, `file-url`: strings with a check
 * - `'a' | 'b'`: literals, `Name`: another noun, `a | b`: a union, tried in this order
 * - `string[]`, `string[<=100]`: arrays, `map<string>`: an object with any keys
 * - `boolean = true`: a default
 */

/** Strings and numbers with and without checks, and the like. */
export type Leaf =
  | 'string'
  | 'number'
  | 'integer'
  | 'natural'
  | 'fraction'
  | 'boolean'
  | 'null'
  | 'unknown'
  | 'object'
  | 'base64'
  | 'datetime'
  | 'url'
  | 'file-url'
  | 'any'
  | 'numeric'

/** Kinds of objects by how they treat keys that they do not name. */
export type UnknownKeys = 'strip' | 'loose' | 'strict'

export type TypeNode =
  | { kind: 'leaf'; leaf: Leaf }
  | { kind: 'literals'; values: string[] }
  | { kind: 'noun'; name: string }
  | { kind: 'array'; items: TypeNode; max?: number }
  | { kind: 'map'; values: TypeNode }
  | { kind: 'union'; members: TypeNode[]; discriminator?: string }
  | { kind: 'object'; unknownKeys: UnknownKeys; bases: string[]; fields: Fields }
  | { kind: 'default'; of: TypeNode; value: string }
  | { kind: 'code'; code: Code }

/** A schema that the language cannot express: the expression, its type, and the type of its output. */
export interface Code {
  schema: string
  schemaType: string
  type: string
  /** The schema accepts a missing field by itself. */
  optional?: boolean
}

/** Fields by name; a trailing `?` makes a field optional. */
export type Fields = Record<string, string | TypeNode>

/** A named part of the protocol. */
export interface Noun {
  type: TypeNode
  doc: string
  deprecated?: string
  /** Which names the generated module exports. Default: `both`. */
  exports?: 'both' | 'schema' | 'type' | 'none'
  /** Name of the schema, where it is not the name of the noun and "Schema". */
  schemaName?: string
  /** The noun that this one is another name of. */
  aliasOf?: string
}

export type Nouns = Record<string, Noun>

/** An object that drops keys it does not name. */
export const strip = (fields: Fields, ...bases: string[]): TypeNode => objectNode('strip', fields, bases)

/** An object that keeps keys it does not name. */
export const loose = (fields: Fields, ...bases: string[]): TypeNode => objectNode('loose', fields, bases)

/** An object that rejects keys it does not name. */
export const strict = (fields: Fields, ...bases: string[]): TypeNode => objectNode('strict', fields, bases)

/** A type expression. */
export const is = (text: string): TypeNode => parseType(text)

/** A union whose members are told apart by one field. */
export function tagged(discriminator: string, names: string): TypeNode {
  const members = names.split(' | ').map((name): TypeNode => ({ kind: 'noun', name }))
  return { kind: 'union', members, discriminator }
}

/** Reads `string[] # documentation` into its two parts. */
export function splitDoc(text: string): { expression: string; doc: string } {
  const at = text.indexOf(' # ')
  return at < 0 ? { expression: text, doc: '' } : { expression: text.slice(0, at), doc: text.slice(at + 3) }
}

/** Parses a type expression. */
export function parseType(text: string): TypeNode {
  const [expression, value] = text.split(/ = (.*)/s) as [string, string?]
  const parser = new Parser(expression)
  const type = parser.union()
  parser.end()
  return value === undefined ? type : { kind: 'default', of: type, value }
}

const leaves = new Set<string>(
  'string number integer natural fraction boolean null unknown object base64 datetime url file-url any numeric'.split(
    ' ',
  ),
)

class Parser {
  #tokens: string[]
  #at = 0
  readonly #text: string

  constructor(text: string) {
    this.#text = text
    this.#tokens = text.match(/'[^']*'|[\w-]+|\[<=\d+\]|\[\]|[|<>()]/g) ?? []
  }

  union(): TypeNode {
    const members = [this.#postfix()]
    while (this.#tokens[this.#at] === '|') {
      this.#at++
      members.push(this.#postfix())
    }
    const joined = joinLiterals(members)
    return joined.length === 1 ? joined[0]! : { kind: 'union', members: joined }
  }

  end(): void {
    if (this.#at !== this.#tokens.length) throw this.#unexpected()
  }

  #postfix(): TypeNode {
    let type = this.#primary()
    for (let token = this.#tokens[this.#at]; token?.startsWith('['); token = this.#tokens[++this.#at]) {
      type = { kind: 'array', items: type, ...(token !== '[]' && { max: Number(token.slice(3, -1)) }) }
    }
    return type
  }

  #primary(): TypeNode {
    const token = this.#tokens[this.#at++]
    if (token === undefined) throw this.#unexpected()
    if (token.startsWith("'")) return { kind: 'literals', values: [token.slice(1, -1)] }
    if (token === 'map') return { kind: 'map', values: this.#enclosed('<', '>') }
    if (token === '(') {
      this.#at--
      return this.#enclosed('(', ')')
    }
    if (leaves.has(token)) return { kind: 'leaf', leaf: token as Leaf }
    if (/^[A-Z]/.test(token)) return { kind: 'noun', name: token }
    throw this.#unexpected()
  }

  #enclosed(open: string, close: string): TypeNode {
    if (this.#tokens[this.#at++] !== open) throw this.#unexpected()
    const type = this.union()
    if (this.#tokens[this.#at++] !== close) throw this.#unexpected()
    return type
  }

  #unexpected(): SyntaxError {
    return new SyntaxError(`Not a type expression: ${this.#text}. Stopped at "${this.#tokens[this.#at - 1] ?? ''}".`)
  }
}

/** Literals that follow each other are one enumeration. */
function joinLiterals(members: TypeNode[]): TypeNode[] {
  const joined: TypeNode[] = []
  for (const member of members) {
    const last = joined.at(-1)
    if (member.kind === 'literals' && last?.kind === 'literals') last.values.push(...member.values)
    else joined.push(member.kind === 'literals' ? { kind: 'literals', values: [...member.values] } : member)
  }
  return joined
}

function objectNode(unknownKeys: UnknownKeys, fields: Fields, bases: string[]): TypeNode {
  return { kind: 'object', unknownKeys, bases, fields }
}
