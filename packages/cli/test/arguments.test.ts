import { describe, expect, it } from 'vitest'
import { parseArguments, splitWord } from '../src/arguments/parse-text.ts'
import { parseArgumentWords, parseTextWords, readArgs } from '../src/arguments/parse-words.ts'

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

describe('arguments of a command', () => {
  const tool = {
    type: 'object',
    properties: {
      count: { type: 'integer' },
      tags: { type: 'array', items: { type: 'string' } },
      sizes: { anyOf: [{ type: 'array', items: { $ref: '#/$defs/size' } }, { type: 'null' }] },
      names: { type: ['string', 'array'], items: { type: 'string' } },
      level: { enum: [1, 'high', null] },
      address: { $ref: '#/$defs/address' },
      'with.dot': { type: 'number' },
    },
    $defs: {
      size: { type: 'number' },
      address: { type: 'object', properties: { zip: { type: 'integer' }, lines: { type: 'array' } } },
    },
  }

  it.each([
    [[], {}],
    [['count=3', 'other=x=y'], { count: 3, other: 'x=y' }],
    [['tags=a'], { tags: ['a'] }],
    [['tags=a', 'tags=b'], { tags: ['a', 'b'] }],
    [['tags=["a","b"]'], { tags: ['a', 'b'] }],
    [['tags:=["a"]'], { tags: ['a'] }],
    [['sizes=1', 'sizes=2.5'], { sizes: [1, 2.5] }],
    [['names=a'], { names: 'a' }],
    [['names=a', 'names=b'], { names: ['a', 'b'] }],
    [['level=1'], { level: 1 }],
    [['level=high'], { level: 'high' }],
    [['level=null'], { level: null }],
    [['address.zip=12345', 'address.lines=a', 'address.lines=b'], { address: { zip: 12345, lines: ['a', 'b'] } }],
    [['address={"zip":1}'], { address: { zip: 1 } }],
    [['with.dot=1.5'], { 'with.dot': 1.5 }],
    [['free.a.b=1'], { free: { a: { b: '1' } } }],
    [['x=1', 'x=2', 'x=3'], { x: ['1', '2', '3'] }],
    [['.=1', 'a.=2'], { '.': '1', 'a.': '2' }],
    [['text=with spaces and "quotes"'], { text: 'with spaces and "quotes"' }],
  ])('understands %j', (words, expected) => {
    expect(parseArgumentWords(words, tool)).toEqual(expected)
  })

  it('adds to the arguments of --args, and replaces them', () => {
    const before = readArgs('{"count": 1, "address": {"zip": 1, "city": "Oslo"}}')
    expect(parseArgumentWords(['count=2', 'address.zip=5'], tool, before)).toEqual({
      count: 2,
      address: { zip: 5, city: 'Oslo' },
    })
    expect(before.count).toBe(1)
  })

  it.each([
    ['word'],
    ['=1'],
    ['count:=x'],
    ['count=1', 'count=2'],
    ['tags:=["a"]', 'tags:=["b"]'],
    ['count=1', 'count.x=2'],
  ])('rejects %j', (...words) => {
    expect(() => parseArgumentWords(words, tool)).toThrow(/./)
  })

  it('never changes the prototype', () => {
    const args = parseArgumentWords(['__proto__.polluted=1', 'constructor.prototype.polluted=1'], tool)
    expect(Object.keys(args)).toEqual(['__proto__', 'constructor'])
    expect(Reflect.get({}, 'polluted')).toBeUndefined()
  })

  it('keeps arguments of prompts as texts', () => {
    expect(parseTextWords(['count=3', 'list:=[1]', 'text:="a b"'])).toEqual({ count: '3', list: '[1]', text: 'a b' })
    expect(() => parseTextWords(['a=1', 'a=2'])).toThrow('given twice')
  })
})
