import { revisionIds } from 'tenon'
import { schemaFor } from 'tenon/schemas'
import { describe, expect, it } from 'vitest'
import { schemas } from '../kit/official-schemas.ts'
import { compareVerdicts, readOfficial } from './comparison.ts'

describe.skipIf(!schemas)('the schemas of tenon/schemas and the official ones', () => {
  it.each(revisionIds)('have the same definitions (%s) [SDK-022]', (revision) => {
    const own = schemaFor(revision).$defs as object
    const official = readOfficial(schemas!, revision)
    expect(Object.keys(official).filter((name) => !Object.hasOwn(own, name))).toEqual([])
  })

  it.each(revisionIds)('accept and refuse the same values with a change on top (%s) [SDK-022]', (revision) => {
    const { differences, accepted, refused } = compareVerdicts(schemas!, revision, 1)
    expect(differences.slice(0, 20)).toEqual([])
    expect(Math.min(accepted, refused)).toBeGreaterThan(500)
  })
})
