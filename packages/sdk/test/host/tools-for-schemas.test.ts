import { describe, expect, it } from 'vitest'
import { downlevelSchema, type SchemaTarget } from '../../src/host/models/schema-for.ts'
import { compileJsonSchema, type JsonSchema } from '../../src/schema/json-schema.ts'
import { isObject } from '../../src/util/objects.ts'

const all: readonly SchemaTarget[] = ['anthropic', 'anthropic-strict', 'openai', 'openai-strict', 'ai-sdk']

const tree: JsonSchema = {
  type: 'object',
  properties: { root: { $ref: '#/$defs/node' } },
  required: ['root'],
  $defs: {
    node: {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
      required: ['name'],
    },
  },
}

const tagged: JsonSchema = {
  type: 'object',
  oneOf: [
    { properties: { kind: { const: 'file' }, path: { type: 'string' } }, required: ['kind', 'path'] },
    { properties: { kind: { const: 'url' }, url: { type: 'string', format: 'uri' } }, required: ['kind', 'url'] },
  ],
}

/** Schemas of the kinds that published servers have, each with a value that matches. */
const samples: readonly [string, JsonSchema, Record<string, unknown>][] = [
  ['no parameters', { type: 'object' }, {}],
  ['a recursive schema', tree, { root: { name: 'a', children: [{ name: 'b' }] } }],
  ['a tagged union at the root', tagged, { kind: 'url', url: 'https://example.com' }],
  [
    'alternative requirements at the root',
    {
      type: 'object',
      properties: { route: { type: 'string' }, file: { type: 'string' } },
      anyOf: [{ required: ['route'] }, { required: ['file'] }],
    },
    { file: 'a' },
  ],
  [
    'allOf at the root',
    {
      allOf: [
        { type: 'object', properties: { a: { type: 'string' } }, required: ['a'] },
        { type: 'object', properties: { b: { type: 'integer', minimum: 1 } } },
      ],
    },
    { a: 'x', b: 2 },
  ],
  [
    'unions, tuples, lists without items and constants',
    {
      type: 'object',
      properties: {
        when: { oneOf: [{ type: 'string', format: 'date' }, { type: 'integer' }] },
        point: { type: 'array', prefixItems: [{ type: 'number' }, { type: 'string' }] },
        tags: { type: 'array' },
        mode: { const: 'fast' },
        level: { enum: ['low', 'high'] },
        name: { type: 'string', minLength: 1, maxLength: 10, pattern: '^(?!x).*$' },
      },
      required: ['when'],
    },
    { when: 5, point: [1, 'a'], tags: [1, 'b'], mode: 'fast', level: 'low', name: 'abc' },
  ],
  [
    'names of properties that are not allowed',
    {
      type: 'object',
      properties: { 'Content-Type': { type: 'string' }, $filter: { type: 'string' }, 'x y': { type: 'string' } },
      required: ['$filter'],
    },
    { $filter: 'a', 'x y': 'b', 'Content-Type': 'c' },
  ],
  [
    'a map',
    { type: 'object', properties: { env: { type: 'object', additionalProperties: { type: 'string' } } } },
    { env: { A: 'b' } },
  ],
  [
    'draft-07 definitions',
    { type: 'object', properties: { a: { $ref: '#/definitions/a' } }, definitions: { a: { type: 'string' } } },
    { a: 'x' },
  ],
]

