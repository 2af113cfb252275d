import { SchemaError } from './schema-error.ts'
import { show } from './values.ts'

/**
 * Compiles a pattern of a schema, refusing those that can take exponential time: a part that repeats and can match
 * one text in two ways, such as `(a+)+` or `(a|a)*`. Each further character would double the time to fail.
 */
export function compilePattern(source: string, maxLength: number, at: string): RegExp {
  if (source.length > maxLength) {
    throw new SchemaError(`A pattern has more than ${maxLength} characters; raise maxPatternLength`, at)
  }
  const pattern = toRegExp(source, at)
  const danger = findDanger(source, pattern.unicode)
  if (danger) {
    throw new SchemaError(`The pattern ${show(source)} ${danger}; let each repeated part match in one way only`, at)
  }
  return pattern
}

function toRegExp(source: string, at: string): RegExp {
  try {
    return new RegExp(source, 'u')
  } catch {
    // Old patterns escape characters that need none, such as `\-`, which the u flag forbids.
    return toLooseRegExp(source, at)
  }
}

function toLooseRegExp(source: string, at: string): RegExp {
  try {
    return new RegExp(source)
  } catch (cause) {
    throw new SchemaError(`The pattern ${show(source)} is no regular expression`, at, { cause })
  }
}

function findDanger(source: string, unicode: boolean): string | undefined {
  // Only a group that repeats can be ambiguous.
  if (!/\)(?:[*+]|\{\d)/.test(source)) return undefined
  const parser = new PatternParser(source, unicode)
  const tree = parser.parse()
  if (parser.tooDeep) return 'has too many nested groups'
  const automaton = new Automaton(source, unicode)
  automaton.build(tree)
  const ambiguous = automaton.isAmbiguous()
  if (automaton.tooComplex) return 'is too complex to tell whether it can take exponential time'
  return ambiguous ? 'can take exponential time: a repeated part matches the same text in two ways' : undefined
}

type Tree =
  | { kind: 'chars'; source: string }
  | { kind: 'sequence' | 'choice'; parts: Tree[] }
  | { kind: 'repeat'; part: Tree; min: number; max: number }
  /** A lookaround: takes no characters, but its inside is searched as well. */
  | { kind: 'aside'; part: Tree }

const NOTHING: Tree = { kind: 'sequence', parts: [] }
const MAX_GROUPS_DEEP = 100

/** Reads a pattern that the RegExp constructor has accepted already. */
class PatternParser {
  tooDeep = false
  readonly #source: string
  readonly #unicode: boolean
  #index = 0
  #depth = 0

  constructor(source: string, unicode: boolean) {
    this.#source = source
    this.#unicode = unicode
  }

  parse(): Tree {
    const parts = [this.#sequence()]
    while (this.#accept(/\|/y)) parts.push(this.#sequence())
    return parts.length === 1 ? parts[0]! : { kind: 'choice', parts }
  }

  #sequence(): Tree {
    const parts: Tree[] = []
    while (this.#index < this.#source.length && !this.#at('|') && !this.#at(')')) parts.push(this.#term())
    return { kind: 'sequence', parts }
  }

  #term(): Tree {
    const part = this.#atom()
    const quantifier = this.#accept(/(?:[*+?]|\{(\d+)(?:(,)(\d*))?\})\??/y)
    if (!quantifier) return part
    const [min, max] = toBounds(quantifier)
    return { kind: 'repeat', part, min, max }
  }

  #atom(): Tree {
    if (this.#accept(/\^|\$|\\b/iy)) return NOTHING
    if (this.#accept(/\((?=\?<?[=!])/y)) return { kind: 'aside', part: this.#group(/\?<?[=!]/y) }
    if (this.#accept(/\(/y)) return this.#group(/\?:|\?<[^>]*>|(?!\?)/y)
    // What a back reference repeats is unknown here: anything, or nothing.
    if (this.#accept(/\\(?:[1-9]\d*|k<[^>]*>)/y)) {
      return { kind: 'repeat', part: { kind: 'chars', source: '[\\s\\S]' }, min: 0, max: Number.POSITIVE_INFINITY }
    }
    return { kind: 'chars', source: this.#accept(this.#unicode ? UNICODE_CHARS : CHARS)![0] }
  }

  #group(opening: RegExp): Tree {
    this.#accept(opening)
    if (++this.#depth > MAX_GROUPS_DEEP) {
      this.tooDeep = true
      this.#index = this.#source.length
      return NOTHING
    }
    const tree = this.parse()
    this.#depth--
    this.#accept(/\)/y)
    return tree
  }

  #at(char: string): boolean {
    return this.#source.startsWith(char, this.#index)
  }

  #accept(token: RegExp): RegExpExecArray | null {
    token.lastIndex = this.#index
    const match = token.exec(this.#source)
    if (match) this.#index += match[0].length
    return match
  }
}

const CHARS = /\[(?:\\.|[^\]\\])*\]|\\u[\da-f]{4}|\\x[\da-f]{2}|\\c[a-z]|\\.|./isy
const UNICODE_CHARS = /\[(?:\\.|[^\]\\])*\]|\\[pu]\{[^}]*\}|\\u[\da-f]{4}|\\x[\da-f]{2}|\\c[a-z]|\\.|./isuy

