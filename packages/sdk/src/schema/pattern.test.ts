import { describe, expect, test } from 'vitest'
import { compilePattern } from './pattern.ts'
import { PatternPool } from './pattern-matcher.ts'

const unlimited = { spend: () => false }

describe('patterns match like native regular expressions', () => {
  test.each<[pattern: string, texts: string[]]>([
    ['^[a-z0-9]+(-[a-z0-9]+)*$', ['a-slug-1', '-a', 'a-', '']],
    ["^\\p{L}+(?:[ '-]\\p{L}+)*$", ["Zoë O'Neil", 'Zoë  O', '']],
    ['^(?:[^"\\\\]|\\\\.)*$', ['a\\"b', 'a"b']],
    ['^(?:[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?\\.)+[a-z]{2,}$', ['www.example.com', 'www.-a.com', 'a.b']],
    ['^(\\d{1,3}\\.){3}\\d{1,3}$', ['127.0.0.1', '1.2.3', '1.2.3.4.5']],
    [
      "^(?!\\.)(?!.*\\.\\.)([\\w'+\\-\\.]*)[\\w+-]@([a-z\\d][a-z\\d\\-]*\\.)+[a-z]{2,}$",
      ['a.b@c.de', '.a@c.de', 'a..b@c.de'],
    ],
    ['^(?=.*\\d)(?=.*[a-z]).{8,}$', ['password1', 'password', 'pass1']],
    ['^(?:(?!--).)*$', ['a-b', 'a--b']],
    ['^((?!.*\\.\\..*).)*$', ['a.b', 'a..b']],
    ['(?<=\\$)\\d+(?<!00)$', ['$15', '$100', '15']],
    ['(?<!^a)b(?<=^.b)', ['ab', 'cb', 'b']],
    ['\\bfoo\\b', ['a foo b', 'food', 'foo']],
    ['\\Boo\\B', ['food', 'oo', 'foo']],
    ['^[\\w\\-\\@]+$', ['a-b@c', 'a b']],
    ['^.$', ['😀', '\ud83d', '\ude00', 'ab', '\n', '\u2028']],
    ['^\\ud83d\\ude00$', ['😀', '\ud83d']],
    ['(?<=^.)b', ['😀b', 'ab', 'xab']],
    ['^[\\u{1f600}-\\u{1f610}]$', ['😀', '😐', '😑']],
    ['^\\p{Script=Thai}\\P{Lu}$', ['กa', 'กA', 'aa']],
    ['^\\u0061\\x62\\cJ\\0$', ['ab\n\0', 'ab\n']],
    ['^\\07\\18\\ca\\c1\\C\\-{a{,2}]$', ['\x07\x018\x01\\c1C-{a{,2}]', 'x']],
    ['^(?=a)*b$', ['b', 'ab']],
    ['^[]|[^]$', ['', 'a', 'ab']],
    ['^(?:)*(?:a|)+$', ['', 'aaa', 'b']],
    ['(?:^a|b$)+', ['ab', 'ba', 'cb', 'c']],
    ['$^', ['', 'a']],
    ['(?<name>a)b', ['ab', 'b']],
    ['(?<year>\\d{4})-\\k', ['2024-k']],
  ])('matches like RegExp: %s', (pattern, texts) => {
    const native = toNative(pattern)
    if (!native) return expect(() => compile(pattern)).toThrow('not a valid regular expression')
    const own = compile(pattern)
    for (const text of texts) expect([text, own.test(text, unlimited)]).toEqual([text, native.test(text)])
  })

  test('matches like RegExp for random patterns and texts', () => {
    const random = createRandom(20260728)
    const counts = { patterns: 0, unicode: 0, plain: 0, matches: 0, misses: 0 }
    while (counts.patterns < 6_000) {
      const pattern = randomPattern(random, 3)
      const native = toNative(pattern)
      if (!native) continue
      const own = compile(pattern)
      counts.patterns++
      counts[native.unicode ? 'unicode' : 'plain']++
      for (let round = 0; round < 15; round++) {
        const text = randomText(random)
        const expected = matches(native, text)
        counts[expected ? 'matches' : 'misses']++
        if (own.test(text, unlimited) !== expected)
          expect.fail(`${native} must ${expected ? '' : 'not '}match ${JSON.stringify(text)}`)
      }
    }
    expect(Math.min(counts.unicode, counts.plain)).toBeGreaterThan(300)
    expect(Math.min(counts.matches, counts.misses)).toBeGreaterThan(20_000)
  })
})

