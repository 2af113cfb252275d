import { describe, expect, it } from 'vitest'
import { downlevelSchema, type SchemaTarget } from '../../src/host/models/schema-for.ts'
import type { JsonSchema } from '../../src/schema/json-schema.ts'

/** Converts one property of an object, and returns it with the notes about it. */
function convert(property: unknown, target: SchemaTarget) {
  const { schema, notes, isStrict } = downlevelSchema(
    { type: 'object', properties: { a: property }, required: ['a'], additionalProperties: false },
    target,
  )
  return { schema: (schema.properties as JsonSchema).a, notes, isStrict }
}

const messages = (notes: readonly { path: string; message: string }[]) =>
  notes.map(({ path, message }) => `${path}: ${message}`)

const nested = (levels: number, inner: JsonSchema): JsonSchema =>
  levels === 0 ? inner : { type: 'object', properties: { a: nested(levels - 1, inner) }, required: ['a'] }

describe('downlevelSchema for what an API cannot express', () => {
  it('replaces schemas that are true or false by one that allows anything', () => {
    expect(convert(true, 'openai')).toEqual({ schema: {}, notes: [], isStrict: false })
    expect(convert(false, 'openai').schema).toEqual({})
    expect(messages(convert(false, 'openai').notes)).toEqual([
      '/properties/a: replaced the schema false by one that allows anything',
    ])
    expect(messages(convert(true, 'openai-strict').notes)).toEqual([
      ': strict mode is not possible: a value of any type is allowed at /properties/a',
    ])
  })

  it('names the root if that is what strict mode cannot express', () => {
    const { notes } = downlevelSchema({ type: 'object', additionalProperties: { type: 'string' } }, 'openai-strict')
    expect(notes[0]?.message).toBe('strict mode is not possible: the names of properties are not fixed at the root')
  })

  it('takes an object without members at the root in strict mode, but not below it', () => {
    expect(downlevelSchema({ type: 'object' }, 'openai-strict')).toMatchObject({
      isStrict: true,
      schema: { type: 'object', properties: {}, required: [], additionalProperties: false },
      notes: [
        { path: '', message: 'added properties, which are empty' },
        { path: '', message: 'set additionalProperties to false' },
      ],
    })
    expect(convert({ type: 'object' }, 'openai-strict').isStrict).toBe(false)
    expect(convert({ type: 'object', additionalProperties: false }, 'openai-strict').isStrict).toBe(true)
    expect(convert({ type: 'object', additionalProperties: true }, 'openai-strict').isStrict).toBe(false)
  })

  it('cuts objects beyond the deepest level, and keeps their types and descriptions', () => {
    const deepest = (inner: JsonSchema) => {
      const { schema, notes } = downlevelSchema(nested(33, inner), 'anthropic')
      let at: unknown = schema
      for (let level = 0; level < 33; level++) at = ((at as JsonSchema).properties as JsonSchema).a
      return { at, notes: messages(notes) }
    }
    const cut = 'cut: objects are nested more than 32 levels deep'
    expect(deepest({ type: 'object', description: 'inner', properties: { b: {} } })).toEqual({
      at: { type: 'object', properties: {}, description: 'inner' },
      notes: [`${'/properties/a'.repeat(33)}: ${cut}`],
    })
    expect(deepest({ type: 'array', items: { type: 'string' } }).at).toEqual({ type: 'array', items: {} })
    expect(deepest({ description: 'x' }).at).toEqual({ description: 'x' })
    const allowed = downlevelSchema(nested(32, { type: 'string', minLength: 1 }), 'anthropic')
    expect(allowed.notes).toEqual([])
    expect(downlevelSchema(nested(10, { type: 'string' }), 'openai-strict').isStrict).toBe(true)
    expect(downlevelSchema(nested(11, { type: 'string' }), 'openai-strict').notes[0]?.message).toContain(
      'objects are nested more than 10 levels deep at /properties/a/',
    )
  })

  it('replaces oneOf and const where an API does not take them', () => {
    const choice = { oneOf: [{ type: 'string' }, { const: 1 }] }
    expect(convert(choice, 'ai-sdk')).toMatchObject({
      schema: { anyOf: [{ type: 'string' }, { enum: [1] }] },
      notes: [
        { path: '/properties/a', message: 'replaced oneOf by anyOf' },
        { path: '/properties/a/anyOf/1', message: 'replaced const by enum' },
      ],
    })
    expect(convert(choice, 'openai')).toMatchObject({ schema: choice, notes: [] })
    const both = { anyOf: [{ type: 'string' }], oneOf: [{ type: 'number' }] }
    expect(convert(both, 'ai-sdk').schema).toEqual({ anyOf: [{ type: 'string' }] })
  })

  it('shortens a description of more than 4,000 characters', () => {
    expect(convert({ type: 'string', description: 'x'.repeat(4_000) }, 'openai').notes).toEqual([])
    const { schema, notes } = convert({ type: 'string', description: 'x'.repeat(4_001) }, 'openai')
    expect(schema).toEqual({ type: 'string', description: `${'x'.repeat(3_999)}…` })
    expect(messages(notes)).toEqual(['/properties/a: shortened the description to 4000 characters'])
  })

  it('gives lists items, also those with the tuples of draft-07', () => {
    const list = (more: JsonSchema) => convert({ type: 'array', ...more }, 'openai')
    expect(list({})).toMatchObject({
      schema: { type: 'array', items: {} },
      notes: [{ path: '/properties/a', message: 'added items, which allow anything' }],
    })
    expect(list({ items: true }).schema).toEqual({ type: 'array', items: {} })
    expect(list({ items: [{ type: 'string' }], additionalItems: { type: 'number' } })).toMatchObject({
      schema: { type: 'array', items: { anyOf: [{ type: 'string' }, { type: 'number' }] } },
      notes: [{ message: 'replaced the tuple by a list whose items may have any of its types' }],
    })
    expect(list({ items: [{ type: 'string' }], additionalItems: false }).schema).toEqual({
      type: 'array',
      items: { type: 'string' },
    })
    expect(list({ prefixItems: [] }).schema).toEqual({ type: 'array', items: {} })
    expect(convert({ type: 'string' }, 'openai').schema).toEqual({ type: 'string' })
  })

  it('moves what strict mode does not take to the description, if it is short', () => {
    const { schema, notes } = convert(
      { type: 'string', minLength: 2, default: { x: 1 }, examples: 'x'.repeat(199), contentEncoding: 'x'.repeat(198) },
      'openai-strict',
    )
    expect(schema).toEqual({
      type: 'string',
      description: `(minLength: 2, contentEncoding: "${'x'.repeat(198)}")`,
    })
    expect(messages(notes)).toEqual([
      '/properties/a: removed minLength, default, examples, contentEncoding, which OpenAI (strict) does not take',
    ])
    expect(convert({ type: 'string', default: {} }, 'openai-strict').schema).toEqual({ type: 'string' })
  })

  it.each([
    ['openai-strict', 'format', 'uuid', 'uri'],
    ['anthropic-strict', 'format', 'uri', 'regex'],
    ['openai-strict', 'pattern', '^a(?:b)$', '^(?=a)'],
    ['openai-strict', 'pattern', '(?<name>a)', '(?<!a)b'],
    ['anthropic-strict', 'minItems', 1, 2],
    ['openai-strict', 'minItems', 100, 'many'],
  ] as const)('takes with %s some values of %s and not others (%s, %s)', (target, keyword, taken, refused) => {
    const given = (value: unknown) =>
      convert(
        { type: keyword === 'minItems' ? 'array' : 'string', items: { type: 'string' }, [keyword]: value },
        target,
      ).schema
    expect(given(taken)).toHaveProperty(keyword, taken)
    expect(given(refused)).not.toHaveProperty(keyword)
    expect(given(refused)).toHaveProperty('description', `(${keyword}: ${JSON.stringify(refused)})`)
  })

  it('keeps patterns that look around and any format outside of strict mode', () => {
    const given = { type: 'string', pattern: '^(?=a)', format: 'x' }
    expect(convert(given, 'openai')).toMatchObject({ schema: given, notes: [] })
  })

  it('counts the values of all enums and the properties of all objects', () => {
    const values = (count: number) => ({ type: 'string', enum: Array.from({ length: count }, (_, at) => `v${at}`) })
    const pair = (first: number, second: number) =>
      downlevelSchema(
        { type: 'object', properties: { a: values(first), b: values(second) }, required: ['a', 'b'] },
        'openai-strict',
      )
    expect(pair(600, 400).isStrict).toBe(true)
    expect(pair(600, 401).notes[0]?.message).toBe(
      'strict mode is not possible: there are more than 1000 enum values at /properties/b',
    )
    const wide = (count: number) => {
      const properties = Object.fromEntries(Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'null' }]))
      return downlevelSchema({ type: 'object', properties }, 'anthropic-strict')
    }
    expect(wide(4_998).isStrict).toBe(true)
    expect(wide(5_001).isStrict).toBe(false)
  })

  it('does not take keywords beside a union in strict mode, except for its texts', () => {
    const union = { anyOf: [{ type: 'string' }, { type: 'null' }], title: 'T', description: 'D' }
    expect(convert(union, 'openai-strict')).toMatchObject({ schema: union, isStrict: true })
    expect(convert({ ...union, type: ['string', 'null'] }, 'openai-strict')).toMatchObject({
      schema: union,
      isStrict: true,
    })
    expect(convert({ ...union, minimum: 1 }, 'openai-strict').notes[0]?.message).toBe(
      'strict mode is not possible: anyOf is combined with minimum at /properties/a',
    )
    expect(convert({ ...union, minimum: 1, type: 'string' }, 'openai').schema).toMatchObject({
      minimum: 1,
      type: 'string',
    })
  })

  it.each([
    [['x', 'y'], 'string'],
    [[1, 2], 'integer'],
    [[1.5], 'number'],
    [[true, false], 'boolean'],
    [[null], 'null'],
    [
      [null, 1, 'x'],
      ['null', 'integer', 'string'],
    ],
  ])('adds the type of the enum %j in strict mode', (values, type) => {
    expect(convert({ enum: values }, 'openai-strict')).toMatchObject({
      schema: { enum: values, type },
      notes: [{ path: '/properties/a', message: 'added the type of the enum values' }],
      isStrict: true,
    })
    expect(convert({ enum: values }, 'openai').schema).toEqual({ enum: values })
  })

  it.each([[[{ x: 1 }]], [[[1], 'a']]])('does not take the enum %j in strict mode', (values) => {
    expect(convert({ enum: values }, 'openai-strict').notes[0]?.message).toBe(
      'strict mode is not possible: an enum has objects or arrays at /properties/a',
    )
  })

  it('makes optional properties nullable, whatever their schema is', () => {
    const properties = {
      choice: { anyOf: [{ type: 'string' }, { type: 'integer' }] },
      nullableChoice: { anyOf: [{ type: 'string' }, { type: 'null' }] },
      level: { type: 'string', enum: ['low'] },
      typedOnly: { type: ['string', 'null'], enum: ['low'] },
      nothing: { type: ['string', 'null'], enum: ['low', null] },
    }
    const { schema, notes, restore } = downlevelSchema({ type: 'object', properties }, 'openai-strict')
    expect(schema.properties).toEqual({
      choice: { anyOf: [{ type: 'string' }, { type: 'integer' }, { type: 'null' }] },
      nullableChoice: properties.nullableChoice,
      level: { type: ['string', 'null'], enum: ['low', null] },
      typedOnly: { type: ['string', 'null'], enum: ['low', null] },
      nothing: properties.nothing,
    })
    expect(messages(notes).filter((text) => text.includes('nullable instead'))).toEqual(
      ['choice', 'level', 'typedOnly'].map((name) => `/properties/${name}: made nullable instead of optional`),
    )
    const nulls = Object.fromEntries(Object.keys(properties).map((name) => [name, null]))
    expect(restore(nulls)).toEqual({ nullableChoice: null, nothing: null })
    expect(restore('not an object')).toBe('not an object')
  })

  it('converts the schema of further properties and restores their values', () => {
    const map = { type: 'object', additionalProperties: { type: 'object', properties: { 'a b': { type: 'string' } } } }
    const { schema, restore } = downlevelSchema({ type: 'object', properties: { map } }, 'anthropic')
    const { additionalProperties } = (schema.properties as { map: { additionalProperties: JsonSchema } }).map
    const [renamed = ''] = Object.keys(additionalProperties.properties as object)
    expect(renamed).toMatch(/^a_b_\w+$/)
    expect(restore({ map: { x: { [renamed]: '1' } } })).toEqual({ map: { x: { 'a b': '1' } } })
  })

  it('renames names that an API does not take, also where they are required', () => {
    const long = 'x'.repeat(65)
    const original = { type: 'object', properties: { [long]: { type: 'string' } }, required: [long, 'other'] }
    const { schema, notes } = downlevelSchema(original, 'anthropic')
    const [renamed = ''] = Object.keys(schema.properties as object)
    expect(renamed).toMatch(/^x{48}_\w+$/)
    expect(schema.required).toEqual([renamed, 'other'])
    expect(messages(notes)).toEqual([
      `/properties/${long}: renamed to ${renamed}, because Anthropic does not take the name`,
    ])
    expect(downlevelSchema({ type: 'object', properties: { ['x'.repeat(64)]: {} } }, 'anthropic').notes).toEqual([])
  })
})

