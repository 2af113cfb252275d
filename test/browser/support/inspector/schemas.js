/** A schema with every kind of field that the form has. */
export const everySchema = {
  type: 'object',
  properties: {
    text: { type: 'string', description: 'Some text' },
    story: { type: 'string', maxLength: 5_000 },
    count: { type: 'integer', minimum: 0 },
    ratio: { type: 'number', default: 0.5 },
    sure: { type: 'boolean' },
    color: { enum: ['red', 'green', 3, null] },
    version: { const: 2 },
    maybe: { type: ['string', 'null'] },
    day: { type: 'string', format: 'date' },
    file: { type: 'string', contentEncoding: 'base64' },
    place: {
      type: 'object',
      properties: { city: { type: 'string' }, zip: { type: 'integer' } },
      required: ['city'],
    },
    tags: { type: 'array', items: { type: 'string' } },
    sizes: { type: 'array', items: { enum: ['s', 'm', 'l'] } },
    pair: { type: 'array', prefixItems: [{ type: 'string' }, { type: 'number' }] },
    shape: {
      oneOf: [
        {
          title: 'Circle',
          type: 'object',
          properties: { kind: { const: 'circle' }, radius: { type: 'number' } },
          required: ['kind', 'radius'],
        },
        {
          title: 'Square',
          type: 'object',
          properties: { kind: { const: 'square' }, side: { type: 'number' } },
          required: ['kind', 'side'],
        },
      ],
    },
    tree: { $ref: '#/$defs/node' },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    anything: {},
  },
  required: ['text'],
  $defs: {
    node: {
      type: 'object',
      properties: { name: { type: 'string' }, children: { type: 'array', items: { $ref: '#/$defs/node' } } },
      required: ['name'],
    },
  },
}

/** Every primitive schema of an elicitation. */
export const everyPrimitive = {
  type: 'object',
  properties: {
    name: { type: 'string', title: 'Your name', minLength: 2, maxLength: 20 },
    email: { type: 'string', format: 'email' },
    site: { type: 'string', format: 'uri' },
    born: { type: 'string', format: 'date' },
    at: { type: 'string', format: 'date-time' },
    age: { type: 'integer', minimum: 1, maximum: 150 },
    height: { type: 'number', default: 1.8 },
    member: { type: 'boolean', default: true },
    plan: { type: 'string', enum: ['free', 'paid'] },
    tier: {
      type: 'string',
      oneOf: [
        { const: 'g', title: 'Gold' },
        { const: 's', title: 'Silver' },
      ],
    },
    topics: { type: 'array', items: { type: 'string', enum: ['news', 'events'] } },
    seats: {
      type: 'array',
      items: {
        anyOf: [
          { const: 'w', title: 'Window' },
          { const: 'a', title: 'Aisle' },
        ],
      },
    },
  },
  required: ['name', 'age', 'plan'],
}
