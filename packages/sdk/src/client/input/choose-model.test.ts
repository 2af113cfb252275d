import { describe, expect, it } from 'vitest'
import { chooseModel } from './choose-model.ts'

const models = ['small-one', 'Large-Two', 'large-three']

describe('chooseModel', () => {
  it('chooses the model named by the first hint that matches one [SAMP-011, SAMP-035]', () => {
    const hints = [{ name: 'none' }, { name: 'three' }, { name: 'small' }]
    expect(chooseModel({ hints }, models)).toBe('large-three')
  })

  it('matches a hint against any part of a model name, case-insensitively and before priorities [SAMP-012]', () => {
    expect(chooseModel({ hints: [{ name: 'LARGE' }], costPriority: 1, intelligencePriority: 0 }, models)).toBe(
      'Large-Two',
    )
  })

  it('chooses no model without a matching hint or a priority', () => {
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
  ])('chooses a model by the priorities %j: %s', (preferences, name) => {
    expect(chooseModel(preferences, scored)).toBe(name)
    expect(chooseModel({ ...preferences, hints: [{ name: 'unknown' }] }, scored)).toBe(name)
  })

  it('chooses by priority among the models that a hint matches [SAMP-012]', () => {
    const hints = [{ name: 'wise' }]
    expect(chooseModel({ hints, intelligencePriority: 1 }, scored)).toBe('wise')
    expect(chooseModel({ hints, costPriority: 1 }, scored)).toBe('wise-lite')
    expect(chooseModel({ hints, speedPriority: 1 }, scored)).toBe('wise-lite')
    expect(chooseModel({ hints }, scored)).toBe('wise')
  })

  it('ignores priorities that are 0 or not numbers', () => {
    expect(chooseModel({ costPriority: 0, speedPriority: 0, intelligencePriority: 0 }, scored)).toBe(undefined)
    expect(chooseModel({ costPriority: Number.NaN, speedPriority: '1' as never }, scored)).toBe(undefined)
    expect(chooseModel({ intelligencePriority: 1e9, costPriority: 0.1 }, scored)).toBe('wise')
  })

  it('chooses the first model when no model has scores', () => {
    expect(chooseModel({ speedPriority: 1 }, models)).toBe('small-one')
    expect(chooseModel({ speedPriority: 1 }, ['plain', { name: 'fast', speed: 0.8 }])).toBe('fast')
    expect(chooseModel({ speedPriority: 1 }, ['plain', { name: 'slow', speed: 0.2 }])).toBe('plain')
  })

  it('ignores an empty hint', () => {
    expect(chooseModel({ hints: [{}, { name: '' }, { name: 'two' }] }, models)).toBe('Large-Two')
  })
})
