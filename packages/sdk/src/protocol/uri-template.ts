/** What a variable may hold on expansion: one string, a list, or an associative array. */
export type TemplateValue = string | string[] | Record<string, string>

/**
 * An RFC 6570 (level 4) URI template that expands, and matches back.
 *
 * RFC 6570 defines expansion only. Matching follows these rules:
 *
 * - **Positional values must be there.** `{x}`, `{+x}`, `{#x}`, `{.x}` and `{/x}` each take at least one character, and
 *   every variable of the expression is required. All but `{+x}` and `{#x}` stop at `/`, `?` and `#`.
 * - **Named parameters may be missing.** `{?x}`, `{&x}` and `{;x}` take their parameters in any order, leave absent ones
 *   out of the result and ignore unknown ones. `?x` and `?x=` both give `''`. A `+` stays a `+`.
 * - **Exploded variables are always lists**, even of one item; all others are always strings, so `{list}` on `a,b` gives
 *   `'a,b'`. Items of positional lists are never empty. Associative arrays do not come back as such.
 * - **Leftmost-shortest.** Where a split is ambiguous each positional value takes as little as lets the rest match:
 *   `{a}-{b}` on `x-y-z` gives `a = 'x'`. Named parameters take as much as they can.
 * - **Repeated variables must agree**, in the template or in the query; `{x:2}` agrees with an `{x}` that begins so.
 *   They are compared after the split is chosen; no other split is tried.
 * - **Percent-encoding** is undone exactly once. Literals match in either form (`é` and `%C3%A9`) except that an encoded
 *   reserved character is not its plain self: `%2F` never stands for a literal `/`. A URI with a malformed sequence,
 *   a NUL or more than 10,000 characters does not match.
 *
 * A matched value is decoded data, not a checked path: `{name}` on `..%2Fetc` gives `'../etc'`. Whoever maps values to
 * files must resolve the path and check that it is still inside the intended folder.
 *
 * @example
 * const template = new UriTemplate('repo://{owner}{/path*}{?ref}')
 * template.match('repo://ada/src/main.ts?ref=v1') // { owner: 'ada', path: ['src', 'main.ts'], ref: 'v1' }
 */
export class UriTemplate {
  /** Each variable once, in order of first appearance. */
  readonly variableNames: readonly string[]
  readonly #template: string
  readonly #parts: readonly Part[]
  readonly #steps: readonly Step[] | undefined

  /** Throws when the template is malformed or exceeds 10,000 characters, 100 expressions or 200 variables. */
  constructor(template: string) {
    this.#template = template
    this.#parts = parseTemplate(template)
    this.#steps = toSteps(this.#parts)
    const names = new Set<string>()
    for (const part of this.#parts) {
      if (typeof part !== 'string') for (const variable of part.variables) names.add(variable.name)
    }
    this.variableNames = Object.freeze([...names])
  }

  /** Fills the template in. Undefined variables, empty lists and empty associative arrays leave no trace. */
  expand(values: Record<string, TemplateValue | undefined>): string {
    let uri = ''
    for (const part of this.#parts) {
      uri += typeof part === 'string' ? encode(part, true) : expandExpression(part, values)
    }
    return uri
  }

