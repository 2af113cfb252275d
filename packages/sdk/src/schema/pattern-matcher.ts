/** Takes steps from a budget. Returns true when the budget is used up. */
export interface Budget {
  spend(steps: number): boolean
}

/** The limits that all patterns of a schema share: the number of states, and the size of the cache. */
export class PatternPool {
  readonly #matchers: Matcher[] = []
  #statesLeft = MAX_STATES
  #remembered = 0

  takeState(): void {
    if (--this.#statesLeft >= 0) return
    throw new RangeError(
      'is too large when its repetitions are written out. Lower the counts, or use maxLength instead.',
    )
  }

  join(matcher: Matcher): void {
    this.#matchers.push(matcher)
  }

  /** Called when a matcher caches more numbers. */
  remember(numbers: number): void {
    this.#remembered += numbers
    if (this.#remembered <= MAX_REMEMBERED) return
    this.#remembered = 0
    for (const matcher of this.#matchers) matcher.forget()
  }
}

/** Adds the states of one part of a pattern in front of the state `next`, and returns the first of them. */
export type Part = (program: Program, next: number) => number

/** The operation of a state. A lookbehind is matched from its end, so `AtStart` there means the end of the text. */
export const Op = {
  Match: 0,
  Set: 1,
  Split: 2,
  AtStart: 3,
  AtEnd: 4,
  Boundary: 5,
  NoBoundary: 6,
  Look: 7,
} as const

/** A pattern, or the content of a lookaround, as the states of a nondeterministic automaton. */
export class Program {
  readonly ops: number[] = []
  readonly next: number[] = []
  /** The second branch of a split, the index of a set, or the index of a lookaround. */
  readonly other: number[] = []
  /** Whether the text is read from its end to its beginning. */
  readonly backward: boolean
  readonly #pool: PatternPool

  constructor(backward: boolean, pool: PatternPool) {
    this.backward = backward
    this.#pool = pool
  }

  /** Adds a whole pattern and returns its first state. */
  close(whole: Part): number {
    return this.add(whole, this.state(Op.Match, 0))
  }

  add(part: Part, next: number): number {
    // Counted here and not per state, because a part without states can be repeated a billion times.
    this.#pool.takeState()
    return part(this, next)
  }

  state(op: number, next: number, other = 0): number {
    this.next.push(next)
    this.other.push(other)
    return this.ops.push(op) - 1
  }

  repeat(part: Part, next: number, min: number, max: number): number {
    let first = next
    if (max === Infinity) {
      const loop = this.state(Op.Split, 0, next)
      const body = this.add(part, loop)
      this.next[loop] = body
      first = min === 0 ? loop : body
    } else {
      // Each optional copy is nested in the previous one: `x{1,3}` is `x(x(x)?)?`.
      for (let copy = min; copy < max; copy++) first = this.state(Op.Split, this.add(part, first), next)
    }
    for (let copy = max === Infinity ? 1 : 0; copy < min; copy++) first = this.add(part, first)
    return first
  }
}

/** A state of the deterministic automaton, which is built while texts are matched. */
interface Node {
  /** The active states of the program. */
  readonly states: readonly number[]
  /** Whether a match ends here. */
  readonly matches: boolean
  /** Whether the rest of the text cannot change the result. */
  readonly isDecided: boolean
  /** Whether a match ends here if the text does. Undefined if unknown, or if it depends on the text. */
  matchesAtEnd: boolean | undefined
  /** The next node for each class of characters. */
  readonly next: (Node | undefined)[]
}

/** The parts that the machines of one pattern share: its character sets and its lookarounds. */
export class Matcher {
  readonly unicode: boolean
  readonly looks: { machine: Machine; negative: boolean }[] = []
  readonly pool: PatternPool
  readonly #machines: Machine[] = []
  readonly #sets = new Map<string, number>()
  #tests: ((char: string) => boolean)[] | undefined
  #testsCost = 0
  /** Characters that are in the same sets form one class. A class is a number above 0. */
  readonly asciiClasses = new Int32Array(128)
  readonly #others = new Map<number, number>()
  readonly #classes = new Map<string, number>()
  readonly #members: Uint8Array[] = [new Uint8Array()]
  #isStale = false

  constructor(unicode: boolean, pool: PatternPool) {
    this.unicode = unicode
    this.pool = pool
    pool.join(this)
  }

  /** Returns the index of a character set, which is written as in a regular expression. */
  set(source: string): number {
    const index = this.#sets.get(source) ?? this.#sets.size
    this.#sets.set(source, index)
    return index
  }

  /** Adds a lookaround and returns its index. */
  look(program: Program, first: number, negative: boolean): number {
    return this.looks.push({ machine: this.#machine(program, first, false), negative }) - 1
  }

  search(program: Program, first: number): { test(text: string, budget: Budget): boolean } {
    const machine = this.#machine(program, first, true)
    return {
      test: (text, budget) => {
        if (this.#isStale) {
          budget.spend(FORGET_COST)
          this.#forgetClasses()
        }
        return machine.test(text, 0, budget)
      },
    }
  }

  forget(): void {
    for (const machine of this.#machines) machine.forget()
    this.#others.clear()
    // The classes are in use until the current text is matched.
    this.#isStale = true
  }

  /** Returns the class of a character that is not among the `asciiClasses`. */
  classOf(code: number, budget: Budget): number {
    return this.#others.get(code) ?? this.#classify(code, budget)
  }

  /** Whether the characters of a class are in a set. */
  has(set: number, charClass: number): boolean {
    return this.#members[charClass]![set] === 1
  }

  #classify(code: number, budget: Budget): number {
    this.#tests ??= this.#compileSets(budget)
    budget.spend(this.#testsCost)
    const char = String.fromCodePoint(code)
    const members = Uint8Array.from(this.#tests, (test) => Number(test(char)))
    const name = members.join('')
    const known = this.#classes.get(name)
    const charClass = known ?? this.#members.push(members) - 1
    if (known === undefined) this.#classes.set(name, charClass)
    this.pool.remember(known === undefined ? members.length : 1)
    if (code < 128) this.asciiClasses[code] = charClass
    else this.#others.set(code, charClass)
    return charClass
  }

  #compileSets(budget: Budget): ((char: string) => boolean)[] {
    this.#testsCost = REGEXP_COST
    return Array.from(this.#sets.keys(), (source) => {
      const literal = /^(?:[^.]|\\\W)$/.test(source) ? source.at(-1) : undefined
      this.#testsCost += literal === undefined ? REGEXP_COST : MISS_COST
      budget.spend(/\\p/i.test(source) ? PROPERTY_SET_COST : SET_COST)
      if (literal !== undefined) return (char: string) => char === literal
      const set = new RegExp(`^(?:${source})$`, this.unicode ? 'u' : '')
      return (char: string) => set.test(char)
    })
  }

  #machine(program: Program, first: number, anywhere: boolean): Machine {
    const machine = new Machine(this, program, first, anywhere)
    this.#machines.push(machine)
    return machine
  }

  #forgetClasses(): void {
    for (const machine of this.#machines) machine.forget()
    this.asciiClasses.fill(0)
    this.#others.clear()
    this.#classes.clear()
    this.#members.length = 1
    this.#isStale = false
  }
}

/**
 * Runs a program over a text. All alternatives are followed at once, so no character is read twice. Each set of states
 * that are active together becomes a node of a deterministic automaton. Nodes are cached, so most characters take one
 * lookup.
 */
class Machine {
  readonly #matcher: Matcher
  readonly #program: Program
  readonly #first: number
  /** Whether a match may begin anywhere, or only where matching starts. */
  readonly #anywhere: boolean
  readonly #nodes = new Map<string, Node>()
  /** The first node when matching starts inside the text, and at its start. */
  #starts: [inside?: Node, atStart?: Node] = []
  // Buffers for one closure over the states. The closure is not reentrant, so one of each is enough.
  readonly #marks: Uint32Array
  #mark = 0
  #states: number[] = []
  #matches = false
  #dependsOnText = false
  #work = 0

  constructor(matcher: Matcher, program: Program, first: number, anywhere: boolean) {
    this.#matcher = matcher
    this.#program = program
    this.#first = first
    this.#anywhere = anywhere
    this.#marks = new Uint32Array(program.ops.length)
  }

  test(text: string, from: number, budget: Budget): boolean {
    if (budget.spend(START_COST)) return false
    const { backward } = this.#program
    const matcher = this.#matcher
    const { asciiClasses } = matcher
    const end = backward ? 0 : text.length
    let at = from
    let node = this.#begin(text, at, budget)
    while (true) {
      // Most characters are ASCII and lead to a cached node. Class 0 has no next node.
      while (!backward && at < end && !node.isDecided) {
        const code = text.charCodeAt(at)
        const next = code < 128 ? node.next[asciiClasses[code]!] : undefined
        if (!next) break
        node = next
        at++
      }
      if (at === end || node.isDecided) break
      let code = text.charCodeAt(backward ? at - 1 : at)
      if (code > 0xd7ff && matcher.unicode) code = backward ? codeBefore(text, at) : text.codePointAt(at)!
      at += (code > 0xffff ? 2 : 1) * (backward ? -1 : 1)
      const charClass = (code < 128 && asciiClasses[code]) || matcher.classOf(code, budget)
      node = node.next[charClass] ?? this.#advance(node, charClass, text, at, budget)
      // Checked on each turn, because cached steps take time as well and the class of a character may be new.
      if (budget.spend(1 + this.#takeWork())) return false
    }
    const matches = node.matches || (at === end && this.#endsIn(node, text, at, budget))
    return !budget.spend(Math.abs(at - from) + this.#takeWork()) && matches
  }

  forget(): void {
    this.#nodes.clear()
    this.#starts = []
  }

  #begin(text: string, at: number, budget: Budget): Node {
    const isStart = at === (this.#program.backward ? text.length : 0)
    const known = this.#starts[Number(isStart)]
    if (known) return known
    this.#open()
    this.#follow(this.#first, isStart, false, text, at, budget)
    const node = this.#share()
    if (!this.#dependsOnText) this.#starts[Number(isStart)] = node
    return node
  }

  #advance(node: Node, charClass: number, text: string, at: number, budget: Budget): Node {
    const { ops, next, other } = this.#program
    this.#open()
    for (const state of node.states) {
      this.#work++
      if (ops[state] === Op.Set && this.#matcher.has(other[state]!, charClass)) {
        this.#follow(next[state]!, false, false, text, at, budget)
      }
    }
    if (this.#anywhere) this.#follow(this.#first, false, false, text, at, budget)
    const following = this.#share()
    if (!this.#dependsOnText) node.next[charClass] = following
    return following
  }

  #endsIn(node: Node, text: string, at: number, budget: Budget): boolean {
    if (node.matchesAtEnd !== undefined) return node.matchesAtEnd
    this.#open()
    const isStart = text.length === 0
    for (const state of node.states) this.#follow(state, isStart, true, text, at, budget)
    // A node can be reached both at the start and elsewhere.
    if (!this.#dependsOnText && !isStart) node.matchesAtEnd = this.#matches
    return this.#matches
  }

  #open(): void {
    this.#mark = (this.#mark + 1) >>> 0
    if (this.#mark === 0) this.#marks.fill(this.#mark++)
    this.#states = []
    this.#matches = false
    this.#dependsOnText = false
  }

  /** Collects the states that can be reached without reading a character. */
  #follow(first: number, isStart: boolean, isEnd: boolean, text: string, at: number, budget: Budget): void {
    const { ops, next, other } = this.#program
    const open = [first]
    for (let state = open.pop(); state !== undefined; state = open.pop()) {
      if (this.#marks[state] === this.#mark) continue
      this.#marks[state] = this.#mark
      this.#work++
      const op = ops[state]!
      if (op === Op.Match) this.#matches = true
      else if (op === Op.Split) open.push(other[state]!, next[state]!)
      else if (op === Op.Set || (op === Op.AtEnd && !isEnd)) this.#states.push(state)
      else if (op === Op.AtEnd || (op === Op.AtStart ? isStart : this.#holds(state, text, at, budget))) {
        open.push(next[state]!)
      }
    }
  }

  #holds(state: number, text: string, at: number, budget: Budget): boolean {
    this.#dependsOnText = true
    const op = this.#program.ops[state]
    if (op === Op.Look) {
      const { machine, negative } = this.#matcher.looks[this.#program.other[state]!]!
      return machine.test(text, at, budget) !== negative
    }
    return (isWord(text.charCodeAt(at - 1)) !== isWord(text.charCodeAt(at))) === (op === Op.Boundary)
  }

  /** Returns the node for the collected states. */
  #share(): Node {
    const states = this.#matches ? [] : this.#states
    const key = this.#matches ? 'match' : states.join()
    const known = this.#nodes.get(key)
    if (known) return known
    this.#work += NODE_SIZE
    this.#matcher.pool.remember(states.length + NODE_SIZE)
    // Without states, a search continues if the text decides whether the pattern can begin at a position.
    const isDecided = this.#matches || (states.length === 0 && !(this.#anywhere && this.#dependsOnText))
    const node: Node = { states, matches: this.#matches, isDecided, matchesAtEnd: undefined, next: [] }
    this.#nodes.set(key, node)
    return node
  }

  #takeWork(): number {
    const work = this.#work * MISS_COST
    this.#work = 0
    return work
  }
}

/** The cost in steps of one state when its node is not cached. */
const MISS_COST = 4
/** The cost in steps of starting on a text. */
const START_COST = 2
/** The cost in steps of testing one character with one regular expression. */
const REGEXP_COST = 20
/** The cost in steps of compiling one character set, when the first character is looked up in it. */
const SET_COST = 100
/** The same for a set with a Unicode property such as `\p{L}`. */
const PROPERTY_SET_COST = 4_000
/** The cost in steps of clearing the cache of a pattern. */
const FORGET_COST = 100
/** The maximum number of states of all patterns of a schema. */
const MAX_STATES = 200_000
/** The maximum number of cached numbers of all patterns of a schema: of their nodes, classes and characters. */
const MAX_REMEMBERED = 50_000
/** The memory and work that a node takes in addition to its states. */
const NODE_SIZE = 16

/** Returns the code point that ends before an index. */
function codeBefore(text: string, at: number): number {
  const pair = at > 1 ? text.codePointAt(at - 2)! : 0
  return pair > 0xffff ? pair : text.charCodeAt(at - 1)
}

function isWord(code: number): boolean {
  return (code >= 48 && code <= 57) || (code >= 65 && code <= 90) || code === 95 || (code >= 97 && code <= 122)
}
