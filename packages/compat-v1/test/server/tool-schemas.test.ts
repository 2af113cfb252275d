import { describe, expect, it } from 'vitest'
import * as z4 from 'zod'
import * as z3 from 'zod/v3'
import { describeSchema, toSchema, validate } from '../../src/server/tool-schemas.ts'
import type { ZodRawShapeCompat } from '../../src/shared/zod-reading.ts'

const versions = [
  { version: 'zod 3', text: () => z3.string() },
  { version: 'zod 4', text: () => z4.string() },
]

describe.each(versions)('fields of $version', ({ text }) => {
  const createShape = (): ZodRawShapeCompat => ({ size: text() })

  it('are checked at once by every server after the first call has loaded zod', async () => {
    expect(await validate(toSchema(createShape())!, { size: 'L' })).toEqual({ value: { size: 'L' } })
    expect(validate(toSchema(createShape())!, { size: 'L' })).toEqual({ value: { size: 'L' } })
    expect(validate(toSchema(createShape())!, { size: 7 })).toHaveProperty('issues.0.path', ['size'])
  })

  it('are compiled once for all servers that register the same object', async () => {
    const shape = createShape()
    const schema = toSchema(shape)!
    await validate(schema, { size: 'L' })
    expect(toSchema(shape)).toBe(schema)
    expect(toSchema(createShape())).not.toBe(schema)
  })

  it('are compiled again for a server that registers the object after it was changed', async () => {
    const shape = createShape()
    await validate(toSchema(shape)!, { size: 'L' })
    shape.color = text()
    const schema = toSchema(shape)!
    expect(await validate(schema, { size: 'L' })).toHaveProperty('issues.0.path', ['color'])
    expect(describeSchema(schema, 'input')).toHaveProperty('required', ['size', 'color'])
    shape.color = text().optional()
    expect(await validate(toSchema(shape)!, { size: 'L' })).toEqual({ value: { size: 'L' } })
    delete shape.size
    expect(await validate(toSchema(shape)!, {})).toEqual({ value: {} })
  })
})
