import type { SchemaLike } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'
import { z as z3 } from 'zod/v3'
import { connected } from '../../era/support.ts'
import { asked, asking, filling } from './asked.ts'
import { everyAsking, everyForm, everyPage } from './support.ts'

const trip = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', description: 'Who travels', minLength: 2, maxLength: 40 },
    mail: { type: 'string', format: 'email' },
    site: { type: 'string', format: 'uri' },
    day: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
    share: { type: 'number', minimum: 0, maximum: 1 },
    seats: { type: 'integer', minimum: 1, maximum: 9 },
    window: { type: 'boolean', default: true },
    meal: { type: 'string', enum: ['fish', 'none'] },
  },
  required: ['name', 'seats'],
}

const filledIn = {
  name: 'Ada',
  mail: 'ada@example.com',
  site: 'https://example.com/ada',
  day: '2026-08-01',
  at: '2026-08-01T10:00:00Z',
  share: 1,
  seats: 2,
  window: false,
  meal: 'fish',
}

const choices = {
  bare: { type: 'string', enum: ['a', 'b'] },
  titled: {
    type: 'string',
    oneOf: [
      { const: 'a', title: 'The first' },
      { const: 'b', title: 'The second' },
    ],
  },
  several: { type: 'array', items: { type: 'string', enum: ['x', 'y', 'z'] }, minItems: 1, maxItems: 2 },
  severalTitled: {
    type: 'array',
    items: {
      anyOf: [
        { const: 'x', title: 'Ex' },
        { const: 'y', title: 'Why' },
      ],
    },
  },
  legacy: { type: 'string', enum: ['a', 'b'], enumNames: ['First', 'Second'] },
}

const everyDefault = {
  type: 'object',
  properties: {
    text: { type: 'string', default: 'some' },
    share: { type: 'number', default: 1 },
    count: { type: 'integer', default: 3 },
    agreed: { type: 'boolean', default: true },
    one: { type: 'string', enum: ['a', 'b'], default: 'b' },
    titled: {
      type: 'string',
      oneOf: [
        { const: 'a', title: 'The first' },
        { const: 'b', title: 'The second' },
      ],
      default: 'a',
    },
  },
}

describe('a form on the wire', () => {
  everyForm('supports each field type and returns the content [ELIC-009, ELIC-011, ELIC-012]', async (wire) => {
    const server = asking((ctx) => ctx.elicit('Where to?', trip))
    const { forms, handlers } = filling(filledIn)
    await using pair = await wire.connect(server, { handlers })
    const { text } = await pair.client.callTool('ask')
    expect(JSON.parse(text)).toEqual({ action: 'accept', content: filledIn })
    expect(asked(pair.transcript)).toMatchObject([{ message: 'Where to?', requestedSchema: trip }])
    expect(asked(pair.transcript)[0]!.requestedSchema).toEqual(trip)
    expect(forms).toEqual([{ message: 'Where to?', requestedSchema: trip }])
  })

  everyForm('is an object without properties when it only asks for consent [ELIC-009, ELIC-011]', async (wire) => {
    const server = asking((ctx) => ctx.elicit('Go on?'))
    await using pair = await wire.connect(server, { handlers: { elicit: () => ({ action: 'accept' }) } })
    expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual({ action: 'accept', content: {} })
    expect(asked(pair.transcript)[0]!.requestedSchema).toEqual({ type: 'object', properties: {} })
  })

  everyPage('supports single and multiple choice, with titles and without [ELIC-014]', async (wire) => {
    const schema = { type: 'object', properties: choices }
    const content = { bare: 'a', titled: 'b', several: ['x', 'z'], severalTitled: ['y'], legacy: 'b' }
    const server = asking((ctx) => ctx.elicit('Choose', schema))
    await using pair = await wire.connect(server, filling(content))
    expect(JSON.parse((await pair.client.callTool('ask')).text).content).toEqual(content)
    expect(asked(pair.transcript)[0]!.requestedSchema).toEqual(schema)
  })

  everyPage('enforces the limits of a multiple choice [ELIC-014]', async (wire) => {
    const schema = { type: 'object', properties: { several: choices.several }, required: ['several'] }
    const server = asking((ctx) => ctx.elicit('Choose', schema))
    const tries = [{ several: [] }, { several: ['x', 'y', 'z'] }, { several: ['w'] }]
    for (const content of tries) {
      await using pair = await wire.connect(server, filling(content as { several: string[] }))
      const outcome = await pair.client.callTool('ask').then(
        ({ isError }) => isError,
        () => true,
      )
      expect(outcome).toBe(true)
    }
  })

  everyPage(
    'has a default for each field type, which fills fields that the user leaves out [ELIC-015, ELIC-016]',
    async (wire) => {
      const several = { type: 'array', items: { type: 'string', enum: ['x', 'y'] }, default: ['y'] }
      const schema = { ...everyDefault, properties: { ...everyDefault.properties, several } }
      const server = asking((ctx) => ctx.elicit('Anything to change?', schema))
      const { forms, handlers } = filling({ text: 'other' })
      await using pair = await wire.connect(server, { handlers })
      const { text } = await pair.client.callTool('ask')
      expect(JSON.parse(text).content).toEqual({
        text: 'other',
        share: 1,
        count: 3,
        agreed: true,
        one: 'b',
        titled: 'a',
        several: ['y'],
      })
      // The user sees the defaults before answering.
      expect(forms[0]!.requestedSchema).toEqual(schema)
    },
  )
})

