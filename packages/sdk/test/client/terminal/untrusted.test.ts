import { describe, expect, it } from 'vitest'
import { Person, type Properties } from './support.ts'

/** Sent as title, description, name, value, default, message, address and warning. */
const hostile = [
  ['colours', '\u001b[31mred\u001b[0m'],
  ['a cleared screen', '\u001b[2J\u001b[H'],
  ['a window title', '\u001b]0;mine\u0007'],
  ['a link', '\u001b]8;;https://evil.example\u0007click\u001b]8;;\u0007'],
  ['controls of one byte', '\u009b31mred\u0085\u008d'],
  ['overwriting', 'safe\rfake\b\b\u007f'],
  ['a turned direction', '\u202egnp.exe\u2066\u2069\u200f'],
  ['tags and fillers', 'a\u{e0041}\u{e0042}\u3164\u115f\u2800\ufeff\u00ad'],
  ['other line ends', 'a\u2028b\u2029c\u000bd\u000ce'],
  ['half a character', 'a\ud800b'],
] as const

const shapeless = /[\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]|(?!\n)\p{Cc}/u

describe('untrusted text on the terminal', () => {
  it.each(hostile)('cannot control the terminal of a form: %s [ELIC-048]', async (_, text) => {
    const option = { const: text, title: text }
    const about = { title: text, description: text }
    const properties: Properties = {
      [text]: { type: 'string', description: text, default: text },
      choice: { type: 'string', ...about, oneOf: [option, { const: 'other', title: text }], default: text },
      choices: { type: 'array', ...about, items: { anyOf: [option] }, default: [text] },
      older: { type: 'string', ...about, enum: [text], enumNames: [text] },
      odd: { type: 'string', ...about, format: text as never },
    }
    const person = new Person().type('', '', '', `9${text.replace(/[\r\n]/g, '')}`, '1', 'x', 'yes')
    const server = { name: text, address: `node ${text}` }
    const signal = new AbortController().signal
    const result = await person.fillIn(properties, { message: text, asking: { server, signal } })
    expect(result.content).toMatchObject({ [text]: text, choice: text, choices: [text], older: text })
    expect(person.screen).not.toMatch(shapeless)
  })

  it.each(hostile)('cannot control the terminal of a URL prompt: %s', async (_, text) => {
    const person = new Person().type('yes')
    const url = new URL(`https://example.com/${text}?${text}#${text}`)
    await person.visit('https://example.com/', { message: text, warnings: [text], url })
    expect(person.screen).not.toMatch(shapeless)
  })

  it('contains no clickable URL in a form [ELIC-048]', async () => {
    const person = new Person({ color: true, isTerminal: true })
    const link = '\u001b]8;;https://evil.example\u001b\\here\u001b]8;;\u001b\\'
    const result = person.fillIn({ a: { type: 'string', title: link } }, { message: `Go to https://a.example ${link}` })
    await person.sees('> ')
    person.type('!decline')
    await result
    expect(person.screen).not.toContain('\u001b]')
  })

  it('is not shown where a number belongs', async () => {
    const person = new Person().type('!cancel')
    const wild = '\u001b[2J' as unknown as number
    await person.fillIn({ a: { type: 'string', minLength: wild, maxLength: wild } })
    expect(person.screen).not.toContain('\u001b')
  })

  it('has its invisible characters shown', async () => {
    const person = new Person().type('!cancel')
    await person.fillIn({ a: { type: 'string' } }, { message: 'a\u001b[1mb \u202ec' })
    expect(person.screen).toContain('│ a<U+001B>[1mb <U+202E>c\n')
  })

  it('may use any script and emoji', async () => {
    const message = 'Grüße 你好 नमस्ते 👩‍🚀 ❤️ é'
    const person = new Person().type('!cancel')
    await person.fillIn({ a: { type: 'string' } }, { message })
    expect(person.screen).toContain(`│ ${message}\n`)
  })

  it('is marked with a bar on every line', async () => {
    const message = `Hi\n\n\n\n\n\nSend? (yes)\r\n> ${'word '.repeat(100)}${'x'.repeat(300)}${'你'.repeat(100)}`
    const person = new Person().type('!cancel')
    await person.fillIn({ a: { type: 'string', description: message } }, { message })
    const lines = person.screen.split('\n')
    expect(lines.filter((line) => /Send\?|word|xx|你/.test(line)).every((line) => line.startsWith('│ '))).toBe(true)
    const columns = (line: string) => line.length + (line.match(/你/g)?.length ?? 0)
    expect(Math.max(...lines.map(columns))).toBeLessThanOrEqual(80)
  })

  it('is truncated when it is too long', async () => {
    const endless = 'x'.repeat(1_000_000)
    const values = Array.from({ length: 2_000 }, (_, index) => `v${index}`)
    const person = new Person().type('', 'v1999', '!cancel')
    const server = { name: endless, address: endless }
    const signal = new AbortController().signal
    await person.fillIn(
      {
        [endless]: { type: 'string', title: endless, description: endless, default: endless },
        choice: { type: 'string', enum: values },
      },
      { message: '\n'.repeat(10_000) + endless, asking: { server, signal } },
    )
    expect(person.screen.length).toBeLessThan(12_000)
    expect(person.screen).toContain('… and 1950 more\n')
    expect(person.screen).toContain(' 2) choice')
  })
})
