import { describe, expect, it } from 'vitest'
import { revisions } from '../../src/protocol/revisions/index.ts'

const revision = revisions.find(({ id }) => id === '2025-11-25')!

function wrap(outputSchema: object): unknown {
  const { tools } = revision.toResult('tools/list', { tools: [{ name: 'a', outputSchema }] })
  return (tools as { outputSchema: { properties: { result: unknown } } }[])[0]?.outputSchema.properties.result
}

describe('an output schema that is wrapped in an object for 2025-11-25', () => {
  it('has its references moved, also dynamic ones', () => {
    expect(wrap({ anyOf: [{ $ref: '#/$defs/X' }, { $dynamicRef: '#/$defs/X' }] })).toEqual({
      anyOf: [{ $ref: '#/properties/result/$defs/X' }, { $dynamicRef: '#/properties/result/$defs/X' }],
    })
  })

  it('has references moved in a property that is named like a keyword, and not in data', () => {
    const property = { $ref: '#/$defs/X', default: { $ref: '#/data' } }
    expect(wrap({ $defs: { X: { properties: { default: property } } } })).toEqual({
      $defs: { X: { properties: { default: { $ref: '#/properties/result/$defs/X', default: { $ref: '#/data' } } } } },
    })
  })

  it('keeps the references of a part that has an id of its own', () => {
    const part = { $id: 'https://a.example/part', $ref: '#/$defs/Y' }
    expect(wrap({ items: part })).toEqual({ items: part })
  })
})