function toBounds([text, min, comma, max]: RegExpExecArray): [min: number, max: number] {
  if (text.startsWith('*')) return [0, Number.POSITIVE_INFINITY]
  if (text.startsWith('+')) return [1, Number.POSITIVE_INFINITY]
  if (text.startsWith('?')) return [0, 1]
  if (comma === undefined) return [Number(min), Number(min)]
  return [Number(min), max === '' ? Number.POSITIVE_INFINITY : Number(max)]
}

/** The states a part of the pattern begins and ends in, and whether it matches the empty text. */
interface Fragment {
  first: number[]
  last: number[]
  empty: boolean
}

const MAX_STATES = 2_000
const MAX_UNROLLED = 200
const MAX_COPIES_OF_A_LOOP = 8
const MAX_WORK = 100_000

/**
 * The pattern as an automaton with one state for each character set in it (Glushkov's construction). A pattern can
 * take exponential time exactly if, inside of a loop, two different paths lead from a state back to it over the same
 * text (A. Weber and H. Seidl, "On the degree of ambiguity of finite automata", 1991).
 */
class Automaton {
  tooComplex = false
  readonly #alphabet: CharacterSets
  readonly #follow: Set<number>[] = []
  /** For each state its outermost loop, 0 outside of all. */
  readonly #loop: number[] = []
  readonly #charset: number[] = []
  #loops = 0
  #ambiguous = false
  #work = 0

  constructor(source: string, unicode: boolean) {
    this.#alphabet = new CharacterSets(source, unicode)
  }

  build(tree: Tree, loop = 0): Fragment {
    if (this.tooComplex) return { first: [], last: [], empty: true }
    switch (tree.kind) {
      case 'chars':
        return this.#state(tree.source, loop)
      case 'sequence':
        return this.#sequence(tree.parts, loop)
      case 'choice':
        return merge(tree.parts.map((part) => this.build(part, loop)))
      case 'repeat':
        return this.#repeat(tree.part, tree.min, tree.max, loop)
      case 'aside':
        this.build(tree.part, 0)
        return { first: [], last: [], empty: true }
    }
  }

  isAmbiguous(): boolean {
    if (this.#ambiguous) return true
    const loops = new Map<number, number[]>()
    this.#loop.forEach((loop, state) => {
      if (loop !== 0) loops.set(loop, [...(loops.get(loop) ?? []), state])
    })
    return [...loops.values()].some((states) => this.#isLoopAmbiguous(states))
  }

  #state(source: string, loop: number): Fragment {
    const state = this.#follow.push(new Set()) - 1
    this.#loop.push(loop)
    this.#charset.push(this.#alphabet.add(source))
    if (state > MAX_STATES) this.tooComplex = true
    return { first: [state], last: [state], empty: false }
  }

  #sequence(parts: Tree[], loop: number): Fragment {
    let whole: Fragment = { first: [], last: [], empty: true }
    for (const part of parts) {
      const next = this.build(part, loop)
      this.#connect(whole.last, next.first)
      whole = {
        first: whole.empty ? [...whole.first, ...next.first] : whole.first,
        last: next.empty ? [...whole.last, ...next.last] : next.last,
        empty: whole.empty && next.empty,
      }
    }
    return whole
  }

  #repeat(part: Tree, min: number, max: number, loop: number): Fragment {
    if (max === 0) return { first: [], last: [], empty: true }
    const copies = max > 1 && max <= maxCopies(part) ? max : 1
    if (max > 1 && copies === 1) {
      const body = this.build(part, loop || ++this.#loops)
      this.#connect(body.last, body.first)
      return { ...body, empty: body.empty || min === 0 }
    }
    return this.build(writeOut(part, min, copies), loop)
  }

  #connect(from: number[], to: number[]): void {
    this.#work += from.length * to.length
    if (this.#work > MAX_WORK) this.tooComplex = true
    if (this.tooComplex) return
    for (const state of from) {
      for (const next of to) {
        const follow = this.#follow[state]!
        const looping = this.#loop[state] !== 0 && this.#loop[state] === this.#loop[next]
        if (looping && follow.has(next)) this.#ambiguous = true
        follow.add(next)
      }
    }
  }

  // All states of an outermost loop reach each other, so it is enough to find two paths that part and meet again,
  // wherever in the loop.
  #isLoopAmbiguous(states: number[]): boolean {
    const size = this.#follow.length
    const queue = states.map((state) => state * size + state)
    const met = new Set(queue)
    for (const pair of queue) {
      for (const next of this.#nextPairs(Math.floor(pair / size), pair % size)) {
        if (!isEqualPair(pair, size) && isEqualPair(next, size)) return true
        if (met.has(next)) continue
        met.add(next)
        queue.push(next)
      }
      if (this.tooComplex) return true
    }
    return false
  }

  #nextPairs(one: number, other: number): number[] {
    const size = this.#follow.length
    const pairs: number[] = []
    for (const a of this.#follow[one]!) {
      for (const b of this.#follow[other]!) {
        if (++this.#work > MAX_WORK) this.tooComplex = true
        const inside = this.#loop[a] === this.#loop[one] && this.#loop[b] === this.#loop[other]
        if (inside && this.#alphabet.overlap(this.#charset[a]!, this.#charset[b]!)) pairs.push(a * size + b)
      }
      if (this.tooComplex) break
    }
    return pairs
  }
}

