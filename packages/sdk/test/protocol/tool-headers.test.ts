import { describe, expect, it } from 'vitest'
import { headerAnnotationProblem, toolHeaders } from '../../src/entry/client.ts'

const region = { type: 'string', 'x-mcp-header': 'Region' }

describe('toolHeaders', () => {
  it('returns a header for each annotated argument, encoded if it is not plain ASCII', () => {
    const schema = { type: 'object', properties: { region, count: { type: 'integer', 'x-mcp-header': 'Count' } } }
    expect(toolHeaders(schema, { region: 'Malmö', count: 3 })).toEqual({
      'mcp-param-region': '=?base64?TWFsbcO2?=',
      'mcp-param-count': '3',
    })
  })

  it('returns no header for an argument that is missing', () => {
    expect(toolHeaders({ type: 'object', properties: { region } }, {})).toEqual({})
  })
})

describe('headerAnnotationProblem', () => {
  it('accepts a property that is reachable through properties, and describes one that is not', () => {
    expect(headerAnnotationProblem({ type: 'object', properties: { region } })).toBeUndefined()
    expect(headerAnnotationProblem({ type: 'array', items: region })).toMatch(/not on a property/)
  })
})
