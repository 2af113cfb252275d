import { describe, expect, it } from 'vitest'
import { parseJsonWithComments } from '../../src/host/config/json-with-comments.ts'

function problemOf(text: string, path?: string): string {
  try {
    parseJsonWithComments(text, { path })
  } catch (error) {
    return (error as Error).message
  }
  throw new Error('It was expected to fail, but it succeeded')
}

describe('JSON with comments', () => {
  it('reads comments, trailing commas and a byte order mark', () => {
    const text = `\uFEFF// first
    { /* in
    the middle */ "a": [1, 2.5e3, true, null,], // after
      "b": { "c": "// not a comment, /* nor this */", }, }
    // last`
    expect(parseJsonWithComments(text)).toEqual({
      a: [1, 2500, true, null],
      b: { c: '// not a comment, /* nor this */' },
    })
  })

  it('reads every kind of JSON value like JSON.parse', () => {
    for (const text of [
      '"\\u00e4\\n\\"\\\\"',
      '-0.5',
      '[]',
      '{}',
      '[[],{}]',
      'false',
      ' 7 ',
      '""',
      '"\t"'.replace('\t', '\\t'),
    ]) {
      expect(parseJsonWithComments(text)).toEqual(JSON.parse(text))
    }
  })

  it.each([
    ['{\n  "a": 1\n  "b": 2\n}', 'line 3, column 3: Expected "," or "}"'],
    ['{ "a": }', 'line 1, column 8: Expected a value, found "}"'],
    ['{ a: 1 }', 'line 1, column 3: Expected a member name in double quotes, or "}"'],
    ['{ "a" 1 }', 'line 1, column 7: Expected ":" after "a"'],
    ['[1,,2]', 'line 1, column 4: Expected a value, found ","'],
    ['{ "a": "x\n" }', 'line 1, column 8: The string does not end'],
    ['{ "a": "\\x" }', 'line 1, column 8: Invalid string: check its escapes'],
    ['{ "a": 01 }', 'line 1, column 8: Expected a value, found "01"'],
    ['{ "a": undefined }', 'line 1, column 8: Expected a value, found "undefined"'],
    ['{ "a": 1, "a": 2 }', 'line 1, column 11: Duplicate member "a"'],
    ['{} {}', 'line 1, column 4: Expected the end of the file'],
    ['{ /* }', 'line 1, column 3: The comment does not end'],
    ['', 'line 1, column 1: Expected a value, found "the end of the file"'],
    ['{', 'line 1, column 2: Expected a member name in double quotes, or "}"'],
  ])('reports the line and the column of the mistake in %j', (text, problem) => {
    expect(problemOf(text)).toContain(problem)
  })

  it('names the file in errors', () => {
    expect(problemOf('[', '/tmp/mcp.json')).toMatch(/^Invalid JSON in \/tmp\/mcp\.json: line 1, column 2: /)
  })

  it('refuses nesting that would exhaust the stack', () => {
    expect(problemOf('['.repeat(100_000))).toContain('Nested deeper than 100 levels')
  })

  it('keeps a member called __proto__ as data', () => {
    const value = parseJsonWithComments('{ "__proto__": { "a": 1 } }') as Record<string, unknown>
    expect(Object.keys(value)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
  })
})
