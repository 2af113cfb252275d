import { describe, expect, it } from 'vitest'
import { chooseModel } from './choose-model.ts'

const models = ['small-one', 'Large-Two', 'large-three']

describe('a model', () => {
  it('is chosen by the first hint that fits any [SAMP-011, SAMP-035]', () => {
    const hints = [{ name: 'none' }, { name: 'three' }, { name: 'small' }]
    expect(chooseModel({ hints }, models)).toBe('large-three')
  })

  it('is found by a part of its name, in capitals or not, whatever the priorities say [SAMP-012]', () => {
    expect(chooseModel({ hints: [{ name: 'LARGE' }], costPriority: 1, intelligencePriority: 0 }, models)).toBe(
      'Large-Two',
    )
  })

  it('is not chosen without a hint that fits or a priority', () => {
    expect(chooseModel(undefined, models)).toBe(undefined)
    expect(chooseModel({ hints: [{ name: 'other' }] }, models)).toBe(undefined)
    expect(chooseModel({ hints: [{ name: 'small' }] }, [])).toBe(undefined)
  })

  const scored = [
    { name: 'tiny', cost: 0, speed: 1, intelligence: 0.1 },
    { name: 'quick', cost: 0.6, speed: 0.9, intelligence: 0.6 },
    { name: 'wise', cost: 1, speed: 0.1, intelligence: 1 },
    { name: 'wise-lite', cost: 0.3, speed: 0.5, intelligence: 0.8 },
  ]

  it.each([
    [{ costPriority: 1 }, 'tiny'],
    [{ speedPriority: 1 }, 'tiny'],
    [{ intelligencePriority: 1 }, 'wise'],
    [{ intelligencePriority: 0.5, speedPriority: 0.5 }, 'quick'],
    [{ intelligencePriority: 1, costPriority: 0.5 }, 'wise-lite'],
    [{ intelligencePriority: 1, costPriority: 1, speedPriority: 1 }, 'tiny'],
  ])('is chosen by the priorities %j: %s', (preferences, name) => {
    expect(chooseModel(preferences, scored)).toBe(name)
    expect(chooseModel({ ...preferences, hints: [{ name: 'unknown' }] }, scored)).toBe(name)
  })

  it('is chosen by the priorities among those that a hint fits [SAMP-012]', () => {
    const hints = [{ name: 'wise' }]
    expect(chooseModel({ hints, intelligencePriority: 1 }, scored)).toBe('wise')
    expect(chooseModel({ hints, costPriority: 1 }, scored)).toBe('wise-lite')
    expect(chooseModel({ hints, speedPriority: 1 }, scored)).toBe('wise-lite')
    expect(chooseModel({ hints }, scored)).toBe('wise')
  })

  it('is not chosen by priorities of 0, nor by those that are no numbers', () => {
    expect(chooseModel({ costPriority: 0, speedPriority: 0, intelligencePriority: 0 }, scored)).toBe(undefined)
    expect(chooseModel({ costPriority: Number.NaN, speedPriority: '1' as never }, scored)).toBe(undefined)
    expect(chooseModel({ intelligencePriority: 1e9, costPriority: 0.1 }, scored)).toBe('wise')
  })

  it('without scores is as good as any, and the first is taken', () => {
    expect(chooseModel({ speedPriority: 1 }, models)).toBe('small-one')
    expect(chooseModel({ speedPriority: 1 }, ['plain', { name: 'fast', speed: 0.8 }])).toBe('fast')
    expect(chooseModel({ speedPriority: 1 }, ['plain', { name: 'slow', speed: 0.2 }])).toBe('plain')
  })

  it('is not chosen by a hint that says nothing', () => {
    expect(chooseModel({ hints: [{}, { name: '' }, { name: 'two' }] }, models)).toBe('Large-Two')
  })
})