describe('downlevelSchema', () => {
  it.each(all.flatMap((target) => samples.map(([what, schema, value]) => [target, what, schema, value] as const)))(
    'makes a valid schema for %s of %s',
    (target, _, schema, value) => {
      const { schema: changed, isStrict, restore } = downlevelSchema(schema, target)
      expect(problemsOf(changed, target, isStrict)).toEqual([])
      const made = asModel(changed, value, restore)
      expect(compileJsonSchema(changed)(made)).toBeUndefined()
      expect(restore(made)).toEqual(value)
      expect(compileJsonSchema(schema)(restore(made))).toBeUndefined()
    },
  )

  it.each(all)('leaves a schema that %s takes as it is', (target) => {
    const schema = {
      type: 'object',
      properties: {
        path: { type: 'string', description: 'A path' },
        lines: { type: 'array', items: { type: 'integer' } },
      },
      required: ['path', 'lines'],
      additionalProperties: false,
    }
    expect(downlevelSchema(schema, target)).toMatchObject({ schema, notes: [] })
  })

  it('does not change the schema that it gets', () => {
    for (const [, schema] of samples) {
      const before = structuredClone(schema)
      for (const target of all) downlevelSchema(schema, target)
      expect(schema).toEqual(before)
    }
  })

  it('joins the alternatives of the root and describes them', () => {
    const { schema, notes } = downlevelSchema(tagged, 'anthropic')
    expect(schema).toEqual({
      type: 'object',
      properties: {
        kind: { enum: ['file', 'url'] },
        path: { type: 'string' },
        url: { type: 'string', format: 'uri' },
      },
      required: ['kind'],
      description: 'Use one of these combinations of properties: kind = "file", path; or kind = "url", url.',
    })
    expect(notes).toEqual([{ path: '', message: expect.stringContaining('joined the 2 alternatives') }])
  })

  it('keeps the type of tags that have the same, and drops types that differ', () => {
    const branch = (tag: unknown, type: string) => ({ properties: { tag: { type, const: tag } }, required: ['tag'] })
    const { schema: same } = downlevelSchema({ anyOf: [branch('a', 'string'), branch('b', 'string')] }, 'openai')
    expect(same.properties).toEqual({ tag: { type: 'string', enum: ['a', 'b'] } })
    const { schema: mixed } = downlevelSchema({ anyOf: [branch('a', 'string'), branch(1, 'integer')] }, 'openai')
    expect(mixed.properties).toEqual({ tag: { enum: ['a', 1] } })
  })

  it('keeps the types of all items of a tuple, including further ones', () => {
    const tuple = { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }], items: { type: 'boolean' } }
    const { schema } = downlevelSchema({ type: 'object', properties: { tuple } }, 'openai')
    const items = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] }
    expect(schema.properties).toEqual({ tuple: { type: 'array', items } })
  })

  it('converts properties beside a union', () => {
    const choice = {
      type: 'object',
      properties: { tags: { type: 'array' }, 'a b': { type: 'string' } },
      anyOf: [{ required: ['tags'] }, { required: ['more'] }],
    }
    const { schema, restore } = downlevelSchema({ type: 'object', properties: { choice } }, 'anthropic')
    const { choice: converted } = schema.properties as Record<string, JsonSchema>
    const [tags, renamed] = Object.entries(converted?.properties as JsonSchema)
    expect(tags).toEqual(['tags', { type: 'array', items: {} }])
    expect(restore({ choice: { [renamed![0]]: 'x', tags: [] } })).toEqual({ choice: { 'a b': 'x', tags: [] } })
  })

  it('never gives two properties the same name', () => {
    const single = downlevelSchema({ type: 'object', properties: { 'a b': {} } }, 'anthropic')
    const [wanted = ''] = Object.keys(single.schema.properties as object)
    const properties = { 'a b': { type: 'string' }, [wanted]: { type: 'number' } }
    const { schema, restore } = downlevelSchema({ type: 'object', properties }, 'anthropic')
    const [renamed = '', kept] = Object.keys(schema.properties as object)
    expect(kept).toBe(wanted)
    expect(restore({ [renamed]: 'x', [wanted]: 1 })).toEqual({ 'a b': 'x', [wanted]: 1 })
  })

  it('wraps a schema that is not for objects', () => {
    const { schema, restore } = downlevelSchema({ type: 'array', items: { type: 'string' } }, 'openai')
    expect(schema).toEqual({
      type: 'object',
      properties: { value: { type: 'array', items: { type: 'string' } } },
      required: ['value'],
    })
    expect(restore({ value: ['a'] })).toEqual(['a'])
  })

  it('cuts recursive references after two levels, and notes it', () => {
    const { schema, notes } = downlevelSchema(tree, 'anthropic')
    expect(JSON.stringify(schema)).not.toContain('$ref')
    expect(JSON.stringify(schema)).toContain('Nested further, in the same way as node.')
    expect(notes.map(({ message }) => message)).toContain('cut the recursive reference "#/$defs/node" after 2 levels')
  })

  it('makes optional properties nullable for strict mode, and removes the nulls from arguments', () => {
    const original = {
      type: 'object',
      properties: { a: { type: 'string' }, b: { enum: ['x', 'y'] }, c: { type: ['string', 'null'] } },
      required: ['a'],
    }
    const { schema, restore, isStrict } = downlevelSchema(original, 'openai-strict')
    expect(isStrict).toBe(true)
    expect(schema).toEqual({
      type: 'object',
      properties: {
        a: { type: 'string' },
        b: { type: ['string', 'null'], enum: ['x', 'y', null] },
        c: { type: ['string', 'null'] },
      },
      required: ['a', 'b', 'c'],
      additionalProperties: false,
    })
    // The original schema allows null for c.
    expect(restore({ a: 'x', b: null, c: null })).toEqual({ a: 'x', c: null })
  })

  it('restores the arguments of the alternative that they belong to', () => {
    const item = {
      anyOf: [
        { type: 'object', properties: { kind: { const: 'a' }, note: { type: 'string' } }, required: ['kind'] },
        {
          type: 'object',
          properties: { kind: { const: 'b' }, note: { type: ['string', 'null'] } },
          required: ['kind'],
        },
      ],
    }
    const original = { type: 'object', properties: { items: { type: 'array', items: item } }, required: ['items'] }
    const { restore, isStrict } = downlevelSchema(original, 'openai-strict')
    expect(isStrict).toBe(true)
    const items = [
      { kind: 'b', note: null },
      { kind: 'a', note: null },
    ]
    expect(restore({ items })).toEqual({ items: [{ kind: 'b', note: null }, { kind: 'a' }] })
  })

  it('moves constraints that strict mode does not take to the description', () => {
    const original = { type: 'object', properties: { a: { type: 'string', minLength: 2, description: 'A name' } } }
    const { schema } = downlevelSchema(original, 'openai-strict')
    expect(schema.properties).toEqual({ a: { type: ['string', 'null'], description: 'A name (minLength: 2)' } })
  })

  it.each([
    ['a map', { type: 'object', additionalProperties: { type: 'string' } }],
    ['any value', {}],
    ['deep nesting', nested(11)],
    ['more than 1,000 enum values', { type: 'string', enum: Array.from({ length: 1_001 }, (_, at) => `v${at}`) }],
  ])('gives up strict mode for %s, and says where', (_, property) => {
    const { isStrict, notes } = downlevelSchema({ type: 'object', properties: { a: property } }, 'openai-strict')
    expect(isStrict).toBe(false)
    expect(notes[0]?.message).toMatch(/^strict mode is not possible: .* at \/properties\/a/)
  })

  it('replaces references to other documents by a schema that allows anything', () => {
    for (const $ref of ['https://evil.example/schema.json', '#/$defs/missing', '#/__proto__/x', '#/%', 'file:///etc']) {
      const { schema, notes } = downlevelSchema({ type: 'object', properties: { a: { $ref } } }, 'openai')
      expect(schema.properties).toEqual({ a: {} })
      expect(notes[0]?.message).toContain('is not in this schema')
    }
  })

  it('keeps a property named __proto__ as data', () => {
    const original = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}',
    )
    for (const target of all) {
      const { schema, restore } = downlevelSchema(original, target)
      expect(Object.keys(schema.properties as object)).toEqual(['__proto__'])
      const value = JSON.parse('{"__proto__":"x"}')
      expect(JSON.stringify(restore(value))).toBe('{"__proto__":"x"}')
    }
    expect(({} as Record<string, unknown>).type).toBeUndefined()
  })

  it('bounds the work and the result for hostile schemas', () => {
    const doubling: JsonSchema = { type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs: {} }
    for (let level = 0; level < 60; level++) {
      const next = { $ref: `#/$defs/d${level + 1}` }
      Object.assign(doubling.$defs as object, { [`d${level}`]: { anyOf: [next, next], type: 'object' } })
    }
    const cyclic: JsonSchema = { type: 'object' }
    cyclic.properties = { self: cyclic }
    const wide = { type: 'object', anyOf: Array.from({ length: 5_000 }, (_, at) => ({ required: [`p${at}`] })) }
    const huge = { type: 'object', description: 'x'.repeat(300_000) }
    for (const target of all) {
      for (const schema of [doubling, cyclic, wide, huge, nested(5_000)]) {
        const { schema: changed, notes } = downlevelSchema(schema, target)
        expect(changed.type).toBe('object')
        expect(JSON.stringify(changed).length).toBeLessThan(1_000_000)
        expect(notes.length).toBeGreaterThan(0)
        expect(notes.length).toBeLessThan(110)
      }
    }
  })
})

