import { describe, expect, it } from 'vitest'
import { officialSchema } from '../../test/kit/official-schemas.ts'
import { downgradeForm, joinCheckboxes } from './downgrade-form.ts'
import type { ElicitSchema, PrimitiveSchemaDefinition } from './elicitation.ts'
import { fillDefaults, formProblem, secretField } from './form.ts'

const options = [
  { const: 'a', title: 'A' },
  { const: 'b', title: 'B' },
]
const form = (properties: Record<string, unknown>, required?: string[]) =>
  ({ type: 'object', properties, ...(required && { required }) }) as ElicitSchema

describe('form defaults', () => {
  const asked = form({
    name: { type: 'string', default: 'Jo' },
    tags: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, default: ['a'] },
    agreed: { type: 'boolean', default: false },
    note: { type: 'string' },
  })

  it('fills in missing fields with their defaults and changes nothing else', () => {
    expect(fillDefaults(asked, { name: 'Al', more: 1 })).toEqual({ name: 'Al', more: 1, tags: ['a'], agreed: false })
    expect(fillDefaults(asked, undefined)).toEqual({ name: 'Jo', tags: ['a'], agreed: false })
  })

  it('does not modify the submitted form when it applies defaults', () => {
    const content = { name: 'Al' }
    const filled = fillDefaults(asked, content)
    ;(filled.tags as string[]).push('b')
    expect(content).toEqual({ name: 'Al' })
    expect(asked.properties.tags!.default).toEqual(['a'])
  })

  it('does not apply a default that its own field rejects', () => {
    expect(fillDefaults(form({ a: { type: 'string', default: 1 }, b: null, c: { default: {} } }), {})).toEqual({})
  })

  it('ignores inherited properties when it applies defaults', () => {
    const odd = form(
      JSON.parse('{"__proto__":{"type":"string","default":"x"},"toString":{"type":"string","default":"y"}}'),
    )
    const filled = fillDefaults(odd, JSON.parse('{"constructor":"z"}'))
    expect(Object.entries(filled)).toEqual([
      ['constructor', 'z'],
      ['__proto__', 'x'],
      ['toString', 'y'],
    ])
    expect(Object.getPrototypeOf(filled)).toBe(Object.prototype)
  })
})

