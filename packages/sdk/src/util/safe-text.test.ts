import { describe, expect, it } from 'vitest'
import { approvalLine, approvalText, safeJson, safeLine, safePieces, safeText } from './safe-text.ts'

/** Text of a server, and how the terminal, a label on one line, an approval and a page show it. */
const cases: readonly Case[] = [
  { name: 'a line break', text: 'a\nb', terminal: 'a\nb', line: 'a b', approval: 'a\nb', page: ['a\nb'] },
  { name: 'a Windows line break', text: 'a\r\nb', terminal: 'a\nb', line: 'a b', approval: 'a\nb', page: ['a\nb'] },
  { name: 'a carriage return, which overwrites the line', text: 'a\rb', shown: 'a<U+000D>b' },
  { name: 'a tab', text: 'a\tb', terminal: 'a    b', line: 'a b', approval: 'a    b', page: ['a\tb'] },
  { name: 'an escape sequence', text: '\u001b[2J', shown: '<U+001B>[2J' },
  { name: 'a control character of one byte', text: 'a\u009b31m', shown: 'a<U+009B>31m' },
  { name: 'a delete and a backspace', text: 'a\u007f\bb', shown: 'a<U+007F><U+0008>b' },
  { name: 'a turned direction', text: 'a\u202eb\u2066', shown: 'a<U+202E>b<U+2066>' },
  { name: 'a mark of direction', text: 'a\u200f', shown: 'a<U+200F>' },
  { name: 'a zero width space', text: 'a\u200bb', shown: 'a<U+200B>b' },
  { name: 'a byte order mark', text: 'a\ufeffb', shown: 'a<U+FEFF>b' },
  { name: 'a soft hyphen', text: 'a\u00adb', shown: 'a<U+00AD>b' },
  { name: 'tags, which models read', text: 'a\u{e0041}', shown: 'a<U+E0041>' },
  { name: 'a letter that is blank', text: 'a\u3164\u115f', shown: 'a<U+3164><U+115F>' },
  { name: 'a blank braille pattern', text: 'a\u2800', shown: 'a<U+2800>' },
  { name: 'a line separator', text: 'a\u2028b\u2029c', shown: 'a<U+2028>b<U+2029>c' },
  { name: 'private use', text: 'a\ue000', shown: 'a<U+E000>' },
  { name: 'a noncharacter', text: 'a\ufdd0', shown: 'a<U+FDD0>' },
  { name: 'half a character', text: 'a\ud800b', shown: 'a<U+D800>b' },
  { name: 'a joiner between Latin letters', text: 'pay\u200dpal', shown: 'pay<U+200D>pal' },
  { name: 'a joiner at the end of a word', text: 'نمی\u200c', shown: 'نمی<U+200C>' },
  { name: 'two joiners', text: 'नमस\u200d\u200dते', shown: 'नमस<U+200D><U+200D>ते' },
  { name: 'a joiner inside a Persian word', text: 'نمی\u200cخواهم', same: true },
  { name: 'a joiner inside a Hindi word', text: 'क्\u200dषमा', same: true },
  { name: 'a selector without an emoji', text: 'a\ufe0f', shown: 'a<U+FE0F>' },
  { name: 'a second selector', text: '⚠\ufe0f\ufe0f', shown: '⚠\ufe0f<U+FE0F>' },
  {
    name: 'emoji of several characters',
    text: '⚠\ufe0f ❤\ufe0f 👩🏽\u200d🚀 👨\u200d👩\u200d👧 1\ufe0f\u20e3',
    same: true,
  },
  { name: 'a joiner after an emoji', text: '👩\u200dx', shown: '👩<U+200D>x' },
  { name: 'accents and other scripts', text: 'é e\u0301 日本 Grüße नमस्ते', same: true },
  {
    name: 'stacked combining marks, which cover other lines',
    text: `a${'\u0301'.repeat(50)}b`,
    shown: `a${'\u0301'.repeat(4)}<combining marks>b`,
  },
]

interface Case {
  readonly name: string
  readonly text: string
  /** Every medium shows this. A page shows `<...>` as an element. */
  readonly shown?: string
  /** Every medium shows the text as it is. */
  readonly same?: boolean
  readonly terminal?: string
  readonly line?: string
  readonly approval?: string
  readonly page?: readonly string[]
}

describe('foreign text', () => {
  it.each(cases)('shows $name', ({ text, same, shown = same ? text : undefined, terminal, line, approval, page }) => {
    expect(safeText(text)).toBe(terminal ?? shown)
    expect(safeLine(text)).toBe(line ?? shown)
    expect(approvalText(text)).toBe(approval ?? shown)
    const onPage = safePieces(text).map((piece) => (typeof piece === 'string' ? piece : shownAs(piece.hidden)))
    expect(onPage.join('')).toBe(page?.join('') ?? shown)
  })

  it('makes line breaks visible in an approval on one line', () => {
    expect(approvalLine(' a\nYou have approved this before.\n')).toBe('a<U+000A>You have approved this before.')
  })

  it('cuts long text for the terminal, with what is missing, and never for an approval', () => {
    const text = 'x'.repeat(1_000)
    expect(safeText(text, 10)).toBe('xxxxxxxxxx… (990 more characters)')
    expect(safeLine('\u0007'.repeat(1_000), 10).length).toBeLessThan(60)
    expect(safeText(`123456789${'👩'}`, 10)).toBe('123456789… (2 more characters)')
    expect(approvalText(text)).toBe(text)
  })

  it('makes few elements of text that is full of hidden characters', () => {
    const pieces = safePieces('\u0007'.repeat(10_000))
    expect(pieces.length).toBeLessThan(500)
    expect(pieces.at(-1)).toMatch(/^(?:<U\+0007>)+$/)
  })

  it('takes linear time for text without an ordinary character', () => {
    for (const char of ['\u0301', '\u200d', '\ufe0f', '\u202e', '👩\u200d', 'ن\u200c']) {
      expect(approvalText(char.repeat(200_000)).length).toBeGreaterThan(0)
    }
  })

  it('escapes hidden characters in JSON', () => {
    expect(safeJson({ a: '\u202e\u{e0041}' })).toBe('{\n  "a": "\\u202e\\udb40\\udc41"\n}')
    expect(safeJson(undefined)).toBe('null')
  })
})

function shownAs(hidden: string): string {
  const code = hidden.codePointAt(0)!.toString(16).toUpperCase().padStart(4, '0')
  return [...hidden].length > 1 || /\u0301/.test(hidden) ? '<combining marks>' : `<U+${code}>`
}
