import { describe, expect, it } from 'vitest'
import { getDisplayName, hintsOf } from './tool-display.ts'

describe('a tool in front of people', () => {
  it('is called by its title, else by that of its annotations, else by its name [TOOL-013]', () => {
    expect(getDisplayName({ name: 'a', title: 'A', annotations: { title: 'B' } })).toBe('A')
    expect(getDisplayName({ name: 'a', annotations: { title: 'B' } })).toBe('B')
    expect(getDisplayName({ name: 'a' })).toBe('a')
  })

  it('is taken for what its hints say, and for the worse where it says nothing [TOOL-011]', () => {
    const silent = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }
    expect(hintsOf({})).toEqual(silent)
    expect(hintsOf({ annotations: { title: 'x' } })).toEqual(silent)
    const loud = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
    expect(hintsOf({ annotations: loud })).toEqual(loud)
  })
})
