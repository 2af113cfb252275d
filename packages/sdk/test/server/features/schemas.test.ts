import { readFileSync } from 'node:fs'
import { type } from 'arktype'
import { revisionIds } from 'tenon'
import { connect } from 'tenon/client'
import { McpServer, type SchemaLike } from 'tenon/server'
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import * as mini from 'zod/mini'
import { z as z3 } from 'zod/v3'
import { everyWire } from '../../kit/every-wire.ts'
import { ask, script, settle } from './support.ts'

const info = { name: 'schemas', version: '1' }

/** Creates a server with a tool that returns its arguments. */
function echo(inputSchema: SchemaLike) {
  const server = new McpServer(info)
  server.registerTool('echo', { inputSchema }, (args) => JSON.stringify(args))
  return server
}

async function listed(server: McpServer) {
  await using client = await script(server, '2026-07-28')
  return (await ask(client, 'tools/list')).result.tools[0]
}

async function call(server: McpServer, args: object): Promise<{ isError?: boolean; text: string }> {
  await using client = await script(server, '2026-07-28')
  const { result } = await ask(client, 'tools/call', { name: 'echo', arguments: args })
  return { isError: result.isError, text: result.content[0].text }
}

// The same schema in five notations.
const person = { type: 'object', properties: { name: { type: 'string' }, age: { type: 'number' } }, required: ['name'] }
const sources: [string, SchemaLike][] = [
  ['a zod 4 object', z.object({ name: z.string(), age: z.number().optional() })],
  ['a zod 4 raw shape', { name: z.string(), age: z.number().optional() }],
  ['a zod mini object', mini.object({ name: mini.string(), age: mini.optional(mini.number()) })],
  ['a zod 3 object', z3.object({ name: z3.string(), age: z3.number().optional() })],
  ['a zod 3 raw shape', { name: z3.string(), age: z3.number().optional() }],
  ['an arktype', type({ name: 'string', 'age?': 'number' })],
  [
    'a valibot schema with a description',
    describing(v.object({ name: v.string(), age: v.optional(v.number()) }), person),
  ],
  ['a JSON Schema', person],
  ['a draft-07 JSON Schema', { $schema: 'http://json-schema.org/draft-07/schema#', ...person }],
]

/** Mimics `toStandardJsonSchema` of @valibot/to-json-schema: a schema with a JSON Schema conversion. */
function describing(schema: v.GenericSchema, json: Record<string, unknown>): SchemaLike {
  const describe = () => json
  return { '~standard': { ...schema['~standard'], jsonSchema: { input: describe, output: describe } } } as SchemaLike
}

describe.each(sources)('%s', (_name, schema) => {
  it('is listed as JSON Schema [SDK-002]', async () => {
    const { inputSchema } = await listed(echo(schema))
    expect(inputSchema.type).toBe('object')
    expect(inputSchema.required).toEqual(['name'])
    expect(inputSchema.properties).toMatchObject({ name: { type: 'string' }, age: { type: 'number' } })
  })

  it('validates the input [SDK-002]', async () => {
    const server = echo(schema)
    expect(await call(server, { name: 'Ada', age: 36 })).toEqual({ text: '{"name":"Ada","age":36}' })
    expect(await call(server, { name: 'Ada' })).toEqual({ text: '{"name":"Ada"}' })
    for (const bad of [{}, { name: 7 }, { name: 'Ada', age: 'old' }]) {
      const { isError, text } = await call(server, bad)
      expect(isError).toBe(true)
      expect(text).toMatch(/name|age/)
    }
  })

  it('validates the output and is listed as the output schema [SDK-002]', async () => {
    const errors: unknown[] = []
    const server = new McpServer(info, { onError: (error) => errors.push(error) })
    server.registerTool('good', { outputSchema: schema }, () => ({ name: 'Ada' }) as never)
    server.registerTool('bad', { outputSchema: schema }, () => ({ name: 7 }) as never)
    await using client = await script(server, '2026-07-28')
    const [tool] = (await ask(client, 'tools/list')).result.tools
    expect(tool.outputSchema).toMatchObject({ type: 'object', properties: { name: { type: 'string' } } })
    expect((await ask(client, 'tools/call', { name: 'good' })).result.structuredContent).toEqual({ name: 'Ada' })
    expect((await ask(client, 'tools/call', { name: 'bad' })).result.isError).toBe(true)
    expect(errors).toHaveLength(1)
  })

  it('describes the arguments of a prompt', async () => {
    const server = new McpServer(info)
    server.registerPrompt('greet', { argsSchema: schema }, () => 'Hello')
    await using client = await script(server, '2026-07-28')
    const [prompt] = (await ask(client, 'prompts/list')).result.prompts
    expect(prompt.arguments).toMatchObject([
      { name: 'name', required: true },
      { name: 'age', required: false },
    ])
  })
})

