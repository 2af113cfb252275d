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
  // Only a group that repeats can be ambiguous.
  if (/\)(?:[*+]|\{\d)/.test(source)) new Automaton(source, pattern.flags, at).refuseAmbiguity()
  return pattern
}

function toRegExp(source: string, at: string): RegExp {
  // Old patterns escape characters that need none, such as `\-`, which the u flag forbids.
  for (const flags of ['u', '']) {
    try {
      return new RegExp(source, flags)
    } catch {}
  }
  throw new SchemaError(`The pattern ${show(source)} is no regular expression`, at)
}

/** The states a part of the pattern begins and ends in, and whether it matches the empty text. */
interface Fragment {
  first: number[]
  last: number[]
  empty: boolean
}

const NOTHING: Fragment = { first: [], last: [], empty: true }
const MAX_GROUPS_DEEP = 100
const MAX_UNROLLED = 200
const MAX_COPIES_OF_A_LOOP = 8
const MAX_WORK = 100_000

/**
 * The pattern as an automaton with one state for each character set in it (Glushkov's construction). A pattern can
 * take exponential time exactly if, inside of a loop, two different paths lead from a state back to it over the same
 * text (A. Weber and H. Seidl, "On the degree of ambiguity of finite automata", 1991).
 */
class Automaton {
  readonly #source: string
  readonly #flags: string
  readonly #at: string
  readonly #chars: RegExp
  readonly #sample: string[]
  readonly #charsets = new Map<string, bigint>()
  /** For each state: what may follow it, the characters it matches, and its outermost loop (0 outside of all). */
  readonly #follow: Set<number>[] = []
  readonly #charset: bigint[] = []
  readonly #loop: number[] = []
  /** The states inside of lookarounds. */
  readonly #aside = new Set<number>()
  #loops = 0
  #index = 0
  #work = 0

