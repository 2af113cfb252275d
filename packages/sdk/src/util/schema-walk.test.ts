import { describe, expect, it } from 'vitest'
import { mapSubschemas, resolveLocalRef } from './schema-walk.ts'

describe('walking a JSON Schema', () => {
  it('finds a schema under every keyword of every draft, with its JSON Pointer', () => {
    const paths: string[] = []
    const part = { type: 'string' }
    mapSubschemas(
      {
        properties: { 'a/b': part, '~': true, const: part },
        patternProperties: { '^x': part },
        $defs: { d: part },
        definitions: { e: part },
        dependentSchemas: { f: part },
        dependencies: { g: part, names: ['a', 'b'] },
        allOf: [part],
        anyOf: [part],
        oneOf: [part, false],
        prefixItems: [part],
        items: [part, part],
        ...Object.fromEntries(
          [
            'additionalItems',
            'additionalProperties',
            'contains',
            'contentSchema',
            'else',
            'if',
            'not',
            'propertyNames',
            'then',
          ].map((keyword) => [keyword, part]),
        ),
        unevaluatedItems: part,
        unevaluatedProperties: false,
      },
      (schema, keyword, path) => {
        expect(path.startsWith(`/${keyword}`)).toBe(true)
        paths.push(path)
        return schema
      },
    )
    expect(paths.sort()).toEqual(
      [
        ...['/properties/a~1b', '/properties/~0', '/properties/const', '/patternProperties/^x', '/$defs/d'],
        ...['/definitions/e', '/dependentSchemas/f', '/dependencies/g', '/allOf/0', '/anyOf/0', '/oneOf/0', '/oneOf/1'],
        ...['/prefixItems/0', '/items/0', '/items/1', '/additionalItems', '/additionalProperties', '/contains'],
        ...['/contentSchema', '/else', '/if', '/not', '/propertyNames', '/then', '/unevaluatedItems'],
        '/unevaluatedProperties',
      ].sort(),
    )
  })

  it('leaves data as it is', () => {
    const data = { const: { $ref: '#' }, enum: [{ items: {} }], default: { properties: {} }, examples: [{ not: {} }] }
    const visited: unknown[] = []
    expect(mapSubschemas(data, (schema) => visited.push(schema))).toEqual(data)
    expect(visited).toEqual([])
  })

  it('keeps a property named __proto__', () => {
    const schema = JSON.parse('{"properties":{"__proto__":{"type":"string"}}}')
    expect(JSON.stringify(mapSubschemas(schema, (part) => part))).toBe(JSON.stringify(schema))
  })

  it.each([
    ['#', true],
    ['#/$defs/a~1b', true],
    ['#/$defs/a%2Fb', false],
    ['#/$defs/%61~1b', true],
    ['#/anyOf/0', true],
    ['#/anyOf/length', false],
    ['#/constructor', false],
    ['#/$defs/%', false],
    ['https://a.example/x', false],
    ['#name', false],
  ])('follows the reference %s: %s', (ref, isFound) => {
    const root = { $defs: { 'a/b': { type: 'string' } }, anyOf: [{ type: 'string' }] }
    expect(resolveLocalRef(root, ref) !== undefined).toBe(isFound)
  })
})