describe('schema libraries', () => {
  it('zod is not a dependency, and both of its major versions are accepted [SDK-017]', async () => {
    const manifest = JSON.parse(readFileSync(new URL('../../../package.json', import.meta.url), 'utf8'))
    expect(Object.keys(manifest.dependencies ?? {})).not.toContain('zod')
    for (const schema of [z.object({ a: z.string() }), z3.object({ a: z3.string() })]) {
      expect(await call(echo(schema), { a: 'x' })).toEqual({ text: '{"a":"x"}' })
    }
  })

  it('a valibot schema without JSON Schema conversion is rejected with a hint', () => {
    const schema = v.object({ name: v.string() })
    expect(() => echo(schema)).toThrow(
      /Tool "echo", inputSchema: .*valibot.*toStandardJsonSchema from @valibot\/to-json-schema/,
    )
    expect(() => echo({ name: v.string() })).toThrow(/valibot/)
  })

  it('a schema of an unknown library without JSON Schema conversion is rejected with a hint', () => {
    const schema = {
      '~standard': { version: 1 as const, vendor: 'homemade', validate: (value: unknown) => ({ value }) },
    }
    expect(() => echo(schema)).toThrow(/homemade.*JSON Schema/)
  })

  it.each([
    ['a string', 'object'],
    ['a number', 7],
    ['a list', []],
  ])('%s is not a schema', (_what, schema) => {
    expect(() => echo(schema as never)).toThrow()
  })

  it('descriptions, enums and defaults survive the conversion', async () => {
    const { inputSchema } = await listed(
      echo({
        unit: z.enum(['C', 'F']).default('C').describe('The unit'),
        when: z.iso.datetime(),
        tags: z.array(z.string()).max(3),
      }),
    )
    expect(inputSchema.properties.unit).toMatchObject({ enum: ['C', 'F'], default: 'C', description: 'The unit' })
    expect(inputSchema.properties.when).toMatchObject({ type: 'string', format: 'date-time' })
    expect(inputSchema.properties.tags).toMatchObject({ type: 'array', maxItems: 3 })
    expect(inputSchema.required).toEqual(['when', 'tags'])
  })

  it('transforms and defaults reach the handler', async () => {
    const server = echo({ text: z.string().transform((text) => text.trim()), n: z.coerce.number().default(3) })
    expect(await call(server, { text: ' x ' })).toEqual({ text: '{"text":"x","n":3}' })
  })

  it('a recursive zod schema works inside a raw shape', async () => {
    interface Tree {
      value: number
      children: Tree[]
    }
    const tree: z.ZodType<Tree> = z.object({
      value: z.number(),
      get children() {
        return z.array(tree)
      },
    })
    const server = echo({ tree })
    const again = echo((await listed(server)).inputSchema)
    for (const each of [server, again]) {
      expect((await call(each, { tree: { value: 1, children: [{ value: 2, children: [] }] } })).isError).toBeUndefined()
      expect((await call(each, { tree: { value: 1, children: [{ value: 'two', children: [] }] } })).isError).toBe(true)
    }
  })

  it('keys like __proto__ are harmless', async () => {
    await using client = await script(echo({ a: z.string() }), '2026-07-28')
    const params = JSON.parse('{"name":"echo","arguments":{"a":"x","__proto__":{"polluted":true}}}')
    expect((await ask(client, 'tools/call', params)).result.content[0].text).toBe('{"a":"x"}')
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
  })
})