function nested(levels: number): JsonSchema {
  let schema: JsonSchema = { type: 'string' }
  for (let level = 0; level < levels; level++) schema = { type: 'object', properties: { a: schema }, required: ['a'] }
  return schema
}

/** The value as a model would send it: with the names of the schema, and null for what is missing. */
function asModel(schema: JsonSchema, value: Record<string, unknown>, restore: (value: unknown) => unknown): unknown {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const made: Record<string, unknown> = {}
  for (const apiName of Object.keys(properties)) {
    const probe = restore({ [apiName]: 'probe' })
    const [name = apiName] = isObject(probe) ? Object.keys(probe) : []
    if (Object.hasOwn(value, name)) made[apiName] = value[name]
    else if ((schema.required as string[] | undefined)?.includes(apiName)) made[apiName] = null
  }
  return made
}

/** What an API would reject, by the rules that are documented for it. */
function problemsOf(schema: unknown, target: SchemaTarget, isStrict: boolean, path = ''): string[] {
  if (!isObject(schema)) return [`${path}: not a schema`]
  const found: string[] = []
  const { properties, items, anyOf = schema.oneOf } = schema
  if (path === '' && schema.type !== 'object') found.push('the root is not an object')
  const banned = ['$ref', '$defs', 'definitions', 'allOf', ...(path === '' ? ['anyOf', 'oneOf', 'enum', 'not'] : [])]
  const strictlyBanned = isStrict ? ['oneOf', 'not', 'minLength', 'patternProperties', 'default', 'prefixItems'] : []
  for (const keyword of [...banned, ...strictlyBanned]) if (keyword in schema) found.push(`${path}: ${keyword}`)
  if (schema.type === 'array' && items === undefined) found.push(`${path}: no items`)
  if (schema.type === 'object' && !isObject(properties)) found.push(`${path}: no properties`)
  if (isStrict && isObject(properties)) {
    if (schema.additionalProperties !== false) found.push(`${path}: open`)
    const required = schema.required as string[] | undefined
    if (target === 'openai-strict' && Object.keys(properties).some((name) => !required?.includes(name))) {
      found.push(`${path}: optional`)
    }
  }
  for (const [name, property] of Object.entries(isObject(properties) ? properties : {})) {
    if (!target.startsWith('openai') && !/^[a-zA-Z0-9_.-]{1,64}$/.test(name)) found.push(`${path}: name ${name}`)
    found.push(...problemsOf(property, target, isStrict, `${path}/${name}`))
  }
  if (items !== undefined) found.push(...problemsOf(items, target, isStrict, `${path}/items`))
  for (const [at, branch] of (Array.isArray(anyOf) ? anyOf : []).entries()) {
    found.push(...problemsOf(branch, target, isStrict, `${path}/anyOf/${at}`))
  }
  return found
}
