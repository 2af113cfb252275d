import { describe, expect, it } from 'vitest'
import { isSecretName } from '../../util/secret-names.ts'
import { maxDetailBytes, toDetailText } from './redact.ts'

const detailsOf = (value: unknown, redact?: (value: unknown) => unknown) => JSON.parse(toDetailText(value, redact))
const members = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`m${index + 1000}`, 1]))

describe('the details of an audit entry', () => {
  it('have sorted members, and no values of members with secret names', () => {
    expect(toDetailText({ b: 1, a: { password: 'x', tokens: 3 } }, undefined)).toBe(
      '{"a":{"password":"[redacted]","tokens":3},"b":1}',
    )
    const headers = [
      { name: 'Authorization', value: 'Bearer x' },
      { key: 'X-Api-Key', value: 'y' },
      { name: 'Accept', value: 'text/html' },
      { name: 'Authorization', value: true },
    ]
    expect(detailsOf({ headers }).headers.map(({ value }: { value: unknown }) => value)).toEqual([
      '[redacted]',
      '[redacted]',
      'text/html',
      true,
    ])
  })

  it.each([
    ['sessionId', true],
    ['refresh_token', true],
    ['progressToken', false],
    ['Proxy-Authorization', true],
    ['tokenCount', false],
    ['author', false],
  ])('%s is a secret name: %s', (name, isSecret) => {
    expect(isSecretName(name)).toBe(isSecret)
  })

  it('say how much was left out of long lists, objects and texts', () => {
    expect(Object.keys(detailsOf(members(500)))).toHaveLength(500)
    const many = detailsOf(members(501))
    expect([Object.keys(many).length, many['…']]).toEqual([501, '[1 more members]'])
    expect(detailsOf({ list: Array(500).fill(1) }).list).toHaveLength(500)
    expect(detailsOf({ list: Array(502).fill(1) }).list.at(-1)).toBe('[2 more items]')
    expect(detailsOf({ text: 'x'.repeat(4_000) }).text).toHaveLength(4_000)
    expect(detailsOf({ text: 'x'.repeat(4_001) }).text).toBe(`${'x'.repeat(4_000)}… (4001 characters)`)
    expect(detailsOf({ text: `${'x'.repeat(3_999)}😀` }).text).toBe(`${'x'.repeat(3_999)}… (4001 characters)`)
    expect(Object.keys(detailsOf({ ['n'.repeat(201)]: 1 }))).toEqual([`${'n'.repeat(200)}… (201 characters)`])
  })

  it('stay within their size, however large the value is', () => {
    const wide = (depth: number): unknown => (depth === 0 ? 'x'.repeat(500) : Array(30).fill(wide(depth - 1)))
    for (const value of [{ list: Array(500).fill('x'.repeat(100)) }, { wide: wide(3) }]) {
      const text = toDetailText(value, undefined)
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxDetailBytes)
      expect(text).not.toBe('')
    }
    const circular: Record<string, unknown> = {}
    circular.self = circular
    expect(toDetailText(circular, undefined)).toContain('[omitted: the value is too large]')
  })

  it('are omitted if they cannot be redacted or written', () => {
    const fail = () => {
      throw new Error('broken')
    }
    expect(detailsOf({ password: 'x' }, fail)).toEqual({ omitted: 'The redaction failed.' })
    expect(detailsOf({ a: 1 }, () => 'only text')).toEqual({ value: 'only text' })
    const unreadable = Object.defineProperty({}, 'a', { enumerable: true, get: fail })
    expect(detailsOf(unreadable)).toEqual({ omitted: 'The details are not JSON values.' })
    expect(detailsOf({ big: 10n, run: () => 1, toJSON: () => 'mine' })).toEqual({ big: '10' })
  })
})
