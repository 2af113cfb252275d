import { describe, expect, it } from 'vitest'
import { Fault } from './message.ts'
import { maxNesting, parseText, parseUnambiguous } from './parse.ts'

const call =
  '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":{"name":1,"id":2,"method":"x"}}}'

describe('parsing a message that a proxy may also parse', () => {
  it.each([
    call,
    ` \n${call}`,
    '{"a":1,"a":2,"method":"x"}',
    '{"method":"x","params":{"arguments":{"a":1,"a":2},"other":1,"other":2}}',
    '{"params":{"name":"a"},"result":{"name":"b"}}',
    '{"id":"a\\\\","method":"id"}',
    `{"id":"${'x'.repeat(200)}\\"","method":"\\"id\\":"}`,
    '[{"id":1,"method":"a"},{"id":1,"method":"a","params":{"name":"x"}}]',
    '"method"',
    '[]',
    '7',
  ])('parses a message as written: %s', (text) => {
    expect(parseUnambiguous(text)).toEqual(JSON.parse(text))
  })

  it.each([
    '{"id":1,"id":2}',
    '{"method":"a","params":{},"method":"b"}',
    '{"method":"a","m\\u0065thod":"b"}',
    '{"params":{"name":"a","name":"b"}}',
    '{"params":{"name":"a","n\\u0061me":"b"}}',
    '{"params":{"_meta":{},"x":[{"name":1}],"_meta":{}}}',
    '{"result":{},"result":{}}',
    '[{"method":"x"},{"method":"a","method":"b"}]',
    `{"id":"${'x'.repeat(200)}\\\\","method":"a","method":"b"}`,
    ' { "method" : "a" , "params" : { } , "params" : { "name" : "x" } } ',
  ])('refuses a message with a duplicate routing member: %s', (text) => {
    const fault = parseUnambiguous(text)
    expect(fault).toBeInstanceOf(Fault)
    expect((fault as Fault).code).toBe(-32600)
  })

  it('refuses text that is not JSON', () => {
    expect((parseUnambiguous('{"a"') as Fault).code).toBe(-32700)
  })

  it('parses in linear time, however many members a message has', () => {
    const members = Array.from({ length: 200_000 }, (_, index) => `"m${index}":1`).join(',')
    expect(parseUnambiguous(`{${members}}`)).not.toBeInstanceOf(Fault)
  })
})

describe('the nesting of a message', () => {
  const padding = `"${'x'.repeat(2_000)}"`
  const lists = (depth: number) => `${'['.repeat(depth)}${padding}${']'.repeat(depth)}`
  const objects = (depth: number, name: string) => `${`{"a":${padding},"${name}":`.repeat(depth)}1${'}'.repeat(depth)}`

  it.each([
    ['lists', lists],
    ['objects', (depth: number) => objects(depth, 'b')],
    ['members called __proto__', (depth: number) => objects(depth, '__proto__')],
    ['both in turn', (depth: number) => `${'[{"a":'.repeat(depth / 2)}${padding}${'}]'.repeat(depth / 2)}`],
  ])('is limited for %s', (_name, textOf) => {
    expect(parseText(textOf(maxNesting))).not.toBeInstanceOf(Fault)
    expect(parseText(textOf(maxNesting + 2))).toBeInstanceOf(Fault)
  })

  it('does not count what other code added to all objects', () => {
    const loop: { self?: unknown } = {}
    loop.self = loop
    Object.defineProperty(Object.prototype, 'added', { value: loop, enumerable: true, configurable: true })
    const parsed = parseText(`{"a":${padding},"b":[{}]}`)
    Reflect.deleteProperty(Object.prototype, 'added')
    expect(parsed).toEqual({ a: 'x'.repeat(2_000), b: [{}] })
  })
})
