import { describe, expect, it } from 'vitest'
import { describeFormProblem } from './check-form.ts'

describe('describeFormProblem', () => {
  const form = {
    type: 'object' as const,
    properties: { age: { type: 'number' as const }, name: { type: 'string' as const, default: 'Ann' } },
    required: ['age', 'name'],
  }

  it('accepts valid content, also without fields that have a default', () => {
    expect(describeFormProblem(form, { age: 5 })).toBeUndefined()
    expect(describeFormProblem(form, { age: 5, name: 'Bo' })).toBeUndefined()
  })

  it('names a field that is missing or invalid', () => {
    expect(describeFormProblem(form, {})).toContain('"age" is missing')
    expect(describeFormProblem(form, { age: 'many' })).toContain('"age" must be')
  })

  it('does not throw for a form without fields', () => {
    const broken = JSON.parse('{ "type": "object" }')
    expect(describeFormProblem(broken, {})).toBe('the form cannot be understood')
  })
})
