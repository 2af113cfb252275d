import { describe, expect, it } from 'vitest'
import { parseArguments, splitWord } from '../src/chat/arguments.ts'

const schema = {
  properties: {
    count: { type: 'integer' },
    ratio: { type: ['number', 'null'] },
    dry: { type: 'boolean' },
    id: { type: 'string' },
    either: { type: ['string', 'number'] },
  },
}

describe('arguments of a slash command', () => {
  it.each([
    ['', {}],
    ['a=1 b=two', { a: '1', b: 'two' }],
    ['  a=1   b= ', { a: '1', b: '' }],
    ['text="two words" other=\'it is "quoted"\'', { text: 'two words', other: 'it is "quoted"' }],
    ['text="a \\"b\\" \\\\ c"', { text: 'a "b" \\ c' }],
    ['a:=1 b:={"c": [1, "} ]"]} d:="x y"', { a: 1, b: { c: [1, '} ]'] }, d: 'x y' }],
    ['url=https://example.com/?q=1&r=2', { url: 'https://example.com/?q=1&r=2' }],
    ['{"a": 1, "b": {"c": 2}}', { a: 1, b: { c: 2 } }],
  ])('parses %s', (text, expected) => {
    expect(parseArguments(text)).toEqual(expected)
  })

  it('converts values to the types of the schema, and leaves what does not fit', () => {
    expect(parseArguments('count=3 ratio=0.5 dry=true id=7 either=7 other=1', schema)).toEqual({
      count: 3,
      ratio: 0.5,
      dry: true,
      id: '7',
      either: '7',
      other: '1',
    })
    expect(parseArguments('count=three dry=yes', schema)).toEqual({ count: 'three', dry: 'yes' })
  })

  it('never changes the prototype of the arguments', () => {
    const args = parseArguments('__proto__:={"polluted":true} constructor=x', schema)
    expect(Object.getPrototypeOf(args)).toBe(Object.prototype)
    expect(Object.keys(args)).toEqual(['__proto__', 'constructor'])
    expect(args.polluted).toBeUndefined()
  })

  it.each(['word', '=1', 'a:=x', 'a="open', '[1]', '{"a"', '{"a":1} b=2'])('rejects %s', (text) => {
    expect(() => parseArguments(text)).toThrow(/./)
  })

  it('splits the first word from the rest', () => {
    expect(splitWord('  name  a=1 b=2 ')).toEqual(['name', 'a=1 b=2'])
    expect(splitWord('name')).toEqual(['name', ''])
  })
})