describe('asynchronous validation', () => {
  const taken = new Set(['root'])
  const free = z.string().refine(async (name) => !taken.has(name), 'is taken')

  everyWire('is awaited, in an object and in a raw shape', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('object', { inputSchema: z.object({ name: free }) }, ({ name }) => `hello ${name}`)
    server.registerTool(
      'shape',
      { inputSchema: { name: free, age: z.number().optional() } },
      ({ name }) => `hello ${name}`,
    )
    await using pair = await wire.connect(server)
    for (const tool of ['object', 'shape']) {
      expect((await pair.client.callTool(tool, { name: 'ada' })).text).toBe('hello ada')
      const refused = await pair.client.callTool(tool, { name: 'root' }).catch((error) => ({ text: error.message }))
      expect(refused.text).toContain('name: is taken')
    }
  })

  it('works for output', async () => {
    const server = new McpServer(info, { onError: () => {} })
    server.registerTool('echo', { inputSchema: { name: z.string() }, outputSchema: { name: free } }, ({ name }) => ({
      name,
    }))
    await using client = await script(server, '2026-07-28')
    const named = (name: string) => ask(client, 'tools/call', { name: 'echo', arguments: { name } })
    expect((await named('ada')).result.structuredContent).toEqual({ name: 'ada' })
    expect((await named('root')).result.isError).toBe(true)
  })

  it('that throws is an internal error, reported only to onError', async () => {
    const errors: unknown[] = []
    const server = new McpServer(info, { onError: (error) => errors.push(error) })
    const describe = () => ({ type: 'object' })
    const inputSchema = {
      '~standard': {
        version: 1 as const,
        vendor: 'homemade',
        validate: async () => {
          throw new Error('database password wrong')
        },
        jsonSchema: { input: describe, output: describe },
      },
    }
    server.registerTool('echo', { inputSchema }, () => 'x')
    await using client = await script(server, '2026-07-28')
    const { error } = await ask(client, 'tools/call', { name: 'echo', arguments: { a: 'x' } })
    expect(error).toEqual({ code: -32603, message: 'Internal error' })
    expect(String(errors[0])).toContain('database password')
  })

  it('keeps an optional field of a raw shape optional', async () => {
    const { inputSchema } = await listed(echo({ name: z.string(), nick: free.optional() }))
    expect(inputSchema.required).toEqual(['name'])
    const later = z
      .string()
      .optional()
      .refine(async () => true)
    expect((await listed(echo({ name: z.string(), nick: later }))).inputSchema.required).toEqual(['name'])
  })

  it('does not run the checks of a raw shape at registration', () => {
    const seen: unknown[] = []
    const noted = z.any().refine((value) => {
      seen.push(value)
      return true
    })
    echo({ value: noted })
    expect(seen).toEqual([])
  })

  it('does not end the process when a check of a raw shape cannot handle undefined', async () => {
    // Node ends a process on an unhandled rejection. It is caught here to tell it apart from other failures.
    const others = process.listeners('unhandledRejection')
    const unhandled: unknown[] = []
    process.removeAllListeners('unhandledRejection')
    process.on('unhandledRejection', (error) => unhandled.push(error))
    try {
      const server = echo({ text: z.any().transform((text) => text.trim()) })
      expect(await call(server, { text: ' x ' })).toEqual({ text: '{"text":"x"}' })
      await settle(5)
      expect(unhandled).toEqual([])
    } finally {
      process.removeAllListeners('unhandledRejection')
      for (const listener of others) process.on('unhandledRejection', listener)
    }
  })
})

