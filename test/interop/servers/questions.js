import * as z from 'zod'

// The input requests of the servers of every SDK, so that the same tests run for all pairs.

export const info = { name: 'asker', version: '1.2.3' }

/** A field of every single-value type, as sent. */
export const form = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Name', description: 'As on the invoice', minLength: 2, maxLength: 40 },
    email: { type: 'string', format: 'email' },
    site: { type: 'string', format: 'uri' },
    day: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
    planks: { type: 'integer', minimum: 1, maximum: 20, default: 4 },
    length: { type: 'number', minimum: 0.5, maximum: 5.5 },
    gift: { type: 'boolean', default: false },
    wood: { type: 'string', enum: ['oak', 'pine'], default: 'oak' },
    finish: {
      type: 'string',
      title: 'Finish',
      oneOf: [
        { const: 'oil', title: 'Hard oil' },
        { const: 'wax', title: 'Bees wax' },
      ],
    },
    note: { type: 'string', default: 'none' },
  },
  required: ['name', 'email', 'site', 'day', 'at', 'length', 'finish'],
}

/** The same fields as an author writes them. */
export const order = z.object({
  name: z.string().min(2).max(40).meta({ title: 'Name', description: 'As on the invoice' }),
  email: z.email(),
  site: z.url(),
  day: z.iso.date(),
  at: z.iso.datetime(),
  planks: z.int().min(1).max(20).default(4),
  length: z.number().min(0.5).max(5.5),
  gift: z.boolean().default(false),
  wood: z.enum(['oak', 'pine']).default('oak'),
  finish: z
    .union([z.literal('oil').meta({ title: 'Hard oil' }), z.literal('wax').meta({ title: 'Bees wax' })])
    .meta({ title: 'Finish' }),
  note: z.string().default('none'),
})

/** Multiple choice with and without titles, and titles in the form of 2025-06-18. */
export const choices = {
  type: 'object',
  properties: {
    tools: { type: 'array', items: { type: 'string', enum: ['saw', 'plane', 'file'] }, minItems: 1, maxItems: 2 },
    days: {
      type: 'array',
      items: {
        anyOf: [
          { const: 'mon', title: 'Monday' },
          { const: 'tue', title: 'Tuesday' },
        ],
      },
      default: ['mon'],
    },
    size: { type: 'string', enum: ['s', 'l'], enumNames: ['Small', 'Large'] },
  },
  required: ['tools', 'size'],
}

export const text = (name) => ({ type: 'object', properties: { [name]: { type: 'string' } }, required: [name] })

export const page = { message: 'Pay there', url: 'https://pay.example.com/bill?number=7' }

/** A sampling request with every option except tools. */
export const poem = (about) => ({
  messages: [
    { role: 'user', content: { type: 'text', text: 'A line about trees' } },
    { role: 'assistant', content: { type: 'text', text: 'They stand.' } },
    { role: 'user', content: { type: 'text', text: `A line about ${about}` } },
  ],
  systemPrompt: 'Be brief',
  maxTokens: 50,
  temperature: 0.5,
  stopSequences: ['\n'],
  modelPreferences: { hints: [{ name: 'small' }], speedPriority: 0.9 },
  metadata: { shop: 'asker' },
})

/** A sampling request in which the model calls a tool first. */
export const measuring = {
  messages: [{ role: 'user', content: { type: 'text', text: 'How long is the plank?' } }],
  maxTokens: 50,
  tools: [{ name: 'measure', description: 'Measures', inputSchema: { type: 'object', properties: {} } }],
  toolChoice: { mode: 'auto' },
}

/** The same request after the model has called the tool. */
export function measured(used) {
  const uses = [used].flat().filter(({ type }) => type === 'tool_use')
  const results = uses.map(({ id }) => ({
    type: 'tool_result',
    toolUseId: id,
    content: [{ type: 'text', text: '3 m' }],
  }))
  return {
    ...measuring,
    messages: [...measuring.messages, { role: 'assistant', content: used }, { role: 'user', content: results }],
  }
}

export const textOf = ({ content }) => [content].flat()[0].text
