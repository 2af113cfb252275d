import { describe, expect, it } from 'vitest'
import { NameTable, toCamelCase, toKebabCase, toPascalCase } from '../src/generate/names.ts'
import { TypeWriter } from '../src/generate/type-writer.ts'
import { fixture, Workspace } from './support.ts'

describe('the names in generated code', () => {
  it('are valid and unique', () => {
    expect(toCamelCase('get-resource_links', 'tool')).toBe('getResourceLinks')
    expect(toPascalCase('3d model', 'Tool')).toBe('Tool3dModel')
    expect(toKebabCase('getResource_links', 'tool')).toBe('get-resource-links')
    expect(toCamelCase('漢字', 'tool')).toBe('tool')
    const names = new NameTable(['then'])
    expect(['then', 'a', 'a', 'a2', 'a2'].map((name) => names.take(name))).toEqual(['then2', 'a', 'a2', 'a2_2', 'a2_3'])
  })
})

describe('the types of schemas', () => {
  it.each<[string, unknown, string]>([
    ['plain values', { type: ['string', 'integer', 'null'] }, 'string | number | null'],
    ['an enum', { enum: ['a', 1, null] }, '"a" | 1 | null'],
    ['a list', { type: 'array', items: { type: 'string' } }, '(string)[]'],
    ['a tuple', { type: 'array', prefixItems: [{ type: 'string' }], items: false }, '[(string)?]'],
    ['alternatives', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 'string | null'],
    [
      'several at once',
      { allOf: [{ $ref: '#/a' }, { type: 'object' }], a: { type: 'string' } },
      '(XA) & ({ [key: string]: unknown })',
    ],
    ['a record', { type: 'object', additionalProperties: { type: 'number' } }, '{ [key: string]: number }'],
    ['anything', {}, 'unknown'],
    ['nothing', false, 'never'],
    ['a missing definition', { $ref: '#/$defs/missing' }, 'unknown'],
    ['an alternative of itself', { anyOf: [{ $ref: '#' }, { type: 'string' }] }, 'unknown'],
  ])('describe %s', (_, schema, expected) => {
    const [first] = new TypeWriter({ ...(schema as object) }, 'X', new NameTable()).declare([])
    const [never] = new TypeWriter(schema, 'X', new NameTable()).declare([])
    expect((schema === false ? never : first)?.replace(/^export (type X = |interface X )/, '')).toBe(expected)
  })
})

describe('tenon generate', () => {
  it('leaves secrets of a config file out of the generated file', async () => {
    using work = new Workspace()
    const entry = { command: process.execPath, args: [fixture('notes.js')], env: { TOKEN: 'hush' } }
    const config = work.write('mcp.json', { mcpServers: { notes: entry } })
    const { stdout, stderr } = await work.run(['generate', '--cli', 'notes', '--config', config])
    expect(stdout).toContain("from 'tenon/client'")
    expect(stdout).not.toContain('hush')
    expect(stderr).toContain('may be secrets')
  })
})
