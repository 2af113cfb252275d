import { describe, expect, it } from 'vitest'
import { decodeUtf8 } from '../../util/bytes.ts'
import { LineSplitter } from './reader.ts'

const limit = 40

/** Splits a text that arrives in pieces. Returns the length of each line in bytes, or the error message. */
function split(text: string, pieceBytes: number): (number | string)[] {
  const seen: (number | string)[] = []
  const splitter = new LineSplitter({
    maxBytes: limit,
    decode: decodeUtf8,
    join: (parts, length) => Buffer.concat(parts, length),
    onLine: (line) => seen.push(Buffer.byteLength(line.replace(/\r$/, ''))),
    onFault: (fault) => seen.push(fault.message),
  })
  const bytes = Buffer.from(text)
  for (let at = 0; at < bytes.length; at += pieceBytes) splitter.push(bytes.subarray(at, at + pieceBytes))
  return seen
}

const tooLong = 'The message is longer than 40 bytes'
const pieces: [string, number][] = [
  ['whole', 1_000],
  ['byte by byte', 1],
  ['cut just before its end', limit],
  ['cut just after the limit', limit + 1],
  ['in two pieces', 25],
]
const fills: [string, (bytes: number) => string][] = [
  ['ASCII', (bytes) => 'x'.repeat(bytes)],
  ['two-byte characters', (bytes) => 'é'.repeat(bytes >> 1) + 'x'.repeat(bytes % 2)],
]

describe.each(fills)('lines of %s', (_what, fill) => {
  describe.each(pieces)('when they arrive %s', (_how, size) => {
    it.each([
      ['LF', '\n'],
      ['CRLF', '\r\n'],
    ])('accepts a line of exactly maxMessageBytes, not counting its %s [STDIO-003]', (_ending, ending) => {
      expect(split(fill(limit - 1) + ending, size)).toEqual([limit - 1])
      expect(split(fill(limit) + ending, size)).toEqual([limit])
      expect(split(fill(limit + 1) + ending, size)).toEqual([tooLong])
      expect(split(fill(limit + 2) + ending, size)).toEqual([tooLong])
    })

    it('delivers the lines before and after a rejected line', () => {
      expect(split(`${fill(5)}\n${fill(limit + 1)}\n${fill(limit)}\r\n${fill(7)}\n`, size)).toEqual([
        5,
        tooLong,
        limit,
        7,
      ])
    })
  })
})

describe('lines without a line break', () => {
  it('refuses an unterminated line as soon as it exceeds the limit', () => {
    expect(split('x'.repeat(limit + 1), 1)).toEqual([])
    expect(split('x'.repeat(limit + 2), 1)).toEqual([tooLong])
    expect(split('x'.repeat(10 * limit), 7)).toEqual([tooLong])
  })
})
