import { describe, expect, it } from 'vitest'
import { invalidTraceKey, withValidTrace } from './trace-context.ts'

const parent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'

describe('trace context in _meta', () => {
  it.each([
    ['traceparent', parent],
    ['traceparent', `${parent.replace(/^00/, 'cc')}-what-comes-later`],
    ['tracestate', 'rojo=00f067aa0ba902b7,congo=t61rcWkgMzE'],
    ['tracestate', 'fw529a3039@dt=FfffGPVrp;1 , a=b'],
    ['tracestate', 'a=b,,'],
    ['tracestate', ''],
    ['baggage', 'userId=alice,serverNode=DF%2028,isProduction=false'],
    ['baggage', 'key1=value1;property1;property2, key2 = value2, key3=value3; propertyKey=propertyValue'],
    ['baggage', 'empty='],
  ])('accepts %s %j [META-021]', (key, value) => {
    expect(invalidTraceKey({ [key]: value, other: '\0' })).toBeUndefined()
    const meta = { [key]: value }
    expect(withValidTrace(meta)).toBe(meta)
  })

  it.each([
    ['traceparent', ''],
    ['traceparent', '00-1'],
    ['traceparent', parent.toUpperCase()],
    ['traceparent', parent.replace(/^00/, 'ff')],
    ['traceparent', `${parent}-more`],
    ['traceparent', `00-${'0'.repeat(32)}-b7ad6b7169203331-01`],
    ['traceparent', `00-0af7651916cd43dd8448eb211c80319c-${'0'.repeat(16)}-01`],
    ['traceparent', ` ${parent}`],
    ['traceparent', `${parent}\n`],
    ['traceparent', 7],
    ['tracestate', 'novalue'],
    ['tracestate', 'a='],
    ['tracestate', 'UPPER=1'],
    ['tracestate', 'a=b,a=c'],
    ['tracestate', 'a=b=c'],
    ['tracestate', 'a=é'],
    ['tracestate', `a=${'x'.repeat(257)}`],
    ['tracestate', Array.from({ length: 33 }, (_, index) => `k${index}=v`).join(',')],
    ['baggage', ''],
    ['baggage', 'key'],
    ['baggage', 'a b=c'],
    ['baggage', 'a="quoted"'],
    ['baggage', 'a=b;c d'],
    ['baggage', 'a=b c'],
    ['baggage', 'a=é'],
    ['baggage', `a=${'x'.repeat(10_000)}`],
    ['baggage', null],
  ])('refuses %s %j [META-021]', (key, value) => {
    expect(invalidTraceKey({ [key]: value })).toBe(key)
    expect(withValidTrace({ [key]: value, kept: 1 })).toEqual({ kept: 1 })
  })

  it('drops tracestate together with an invalid traceparent, but keeps baggage [META-021]', () => {
    const meta = { traceparent: 'bad', tracestate: 'a=b', baggage: 'a=b', other: true }
    expect(withValidTrace(meta)).toEqual({ baggage: 'a=b', other: true })
    expect(withValidTrace({ traceparent: parent, tracestate: 'bad' })).toEqual({ traceparent: parent })
  })

  it('validates in linear time', () => {
    for (const value of [
      `${'a'.repeat(8_000)}=`,
      `a=${' '.repeat(8_000)}!`,
      `a=b;${'\t'.repeat(8_000)}`,
      ','.repeat(8_192),
    ])
      for (const key of ['traceparent', 'tracestate', 'baggage']) invalidTraceKey({ [key]: value })
  })
})
