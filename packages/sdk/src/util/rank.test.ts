import { describe, expect, it } from 'vitest'
import { rankByRelevance } from './rank.ts'

describe('rankByRelevance', () => {
  const values = ['manuscript', 'coffeeScript', 'type-script', 'scriptorium', 'SCRIPT', 'super-crypto-import', 'java']

  it('puts equal values first, then prefixes, words, parts and fuzzy matches [COMP-007]', () => {
    expect(rankByRelevance(values, 'script')).toEqual([
      'SCRIPT',
      'scriptorium',
      'coffeeScript',
      'type-script',
      'manuscript',
      'super-crypto-import',
    ])
  })

  it('keeps the given order within a group, and everything when nothing was typed', () => {
    expect(rankByRelevance(values, '')).toEqual(values)
    expect(rankByRelevance(['b1', 'a1', 'b2'], 'b')).toEqual(['b1', 'b2'])
  })

  it('leaves out what does not match, and does not take what was typed for a pattern', () => {
    expect(rankByRelevance(['a.c', 'abc'], '.')).toEqual(['a.c'])
    expect(rankByRelevance(['abc'], 'cba')).toEqual([])
  })
})