describe('downlevelSchema for the root and references', () => {
  it('removes keywords that are not allowed at the root', () => {
    const { schema, notes } = downlevelSchema({ enum: [{}], const: {}, not: {}, properties: {} }, 'openai')
    expect(schema).toEqual({ type: 'object', properties: {} })
    expect(messages(notes)).toEqual([
      ': removed enum, which is not allowed at the root',
      ': removed const, which is not allowed at the root',
      ': removed not, which is not allowed at the root',
      ': set the type of the root to object',
    ])
  })

  it('wraps a root of which one alternative is not an object', () => {
    const anyOf = [{ type: 'object' }, { type: 'string' }]
    const { schema, restore, notes } = downlevelSchema({ anyOf }, 'openai')
    expect(schema).toMatchObject({ required: ['value'], properties: { value: { anyOf: [{}, { type: 'string' }] } } })
    expect(messages(notes)[0]).toBe(': wrapped the schema in an object with the property "value"')
    expect(restore('x')).toBe('x')
  })

  it('describes at most 50 alternatives of the root with 20 properties each', () => {
    const branch = (at: number, properties: number) => ({
      properties: Object.fromEntries(Array.from({ length: properties }, (_, name) => [`p${at}x${name}`, {}])),
      required: [`p${at}x0`],
    })
    const describeAll = (count: number, properties = 1) =>
      String(
        downlevelSchema(
          {
            type: 'object',
            description: 'Own text',
            oneOf: Array.from({ length: count }, (_, at) => branch(at, properties)),
          },
          'openai',
        ).schema.description,
      )
    expect(describeAll(1)).toBe('Own text')
    expect(describeAll(2, 21)).toMatch(/^Own text\nUse one of these .*: p0x0, p0x1 \(optional\)/)
    expect(describeAll(2, 21)).toContain('p1x19 (optional)')
    expect(describeAll(2, 21)).not.toContain('x20')
    expect(describeAll(50)).not.toContain('others')
    expect(describeAll(51)).toContain('; or others.')
    expect(describeAll(51)).not.toContain('p50x0')
  })

  it('removes $dynamicRef, and says that the whole input recurs', () => {
    const dynamic = downlevelSchema({ type: 'object', properties: { a: { $dynamicRef: '#x' } } }, 'openai')
    expect(dynamic.schema.properties).toEqual({ a: {} })
    expect(messages(dynamic.notes)).toEqual(['/properties/a: removed $dynamicRef, which models do not know'])
    const recursive = downlevelSchema({ type: 'object', properties: { a: { $ref: '#' } } }, 'openai')
    expect(JSON.stringify(recursive.schema)).toContain('in the same way as the whole input.')
  })

  it('notes an inlined reference once, and applies keywords beside it', () => {
    const $defs = { name: { type: 'string', minLength: 2 }, all: true }
    const properties = {
      a: { $ref: '#/$defs/name', minLength: 5 },
      b: { $ref: '#/$defs/name', minLength: 1 },
      c: { $ref: '#/$defs/all', type: 'string' },
    }
    const { schema, notes } = downlevelSchema({ type: 'object', properties, $defs }, 'openai')
    expect(schema.properties).toEqual({
      a: { type: 'string', minLength: 5 },
      b: { type: 'string', minLength: 2 },
      c: {},
    })
    expect(messages(notes)).toEqual([
      '/properties/a: inlined the reference "#/$defs/name"',
      '/properties/c: inlined the reference "#/$defs/all"',
    ])
  })

  it('replaces what is nested more than 40 levels deep, or beyond 5,000 subschemas', () => {
    const tooLarge = 'replaced by a schema that allows anything: the schema is too large or too deep'
    const lists = (levels: number): JsonSchema => (levels === 0 ? {} : { type: 'array', items: lists(levels - 1) })
    const notesOf = (property: JsonSchema) =>
      messages(downlevelSchema({ type: 'object', properties: { a: property } }, 'openai').notes)
    expect(notesOf(lists(39))).toEqual([])
    expect(notesOf(lists(40))).toEqual([`/properties/a${'/items'.repeat(40)}: ${tooLarge}`])
    const wide = (count: number) => ({ anyOf: Array.from({ length: count }, () => ({})) })
    expect(notesOf(wide(4_998))).toEqual([])
    expect(notesOf(wide(4_999))).toEqual([`/properties/a/anyOf/4998: ${tooLarge}`])
  })
})
