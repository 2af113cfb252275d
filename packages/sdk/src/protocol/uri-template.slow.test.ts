import { describe, expect, it } from 'vitest'
import { UriTemplate } from './uri-template.ts'

describe('matching a URI template', () => {
  // Backtracking would exceed the test timeout by far, so it is enough that these tests finish.
  it.each([
    '{v}',
    '{+v}',
    '{v*}',
    '{+v*}',
    '{/v*}',
    '{.v*}',
    '{#v*}',
    '{v:9999}',
    '{+v:50}',
    '{;v*}',
    '{?v*}',
    '{&v*}',
  ])('terminates when %s is repeated a hundred times against 10,000 hostile characters [RES-014]', (expression) => {
    const many = Array.from({ length: 99 }, (_, index) => expression.replace('v', `v${index}`))
    for (const joint of ['', 'a']) {
      // The first template can only fail at its end, after every choice before it; the second only at its start.
      const failsLast = new UriTemplate(`${many.join(joint)}{+x}!`)
      const failsFirst = new UriTemplate(`{x:1}!${many.join(joint)}`)
      for (const piece of ['a', '/a', ',a', '.a#', '?v0=a&v0', '%61']) {
        const uri = piece.repeat(Math.floor(10_000 / piece.length))
        expect(failsLast.match(uri)).toBeUndefined()
        expect(failsFirst.match(uri)).toBeUndefined()
      }
    }
  })

  it('agrees with an exhaustive search for the leftmost-shortest match [RES-014]', () => {
    const random = createRandom(1)
    let matches = 0
    for (let round = 0; round < 5000; round++) {
      const parts = Array.from({ length: 1 + random(5) }, (_, index) =>
        random(2)
          ? ['a', 'b', 'ab', 'aa', '/'][random(5)]!
          : ['{v#}', '{+v#}', '{v#:2}', '{/v#}'][random(4)]!.replace('#', `${index}`),
      )
      const uri = Array.from({ length: random(9) }, () => 'aab/'[random(4)]).join('')
      const expected = searchSplit(parts, uri)
      if (expected) matches++
      expect(plainMatch(parts.join(''), uri), `${parts.join('')} on ${uri}`).toEqual(expected)
    }
    expect(matches).toBeGreaterThan(300)
  })
})

/** Returns the match as a plain object, so that it can be compared with literals. */
function plainMatch(template: string, uri: string) {
  const result = new UriTemplate(template).match(uri)
  return result && Object.fromEntries(Object.entries(result))
}

/** A small deterministic generator: random(n) returns an integer below n. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

/** Finds the leftmost-shortest match by exhaustive search, which is fast enough for a few characters. */
function searchSplit(parts: string[], uri: string): Record<string, string> | undefined {
  const [part, ...others] = parts
  if (part === undefined) return uri === '' ? {} : undefined
  const [, operator, name, max = '99'] = /^\{([+/]?)(\w+):?(\d+)?\}$/.exec(part) ?? []
  if (name === undefined) return uri.startsWith(part) ? searchSplit(others, uri.slice(part.length)) : undefined
  const start = operator === '/' ? 1 : 0
  if (start && uri[0] !== '/') return undefined
  for (let end = start + 1; end <= Math.min(uri.length, start + Number(max)); end++) {
    const value = uri.slice(start, end)
    if (operator !== '+' && value.includes('/')) return undefined
    const found = searchSplit(others, uri.slice(end))
    if (found) return { [name]: value, ...found }
  }
  return undefined
}