describe('the cost of a pattern', () => {
  const hostile: [pattern: string, prefix: string, repeated: string, suffix: string][] = [
    ['\\d+$', '', '1', 'x'],
    ['^\\s*[\\w ]+\\s*[\\w ]*\\s*$', '', ' ', '!'],
    [`^${'(?:a|a)'.repeat(30)}b$`, '', 'a', ''],
    ['^(?:\\p{Script=Thai}|\\p{Script=Thai})*$', '', 'ก', 'x'],
    ['(a+)+$', '', 'a', 'b'],
    ['^(\\w+\\s?)*$', '', 'a', '!'],
    ['(a|a)*b', '', 'a', ''],
    ['(.*,)*x', '', ',', ''],
    ['(a?b?)*c', '', 'ab', ''],
    ['(a{1,30}){1,30}b', '', 'a', ''],
    ['(a+){50}b', '', 'a', ''],
    [`${'a?'.repeat(100)}${'a'.repeat(100)}b`, '', 'a', ''],
    ['(x+x+)+y', '', 'x', ''],
    ['^(.|\\n|\\s)*$', '', ' \n', '\u2028'],
    ['^(?!.*(a|aa)+$).*$', '', 'a', 'b'],
  ]

  test.each(hostile)('grows linearly with the text for %s [JSON-014]', (pattern, prefix, repeated, suffix) => {
    const [short, long] = [5_000, 50_000].map((times) => stepsOf(pattern, prefix + repeated.repeat(times) + suffix))
    expect(short).toBeGreaterThan(0)
    expect(long! / short!).toBeLessThan(11)
    expect(long).toBeLessThan(10_000_000)
  })

  test('stops when the step budget is used up, also inside lookarounds [JSON-014]', () => {
    const text = 'ab'.repeat(50_000)
    for (const pattern of [
      '(?:a|b)*a(?:a|b){200}c',
      '^(?:(?!.*c)[^])*$',
      '(?<=^(?:a|b)*)c',
      '^(?:a(?=b+)|b(?<=.*a.*)){3,}c',
    ]) {
      const budget = createBudget(10_000)
      expect(compile(pattern).test(text, budget)).toBe(false)
      expect(budget.spent).toBeGreaterThan(10_000)
      expect(budget.spent).toBeLessThan(10_000 + 2 * text.length)
    }
  })

  test('stops when looking up non-ASCII characters uses up the budget [JSON-014]', () => {
    const sets = Array.from({ length: 200 }, (_, index) => `[a${String.fromCharCode(0x100 + index)}]`)
    const own = compile(sets.join(''))
    const budget = createBudget(1_000_000)
    expect(own.test(ideographs(100_000), budget)).toBe(false)
    expect(budget.spent).toBeGreaterThan(1_000_000)
    expect(budget.spent).toBeLessThan(1_020_000)
    expect(budget.turnsAfterEnd).toBeLessThan(3)
  })

  test('stops when the budget is used up, also when the remaining states are cached [JSON-014]', () => {
    const own = compile('^[^@]+@')
    const text = 'ā'.repeat(100_000)
    own.test(text, unlimited)
    const budget = createBudget(10_000)
    expect(own.test(text, budget)).toBe(false)
    expect(budget.spent).toBeLessThan(10_100)
  })

  test('charges at least 20 steps for each regular expression that tests a new character [JSON-014]', () => {
    const sets = Array.from({ length: 50 }, (_, index) => `[a${String.fromCharCode(0x100 + index)}]`)
    const own = compile(sets.join(''))
    own.test(ideographs(1), unlimited)
    const budget = createBudget(Number.POSITIVE_INFINITY)
    own.test(ideographs(1_001), budget)
    expect(budget.spent).toBeGreaterThan(50 * 20 * 1_000)
  })

  test('charges more than 1,000 steps for the first use of a Unicode property [JSON-014]', () => {
    const pattern = Array.from({ length: 50 }, (_, index) => `[\\p{L}${String.fromCharCode(0x2200 + index)}]`).join('')
    expect(stepsOf(`${pattern}@`, '例')).toBeGreaterThan(50 * 1_000)
  })

  test('stays small for long texts with thousands of different characters', () => {
    const own = compile('^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$')
    const first = createBudget(1_000_000)
    expect(own.test(`${ideographs(10_000)}@例.例`, first)).toBe(true)
    expect(first.spent).toBeLessThan(1_000_000)
    const second = createBudget(1_000_000)
    expect(own.test(`${ideographs(10_000).repeat(10)}@例.例`, second)).toBe(true)
    expect(second.spent).toBeLessThan(300_000)
  })

  test('does not depend on earlier texts', () => {
    const own = compile('(?:a|b)*a(?:a|b){14}$')
    const random = createRandom(7)
    for (let round = 0; round < 300; round++) {
      const text = Array.from({ length: 100 }, () => (random() < 0.5 ? 'a' : 'b')).join('')
      const budget = createBudget(Number.POSITIVE_INFINITY)
      expect(own.test(text, budget)).toBe(text.at(-15) === 'a')
      expect(budget.spent).toBeLessThan(100 * 100 * 4)
    }
  })

  test('stays small when the pattern was compiled before', () => {
    const own = compile('^[A-Za-z0-9_-]{1,64}$')
    own.test('a'.repeat(64), unlimited)
    const budget = createBudget(Number.POSITIVE_INFINITY)
    expect(own.test('x'.repeat(64), budget)).toBe(true)
    expect(budget.spent).toBeLessThan(200)
  })

  function stepsOf(pattern: string, text: string): number {
    const budget = createBudget(Number.POSITIVE_INFINITY)
    const own = compile(pattern)
    own.test(text, budget)
    return budget.spent
  }
})