describe('a number in a form', () => {
  // Not validated with the official JSON Schemas: they were generated from `number` but say `integer`.
  it.each(['2025-06-18', '2025-11-25', '2026-07-28'] as const)(
    'may be a fraction (%s) [ELIC-012]',
    async (revision) => {
      const schema = { type: 'object', properties: { share: { type: 'number', minimum: 0.25, maximum: 0.75 } } }
      const server = asking((ctx) => ctx.elicit('How much?', schema))
      await using client = await connected(server, { revision, ...filling({ share: 0.5 }) })
      expect(JSON.parse((await client.callTool('ask')).text).content).toEqual({ share: 0.5 })
    },
  )
})

describe('a form for a client of 2025-06-18', () => {
  const older = { revisions: ['2025-06-18'] as const }

  everyAsking(
    'has choice titles in enumNames, and defaults for booleans only [ELIC-013]',
    async (wire) => {
      const server = asking((ctx) => ctx.elicit('Anything to change?', everyDefault))
      await using pair = await wire.connect(server, filling({ titled: 'b' }))
      const { text } = await pair.client.callTool('ask')
      // Fields whose default this revision cannot carry stay empty.
      expect(JSON.parse(text).content).toEqual({ agreed: true, titled: 'b' })
      expect(asked(pair.transcript)).toEqual([
        expect.objectContaining({
          message: 'Anything to change?',
          requestedSchema: {
            type: 'object',
            properties: {
              text: { type: 'string' },
              share: { type: 'number' },
              count: { type: 'integer' },
              agreed: { type: 'boolean', default: true },
              one: { type: 'string', enum: ['a', 'b'] },
              titled: { type: 'string', enum: ['a', 'b'], enumNames: ['The first', 'The second'] },
            },
          },
        }),
      ])
      expect(asked(pair.transcript)[0]).not.toHaveProperty('mode')
    },
    older,
  )

  everyAsking(
    'still applies the defaults of the schema of the handler [ELIC-013]',
    async (wire) => {
      const schema = z.object({ text: z.string().default('some'), count: z.int().default(3) })
      const server = asking((ctx) => ctx.elicit('Anything to change?', schema))
      await using pair = await wire.connect(server, filling({}))
      expect(JSON.parse((await pair.client.callTool('ask')).text).content).toEqual({ text: 'some', count: 3 })
    },
    older,
  )

  everyAsking(
    'shows a multiple choice as checkboxes and returns the selected values [ELIC-012, ELIC-013]',
    async (wire) => {
      const properties = { several: choices.several, severalTitled: { ...choices.severalTitled, default: ['x'] } }
      const server = asking((ctx) => ctx.elicit('Choose', { type: 'object', properties, required: ['several'] }))
      await using pair = await wire.connect(server, filling({ 'several: x': true, 'several: y': false }))
      const { text } = await pair.client.callTool('ask')
      expect(JSON.parse(text).content).toEqual({ several: ['x'], severalTitled: ['x'] })
      expect(asked(pair.transcript)[0]!.requestedSchema).toEqual({
        type: 'object',
        properties: {
          'several: x': { type: 'boolean', title: 'several: x' },
          'several: y': { type: 'boolean', title: 'several: y' },
          'several: z': { type: 'boolean', title: 'several: z' },
          'severalTitled: x': { type: 'boolean', title: 'severalTitled: Ex', default: true },
          'severalTitled: y': { type: 'boolean', title: 'severalTitled: Why', default: false },
        },
      })
    },
    older,
  )

  everyAsking(
    'still enforces the limits of a multiple choice [ELIC-019]',
    async (wire) => {
      const schema = { type: 'object', properties: { several: choices.several }, required: ['several'] }
      const server = asking((ctx) => ctx.elicit('Choose', schema))
      const all = { 'several: x': true, 'several: y': true, 'several: z': true }
      for (const content of [{}, all]) {
        await using pair = await wire.connect(server, filling({ ...content }))
        const { isError, text } = await pair.client.callTool('ask')
        expect([isError, text]).toEqual([true, expect.stringContaining('several')])
      }
    },
    older,
  )
})

