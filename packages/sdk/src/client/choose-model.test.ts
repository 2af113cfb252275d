import { describe, expect, it } from 'vitest'
import { chooseModel } from './choose-model.ts'

const models = ['small-one', 'Large-Two', 'large-three']

describe('a model', () => {
  it('is chosen by the first hint that fits any [SAMP-011]', () => {
    const hints = [{ name: 'none' }, { name: 'three' }, { name: 'small' }]
    expect(chooseModel({ hints }, models)).toBe('large-three')
  })

  it('is found by a part of its name, in capitals or not, whatever the priorities say [SAMP-012]', () => {
    expect(chooseModel({ hints: [{ name: 'LARGE' }], costPriority: 1, intelligencePriority: 0 }, models)).toBe(
      'Large-Two',
    )
  })

  it('is not chosen without a hint that fits', () => {
    expect(chooseModel(undefined, models)).toBe(undefined)
    expect(chooseModel({ speedPriority: 1 }, models)).toBe(undefined)
    expect(chooseModel({ hints: [{ name: 'other' }] }, models)).toBe(undefined)
    expect(chooseModel({ hints: [{ name: 'small' }] }, [])).toBe(undefined)
  })

  it('is not chosen by a hint that says nothing', () => {
    expect(chooseModel({ hints: [{}, { name: '' }, { name: 'two' }] }, models)).toBe('Large-Two')
  })
})
