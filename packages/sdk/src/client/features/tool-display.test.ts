import { describe, expect, it } from 'vitest'
import { getDisplayName, hintsOf } from './tool-result.ts'

describe('tool display', () => {
  it('displays a tool by its title, then its annotations title, then its name [TOOL-013]', () => {
    expect(getDisplayName({ name: 'a', title: 'A', annotations: { title: 'B' } })).toBe('A')
    expect(getDisplayName({ name: 'a', annotations: { title: 'B' } })).toBe('B')
    expect(getDisplayName({ name: 'a' })).toBe('a')
  })

  it('assumes the worse value for tool hints that are missing [TOOL-011]', () => {
    const silent = { readOnlyHint: false, destructiveHint: true, idempotentHint: false, openWorldHint: true }
    expect(hintsOf({})).toEqual(silent)
    expect(hintsOf({ annotations: { title: 'x' } })).toEqual(silent)
    const loud = { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false }
    expect(hintsOf({ annotations: loud })).toEqual(loud)
  })
})
