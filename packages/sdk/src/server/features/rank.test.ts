import { describe, expect, it } from 'vitest'
import { rankByRelevance } from './completion.ts'

describe('rankByRelevance', () => {
  const values = ['manuscript', 'coffeeScript', 'type-script', 'scriptorium', 'SCRIPT', 'super-crypto-import', 'java']

  it('ranks exact matches first, then prefixes, words, substrings and fuzzy matches [COMP-007]', () => {
    expect(rankByRelevance(values, 'script')).toEqual([
      'SCRIPT',
      'scriptorium',
      'coffeeScript',
      'type-script',
      'manuscript',
      'super-crypto-import',
    ])
  })

  it('keeps the given order within a rank, and all values for an empty query', () => {
    expect(rankByRelevance(values, '')).toEqual(values)
    expect(rankByRelevance(['b1', 'a1', 'b2'], 'b')).toEqual(['b1', 'b2'])
  })

  it('leaves out values that do not match, and does not treat the query as a pattern', () => {
    expect(rankByRelevance(['a.c', 'abc'], '.')).toEqual(['a.c'])
    expect(rankByRelevance(['abc'], 'cba')).toEqual([])
  })
})