function isEqualPair(pair: number, size: number): boolean {
  return Math.floor(pair / size) === pair % size
}

function merge(fragments: Fragment[]): Fragment {
  return {
    first: fragments.flatMap(({ first }) => first),
    last: fragments.flatMap(({ last }) => last),
    empty: fragments.some(({ empty }) => empty),
  }
}

/** How often a part may be written out; what repeats more often is taken for a loop. */
function maxCopies(part: Tree): number {
  const limit = Math.floor(MAX_UNROLLED / Math.max(1, countStates(part)))
  return hasLoop(part) ? Math.min(limit, MAX_COPIES_OF_A_LOOP) : limit
}

/** A repeated part as copies of it, each optional one inside of the one before: `x{1,3}` as `x(x(x)?)?`. */
function writeOut(part: Tree, min: number, max: number): Tree {
  let rest = NOTHING
  for (let copy = max; copy > min; copy--) {
    rest = { kind: 'choice', parts: [{ kind: 'sequence', parts: [part, rest] }, NOTHING] }
  }
  return { kind: 'sequence', parts: [...Array.from({ length: Math.min(min, max) }, () => part), rest] }
}

function countStates(tree: Tree): number {
  if (tree.kind === 'chars') return 1
  if (tree.kind === 'aside') return 0
  if (tree.kind !== 'repeat') return tree.parts.reduce((sum, part) => sum + countStates(part), 0)
  const inner = countStates(tree.part)
  return tree.max > 1 && tree.max <= maxCopies(tree.part) ? inner * tree.max : inner
}

function hasLoop(tree: Tree): boolean {
  if (tree.kind === 'chars' || tree.kind === 'aside') return false
  if (tree.kind !== 'repeat') return tree.parts.some(hasLoop)
  return tree.max > maxCopies(tree.part) || hasLoop(tree.part)
}

/** The character sets of a pattern, compared by the characters out of a sample that they match. */
class CharacterSets {
  readonly #sample: string[]
  readonly #flags: string
  readonly #numbers = new Map<string, number>()
  readonly #members: Set<string>[] = []
  readonly #overlaps = new Map<number, boolean>()

  constructor(source: string, unicode: boolean) {
    this.#flags = unicode ? 'u' : ''
    const escapes = source.matchAll(/\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2}))/gi)
    const named = [...escapes].map(([, a, b, c]) => String.fromCodePoint(Number.parseInt(a ?? b ?? c ?? '', 16)))
    this.#sample = [...new Set([...LATIN, ...OTHERS, ...source, ...named])]
  }

  /** A number for a set: the same for the same source. */
  add(source: string): number {
    const known = this.#numbers.get(source)
    if (known !== undefined) return known
    const number = this.#members.push(this.#membersOf(source)) - 1
    this.#numbers.set(source, number)
    return number
  }

  #membersOf(source: string): Set<string> {
    if (source.length === 1 && source !== '.') return new Set([source])
    const pattern = new RegExp(`^(?:${source})$`, this.#flags)
    return new Set(this.#sample.filter((char) => pattern.test(char)))
  }

  overlap(one: number, other: number): boolean {
    if (one === other) return true
    const key = Math.min(one, other) * MAX_STATES * 2 + Math.max(one, other)
    let overlaps = this.#overlaps.get(key)
    if (overlaps === undefined) {
      const members = this.#members[other]!
      overlaps = [...this.#members[one]!].some((char) => members.has(char))
      this.#overlaps.set(key, overlaps)
    }
    return overlaps
  }
}

const LATIN = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
const OTHERS = 'āŁΩΔяЖאعकあア中한٣Ⅷ\u0301\u2003\u2028\u3000\u200d€–“😀𝒜𠀀'
