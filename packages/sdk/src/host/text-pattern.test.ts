import { describe, expect, it } from 'vitest'
import { compileTextExpression, compileTextPattern } from './text-pattern.ts'

describe('a pattern of a rule that denies', () => {
  it.each([
    ['*/secrets/*', 'secrets/key', true],
    ['*/.env', '.env', true],
    ['*/.env', 'my.env', false],
    ['./secrets/*', 'secrets/key', true],
    ['./secrets/*', 'secrets', true],
    ['./secrets/*', './secrets/key', true],
    ['./secrets/*', '/secrets/key', false],
    ['./secrets/*', '~/secrets/key', false],
    ['/etc/*', '/etc', true],
    ['/etc/*', '/etc?x', true],
    ['/etc/*', '/etc;x', true],
    ['/etc/shadow', '/etc/shadow;v=1#top', true],
    ['/etc/*', '/etcetera', false],
    ['/etc/*', '/srv/../etc/passwd', true],
    ['https://bank.example/*', '//bank.example/pay', true],
    ['https://bank.example/*', 'bank.example/pay', true],
    ['https://bank.example/*', 'https://user@bank.example/pay', true],
    ['https://bank.example/*', 'bank', false],
  ])('%s matches %s: %s', (pattern, text, isMatch) => {
    expect(compileTextPattern(pattern, false)(text)).toBe(isMatch)
  })
})

describe('a pattern of a rule that allows', () => {
  it.each([
    ['*', '/anything/../at/all', true],
    ['/srv/notes', '/srv/notes', true],
    ['/srv/notes', '/srv//notes', false],
    ['/srv/*', '/srv/a/b', true],
    ['/srv/*', '/srv/../etc/passwd', false],
    ['/srv/*', '/srv/%2e%2e/etc', false],
    ['https://a.example/*', 'https://a.example/x', true],
    ['https://a.example/*', 'https://a.example@evil.example/x', false],
    ['https://a.example/*', 'https://user@a.example/x', false],
    ['https://a.example/*', 'a.example/x', false],
    ['https://a.example/a*', 'https://a.example/b?/a', false],
    ['https://a.example/*/public', 'https://a.example/x?/public', false],
    ['https://a.example/*/public', 'https://a.example/x/public', true],
    ['file:///srv/*', 'file:///srv/a', true],
    ['file:///srv/*', '/srv/a', true],
    ['file:///srv/*', 'srv/a', false],
  ])('%s matches %s: %s', (pattern, text, isMatch) => {
    expect(compileTextPattern(pattern, true)(text)).toBe(isMatch)
  })
})

describe('an expression of a rule', () => {
  it('does not depend on the call before, although it has the flag g or y', () => {
    for (const expression of [/^a/g, /^a/y]) {
      const matches = compileTextExpression(expression, true)
      expect([matches('abc'), matches('abc'), matches('bc')]).toEqual([true, true, false])
    }
  })

  it('is not tried on a very long text: it denies, and does not allow', () => {
    const [short, long] = ['a'.repeat(10_000), 'a'.repeat(10_001)]
    expect([compileTextExpression(/b/, false)(short), compileTextExpression(/b/, false)(long)]).toEqual([false, true])
    expect([compileTextExpression(/a/, true)(short), compileTextExpression(/a/, true)(long)]).toEqual([true, false])
  })

  it('denies one reading of a text, and allows only all of them', () => {
    expect(compileTextExpression(/^\/etc\//, false)('/srv/../etc/passwd')).toBe(true)
    expect(compileTextExpression(/^\/srv\//, true)('/srv/../etc/passwd')).toBe(false)
  })
})