  /** The decoded variables of `uri` in an object without prototype, or undefined when it does not match. */
  match(uri: string): Record<string, string | string[]> | undefined {
    if (this.#steps === undefined || uri.length > MAX_URI_LENGTH) return undefined
    const codes = toCodes(uri)
    if (codes === undefined || !startsRight(this.#steps, codes)) return undefined
    const rows = findEnds(this.#steps, codes)
    return rows && readValues(this.#steps, rows, codes)
  }

  /** The template as it was given. */
  toString(): string {
    return this.#template
  }
}

const MAX_TEMPLATE_LENGTH = 10_000
const MAX_EXPRESSIONS = 100
const MAX_VARIABLES = 200
const MAX_URI_LENGTH = 10_000

/** A literal as written, or an expression. */
type Part = string | Expression

interface Expression {
  operator: Operator
  variables: Variable[]
}

interface Variable {
  name: string
  /** Code points the value may have; Infinity without a `:n` modifier. */
  max: number
  explode: boolean
}

/** A row of RFC 6570 appendix A, and the characters at which a matched value ends. */
interface Operator {
  first: string
  separator: string
  named: boolean
  ifEmpty: string
  keepsReserved: boolean
  stops: string
}

const SIMPLE: Operator = {
  first: '',
  separator: ',',
  named: false,
  ifEmpty: '',
  keepsReserved: false,
  stops: '/?#',
}

const OPERATORS: ReadonlyMap<string, Operator> = new Map([
  ['+', { ...SIMPLE, keepsReserved: true, stops: '' }],
  ['#', { ...SIMPLE, first: '#', keepsReserved: true, stops: '' }],
  ['.', { ...SIMPLE, first: '.', separator: '.' }],
  ['/', { ...SIMPLE, first: '/', separator: '/' }],
  [';', { ...SIMPLE, first: ';', separator: ';', named: true }],
  ['?', { ...SIMPLE, first: '?', separator: '&', named: true, ifEmpty: '=', stops: '#' }],
  ['&', { ...SIMPLE, first: '&', separator: '&', named: true, ifEmpty: '=', stops: '#' }],
])

function parseTemplate(template: string): Part[] {
  if (template.length > MAX_TEMPLATE_LENGTH) {
    throw malformed(template, MAX_TEMPLATE_LENGTH, `longer than ${MAX_TEMPLATE_LENGTH} characters`, 'shorten it')
  }
  const parts: Part[] = []
  let expressions = 0
  let variables = 0
  let at = 0
  while (at < template.length) {
    const open = template.indexOf('{', at)
    const literalEnd = open < 0 ? template.length : open
    if (literalEnd > at) {
      checkLiteral(template, at, literalEnd)
      parts.push(template.slice(at, literalEnd))
    }
    if (open < 0) break
    const close = template.indexOf('}', open)
    if (close < 0) throw malformed(template, open, 'unclosed "{"', 'add the "}", or write %7B for a literal brace')
    if (++expressions > MAX_EXPRESSIONS) {
      throw malformed(template, open, `more than ${MAX_EXPRESSIONS} expressions`, 'use fewer, or join them as {a,b}')
    }
    const expression = parseExpression(template, open, close)
    variables += expression.variables.length
    if (variables > MAX_VARIABLES) {
      throw malformed(template, open, `more than ${MAX_VARIABLES} variables`, 'use fewer, or one exploded list {x*}')
    }
    parts.push(expression)
    at = close + 1
  }
  return parts
}

function checkLiteral(template: string, start: number, end: number): void {
  for (let at = start; at < end; at++) {
    if (template[at] === '}') {
      throw malformed(template, at, '"}" without "{"', 'add the "{", or write %7D for a literal brace')
    }
    if (template[at] === '%' && !TRIPLET.test(template.slice(at, Math.min(at + 3, end)))) {
      throw malformed(template, at, '"%" without two hex digits', 'write %25 for a literal percent sign')
    }
  }
}

const TRIPLET = /^%[0-9A-Fa-f]{2}$/
const RESERVED_OPERATORS = '=,!@|'

function parseExpression(template: string, open: number, close: number): Expression {
  const symbol = template[open + 1]!
  if (close === open + 1) throw malformed(template, open, 'empty expression', 'name a variable: {name}')
  if (RESERVED_OPERATORS.includes(symbol)) {
    throw malformed(
      template,
      open + 1,
      `operator "${symbol}" is reserved by RFC 6570`,
      'use none or one of + # . / ; ? &',
    )
  }
  const operator = OPERATORS.get(symbol)
  const variables: Variable[] = []
  let at = operator ? open + 2 : open + 1
  for (const spec of template.slice(at, close).split(',')) {
    variables.push(parseVariable(template, at, spec))
    at += spec.length + 1
  }
  return { operator: operator ?? SIMPLE, variables }
}

const NAME = /^(?:\w|%[0-9A-Fa-f]{2})(?:\.?(?:\w|%[0-9A-Fa-f]{2}))*$/
const PREFIX_LENGTH = /^[1-9][0-9]{0,3}$/

function parseVariable(template: string, at: number, spec: string): Variable {
  const colon = spec.indexOf(':')
  const explode = spec.endsWith('*')
  if (colon >= 0 && spec.includes('*')) {
    throw malformed(template, at, `"${shorten(spec)}" has both a prefix and an explode modifier`, 'keep one of them')
  }
  const name = colon >= 0 ? spec.slice(0, colon) : explode ? spec.slice(0, -1) : spec
  if (!NAME.test(name)) {
    throw malformed(template, at, `bad variable name "${shorten(name)}"`, 'use letters, digits, "_" and inner "."')
  }
  if (colon < 0) return { name, max: Number.POSITIVE_INFINITY, explode }
  const length = spec.slice(colon + 1)
  if (!PREFIX_LENGTH.test(length)) {
    throw malformed(template, at + colon, `bad prefix length "${shorten(length)}"`, 'use a number from 1 to 9999')
  }
  return { name, max: Number(length), explode }
}

function malformed(template: string, position: number, problem: string, wayOut: string): Error {
  return new Error(`URI template "${shorten(template)}" is malformed at position ${position}: ${problem}; ${wayOut}`)
}

function shorten(text: string): string {
  return text.length > 100 ? `${text.slice(0, 100)}…` : text
}

function expandExpression({ operator, variables }: Expression, values: Record<string, TemplateValue | undefined>) {
  const pieces: string[] = []
  for (const variable of variables) {
    // Only own properties: a variable named "constructor" must not find Object.prototype's.
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined
    if (value === undefined || value === null) continue
    for (const piece of expandVariable(operator, variable, value)) pieces.push(piece)
  }
  return pieces.length === 0 ? '' : operator.first + pieces.join(operator.separator)
}

function expandVariable(operator: Operator, { name, max, explode }: Variable, value: TemplateValue): string[] {
  const escaped = (text: string) => encode(text, operator.keepsReserved)
  const toPair = (key: string, text: string) => key + (text === '' ? operator.ifEmpty : `=${text}`)
  const toPiece = (text: string) => (operator.named ? toPair(name, text) : text)

  // Numbers and booleans are outside the type but common in plain JavaScript; their text is what was meant.
  if (typeof value !== 'object') return [toPiece(escaped(prefixOf(String(value), max, operator.keepsReserved)))]
  if (max !== Number.POSITIVE_INFINITY) {
    throw new Error(`Variable "${name}" has a prefix (:${max}), which only fits a string; pass one or drop the prefix`)
  }
  if (Array.isArray(value)) {
    const items = value.map((item) => escaped(String(item)))
    if (explode) return items.map(toPiece)
    return items.length === 0 ? [] : [toPiece(items.join(','))]
  }
  const entries = Object.entries(value).map(([key, item]): [string, string] => [escaped(key), escaped(String(item))])
  if (explode) return entries.map(([key, item]) => (operator.named ? toPair(key, item) : `${key}=${item}`))
  return entries.length === 0 ? [] : [toPiece(entries.flat().join(','))]
}

/** The first `max` code points. Where triplets pass through unencoded, one encoded character counts once. */
function prefixOf(text: string, max: number, keepsTriplets: boolean): string {
  if (text.length <= max) return text
  let at = 0
  for (let taken = 0; taken < max && at < text.length; taken++) {
    at += keepsTriplets ? widthAt(text, at, readCode(text, at)) : text.codePointAt(at)! > 0xffff ? 2 : 1
  }
  return text.slice(0, at)
}

const NOT_UNRESERVED = /[^A-Za-z0-9\-._~]/gu
const NOT_URI = /%[0-9A-Fa-f]{2}|[^A-Za-z0-9\-._~:/?#[\]@!$&'()*+,;=]/gu

function encode(text: string, keepsReserved: boolean): string {
  return keepsReserved
    ? text.replace(NOT_URI, (found) => (found.length === 3 ? found : encodeCharacter(found)))
    : text.replace(NOT_UNRESERVED, encodeCharacter)
}

function encodeCharacter(character: string): string {
  if (isSurrogate(character.codePointAt(0)!)) return '%EF%BF%BD'
  const encoded = encodeURIComponent(character)
  // encodeURIComponent leaves !'()* alone, which RFC 6570 counts as reserved.
  return encoded === character ? `%${character.charCodeAt(0).toString(16).toUpperCase()}` : encoded
}

// A URI is matched as a row of codes, one per character after percent-decoding. A reserved character that was encoded
// carries the ENCODED bit, so it is data and never a delimiter; for all others both spellings are one code.
const ENCODED = 0x200000
const RESERVED = new Set(Array.from(":/?#[]@!$&'()*+,;=", (character) => character.charCodeAt(0)))

/** The codes of a text, or undefined when it has a malformed sequence, a lone surrogate or a NUL. */
function toCodes(text: string): Int32Array | undefined {
  const codes = new Int32Array(text.length)
  let count = 0
  for (let at = 0; at < text.length; ) {
    const code = readCode(text, at)
    if (code <= 0) return undefined
    codes[count++] = code
    at += widthAt(text, at, code)
  }
  return codes.subarray(0, count)
}

/** The code of the character that starts at `at`, or -1. */
function readCode(text: string, at: number): number {
  const plain = text.codePointAt(at)!
  if (plain !== PERCENT) return isSurrogate(plain) ? -1 : plain
  const lead = Number.parseInt(text.slice(at + 1, at + 3), 16)
  const bytes = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4
  try {
    const code = decodeURIComponent(text.slice(at, at + 3 * bytes)).codePointAt(0)!
    return RESERVED.has(code) ? code | ENCODED : code
  } catch {
    return -1
  }
}

/** How many UTF-16 units of `text` the character with this code takes up. */
function widthAt(text: string, at: number, code: number): number {
  if (text.charCodeAt(at) !== PERCENT) return code > 0xffff ? 2 : 1
  if (code < 0) return 1
  const plain = code & ~ENCODED
  return plain < 0x80 ? 3 : plain < 0x800 ? 6 : plain < 0x10000 ? 9 : 12
}

const PERCENT = 0x25
const EQUALS = 0x3d
const NONE = -1

function isSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff
}

/** The text of `codes` from start to end, decoded. */
function toText(codes: Int32Array, start: number, end: number): string {
  let text = ''
  for (let at = start; at < end; at++) text += String.fromCodePoint(codes[at]! & ~ENCODED)
  return text
}

/** What the matcher walks: literals, positional values, and groups of named parameters. */
type Step = LiteralStep | ValueStep | NamedStep

interface LiteralStep {
  kind: 'literal'
  codes: Int32Array
  /** Knuth-Morris-Pratt: how much of the literal still fits after a mismatch behind its first `i` codes. */
  fallback: Int16Array
}

interface ValueStep {
  kind: 'value'
  variable: Variable
  /** The code that introduces the value, or NONE. */
  lead: number
  /** The code between items of an exploded list, or NONE. */
  splitter: number
  stops: number[]
}

interface NamedStep {
  kind: 'named'
  leads: number[]
  separator: number
  stops: number[]
  /** By decoded parameter name. */
  variables: Map<string, Variable[]>
}

/** Undefined when a literal is not decodable: such a template expands but no URI matches it. */
function toSteps(parts: readonly Part[]): Step[] | undefined {
  const steps: Step[] = []
  for (const part of parts) {
    if (typeof part === 'string') {
      const codes = toCodes(part)
      if (codes === undefined) return undefined
      steps.push({ kind: 'literal', codes, fallback: toFallback(codes) })
    } else if (part.operator.named) {
      addNamedStep(steps, part)
    } else {
      addValueSteps(steps, part)
    }
  }
  return steps
}

function toFallback(codes: Int32Array): Int16Array {
  const fallback = new Int16Array(codes.length + 1)
  for (let at = 1, fits = 0; at < codes.length; at++) {
    while (fits > 0 && codes[at] !== codes[fits]) fits = fallback[fits]!
    if (codes[at] === codes[fits]) fits++
    fallback[at + 1] = fits
  }
  return fallback
}

function addValueSteps(steps: Step[], { operator, variables }: Expression): void {
  const separator = operator.separator.charCodeAt(0)
  const stops = Array.from(operator.stops, (stop) => stop.charCodeAt(0))
  // In {x,y} a comma inside a value would have been encoded, so a plain one is the boundary.
  const sharedStops = operator === SIMPLE && variables.length > 1 ? [...stops, separator] : stops
  variables.forEach((variable, index) => {
    const first = operator.first === '' ? NONE : operator.first.charCodeAt(0)
    steps.push({
      kind: 'value',
      variable,
      lead: index === 0 ? first : separator,
      splitter: variable.explode ? separator : NONE,
      stops: variable.explode ? stops : sharedStops,
    })
  })
}

function addNamedStep(steps: Step[], { operator, variables }: Expression): void {
  const lead = operator.first.charCodeAt(0)
  const separator = operator.separator.charCodeAt(0)
  const previous = steps.at(-1)
  // {?a}{&b} is one query and {;a}{;b} one parameter list; apart, the first would swallow b as unknown.
  const joins = lead === separator && previous?.kind === 'named' && previous.separator === separator
  const step: NamedStep = joins
    ? previous
    : {
        kind: 'named',
        leads: [],
        separator,
        stops: Array.from(operator.stops, (stop) => stop.charCodeAt(0)),
        variables: new Map(),
      }
  if (!joins) steps.push(step)
  if (!step.leads.includes(lead)) step.leads.push(lead)
  for (const variable of variables) {
    const codes = toCodes(variable.name)
    if (codes === undefined) continue
    const name = toText(codes, 0, codes.length)
    const same = step.variables.get(name)
    if (same) same.push(variable)
    else step.variables.set(name, [variable])
  }
}

/** A cheap look before the real work: most templates of a server differ in their first literal. */
function startsRight(steps: readonly Step[], codes: Int32Array): boolean {
  const first = steps[0]
  return first?.kind !== 'literal' || first.codes.every((code, at) => code === codes[at])
}

/**
 * For each step and start position, where the step ends if everything behind it can match to the end of the URI; NONE
 * if it cannot. Undefined when nothing matches.
 *
 * Rows are filled from the last step to the first, each by one sweep over the URI that does constant work per
 * position (amortised, for literals), since the nearest or farthest usable end is carried along. Nothing backtracks, so
 * the cost is steps x length for every input: at most 301 x 10,001 cells under the limits above.
 */
function findEnds(steps: readonly Step[], codes: Int32Array): Int16Array[] | undefined {
  const length = codes.length
  const rows: Int16Array[] = []
  let after = new Int16Array(length + 1).fill(NONE)
  after[length] = length
  for (let index = steps.length - 1; index >= 0; index--) {
    const step = steps[index]!
    const row = new Int16Array(length + 1).fill(NONE)
    if (step.kind === 'literal') fillLiteral(row, step, codes, after)
    else if (step.kind === 'value') fillValue(row, step, codes, after)
    else fillNamed(row, step, codes, after)
    rows[index] = row
    after = row
  }
  return after[0] === NONE ? undefined : rows
}

function fillLiteral(row: Int16Array, { codes: literal, fallback }: LiteralStep, codes: Int32Array, after: Int16Array) {
  let fits = 0
  for (let at = 0; at < codes.length; at++) {
    while (fits > 0 && codes[at] !== literal[fits]) fits = fallback[fits]!
    if (codes[at] === literal[fits]) fits++
    if (fits < literal.length) continue
    if (after[at + 1] !== NONE) row[at + 1 - fits] = at + 1
    fits = fallback[fits]!
  }
}

function fillValue(row: Int16Array, step: ValueStep, codes: Int32Array, after: Int16Array) {
  const { lead, splitter, stops, variable } = step
  let nearest = Number.POSITIVE_INFINITY
  let runEnd = codes.length
  for (let start = codes.length - 1; start >= 0; start--) {
    const code = codes[start]!
    const splits = code === splitter
    // List items are not empty: a run breaks between two splitters, and no value starts with or ends after one.
    if (after[start + 1] !== NONE && !splits) nearest = start + 1
    if (stops.includes(code) && !splits) runEnd = start
    else if (splits && codes[start + 1] === splitter) runEnd = start + 1
    if (splits || nearest > runEnd || nearest > start + variable.max) continue
    if (lead === NONE) row[start] = nearest
    else if (start > 0 && codes[start - 1] === lead) row[start - 1] = nearest
  }
}

function fillNamed(row: Int16Array, { leads, stops }: NamedStep, codes: Int32Array, after: Int16Array) {
  const length = codes.length
  let farthest = after[length] === NONE ? NONE : length
  row[length] = farthest
  for (let start = length - 1; start >= 0; start--) {
    const code = codes[start]!
    const possible = after[start] !== NONE
    if (leads.includes(code) && farthest !== NONE) row[start] = farthest
    else if (possible) row[start] = start
    if (stops.includes(code) || farthest === NONE) farthest = possible ? start : NONE
  }
}

interface Found {
  variable: Variable
  value: string | string[]
}

function readValues(steps: readonly Step[], rows: readonly Int16Array[], codes: Int32Array) {
  const found = new Map<string, Found[]>()
  let at = 0
  steps.forEach((step, index) => {
    const end = rows[index]![at]!
    if (step.kind === 'value') readValue(found, step, codes, at, end)
    else if (step.kind === 'named' && end > at) readNamed(found, step, codes, at + 1, end)
    at = end
  })
  // No prototype, so that a variable named "__proto__" is a key like any other.
  const result: Record<string, string | string[]> = Object.create(null)
  for (const [name, occurrences] of found) {
    const value = settle(occurrences)
    if (value === undefined) return undefined
    result[name] = value
  }
  return result
}

function readValue(found: Map<string, Found[]>, step: ValueStep, codes: Int32Array, at: number, end: number): void {
  let start = step.lead === NONE ? at : at + 1
  if (step.splitter === NONE) {
    note(found, step.variable, toText(codes, start, end))
    return
  }
  const items: string[] = []
  while (start < end) {
    const itemEnd = findCode(codes, step.splitter, start, end)
    items.push(toText(codes, start, itemEnd))
    start = itemEnd + 1
  }
  note(found, step.variable, items)
}

function readNamed(found: Map<string, Found[]>, step: NamedStep, codes: Int32Array, from: number, end: number): void {
  const lists = new Map<string, string[]>()
  for (let start = from; start < end; ) {
    const parameterEnd = findCode(codes, step.separator, start, end)
    const nameEnd = findCode(codes, EQUALS, start, parameterEnd)
    const name = toText(codes, start, nameEnd)
    if (step.variables.has(name)) {
      const value = toText(codes, Math.min(nameEnd + 1, parameterEnd), parameterEnd)
      const list = lists.get(name)
      if (list) list.push(value)
      else lists.set(name, [value])
    }
    start = parameterEnd + 1
  }
  for (const [name, variables] of step.variables) {
    const list = lists.get(name)
    if (list === undefined) continue
    for (const variable of variables) {
      if (variable.explode) note(found, variable, list)
      // Equal repeats add nothing; unequal ones all reach settle(), which refuses them.
      else for (const value of new Set(list)) note(found, variable, value)
    }
  }
}

/** The first place of `code` between start and end, or end. */
function findCode(codes: Int32Array, code: number, start: number, end: number): number {
  let at = start
  while (at < end && codes[at] !== code) at++
  return at
}

function note(found: Map<string, Found[]>, variable: Variable, value: string | string[]): void {
  const occurrences = found.get(variable.name)
  if (occurrences) occurrences.push({ variable, value })
  else found.set(variable.name, [{ variable, value }])
}

/** The one value that all occurrences of a variable show, in full or as their prefix of it; else undefined. */
function settle(occurrences: readonly Found[]): string | string[] | undefined {
  let fullest = occurrences[0]!
  for (const other of occurrences) {
    const { max, explode } = fullest.variable
    if (other.variable.max > max || (other.variable.explode && !explode)) fullest = other
  }
  return occurrences.every((other) => agrees(fullest.value, other)) ? fullest.value : undefined
}

function agrees(full: string | string[], { variable, value }: Found): boolean {
  if (Array.isArray(full) && Array.isArray(value)) {
    return full.length === value.length && full.every((item, index) => item === value[index])
  }
  // {x} shows a list as its items joined by commas.
  return prefixOf(String(full), variable.max, false) === String(value)
}
