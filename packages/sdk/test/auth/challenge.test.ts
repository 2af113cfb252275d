import { describe, expect, it } from 'vitest'
import { parseChallenges } from '../../src/auth/client/challenge.ts'

describe('parseChallenges', () => {
  it.each([
    ['Bearer', [['bearer', {}]]],
    ['bearer realm=mcp', [['bearer', { realm: 'mcp' }]]],
    ['Bearer realm="a, b=\\"c\\"", scope = "x y"', [['bearer', { realm: 'a, b="c"', scope: 'x y' }]]],
    ['Bearer realm="", error="invalid_token"', [['bearer', { realm: '', error: 'invalid_token' }]]],
    [
      'Negotiate oRQw/E+A==, Bearer a=b',
      [
        ['negotiate', {}],
        ['bearer', { a: 'b' }],
      ],
    ],
    [
      'Basic realm="x", , ,DPoP algs="ES256"',
      [
        ['basic', { realm: 'x' }],
        ['dpop', { algs: 'ES256' }],
      ],
    ],
    [
      'Basic, Bearer',
      [
        ['basic', {}],
        ['bearer', {}],
      ],
    ],
    ['Bearer\trealm=mcp\t,\tscope\t=\t"x y"', [['bearer', { realm: 'mcp', scope: 'x y' }]]],
    ['Bearer A=1, a=2', [['bearer', { a: '2' }]]],
    ['Bearer __proto__=x', [['bearer', JSON.parse('{"__proto__":"x"}')]]],
    ['Bearer a="1", b="2', [['bearer', { a: '1' }]]],
    ['Bearer a="1\\', [['bearer', {}]]],
    ['Bearer a="1", "b', [['bearer', { a: '1' }]]],
    ['Bearer a=, b=2', [['bearer', { b: '2' }]]],
    ['Bearer; a=1', []],
    ['a=1, Bearer b=2', []],
    ['', []],
  ] as [string, [string, object][]][])('parses %j [AUTH-032]', (header, expected) => {
    const found = parseChallenges(header).map(({ scheme, params }) => [scheme, Object.entries(params)])
    expect(found).toEqual(expected.map(([scheme, params]) => [scheme, Object.entries(params)]))
  })

  it.each([
    ['blanks', ' '],
    ['commas', ', '],
    ['schemes', 'a '],
    ['letters', 'a'],
    ['escapes', '\\"'],
    ['equals signs', '='],
    ['tokens with equals signs', 'Negotiate a= '],
    ['parameters', 'a="b", '],
    ['open quotes', 'a="'],
  ])('parses %s in linear time', (_, unit) => {
    const starts = ['', 'Bearer ', 'Bearer a', 'Bearer a="']
    const works = starts.map(
      (start) => [readsFor(start + unit.repeat(100)), readsFor(start + unit.repeat(1_000))] as const,
    )
    for (const [few, many] of works) expect(many).toBeLessThanOrEqual(12 * few + 100)
    expect(Math.max(...works.map(([few]) => few))).toBeGreaterThanOrEqual(100)
  })
})

/** How many characters are looked at, each time counted anew. */
function readsFor(text: string): number {
  let reads = 0
  const counted = new Proxy({} as Record<string, unknown>, {
    get(_, name) {
      if (name === 'length') return text.length
      if (name === 'slice') return (from: number, to: number) => text.slice(from, to)
      reads++
      return text[Number(name)]
    },
  })
  parseChallenges({ slice: () => counted } as unknown as string)
  return reads
}