  constructor(source: string, flags: string, at: string) {
    this.#source = source
    this.#flags = flags
    this.#at = at
    this.#chars = new RegExp(`\\[(?:\\\\.|[^\\]\\\\])*\\]|${flags && '\\\\[pu]\\{[^}]*\\}|'}${CHARS}`, `${flags}isy`)
    const escapes = source.matchAll(/\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2}))/gi)
    const named = [...escapes].map(([, a, b, c]) => String.fromCodePoint(Number.parseInt(a ?? b ?? c!, 16)))
    this.#sample = [...new Set([...LATIN, ...OTHERS, ...source, ...named])]
  }

  /** All states of an outermost loop reach each other, so any two paths in it that part and meet again will do. */
  refuseAmbiguity(): void {
    this.#alternatives(0)
    const size = this.#follow.length
    const pairs = new Set(this.#follow.map((_, state) => state * size + state).filter((_, state) => this.#loop[state]))
    for (const pair of pairs) {
      const [one, other] = [Math.floor(pair / size), pair % size]
      for (const a of this.#follow[one]!) {
        for (const b of this.#follow[other]!) {
          this.#spend(1)
          const inside = this.#loop[a] === this.#loop[one] && this.#loop[b] === this.#loop[other]
          if (!inside || !(this.#charset[a]! & this.#charset[b]!)) continue
          if (a === b && one !== other) this.#refuse(AMBIGUOUS)
          pairs.add(a * size + b)
        }
      }
    }
  }

  #alternatives(depth: number): Fragment {
    if (depth > MAX_GROUPS_DEEP) this.#refuse(TOO_COMPLEX)
    const parts = [this.#sequence(depth)]
    while (this.#accept(/\|/y)) parts.push(this.#sequence(depth))
    return {
      first: parts.flatMap(({ first }) => first),
      last: parts.flatMap(({ last }) => last),
      empty: parts.some(({ empty }) => empty),
    }
  }

  #sequence(depth: number): Fragment {
    let whole = NOTHING
    while (this.#index < this.#source.length && !/[|)]/.test(this.#source[this.#index]!)) {
      whole = this.#join(whole, this.#term(depth))
    }
    return whole
  }

  #term(depth: number): Fragment {
    const [start, state, loops] = [this.#index, this.#follow.length, this.#loops]
    const part = this.#atom(depth)
    const quantifier = this.#accept(/(?:([*+?])|\{(\d+)(,?)(\d*)\})\??/y)
    if (!quantifier) return part
    const [, sign, least, comma, most] = quantifier
    const min = sign ? Number(sign === '+') : Number(least)
    const max = sign ? (sign === '?' ? 1 : Number.POSITIVE_INFINITY) : Number(most || (comma ? Infinity : least))
    const size = Math.max(1, this.#follow.length - state)
    if (max * size > MAX_UNROLLED || (max > MAX_COPIES_OF_A_LOOP && this.#loops > loops)) {
      return this.#repeat(part, state, min === 0)
    }
    // Few copies are written out, each optional one inside of the one before: `x{1,3}` as `x(x(x)?)?`.
    const end = this.#index
    const copies = Array.from({ length: max }, (_, copy) => {
      if (copy === 0) return part
      this.#index = start
      return this.#atom(depth)
    })
    this.#index = end
    return copies.reduceRight((rest, copy, index) => {
      const joined = this.#join(copy, rest)
      return { ...joined, empty: joined.empty || index >= min }
    }, NOTHING)
  }

  #atom(depth: number): Fragment {
    this.#spend(1)
    if (this.#accept(/\^|\$|\\b/iy)) return NOTHING
    const group = this.#accept(/\((\?<?[=!])?(?:\?(?:<[^>]*>|[\w-]*:))?/y)
    const state = this.#follow.length
    if (group) {
      const inside = this.#alternatives(depth + 1)
      this.#accept(/\)/y)
      if (!group[1]) return inside
      // A lookaround takes no characters, and the loops around it do not lead through it.
      for (let inner = state; inner < this.#follow.length; inner++) this.#aside.add(inner)
      return NOTHING
    }
    // What a back reference repeats is unknown here: anything, or nothing.
    if (this.#accept(/\\(?:[1-9]\d*|k<[^>]*>)/y)) return this.#repeat(this.#state('[^]'), state, true)
    return this.#state(this.#accept(this.#chars)![0])
  }

  #state(chars: string): Fragment {
    let charset = this.#charsets.get(chars)
    if (charset === undefined) {
      const pattern = new RegExp(`^(?:${chars})$`, this.#flags)
      charset = BigInt(`0b${this.#sample.map((char) => Number(pattern.test(char))).join('')}`)
      this.#charsets.set(chars, charset)
    }
    this.#charset.push(charset)
    this.#loop.push(0)
    const states = [this.#follow.push(new Set()) - 1]
    return { first: states, last: states, empty: false }
  }

  /** Makes a loop of a part whose states begin with the given one. */
  #repeat(part: Fragment, state: number, empty: boolean): Fragment {
    this.#loops++
    for (let inner = state; inner < this.#follow.length; inner++) {
      if (!this.#aside.has(inner)) this.#loop[inner] = this.#loops
    }
    this.#connect(part.last, part.first)
    return { ...part, empty: part.empty || empty }
  }

  #join(left: Fragment, right: Fragment): Fragment {
    this.#connect(left.last, right.first)
    return {
      first: left.empty ? [...left.first, ...right.first] : left.first,
      last: right.empty ? [...left.last, ...right.last] : right.last,
      empty: left.empty && right.empty,
    }
  }

  #connect(from: number[], to: number[]): void {
    this.#spend(from.length * to.length)
    for (const state of from) {
      for (const next of to) {
        // Two ways to take the same step, which only loops inside of loops have.
        if (this.#follow[state]!.has(next)) this.#refuse(AMBIGUOUS)
        this.#follow[state]!.add(next)
      }
    }
  }

  #accept(token: RegExp): RegExpExecArray | null {
    token.lastIndex = this.#index
    const match = token.exec(this.#source)
    if (match) this.#index += match[0].length
    return match
  }

  #spend(work: number): void {
    this.#work += work
    if (this.#work > MAX_WORK) this.#refuse(TOO_COMPLEX)
  }

  #refuse(reason: string): never {
    throw new SchemaError(
      `The pattern ${show(this.#source)} ${reason}; let each repeated part match in one way only`,
      this.#at,
    )
  }
}

const AMBIGUOUS = 'can take exponential time: a repeated part matches the same text in two ways'
const TOO_COMPLEX = 'is too complex to tell whether it can take exponential time'

const CHARS = '\\\\u[\\da-f]{4}|\\\\x[\\da-f]{2}|\\\\c[a-z]|\\\\.|.'
const LATIN = Array.from({ length: 256 }, (_, code) => String.fromCharCode(code))
const OTHERS = 'āŁΩΔяЖאعकあア中한٣Ⅷ\u0301\u2003\u2028\u3000\u200d€–“😀𝒜𠀀'