describe('form validation', () => {
  const asked = form(
    {
      text: { type: 'string', minLength: 2, maxLength: 3 },
      mail: { type: 'string', format: 'email' },
      page: { type: 'string', format: 'uri' },
      day: { type: 'string', format: 'date' },
      time: { type: 'string', format: 'date-time' },
      count: { type: 'integer', minimum: 1, maximum: 9 },
      share: { type: 'number' },
      agreed: { type: 'boolean' },
      one: { type: 'string', enum: ['a', 'b'], enumNames: ['A', 'B'] },
      titled: { type: 'string', oneOf: options },
      some: { type: 'array', items: { type: 'string', enum: ['a', 'b'] }, minItems: 1, maxItems: 2 },
      someTitled: { type: 'array', items: { anyOf: options } },
    },
    ['text'],
  )
  const full = {
    text: 'abc',
    mail: 'a@b.co',
    page: 'https://a.b/c',
    day: '2024-02-29',
    time: '2024-02-29T12:00:00Z',
    count: 9,
    share: 0.5,
    agreed: false,
    one: 'b',
    titled: 'a',
    some: ['a', 'b'],
    someTitled: [],
  }

  it('accepts a form whose fields are all valid [ELIC-012] [ELIC-014]', () => {
    expect(formProblem(asked, full)).toBe(undefined)
    expect(formProblem(asked, { text: 'ab' })).toBe(undefined)
  })

  it.each([
    ['text', 'a', 'must have 2 or more characters'],
    ['text', 'abcd', 'must have 3 or fewer characters'],
    ['text', 12, 'must be a string'],
    ['mail', 'a', 'must be a valid email'],
    ['page', 'a', 'must be a valid uri'],
    ['day', '2024-02-30', 'must be a valid date'],
    ['time', '2024-02-29', 'must be a valid date-time'],
    ['count', 0, 'must be 1 or more'],
    ['count', 10, 'must be 9 or less'],
    ['count', 1.5, 'must be a whole number'],
    ['count', '1', 'must be a number'],
    ['share', Number.NaN, 'must be a number'],
    ['agreed', 'yes', 'must be true or false'],
    ['one', 'c', 'must be one of ["a","b"]'],
    ['titled', 'A', 'must be one of ["a","b"]'],
    ['some', [], 'must have 1 or more choices'],
    ['some', ['a', 'b', 'a'], 'must have 2 or fewer choices'],
    ['some', 'a', 'must be an array of strings'],
    ['someTitled', ['a', 'c'], 'must have only choices of ["a","b"]'],
    ['someTitled', [1], 'must be an array of strings'],
    ['more', { a: 1 }, 'must be a string, a number, true, false or an array of strings'],
    ['more', null, 'must be a string, a number, true, false or an array of strings'],
  ])('reports the field %s with the value %j [ELIC-012] [ELIC-014]', (name, value, problem) => {
    expect(formProblem(asked, { ...full, [name]: value })).toBe(`field "${name}" ${problem}`)
  })

  it('requires required fields and accepts unknown fields', () => {
    expect(formProblem(asked, { count: 1 })).toBe('field "text" is missing')
    expect(formProblem(asked, { text: undefined })).toBe('field "text" is missing')
    expect(formProblem(asked, { text: 'ab', more: 'x', list: ['y'] })).toBe(undefined)
    expect(formProblem(form({}, ['toString']), {})).toBe('field "toString" is missing')
  })

  it('counts a character outside the basic multilingual plane as one', () => {
    expect(formProblem(asked, { text: '😀😀😀' })).toBe(undefined)
    expect(formProblem(asked, { text: '😀' })).toBe('field "text" must have 2 or more characters')
  })

  it.each([[undefined], [null], ['text'], [['ab']]])('refuses %j, because a form is an object', (content) => {
    expect(formProblem(asked, content)).toBe('content must be an object')
  })

  it.each([
    [null],
    ['string'],
    [[]],
    [{}],
    [{ type: 'object', properties: {} }],
    [{ type: ['string'] }],
    [{ type: 'string', enum: 'ab' }],
    [{ type: 'string', enum: [1] }],
    [{ type: 'string', oneOf: [null] }],
    [{ type: 'string', oneOf: {} }],
    [{ type: 'string', minLength: '1' }],
    [{ type: 'number', minimum: {} }],
    [{ type: 'array' }],
    [{ type: 'array', items: { type: 'string' } }],
    [{ type: 'array', items: { enum: ['a'] }, maxItems: null }],
  ])('reports that a field like %j is not supported', (field) => {
    expect(formProblem(form({ x: field }), { x: 'a' })).toBe('field "x" cannot be understood')
    expect(formProblem(form({ x: field }), {})).toBe(undefined)
  })

  it('reports a form schema that is not a form', () => {
    for (const odd of [null, 1, {}, { properties: [] }, { properties: {}, required: [{ toString: 1 }] }]) {
      expect(formProblem(odd as never, {})).toBe('the form cannot be understood')
    }
  })

  it('never runs a regular expression that comes from the peer', () => {
    const hostile = form({ x: { type: 'string', pattern: '^(a+)+$', format: '(a+)+$' } })
    expect(formProblem(hostile, { x: `${'a'.repeat(5_000)}!` })).toBe(undefined)
  })
})

