import { describe, expect, it } from 'vitest'
import { UriTemplate } from '../src/shared/uriTemplate.ts'

describe('UriTemplate', () => {
  it('does not decode what it matches', () => {
    expect(new UriTemplate('file:///{name}').match('file:///a%20b')).toEqual({ name: 'a%20b' })
  })

  it('gives each value as much as the rest allows', () => {
    expect(new UriTemplate('{a}-{b}').match('x-y-z')).toEqual({ a: 'x-y', b: 'z' })
  })

  it('requires query parameters in their order', () => {
    const template = new UriTemplate('/search{?q,page}')
    expect(template.match('/search?q=a&page=2')).toEqual({ q: 'a', page: '2' })
    expect(template.match('/search?page=2&q=a')).toBeNull()
    expect(template.match('/search?q=a')).toBeNull()
  })

  it('splits exploded values at commas', () => {
    expect(new UriTemplate('{/list*}').match('/a,b')).toEqual({ list: ['a', 'b'] })
    expect(new UriTemplate('{/list*}').match('/a,,b')).toBeNull()
  })

  it('takes time in proportion to the length of a URI that almost matches', () => {
    const template = new UriTemplate('{a}-{b}-{c}-{d}/end')
    expect(template.match('-a'.repeat(50_000))).toBeNull()
  })
})
