import { describe, expect, it } from 'vitest'
import { isValid } from './json-schema-support.ts'

const label63 = 'a'.repeat(63)
const formats: Record<string, { valid: string[]; invalid: string[] }> = {
  hostname: {
    valid: ['localhost', 'a.example', '1.2.3.example', 'xn--bcher-kva.example', label63, `${'ab.'.repeat(84)}a`],
    invalid: [
      '',
      '.',
      'a.',
      '-a',
      'a-',
      'a_b',
      'a b',
      'bücher.example',
      `${label63}a`,
      'ab--c',
      'xn--a',
      'xn--BCHER',
      `${'ab.'.repeat(84)}ab`,
    ],
  },
  'idn-hostname': {
    valid: ['localhost', 'bücher.example', 'xn--bcher-kva', '例え。テスト', 'l·l', 'שלום', 'straße', 'نامه‌ای', 'क्‍ष'],
    invalid: [
      '',
      '。',
      'Bücher',
      '-ü',
      'ü-',
      'ab--ü',
      '\u0301a',
      'a·b',
      '・',
      'abc‍d',
      'שלa',
      '1ש',
      '٠۰ب',
      'ü'.repeat(63),
      'cafe\u0301',
    ],
  },
  'idn-email': {
    valid: ['ada@example.com', 'jörg@bücher.example', '"a b"@example.com', 'a@[127.0.0.1]', '用户@例え.テスト'],
    invalid: ['ada', '@example.com', 'ada@', 'a b@example.com', 'ada@-x.example', 'jörg@b cher'],
  },
  'uri-reference': {
    valid: ['', '#top', '?q=1', 'a/b', '/a/b', '//host/x', '../x', 'https://a.example/b', './a:b', '//[::1]/x'],
    invalid: ['1a:b', ' ', 'a b', '\\\\host', '%', '%zz', '//[::x]/', 'ü', '//h[/'],
  },
  iri: {
    valid: ['https://bücher.example/ü?ä#ö', 'urn:x', 'https://a.example/\u{10400}', 'https://a.example/?\ue000'],
    invalid: ['', 'bücher', '//x', 'https://a.example/ü b', 'https://a.example/\ue000', 'https://[ü]/'],
  },
  'iri-reference': {
    valid: ['', 'ü/ä', '#ö', '//bücher.example/x', 'https://bücher.example'],
    invalid: ['ü b', '\\ü', 'ü:ä', '<ü>'],
  },
  'uri-template': {
    valid: ['', 'a://{b}', '{+a,b*}{?c:30}', '{#a.b_c}', '{/%41}', "it's", 'ü/{a}'],
    invalid: [
      '{',
      '}',
      '{}',
      '{a',
      '{a b}',
      '{a:0}',
      '{a:10000}',
      '{a*:3}',
      '{.}',
      '{a..b}',
      'a b',
      '%4',
      '<a>',
      '{-a}',
    ],
  },
  duration: {
    valid: ['P1Y', 'P1Y2M3DT4H5M6S', 'PT1M', 'P2W', 'P1M', 'PT36H', 'P0D'],
    invalid: ['', 'P', 'PT', 'P1', 'P1YT', 'P1D2H', 'P1Y2D', 'PT1H1S', 'P1W1D', 'P-1D', 'P1.5D', '1D', 'p1d', 'P१D'],
  },
  'json-pointer': {
    valid: ['', '/', '/a/0/-', '/~0~1', '/a b', '/ü', '//'],
    invalid: ['a', '#', '/~', '/~2', '/a~', ' /a'],
  },
  'relative-json-pointer': {
    valid: ['0', '1/a', '10#', '0/~0', '2//'],
    invalid: ['', '/a', '-1', '01', '0##', '0a', '1/~2', '+1'],
  },
  regex: {
    valid: ['', '^a+$', '(?<year>\\d{4})', '\\p{L}', '[a-z]'],
    invalid: ['(', '[a', 'a**', '\\Z', '\\a', '(?<n>a)(?<n>b)', '{1}'],
  },
}

describe.each(Object.entries(formats))('the format %s', (format, { valid, invalid }) => {
  it.each(valid)('accepts %j', (text) => {
    expect(isValid({ format }, text, { formats: true })).toBe(true)
  })

  it.each(invalid)('rejects %j', (text) => {
    expect(isValid({ format }, text, { formats: true })).toBe(false)
    expect(isValid({ format }, text)).toBe(true)
  })

  it('accepts values that are not text', () => {
    for (const value of [1, null, true, {}, []]) expect(isValid({ format }, value, { formats: true })).toBe(true)
  })

  it.each(['a', '1', '/', '~0', '.', '{a,', '%41', '(', 'é', 'a:'])('checks a long text of %j', (unit) => {
    for (const prefix of ['', 'P', 'a://', '{', '/']) {
      const text = `${prefix}${unit.repeat(30_000)}\u0001`
      expect(typeof isValid({ format }, text, { formats: true })).toBe('boolean')
    }
  })
})