describe('the schema of a form', () => {
  const wireForm = {
    type: 'object',
    properties: {
      city: { type: 'string', minLength: 2 },
      nights: { type: 'integer', minimum: 1, maximum: 30 },
      board: { type: 'string', enum: ['half', 'full'] },
      mail: { type: 'string', format: 'email' },
    },
    required: ['city', 'nights', 'board'],
  }
  const sources: Record<string, SchemaLike> = {
    'zod 4': z.object({
      city: z.string().min(2),
      nights: z.int().min(1).max(30),
      board: z.enum(['half', 'full']),
      mail: z.email().optional(),
    }),
    'zod 3': z3.object({
      city: z3.string().min(2),
      nights: z3.number().int().min(1).max(30),
      board: z3.enum(['half', 'full']),
      mail: z3.string().email().optional(),
    }),
    'a shape': {
      city: z.string().min(2),
      nights: z.int().min(1).max(30),
      board: z.enum(['half', 'full']),
      mail: z.email().optional(),
    },
    'JSON Schema': wireForm,
  }

  for (const [name, schema] of Object.entries(sources)) {
    everyForm(`may be ${name} [ELIC-011, ELIC-012]`, async (wire) => {
      const server = asking((ctx) => ctx.elicit('Which trip?', schema))
      const content = { city: 'Oslo', nights: 3, board: 'half' }
      await using pair = await wire.connect(server, filling(content))
      expect(JSON.parse((await pair.client.callTool('ask')).text)).toEqual({ action: 'accept', content })
      expect(asked(pair.transcript)[0]!.requestedSchema).toEqual(wireForm)
    })
  }

  everyForm('validates the answer, including rules that a form cannot express [ELIC-019]', async (wire) => {
    const even = z.object({ n: z.int() }).refine(({ n }) => n % 2 === 0, 'n must be even')
    const later = z.object({ n: z.int() }).refine(async ({ n }) => n < 10, 'n is taken')
    const server = asking(async (ctx) => {
      const first = await ctx.elicit('Even?', even).catch((error) => `${error.code}: ${error.message}`)
      const second = await ctx.elicit('Free?', later).catch((error) => `${error.code}: ${error.message}`)
      return [first, second]
    })
    await using odd = await wire.connect(server, filling({ n: 11 }))
    const [first, second] = JSON.parse((await odd.client.callTool('ask')).text)
    expect(first).toMatch(/^invalid-response: .*n must be even/)
    expect(second).toMatch(/^invalid-response: .*n is taken/)
    await using sound = await wire.connect(server, filling({ n: 4 }))
    const accepted = { action: 'accept', content: { n: 4 } }
    expect(JSON.parse((await sound.client.callTool('ask')).text)).toEqual([accepted, accepted])
  })

  everyForm('passes the parsed answer to the handler', async (wire) => {
    const schema = z.object({ tags: z.string().transform((text) => text.split(' ')), note: z.string().default('none') })
    const server = asking((ctx) => ctx.elicit('Tags?', schema))
    await using pair = await wire.connect(server, filling({ tags: 'a b' }))
    expect(JSON.parse((await pair.client.callTool('ask')).text).content).toEqual({ tags: ['a', 'b'], note: 'none' })
  })

  const unsayable: [string, SchemaLike, RegExp][] = [
    ['an object inside', z.object({ home: z.object({ city: z.string() }) }), /"home".*nested objects/],
    ['a list of objects', z.object({ people: z.array(z.object({ name: z.string() })) }), /"people".*choice/],
    ['a list of any texts', z.object({ tags: z.array(z.string()) }), /"tags".*choice/],
    ['null', z.object({ nick: z.string().nullable() }), /"nick".*null/],
    ['another format', { type: 'object', properties: { id: { type: 'string', format: 'uuid' } } }, /"id".*uuid/],
    ['a union of types', z.object({ any: z.union([z.string(), z.number()]) }), /"any"/],
    ['no object at all', z.string(), /one object/],
  ]
  for (const [name, schema, why] of unsayable) {
    everyForm(`with ${name} is rejected before anything is sent [ELIC-011, ELIC-012]`, async (wire) => {
      const server = asking((ctx) => ctx.elicit('Fill in', schema))
      const { forms, handlers } = filling({})
      await using pair = await wire.connect(server, { handlers })
      const result = await pair.client.callTool('ask')
      expect(result.isError).toBe(true)
      expect(result.text).toMatch(why)
      expect([asked(pair.transcript), forms]).toEqual([[], []])
    })
  }

  const secrets: [string, SchemaLike][] = [
    ['a password', z.object({ password: z.string() })],
    ['an API key', z.object({ apiKey: z.string() })],
    ['an access token', z.object({ access_token: z.string() })],
    ['a card number', z.object({ cardNumber: z.string() })],
    ['the code of a card', z.object({ cvv: z.int() })],
    ['what its title calls a private key', z.object({ value: z.string().meta({ title: 'Your private key' }) })],
  ]
  for (const [name, schema] of secrets) {
    everyForm(
      `that asks for ${name} is rejected with a hint to URL elicitation [ELIC-006, ELIC-007, ELIC-008]`,
      async (wire) => {
        const server = asking((ctx) => ctx.elicit('Please enter', schema))
        const { forms, handlers } = filling({})
        await using pair = await wire.connect(server, { handlers })
        const result = await pair.client.callTool('ask')
        expect(result.isError).toBe(true)
        expect(result.text).toMatch(/looks like a secret.*ctx\.elicitUrl\(\)/)
        expect([asked(pair.transcript), forms]).toEqual([[], []])
      },
    )
  }

  everyForm('may have choices, checkboxes and numbers whose names mention a secret', async (wire) => {
    const harmless = z.object({
      tokenCount: z.int(),
      passwordLength: z.int(),
      token: z.enum(['keep', 'renew']),
      secret: z.boolean(),
    })
    const content = { tokenCount: 3, passwordLength: 12, token: 'keep', secret: false }
    const server = asking((ctx) => ctx.elicit('Please enter', harmless))
    await using pair = await wire.connect(server, filling(content))
    expect(JSON.parse((await pair.client.callTool('ask')).text).content).toEqual(content)
  })
})