describe('JSON Schema dialects', () => {
  // In 2020-12 `prefixItems` is a keyword and `items` comes after it; in draft-07 `items` may be a list.
  const tuple2020 = {
    type: 'object',
    properties: { pair: { prefixItems: [{ type: 'string' }], items: { type: 'number' } } },
  }
  const tuple7 = {
    type: 'object',
    properties: { pair: { items: [{ type: 'string' }], additionalItems: { type: 'number' } } },
  }
  const draft7 = 'http://json-schema.org/draft-07/schema#'

  it('a schema without $schema is 2020-12 [JSON-001, JSON-003, JSON-005]', async () => {
    const server = echo(tuple2020)
    expect((await call(server, { pair: ['a', 1, 2] })).isError).toBeUndefined()
    expect((await call(server, { pair: ['a', 'b'] })).isError).toBe(true)
    expect((await call(server, { pair: [1] })).isError).toBe(true)
  })

  it('$schema may name 2020-12 [JSON-002, JSON-003]', async () => {
    const server = echo({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...tuple2020 })
    expect((await call(server, { pair: ['a', 'b'] })).isError).toBe(true)
    expect((await listed(server)).inputSchema.$schema).toBe('https://json-schema.org/draft/2020-12/schema')
  })

  it('another dialect is used when $schema names it [JSON-002, JSON-005]', async () => {
    const server = echo({ $schema: draft7, ...tuple7 })
    expect((await call(server, { pair: ['a', 1, 2] })).isError).toBeUndefined()
    expect((await call(server, { pair: ['a', 'b'] })).isError).toBe(true)
    // draft-07 has neither prefixItems nor dependentRequired.
    const old = echo({ $schema: draft7, ...tuple2020, dependentRequired: { a: ['b'] } })
    expect((await call(old, { pair: [1], a: 1 })).isError).toBeUndefined()
    const next = echo({ type: 'object', dependentRequired: { a: ['b'] } })
    expect((await call(next, { a: 1 })).isError).toBe(true)
    // draft-07 ignores all keywords next to $ref; 2020-12 does not.
    const beside = {
      type: 'object',
      properties: { a: { $ref: '#/definitions/t', maxLength: 1 } },
      definitions: { t: { type: 'string' } },
    }
    expect((await call(echo({ $schema: draft7, ...beside }), { a: 'long' })).isError).toBeUndefined()
    expect((await call(echo(beside), { a: 'long' })).isError).toBe(true)
  })

  it.each(['http://json-schema.org/draft-04/schema#', 'https://example.com/my-dialect', 'nonsense'])(
    'an unknown dialect is rejected at registration: %s [JSON-006]',
    ($schema) => {
      expect(() => echo({ $schema, ...person })).toThrow(/Tool "echo", inputSchema: .*(dialect|\$schema)/i)
    },
  )

  it('the error lists the supported dialects [JSON-004, JSON-006]', () => {
    expect(() => echo({ $schema: 'http://json-schema.org/draft-04/schema#', ...person })).toThrow(/2020-12.*draft-07/)
  })

  const invalid: [string, Record<string, unknown>][] = [
    ['an unknown type', { type: 'object', properties: { a: { type: 'text' } } }],
    ['a required that is no list', { type: 'object', required: 'a' }],
    ['properties that are no object', { type: 'object', properties: ['a'] }],
    ['a pattern that is none', { type: 'object', properties: { a: { pattern: '(' } } }],
    ['a reference to nothing', { type: 'object', properties: { a: { $ref: '#/$defs/missing' } } }],
  ]
  it.each(invalid)('an invalid schema is rejected: %s [JSON-007]', (_what, schema) => {
    expect(() => echo(schema)).toThrow(/Tool "echo", inputSchema/)
    const server = new McpServer(info)
    expect(() => server.registerTool('out', { outputSchema: schema }, () => undefined as never)).toThrow(
      /Tool "out", outputSchema/,
    )
  })

  it.each(sources)(
    'the conversion of %s is valid, and uses 2020-12 where the library can choose [JSON-007, JSON-008]',
    async (name, schema) => {
      const { inputSchema } = await listed(echo(schema))
      expect(() => echo(inputSchema)).not.toThrow()
      if (!name.includes('draft-07')) expect(inputSchema).not.toHaveProperty('$schema')
    },
  )

  it('a zod tuple is described with 2020-12 keywords [JSON-008]', async () => {
    const { inputSchema } = await listed(echo({ pair: z.tuple([z.string()]).rest(z.number()) }))
    expect(inputSchema.properties.pair).toMatchObject({ prefixItems: [{ type: 'string' }], items: { type: 'number' } })
  })

  const rich = {
    $id: 'https://example.com/order',
    type: 'object',
    properties: {
      item: { $ref: '#/$defs/item' },
      kind: { enum: ['gift', 'own'] },
      note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
    },
    required: ['item'],
    $defs: { item: { $anchor: 'item', type: 'object', properties: { sku: { type: 'string', pattern: '^[A-Z]+$' } } } },
    if: { properties: { kind: { const: 'gift' } }, required: ['kind'] },
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    then: { required: ['note'] },
    else: { properties: { note: false } },
    allOf: [{ not: { required: ['forbidden'] } }],
    oneOf: [{ required: ['item'] }, { required: ['items'] }],
    dependentSchemas: { kind: { minProperties: 2 } },
    unevaluatedProperties: false,
    'x-vendor': { deep: [1, { two: null }] },
  }
  everyWire('every keyword reaches the client unchanged [JSON-015]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool('order', { inputSchema: rich, outputSchema: rich }, () => ({ item: {} }))
    await using pair = await wire.connect(server)
    const [tool] = (await pair.client.listTools()).tools
    expect(tool?.inputSchema).toEqual(rich)
    if (wire.revision.id >= '2025-06-18') expect(tool?.outputSchema).toEqual(rich)
  })

  everyWire('the root of an input schema has the type object [JSON-016]', async (wire) => {
    const server = new McpServer(info)
    const schemas: SchemaLike[] = [
      { properties: { a: { type: 'string' } } },
      { anyOf: [{ required: ['a'] }, { required: ['b'] }] },
      { $ref: '#/$defs/x', $defs: { x: { properties: {} } } },
      z.object({}),
      {},
      z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
      z.record(z.string(), z.number()),
    ]
    schemas.forEach((inputSchema, index) => {
      server.registerTool(`t${index}`, { inputSchema }, () => 'x')
    })
    await using pair = await wire.connect(server)
    const { tools } = await pair.client.listTools()
    expect(tools).toHaveLength(schemas.length)
    for (const tool of tools) expect(tool.inputSchema.type).toBe('object')
  })

  it.each<[string, SchemaLike]>([
    ['a JSON Schema of an array', { type: 'array' }],
    ['a JSON Schema of several types', { type: ['object', 'null'] }],
    ['a zod string', z.string()],
    ['a zod array', z.array(z.string())],
  ])('an input schema that is not an object is rejected: %s [JSON-016]', (_what, schema) => {
    expect(() => echo(schema)).toThrow(/must have type "object"/)
  })

  it('validation is bounded: deep schemas, huge schemas and hostile patterns end at once [JSON-014]', async () => {
    let deep: Record<string, unknown> = { type: 'string' }
    for (let level = 0; level < 5_000; level++) deep = { type: 'object', properties: { a: deep } }
    expect(() => echo(deep)).toThrow(/Tool "echo", inputSchema/)
    const wide = Object.fromEntries(Array.from({ length: 50_000 }, (_, index) => [`p${index}`, { type: 'string' }]))
    expect(() => echo({ type: 'object', properties: wide })).toThrow(/Tool "echo", inputSchema/)
    // 2^40 paths through the references, which a budget has to cut off.
    const $defs: Record<string, unknown> = { d40: { type: 'string' } }
    for (let level = 0; level < 40; level++) {
      const next = { $ref: `#/$defs/d${level + 1}` }
      $defs[`d${level}`] = { anyOf: [next, next] }
    }
    const bomb = echo({ type: 'object', properties: { a: { $ref: '#/$defs/d0' } }, $defs })
    expect((await call(bomb, { a: 1 })).text).toContain('too many steps')
  })

  it.each([
    ['^(a+)+$', `${'a'.repeat(300_000)}b`],
    ['\\d+$', `${'1'.repeat(300_000)}x`],
    ['^\\s*[\\w ]+\\s*[\\w ]*\\s*$', `${' '.repeat(300_000)}!`],
    [`^${'(?:a|a)'.repeat(30)}b$`, 'a'.repeat(300_000)],
    ['^(?:\\p{Script=Thai}|\\p{Script=Thai})*$', `${'ก'.repeat(300_000)}x`],
  ])('the pattern %s is matched in linear time, for values and for keys [JSON-014]', async (pattern, text) => {
    const server = echo({
      type: 'object',
      properties: { value: { pattern } },
      patternProperties: { [pattern]: { const: 'matched' } },
    })
    // A backtracking engine would not terminate here.
    expect((await call(server, { value: text })).text).toContain('must match the pattern')
    expect((await call(server, { [text]: 1 })).isError).not.toBe(true)
  })

  it('a value that is nested too deep for its schema is rejected without crashing [JSON-014]', async () => {
    const server = echo({
      type: 'object',
      properties: { a: { $ref: '#/$defs/list' } },
      $defs: { list: { type: 'array', items: { $ref: '#/$defs/list' } } },
    })
    let value: unknown[] = []
    for (let level = 0; level < 300; level++) value = [value]
    const { isError } = await call(server, { a: value })
    expect(isError).toBe(true)
    expect((await call(server, { a: [[[]]] })).isError).toBeUndefined()
  })
})

