import { describe, expect, it } from 'vitest'
import { Person } from './support.ts'

describe('terminal forms', () => {
  it('shows the name and address of the server, and the reason [ELIC-049, ELIC-050]', async () => {
    const person = new Person().type('!cancel')
    await person.fillIn({ city: { type: 'string' } }, { message: 'Where should the forecast go?' })
    expect(person.screen).toContain('From  weather (self-reported)\nAt    https://weather.example/mcp\n')
    expect(person.screen).toContain('│ Where should the forecast go?\n')
  })

  it('shows title, description, requiredness and rule of each field', async () => {
    const person = new Person().type('Paris', '3', '', '', '', '', '', '', 'yes')
    await person.fillIn(
      {
        city: { type: 'string', title: 'City', description: 'Where you want to go.', minLength: 2, maxLength: 40 },
        days: { type: 'integer', minimum: 1, maximum: 10 },
        share: { type: 'number', minimum: 0.5 },
        mail: { type: 'string', format: 'email' },
        page: { type: 'string', format: 'uri' },
        name: { type: 'string', minLength: 1 },
        day: { type: 'string', format: 'date' },
        time: { type: 'string', format: 'date-time', maxLength: 30 },
      },
      { required: ['city', 'days'] },
    )
    expect(person.screen).toContain('City  required, 2 to 40 characters\n│ Where you want to go.\n> ')
    expect(person.screen).toContain('days  required, a whole number from 1 to 10\n')
    expect(person.screen).toContain('share  optional, a number, at least 0.5\n')
    expect(person.screen).toContain('mail  optional, an email address\n')
    expect(person.screen).toContain('page  optional, a URL such as https://example.com/\n')
    expect(person.screen).toContain('name  optional, at least 1 character\n')
    expect(person.screen).toContain('day  optional, a date like 2030-12-31\n')
    expect(person.screen).toContain(
      'time  optional, a date and time like 2030-12-31T09:30:00Z, at most 30 characters\n',
    )
  })

  it('shows defaults and accepts them on Enter [ELIC-016]', async () => {
    const person = new Person().type('', '', '', '', '', 'yes')
    const result = await person.fillIn({
      city: { type: 'string', default: 'London' },
      days: { type: 'integer', default: 3 },
      daily: { type: 'boolean', default: true },
      units: { type: 'string', enum: ['c', 'f'], default: 'f' },
      extras: { type: 'array', items: { type: 'string', enum: ['wind', 'tides'] }, default: ['wind', 'tides'] },
    })
    for (const hint of ['[London] > ', '[3] > ', '[Y/n] > ', '[f] > ', '[wind, tides] > '])
      expect(person.screen).toContain(hint)
    expect(result).toEqual({
      action: 'accept',
      content: { city: 'London', days: 3, daily: true, units: 'f', extras: ['wind', 'tides'] },
    })
  })

  it('does not offer a default that its own field rejects', async () => {
    const person = new Person().type('', '', '4', 'yes')
    const result = await person.fillIn(
      { city: { type: 'string', minLength: 5, default: 'Rome' }, days: { type: 'integer', default: 'many' as never } },
      { required: ['days'] },
    )
    expect(person.screen).not.toContain('[Rome]')
    expect(result.content).toEqual({ days: 4 })
  })

  it('omits skipped optional fields and insists on required ones', async () => {
    const person = new Person().type('', '', '   ', 'Paris', 'yes')
    const result = await person.fillIn({ note: { type: 'string' }, city: { type: 'string' } }, { required: ['city'] })
    expect(person.screen.match(/This field is required\./g)).toHaveLength(2)
    expect(result).toEqual({ action: 'accept', content: { city: 'Paris' } })
  })

  it.each<[string, Parameters<Person['fillIn']>[0][string], string, string, unknown]>([
    ['a text that is too short', { type: 'string', minLength: 3 }, 'ab', 'abc', 'abc'],
    ['a text that is too long', { type: 'string', maxLength: 2 }, 'abc', '👍👍', '👍👍'],
    ['no email address', { type: 'string', format: 'email' }, 'ada', 'ada@example.org', 'ada@example.org'],
    ['no URL', { type: 'string', format: 'uri' }, 'not a url', 'https://a.example/', 'https://a.example/'],
    ['a day that does not exist', { type: 'string', format: 'date' }, '2026-02-30', '2026-02-28', '2026-02-28'],
    ['no time', { type: 'string', format: 'date-time' }, 'noon', '2026-02-28T12:00:00Z', '2026-02-28T12:00:00Z'],
    ['no number', { type: 'number' }, '0x10', '-1.5e1', -15],
    ['half of a whole number', { type: 'integer' }, '1.5', '2', 2],
    ['a number that is too small', { type: 'number', minimum: 1 }, '0.9', '1', 1],
    ['a number that is too large', { type: 'integer', maximum: 10 }, '11', '10', 10],
    ['neither yes nor no', { type: 'boolean' }, 'maybe', 'No', false],
    ['what is not in the list', { type: 'string', enum: ['a', 'b'] }, 'c', 'b', 'b'],
    ['a number outside the list', { type: 'string', enum: ['a', 'b'] }, '3', '2', 'b'],
    [
      'too many choices',
      { type: 'array', maxItems: 1, items: { type: 'string', enum: ['a', 'b'] } },
      '1 2',
      '1',
      ['a'],
    ],
    ['too few', { type: 'array', minItems: 2, items: { type: 'string', enum: ['a', 'b'] } }, 'a', 'a b', ['a', 'b']],
    ['a stranger among choices', { type: 'array', items: { type: 'string', enum: ['a', 'b'] } }, 'a, x', 'b', ['b']],
  ])('explains an invalid answer and asks again: %s [ELIC-018, ELIC-019]', async (_, field, wrong, right, value) => {
    const person = new Person().type(wrong, right, 'yes')
    const result = await person.fillIn({ field })
    expect(result).toEqual({ action: 'accept', content: { field: value } })
    expect(person.screen).toMatch(/\n {2}(?:It must|Please|\S+ is not in the list).*\.\n/)
  })

  it('lists choices of every schema form, to pick by number, value or title [ELIC-014]', async () => {
    const titled = [
      { const: 'c', title: 'Degrees Celsius' },
      { const: 'f', title: 'Fahrenheit' },
    ]
    const person = new Person().type('2', 'F', 'degrees celsius', '2', 'Fahrenheit, degrees celsius, 2', 'yes')
    const result = await person.fillIn({
      bare: { type: 'string', enum: ['c', 'f'] },
      titled: { type: 'string', oneOf: titled },
      again: { type: 'string', oneOf: titled },
      older: { type: 'string', enum: ['c', 'f'], enumNames: ['Degrees Celsius', 'Fahrenheit'] },
      several: { type: 'array', items: { anyOf: titled } },
    })
    expect(person.screen).toContain('bare  optional, choose one\n  1) c\n  2) f\n')
    expect(person.screen).toContain('older  optional, choose one\n  1) Degrees Celsius (c)\n  2) Fahrenheit (f)\n')
    expect(result.content).toEqual({ bare: 'f', titled: 'f', again: 'c', older: 'f', several: ['f', 'c'] })
  })

  it('accepts "none" where a list may be empty', async () => {
    const items = { type: 'string' as const, enum: ['a', 'b'] }
    const person = new Person().type('none', '', 'yes')
    const result = await person.fillIn(
      { first: { type: 'array', items, default: ['a'] }, second: { type: 'array', items } },
      { required: ['second'] },
    )
    expect(result.content).toEqual({ first: [], second: [] })
  })

  it('lets the user review and change all answers before sending [ELIC-029, ELIC-049, ELIC-050]', async () => {
    const person = new Person().type('Paris', '3', 'hello')
    const result = person.fillIn(
      { city: { type: 'string', title: 'City' }, days: { type: 'integer' }, note: { type: 'string' } },
      { required: ['city'] },
    )
    await person.sees('Send?')
    expect(person.screen).toContain('This will be sent to weather:\n  1) City  Paris\n  2) days  3\n  3) note  hello\n')
    person.type('2', '5', '3', '!skip', '1', '', 'yes')
    expect(await result).toEqual({ action: 'accept', content: { city: 'Paris', days: 5 } })
    expect(person.screen).toContain('1) City  Paris\n  2) days  5\n  3) note  left out\n')
  })

  it('sends nothing on Enter alone or an unknown answer', async () => {
    const person = new Person().type('x', '', 'sure', '7', '0', 'decline')
    expect(await person.fillIn({ a: { type: 'string' } })).toEqual({ action: 'decline' })
    expect(person.screen.match(/Please type yes, the number of a field, decline or cancel\./g)).toHaveLength(4)
  })

  it.each([
    ['at a field', ['Paris', '!decline'], 'decline'],
    ['at a field', ['!CANCEL'], 'cancel'],
    ['at the review', ['Paris', '3', '!decline'], 'decline'],
    ['at the review', ['Paris', '3', 'cancel'], 'cancel'],
    ['while a field is changed', ['Paris', '3', '1', '!decline'], 'decline'],
  ])('can be cancelled at any time: %s %j [ELIC-029, ELIC-050]', async (_, lines, action) => {
    const person = new Person().type(...lines)
    expect(await person.fillIn({ city: { type: 'string' }, days: { type: 'integer' } })).toEqual({ action })
    expect(person.screen).toContain('Type !decline or !cancel to stop.')
    expect(person.screen).toContain(action === 'decline' ? 'Declined.' : 'Cancelled.')
  })

  it('warns about a field that asks for a secret', async () => {
    const person = new Person().type('!decline')
    await person.fillIn({ password: { type: 'string' } })
    expect(person.screen).toContain('! This looks like a secret, which forms must not ask for.')
  })

  it('asks for confirmation when there are no fields', async () => {
    const person = new Person().type('', 'yes')
    expect(await person.fillIn({})).toEqual({ action: 'accept', content: {} })
  })

  it('shows and refuses an unsupported field', async () => {
    const person = new Person().type('x', '', 'y', '', '', 'yes')
    const properties = { nested: { type: 'object' }, nothing: null, list: { type: 'array', items: 7 } }
    expect(await person.fillIn(properties as never)).toEqual({ action: 'accept', content: {} })
    expect(person.screen.match(/It cannot be understood\./g)).toHaveLength(2)
  })

  it('keeps a field named __proto__ as a field', async () => {
    const person = new Person().type('x', 'yes')
    const { content } = await person.fillIn(JSON.parse('{"__proto__":{"type":"string"}}'))
    expect(Object.entries(content!)).toEqual([['__proto__', 'x']])
  })
})
