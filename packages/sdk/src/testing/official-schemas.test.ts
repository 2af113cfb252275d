import { describe, expect, it } from 'vitest'
import { officialSchema } from '../../test/kit/official-schemas.ts'
import { Judge, OfficialSchema } from './official-schemas.ts'

describe.each([
  ['tenon/schemas', OfficialSchema.load('2025-11-25')],
  ['the official schema', officialSchema('2025-11-25')],
])('checks against %s', (_name, schema) => {
  it.skipIf(!schema)('reports nothing for a valid conversation', () => {
    const judge = new Judge(schema!)
    judge.hear({ from: 'client', message: { jsonrpc: '2.0', id: 1, method: 'tools/list' } })
    judge.hear({ from: 'server', message: { jsonrpc: '2.0', id: 1, result: { tools: [] } } })
    expect(judge.problems).toEqual([])
  })

  it.skipIf(!schema)('reports an invalid request, result and notification', () => {
    const judge = new Judge(schema!)
    judge.hear({ from: 'client', message: { jsonrpc: '2.0', id: 1, method: 'tools/call', params: {} } })
    judge.hear({ from: 'server', message: { jsonrpc: '2.0', id: 1, result: { content: 'text' } } })
    judge.hear({ from: 'server', message: { jsonrpc: '2.0', method: 'notifications/progress', params: {} } })
    expect(judge.problems).toHaveLength(3)
    expect(judge.problems[0]).toContain('/params/name')
    expect(judge.problems[1]).toContain('/content')
  })
})
