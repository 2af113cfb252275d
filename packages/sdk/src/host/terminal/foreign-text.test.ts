import { expect, it } from 'vitest'
import type { Layout } from '../../client/terminal/layout.ts'
import { approvalLine } from '../../util/safe-text.ts'
import { labeled, quoteAll, toPrettyJson } from './foreign-text.ts'

const plain = (text: string) => text
const layoutOf = (width: number) => ({ width, paint: { faint: plain } }) as unknown as Layout

it('marks every line of foreign text, and the continuation of a long one differently', () => {
  expect(quoteAll('one two three\n\nfour', layoutOf(10))).toEqual(['│ one two ', '┊ three', '│ ', '│ four'])
  expect(quoteAll('abcdefgh', layoutOf(10))).toEqual(['│ abcdefgh'])
  expect(quoteAll('abcdefghi', layoutOf(10))).toEqual(['│ abcdefgh', '┊ i'])
  expect(quoteAll('ab cdefghijklm', layoutOf(10))).toEqual(['│ ab ', '┊ cdefghij', '┊ klm'])
})

it('counts wide characters twice and never splits a character', () => {
  expect(quoteAll('日本語日本', layoutOf(10))).toEqual(['│ 日本語日', '┊ 本'])
  expect(quoteAll('a日本語日', layoutOf(10))).toEqual(['│ a日本語', '┊ 日'])
})

it('indents further lines of a labeled text, so that they cannot pass for labels', () => {
  expect(labeled('Server', 'one two three', layoutOf(19))).toEqual(['Server     one two ', '           three'])
})

it('shows what is invisible', () => {
  expect(approvalLine(' a\nb\u202ec\u200b\td\r\n')).toBe('a<U+000A>b<U+202E>c<U+200B>    d')
  expect(approvalLine('❤\ufe0f and x\ufe0f, 👩\u200d🔬 and x\u200d')).toBe(
    '❤\ufe0f and x<U+FE0F>, 👩\u200d🔬 and x<U+200D>',
  )
  expect(approvalLine(`e${'\u0301'.repeat(4)} e${'\u0301'.repeat(5)}`)).toBe(
    `e${'\u0301'.repeat(4)} e${'\u0301'.repeat(4)}<combining marks>`,
  )
})

it('indents JSON unless it is so deep that nothing else would fit', () => {
  const nested = (depth: number): unknown => (depth === 0 ? 1 : [nested(depth - 1)])
  expect(toPrettyJson({ a: [1] })).toBe('{\n  "a": [\n    1\n  ]\n}')
  expect(toPrettyJson(nested(20))).toContain('\n')
  expect(toPrettyJson(nested(21))).not.toContain('\n')
  expect(toPrettyJson('[[[[[[[[[[[[[[[[[[[[[[[[[')).toBe('"[[[[[[[[[[[[[[[[[[[[[[[[["')
  expect(toPrettyJson(undefined)).toBe('undefined')
})