describe('the high-level API', () => {
  everyWire('accepts title, description and schemas for tools, resources and prompts [SDK-001]', async (wire) => {
    const server = new McpServer(info)
    server.registerTool(
      'add',
      { title: 'Add', description: 'Adds', inputSchema: { a: z.number() }, outputSchema: { b: z.number() } },
      ({ a }) => ({ b: a + 1 }),
    )
    server.registerResource('about', 'about://x', { title: 'About', description: 'Of this' }, () => 'text')
    server.registerPrompt(
      'greet',
      { title: 'Greet', description: 'Greets', argsSchema: { who: z.string() } },
      ({ who }) => `Hi ${who}`,
    )
    await using pair = await wire.connect(server)
    const { client } = pair
    const title = (text: string) => (wire.revision.id >= '2025-06-18' ? text : undefined)
    expect((await client.listTools()).tools[0]).toMatchObject({ name: 'add', description: 'Adds' })
    expect((await client.listTools()).tools[0]?.title).toBe(title('Add'))
    expect((await client.listResources()).resources[0]).toMatchObject({
      name: 'about',
      uri: 'about://x',
      description: 'Of this',
    })
    expect((await client.listPrompts()).prompts[0]).toMatchObject({ name: 'greet', description: 'Greets' })
    expect((await client.listPrompts()).prompts[0]?.title).toBe(title('Greet'))
    expect(JSON.parse((await client.callTool('add', { a: 1 })).text)).toEqual({ b: 2 })
    expect((await client.getPrompt('greet', { who: 'Ada' })).messages[0]?.content).toEqual({
      type: 'text',
      text: 'Hi Ada',
    })
  })

  it('serves every revision by default', async () => {
    const server = echo({ a: z.string() })
    for (const revision of revisionIds) {
      await using client = await connect(server, { revision })
      expect(client.revision).toBe(revision)
      expect((await client.callTool('echo', { a: 'x' })).text).toBe('{"a":"x"}')
    }
  })
})
