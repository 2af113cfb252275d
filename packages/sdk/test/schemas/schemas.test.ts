import { readFileSync } from 'node:fs'
import { type CallToolResult, revisionIds, type Tool } from 'tenon'
import { type Messages, methodsOf, schemaFor } from 'tenon/schemas'
import { compileJsonSchema } from 'tenon/server'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { generatedFiles } from '../../scripts/generate-message-types.ts'
import { parse } from '../../src/schemas/language.ts'

const refsOf = (schema: unknown) => [...JSON.stringify(schema).matchAll(/"#\/\$defs\/(\w+)"/g)].map(([, name]) => name!)

describe('schemaFor', () => {
  it('returns a schema that contains what it refers to, and nothing else [SDK-022]', () => {
    for (const revision of revisionIds) {
      const all = schemaFor(revision).$defs as object
      for (const name of Object.keys(all)) {
        const schema = schemaFor(revision, name as never)
        const definitions = Object.keys(schema.$defs as object)
        expect(new Set(refsOf(schema)), `${revision} ${name}`).toEqual(new Set(definitions))
      }
    }
  })

  it('says where a message is wrong', () => {
    const check = compileJsonSchema(schemaFor('2025-11-25', 'CallToolResult'))
    expect(check({ content: [{ type: 'text', text: 'hello' }], later: true })).toBeUndefined()
    expect(check({ content: 'hello' })).toEqual([{ path: '/content', message: 'must be an array, got string' }])
  })

  it('knows what each revision has', () => {
    const has = (name: string) =>
      revisionIds.filter((revision) => Object.hasOwn(schemaFor(revision).$defs as object, name))
    expect(has('AudioContent').sort()[0]).toBe('2025-03-26')
    expect(has('CreateTaskResult')).toEqual(['2025-11-25'])
    expect(has('DiscoverResult')).toEqual(['2026-07-28'])
    const audio = { content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] }
    expect(compileJsonSchema(schemaFor('2024-11-05', 'CallToolResult'))(audio)).toBeDefined()
    expect(compileJsonSchema(schemaFor('2025-03-26', 'CallToolResult'))(audio)).toBeUndefined()
  })

  it('describes definitions and fields in words', () => {
    const { Tool } = schemaFor('2025-11-25', 'Tool').$defs as Record<
      string,
      { description: string; properties: object }
    >
    expect(Tool!.description).toBe('A tool that a server offers.')
    expect(Tool!.properties).toHaveProperty('description.description', 'What it does, for the model.')
  })

  it('refuses an unknown definition or revision, with the way to find the right one', () => {
    const unknown = () => schemaFor('2025-03-26', 'ElicitResult' as never)
    expect(unknown).toThrow('2025-03-26 has no definition "ElicitResult". Object.keys(schemaFor(\'2025-03-26\').$defs)')
    expect(() => schemaFor('2025-03-26', 'constructor' as never)).toThrow('has no definition')
    expect(() => schemaFor('2025-01-01' as '2025-03-26')).toThrow('Choose from 2026-07-28')
  })

  it('is not changed by what a caller does with the result', () => {
    delete (schemaFor('2025-11-25').$defs as Record<string, unknown>).Tool
    delete (schemaFor('2025-11-25', 'ListToolsResult').$defs as Record<string, unknown>).Tool
    expect(schemaFor('2025-11-25', 'ListToolsResult').$defs).toHaveProperty('Tool')
  })
})

describe('methodsOf', () => {
  it('names the messages of each method', () => {
    expect(methodsOf('2025-11-25')['tools/call']).toEqual({
      kind: 'request',
      from: 'client',
      message: 'CallToolRequest',
      params: 'CallToolRequestParams',
      result: 'CallToolResult',
    })
    expect(methodsOf('2025-11-25').ping).toMatchObject({ from: 'any', params: 'RequestParams', result: 'EmptyResult' })
    expect(methodsOf('2026-07-28')).not.toHaveProperty('ping')
    expect(methodsOf('2026-07-28')['notifications/progress']?.from).toBe('server')
    expect(() => methodsOf('2025-01-01' as '2025-03-26')).toThrow('is not a revision')
  })

  it.each(revisionIds)('names definitions that exist (%s)', (revision) => {
    const names = Object.values(methodsOf(revision)).flatMap(({ message, params, result }) => [
      message,
      params,
      result ?? message,
    ])
    const all = schemaFor(revision).$defs as object
    expect(names.filter((name) => !Object.hasOwn(all, name))).toEqual([])
  })
})

describe('the types of messages', () => {
  it('are generated from the same description as the schemas [SDK-022]', () => {
    for (const [path, text] of Object.entries(generatedFiles())) {
      const found = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
      expect(found, `run npx tsx packages/sdk/scripts/generate-message-types.ts for ${path}`).toBe(text)
    }
  })

  it('fit the types that servers and clients use', () => {
    expectTypeOf<Messages['2025-11-25']['CallToolRequestParams']['name']>().toEqualTypeOf<string>()
    expectTypeOf<Messages['2025-11-25']['Tool']>().toExtend<Tool>()
    expectTypeOf<Messages['2025-11-25']['CallToolResult']>().toExtend<CallToolResult>()
    expectTypeOf<Messages['2025-06-18']['ContentBlock']['type']>().toEqualTypeOf<
      'text' | 'image' | 'audio' | 'resource_link' | 'resource'
    >()
    expectTypeOf<keyof Messages['2024-11-05']>().not.toExtend<'AudioContent'>()
  })
})

describe('the description of messages', () => {
  it.each([
    ['A = text', 'Line 1: "text" is not a type'],
    ['A {\n  a: string\n  b string\n}', 'Line 3: expected ":" instead of "string"'],
    ['A = map<string', 'expected ">"'],
    ['A {', 'Unexpected end'],
  ])('is refused with the line of the mistake: %j', (text, message) => {
    expect(() => parse(text)).toThrow(message)
  })
})