describe('forms for clients of 2025-06-18', () => {
  const asked: ElicitSchema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    ...form(
      {
        text: { type: 'string', title: 'Text', default: 'x', maxLength: 3 },
        count: { type: 'integer', default: 1 },
        agreed: { type: 'boolean', default: true },
        one: { type: 'string', enum: ['a', 'b'], default: 'a' },
        titled: { type: 'string', description: 'Choose', oneOf: options, default: 'a' },
      },
      ['titled'],
    ),
  }

  it('uses enumNames for titles and keeps defaults of booleans only [ELIC-013]', () => {
    expect(downgradeForm(asked)).toEqual({
      type: 'object',
      properties: {
        text: { type: 'string', title: 'Text', maxLength: 3 },
        count: { type: 'integer' },
        agreed: { type: 'boolean', default: true },
        one: { type: 'string', enum: ['a', 'b'] },
        titled: { type: 'string', description: 'Choose', enum: ['a', 'b'], enumNames: ['A', 'B'] },
      },
      required: ['titled'],
    })
  })

  it('matches the official schema of 2025-06-18 [ELIC-013]', () => {
    const params = { message: 'Please', requestedSchema: downgradeForm(asked) }
    const official = officialSchema('2025-06-18')
    expect(official?.problem({ jsonrpc: '2.0', id: 1, method: 'elicitation/create', params })).toBe(undefined)
  })

  it('turns a multiple choice into one checkbox per option', () => {
    const tags = { type: 'array', title: 'Tags', items: { anyOf: options }, default: ['b'] }
    const several = form({ tags, more: { type: 'array', items: { type: 'string', enum: ['x'] } } }, ['tags'])
    expect(downgradeForm(several)).toEqual({
      type: 'object',
      properties: {
        'tags: a': { type: 'boolean', title: 'Tags: A', default: false },
        'tags: b': { type: 'boolean', title: 'Tags: B', default: true },
        'more: x': { type: 'boolean', title: 'more: x' },
      },
    })
    expect(joinCheckboxes(several, { 'tags: a': true, 'tags: b': false })).toEqual({ tags: ['a'] })
    expect(joinCheckboxes(several, {})).toEqual({ tags: [] })
    expect(joinCheckboxes(several, { 'more: x': false, tags: ['b'] })).toEqual({ tags: ['b'], more: [] })
  })
})

describe('detection of fields that ask for secrets', () => {
  const text = (name: string, title?: string) =>
    form({ fine: { type: 'string' }, [name]: { type: 'string', ...(title && { title }) } })

  it.each([
    ...[
      'password',
      'Password',
      'userPassword',
      'new_password',
      'password2',
      'passwordConfirmation',
      'passwd',
      'PASSWORD',
    ],
    ...['passphrase', 'secret', 'clientSecret', 'client-secret', 'token', 'apiToken', 'access_token', 'OAuthToken'],
    ...['apiKey', 'api_key', 'APIKey', 'apikey', 'accessKey', 'privateKey', 'private_key_pem', 'secretKey'],
    ...['creditCard', 'credit_card_number', 'cardNumber', 'cvv', 'CVC', 'cvv2', 'ssn', 'socialSecurityNumber'],
  ])('detects a secret by the field name %s', (name) => {
    expect(secretField(text(name))).toBe(name)
  })

  it.each([
    ...[
      'Password',
      'Your API key',
      'Password for GitHub',
      'Password (8 letters or more)',
      'Enter your access token, please',
    ],
    ...['Credit card', 'Social Security Number'],
  ])('detects a secret by the field title %s', (title) => {
    expect(secretField(text('value', title))).toBe('value')
  })

  it.each([
    ...['tokenCount', 'max_tokens', 'token_limit', 'tokenizer', 'passwordLength', 'password_policy', 'secretary'],
    ...['secretSanta', 'keyboard', 'api', 'apiKeyName', 'card', 'cardType', 'pin', 'compass', 'email', 'key', 'number'],
  ])('detects no secret in %s', (name) => {
    expect(secretField(text(name, name))).toBe(undefined)
  })

  it('detects secrets in number fields, but not in checkboxes or choices', () => {
    const fieldOf = (field: PrimitiveSchemaDefinition) => secretField(form({ password: field }))
    expect(fieldOf({ type: 'integer' })).toBe('password')
    expect(fieldOf({ type: 'boolean' })).toBe(undefined)
    expect(fieldOf({ type: 'string', enum: ['keep', 'reset'] })).toBe(undefined)
    expect(fieldOf({ type: 'string', oneOf: options })).toBe(undefined)
    expect(fieldOf({ type: 'array', items: { anyOf: options } })).toBe(undefined)
  })

  it('looks for secret fields in forms of every peer', () => {
    expect(secretField(form({ a: null, b: { type: 'string', title: {} }, token: { type: 'string' } }))).toBe('token')
  })
})
