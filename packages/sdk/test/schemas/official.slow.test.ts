import { revisionIds } from 'tenon'
import { describe, expect, it } from 'vitest'
import { schemas } from '../kit/official-schemas.ts'
import { compareVerdicts } from './comparison.ts'

describe.skipIf(!schemas)('the schemas of tenon/schemas and the official ones', () => {
  it.each(revisionIds)('accept and refuse the same values with a change at any level (%s) [SDK-022]', (revision) => {
    const { differences, accepted, refused } = compareVerdicts(schemas!, revision, 5)
    expect(differences.slice(0, 20)).toEqual([])
    // The comparison says nothing unless both verdicts occur often.
    expect(Math.min(accepted, refused)).toBeGreaterThan(10_000)
  })
})
