import { describe, expect, it } from 'vitest'

const script = new URL('../../../../scripts/test-titles.js', import.meta.url).href
const { titlesInSource }: { titlesInSource: (file: string, source: string) => unknown[] } = await import(script)
const read = (source: string) => titlesInSource('some.test.ts', source)

// Built here, because the ledger would take an id that is written out for a title of this file.
const id = (number: number) => `RPC-${String(number).padStart(3, '0')}`
const ids = (...numbers: number[]) => `[${numbers.map(id).join(', ')}]`

describe('the titles that npm run trace reads', () => {
  it('are strings and templates with ids in brackets, not comments', () => {
    const source = `
      // ${ids(1)}
      it('a ${ids(2, 3)}', () => {})
      everyWire(\`b \${what} ${ids(4)}\`, async () => {})`
    expect(read(source)).toEqual([2, 3, 4].map((number) => ({ id: id(number), when: 'always' })))
  })

  it('take ids from a table where the title has a place for them', () => {
    expect(read(`it.each([['a', '${id(1)}']])('%s ${'['}%s]', () => {})`)).toEqual([{ id: id(1), when: 'always' }])
    expect(read(`it.each([['a', '${id(1)}']])('%s', () => {})`)).toEqual([])
  })

  it.each([
    ['it.skip', `it.skip('a ${ids(1)}', () => {})`, 'never'],
    ['it.todo', `it.todo('a ${ids(1)}')`, 'never'],
    ['describe.skip', `describe.skip('a', () => { it('b ${ids(1)}', () => {}) })`, 'never'],
    ['it.skipIf', `it.skipIf(true)('a ${ids(1)}', () => {})`, 'if'],
    ['skipIf.each', `describe.skipIf(x).each([1])('a', () => { it('b ${ids(1)}', () => {}) })`, 'if'],
  ])('say whether a test of %s runs', (_name, source, when) => {
    expect(read(source)).toEqual([{ id: id(1), when }])
  })
})