describe('refused patterns', () => {
  test.each([
    ['(', 'is not a valid regular expression'],
    ['^(["\']).*\\1$', 'has a backreference'],
    ['(?<q>a)\\k<q>', 'has a backreference'],
    ['((a{100}){100}){100}', 'is too large when its repetitions are written out'],
    ['(?:){1000000000}', 'is too large when its repetitions are written out'],
    [`${'('.repeat(101)}${')'.repeat(101)}`, 'nests groups deeper than 100 levels'],
    ['a'.repeat(1_001), 'has more than 1000 characters'],
  ])('refuses the pattern %s', (pattern, message) => {
    expect(() => compile(pattern)).toThrow(message)
  })

  test('refuses patterns of one schema that have too many states together', () => {
    const pool = new PatternPool()
    const many = () => {
      for (let index = 0; index < 30; index++) compilePattern(`^a{9999}b${index}$`, 1_000, pool, '')
    }
    expect(many).toThrow('is too large')
  })
})

function compile(pattern: string) {
  return compilePattern(pattern, 1_000, new PatternPool(), '')
}

function toNative(pattern: string): RegExp | undefined {
  for (const flags of ['u', '']) {
    try {
      return new RegExp(pattern, flags)
    } catch {}
  }
  return undefined
}

/**
 * Whether the text contains a match that begins at a code point, as ECMA-262 specifies (RegExpBuiltinExec). V8 also
 * tries to match between the two halves of a surrogate pair.
 */
function matches({ source, unicode }: RegExp, text: string): boolean {
  const sticky = new RegExp(source, unicode ? 'uy' : 'y')
  for (let at = 0; at <= text.length; at += unicode && text.codePointAt(at)! > 0xffff ? 2 : 1) {
    sticky.lastIndex = at
    if (sticky.test(text)) return true
  }
  return false
}

/** A text of different ideographs, up to 20,000 of them. */
function ideographs(count: number): string {
  return Array.from({ length: count }, (_, index) => String.fromCharCode(0x4e00 + (index % 20_000))).join('')
}

function createBudget(steps: number) {
  return {
    spent: 0,
    /** How often steps were taken after the budget was used up. */
    turnsAfterEnd: 0,
    spend(taken: number) {
      if (this.spent > steps) this.turnsAfterEnd++
      this.spent += taken
      return this.spent > steps
    },
  }
}

type Random = () => number

/** A pseudo-random number generator (xorshift), so that a failure can be reproduced. */
function createRandom(seed: number): Random {
  let state = seed
  return () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
}

const ATOMS = [
  ...[
    'a',
    'b',
    '-',
    '1',
    ' ',
    'é',
    '😀',
    '.',
    '.',
    '\\d',
    '\\w',
    '\\W',
    '\\s',
    '\\S',
    '\\n',
    '\\x61',
    '\\u0062',
    '\\cA',
  ],
  ...[
    '[ab]',
    '[^a]',
    '[a-c1]',
    '[^\\w]',
    '[\\s\\S]',
    '[^]',
    '[]',
    '[\\]b]',
    '[😀a]',
    '[\\ud83d\\ude00]',
    '\\ud83d',
    '\\ud83d\\ude00',
    '\\ude00',
  ],
  ...[
    '\\p{L}',
    '\\P{L}',
    '\\u{1f600}',
    '^',
    '$',
    '\\b',
    '\\B',
    '\\-',
    '{',
    '}',
    ']',
    '\\07',
    '\\8',
    '\\_',
    '\\c',
    'a{,2}',
    '[\\b]',
    '\\0',
  ],
]
const QUANTIFIERS = ['*', '+', '?', '*?', '{2}', '{1,}', '{0,2}', '{1,3}?', '{0}']
const OPENERS = ['(', '(?:', '(?:', '(?=', '(?!', '(?<=', '(?<!']

function randomPattern(random: Random, depth: number): string {
  const alternatives = Array.from({ length: random() < 0.25 ? 2 : 1 }, () =>
    Array.from({ length: Math.floor(random() * 4) }, () => {
      const isGroup = depth > 0 && random() < 0.35
      const atom = isGroup ? `${choose(random, OPENERS)}${randomPattern(random, depth - 1)})` : choose(random, ATOMS)
      return random() < 0.3 ? atom + choose(random, QUANTIFIERS) : atom
    }).join(''),
  )
  return alternatives.join('|')
}

const CHARACTERS = [
  'a',
  'b',
  'c',
  '1',
  '-',
  ' ',
  '\n',
  'é',
  '😀',
  '\ud83d',
  '\ude00',
  '{',
  ']',
  '\x07',
  '8',
  '_',
  '\\',
  '\0',
  '\x01',
  '\x08',
]

function randomText(random: Random): string {
  return Array.from({ length: Math.floor(random() * 7) }, () =>
    random() < 0.6 ? choose(random, CHARACTERS.slice(0, 4)) : choose(random, CHARACTERS),
  ).join('')
}

function choose<T>(random: Random, items: readonly T[]): T {
  return items[Math.floor(random() * items.length)]!
}
