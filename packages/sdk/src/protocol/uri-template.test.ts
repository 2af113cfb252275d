import { describe, expect, it } from 'vitest'
import { type TemplateValue, UriTemplate } from './uri-template.ts'

const expand = (template: string, values: Record<string, TemplateValue | undefined>) =>
  new UriTemplate(template).expand(values)

/** Returns the match as a plain object, so that it can be compared with literals. */
function match(template: string, uri: string) {
  const result = new UriTemplate(template).match(uri)
  return result && Object.fromEntries(Object.entries(result))
}

// The variables of RFC 6570 section 3.2.
const values: Record<string, TemplateValue | undefined> = {
  count: ['one', 'two', 'three'],
  dom: ['example', 'com'],
  dub: 'me/too',
  hello: 'Hello World!',
  half: '50%',
  var: 'value',
  who: 'fred',
  base: 'http://example.com/home/',
  path: '/foo/bar',
  list: ['red', 'green', 'blue'],
  keys: { semi: ';', dot: '.', comma: ',' },
  v: '6',
  x: '1024',
  y: '768',
  empty: '',
  empty_keys: {},
  empty_list: [],
  undef: undefined,
}

const sections: Record<string, [template: string, uri: string][]> = {
  '1.2 levels and literals': [
    ['http://example.com/~{who}/', 'http://example.com/~fred/'],
    ['map?{x,y}', 'map?1024,768'],
    ['{x,hello,y}', '1024,Hello%20World%21,768'],
    ['a b/é/%41/"{var}"', 'a%20b/%C3%A9/%41/%22value%22'],
    ['', ''],
  ],
  '3.2.1 variable expansion': [
    ['{count}', 'one,two,three'],
    ['{count*}', 'one,two,three'],
    ['{/count}', '/one,two,three'],
    ['{/count*}', '/one/two/three'],
    ['{;count}', ';count=one,two,three'],
    ['{;count*}', ';count=one;count=two;count=three'],
    ['{?count}', '?count=one,two,three'],
    ['{?count*}', '?count=one&count=two&count=three'],
    ['{&count*}', '&count=one&count=two&count=three'],
  ],
  '3.2.2 simple string expansion': [
    ['{var}', 'value'],
    ['{hello}', 'Hello%20World%21'],
    ['{half}', '50%25'],
    ['O{empty}X', 'OX'],
    ['O{undef}X', 'OX'],
    ['{x,y}', '1024,768'],
    ['{x,hello,y}', '1024,Hello%20World%21,768'],
    ['?{x,empty}', '?1024,'],
    ['?{x,undef}', '?1024'],
    ['?{undef,y}', '?768'],
    ['{var:3}', 'val'],
    ['{var:30}', 'value'],
    ['{list}', 'red,green,blue'],
    ['{list*}', 'red,green,blue'],
    ['{keys}', 'semi,%3B,dot,.,comma,%2C'],
    ['{keys*}', 'semi=%3B,dot=.,comma=%2C'],
  ],
  '3.2.3 reserved expansion': [
    ['{+var}', 'value'],
    ['{+hello}', 'Hello%20World!'],
    ['{+half}', '50%25'],
    ['{base}index', 'http%3A%2F%2Fexample.com%2Fhome%2Findex'],
    ['{+base}index', 'http://example.com/home/index'],
    ['O{+empty}X', 'OX'],
    ['O{+undef}X', 'OX'],
    ['{+path}/here', '/foo/bar/here'],
    ['here?ref={+path}', 'here?ref=/foo/bar'],
    ['up{+path}{var}/here', 'up/foo/barvalue/here'],
    ['{+x,hello,y}', '1024,Hello%20World!,768'],
    ['{+path,x}/here', '/foo/bar,1024/here'],
    ['{+path:6}/here', '/foo/b/here'],
    ['{+list}', 'red,green,blue'],
    ['{+list*}', 'red,green,blue'],
    ['{+keys}', 'semi,;,dot,.,comma,,'],
    ['{+keys*}', 'semi=;,dot=.,comma=,'],
  ],
  '3.2.4 fragment expansion': [
    ['{#var}', '#value'],
    ['{#hello}', '#Hello%20World!'],
    ['{#half}', '#50%25'],
    ['foo{#empty}', 'foo#'],
    ['foo{#undef}', 'foo'],
    ['{#x,hello,y}', '#1024,Hello%20World!,768'],
    ['{#path,x}/here', '#/foo/bar,1024/here'],
    ['{#path:6}/here', '#/foo/b/here'],
    ['{#list}', '#red,green,blue'],
    ['{#list*}', '#red,green,blue'],
    ['{#keys}', '#semi,;,dot,.,comma,,'],
    ['{#keys*}', '#semi=;,dot=.,comma=,'],
  ],
  '3.2.5 label expansion': [
    ['{.who}', '.fred'],
    ['{.who,who}', '.fred.fred'],
    ['{.half,who}', '.50%25.fred'],
    ['www{.dom*}', 'www.example.com'],
    ['X{.var}', 'X.value'],
    ['X{.empty}', 'X.'],
    ['X{.undef}', 'X'],
    ['X{.var:3}', 'X.val'],
    ['X{.list}', 'X.red,green,blue'],
    ['X{.list*}', 'X.red.green.blue'],
    ['X{.keys}', 'X.semi,%3B,dot,.,comma,%2C'],
    ['X{.keys*}', 'X.semi=%3B.dot=..comma=%2C'],
    ['X{.empty_keys}', 'X'],
    ['X{.empty_keys*}', 'X'],
    ['X{.empty_list}', 'X'],
  ],
  '3.2.6 path segment expansion': [
    ['{/who}', '/fred'],
    ['{/who,who}', '/fred/fred'],
    ['{/half,who}', '/50%25/fred'],
    ['{/who,dub}', '/fred/me%2Ftoo'],
    ['{/var}', '/value'],
    ['{/var,empty}', '/value/'],
    ['{/var,undef}', '/value'],
    ['{/var,x}/here', '/value/1024/here'],
    ['{/var:1,var}', '/v/value'],
    ['{/list}', '/red,green,blue'],
    ['{/list*}', '/red/green/blue'],
    ['{/list*,path:4}', '/red/green/blue/%2Ffoo'],
    ['{/keys}', '/semi,%3B,dot,.,comma,%2C'],
    ['{/keys*}', '/semi=%3B/dot=./comma=%2C'],
  ],
  '3.2.7 path-style parameter expansion': [
    ['{;who}', ';who=fred'],
    ['{;half}', ';half=50%25'],
    ['{;empty}', ';empty'],
    ['{;v,empty,who}', ';v=6;empty;who=fred'],
    ['{;v,bar,who}', ';v=6;who=fred'],
    ['{;x,y}', ';x=1024;y=768'],
    ['{;x,y,empty}', ';x=1024;y=768;empty'],
    ['{;x,y,undef}', ';x=1024;y=768'],
    ['{;hello:5}', ';hello=Hello'],
    ['{;list}', ';list=red,green,blue'],
    ['{;list*}', ';list=red;list=green;list=blue'],
    ['{;keys}', ';keys=semi,%3B,dot,.,comma,%2C'],
    ['{;keys*}', ';semi=%3B;dot=.;comma=%2C'],
  ],
  '3.2.8 form-style query expansion': [
    ['{?who}', '?who=fred'],
    ['{?half}', '?half=50%25'],
    ['{?x,y}', '?x=1024&y=768'],
    ['{?x,y,empty}', '?x=1024&y=768&empty='],
    ['{?x,y,undef}', '?x=1024&y=768'],
    ['{?var:3}', '?var=val'],
    ['{?list}', '?list=red,green,blue'],
    ['{?list*}', '?list=red&list=green&list=blue'],
    ['{?keys}', '?keys=semi,%3B,dot,.,comma,%2C'],
    ['{?keys*}', '?semi=%3B&dot=.&comma=%2C'],
    ['{?undef,empty_list,empty_keys*}', ''],
  ],
  '3.2.9 form-style query continuation': [
    ['{&who}', '&who=fred'],
    ['{&half}', '&half=50%25'],
    ['?fixed=yes{&x}', '?fixed=yes&x=1024'],
    ['{&x,y,empty}', '&x=1024&y=768&empty='],
    ['{&x,y,undef}', '&x=1024&y=768'],
    ['{&var:3}', '&var=val'],
    ['{&list}', '&list=red,green,blue'],
    ['{&list*}', '&list=red&list=green&list=blue'],
    ['{&keys}', '&keys=semi,%3B,dot,.,comma,%2C'],
    ['{&keys*}', '&semi=%3B&dot=.&comma=%2C'],
  ],
}

describe('URI template expansion', () => {
  for (const [section, rows] of Object.entries(sections)) {
    it.each(rows)(`expands as in RFC 6570 section ${section}: %s gives %s [RES-014]`, (template, uri) => {
      expect(expand(template, values)).toBe(uri)
    })
  }

  it('counts a prefix in code points and never splits an encoded character [RES-014]', () => {
    expect(expand('{x:2}', { x: '😀é€' })).toBe('%F0%9F%98%80%C3%A9')
    expect(expand('{+x:2}', { x: '😀é€' })).toBe('%F0%9F%98%80%C3%A9')
    expect(expand('{+x:2}', { x: '%E2%82%ACab' })).toBe('%E2%82%ACa')
    expect(expand('{+x:2}', { x: '%zz' })).toBe('%25z')
    expect(expand('{x:2}', { x: '%E2' })).toBe('%25E')
  })

  it('keeps percent-encoded triplets in reserved expansion and encodes their percent sign in simple expansion [RES-014]', () => {
    expect(expand('{+x}', { x: 'admin%2F%' })).toBe('admin%2F%25')
    expect(expand('{x}', { x: 'admin%2F' })).toBe('admin%252F')
    expect(expand('{x}', { x: "!'()*[]" })).toBe('%21%27%28%29%2A%5B%5D')
  })

  it('refuses a prefix on a list or an associative array [RES-014]', () => {
    expect(() => expand('{list:1}', values)).toThrow(/"list" has a prefix/)
    expect(() => expand('{?keys:1}', values)).toThrow(/"keys" has a prefix/)
  })

  it('expands lone surrogates to the replacement character, and numbers to their text', () => {
    expect(expand('{x}', { x: 'a\ud800b' })).toBe('a%EF%BF%BDb')
    expect(expand('{x}{?y*}', { x: 5, y: [1, true] } as never)).toBe('5?y=1&y=true')
    expect(expand('a{x}', { x: null } as never)).toBe('a')
  })

  it('ignores inherited properties', () => {
    expect(expand('a{constructor}{__proto__}{toString}', {})).toBe('a')
    expect(expand('{__proto__}', JSON.parse('{"__proto__":"own"}'))).toBe('own')
  })
})

describe('URI template parsing', () => {
  it.each([
    ['a{b', 1, 'unclosed "{"'],
    ['a{b}}', 4, '"}" without "{"'],
    ['a{}', 1, 'empty expression'],
    ['{?}', 2, 'bad variable name ""'],
    ['{a,,b}', 3, 'bad variable name ""'],
    ['{=a}', 1, 'reserved'],
    ['{,a}', 1, 'reserved'],
    ['{!a}', 1, 'reserved'],
    ['{@a}', 1, 'reserved'],
    ['{|a}', 1, 'reserved'],
    ['{$a}', 1, 'bad variable name "$a"'],
    ['{a-b}', 1, 'bad variable name "a-b"'],
    ['{ a}', 1, 'bad variable name " a"'],
    ['{??a}', 2, 'bad variable name "?a"'],
    ['{a{b}}', 1, 'bad variable name "a{b"'],
    ['{.a..b}', 2, 'bad variable name "a..b"'],
    ['{%4}', 1, 'bad variable name "%4"'],
    ['{a**}', 1, 'bad variable name "a*"'],
    ['{x,a:3*}', 3, 'both a prefix and an explode'],
    ['{a*:3}', 1, 'both a prefix and an explode'],
    ['{a:0}', 2, 'bad prefix length "0"'],
    ['{a:}', 2, 'bad prefix length ""'],
    ['{a:10000}', 2, 'bad prefix length "10000"'],
    ['{a:x}', 2, 'bad prefix length "x"'],
    ['100%/{a}', 3, '"%" without two hex digits'],
    ['%4{a}', 0, '"%" without two hex digits'],
  ])('refuses the template %s at position %i: %s [RES-014]', (template, position, problem) => {
    const create = () => new UriTemplate(template)
    expect(create).toThrow(`URI template "${template}" is malformed at position ${position}: `)
    expect(create).toThrow(problem)
  })

  it('refuses templates beyond the limits with a short message [RES-014]', () => {
    expect(() => new UriTemplate('a'.repeat(10_001))).toThrow(/^.{0,250}longer than 10000 characters; shorten it$/)
    expect(() => new UriTemplate('{a}'.repeat(101))).toThrow(/position 300: more than 100 expressions/)
    expect(() => new UriTemplate(`{${'a,'.repeat(200)}a}`)).toThrow(/more than 200 variables/)
    expect(() => new UriTemplate(`{${'-'.repeat(5000)}}`)).toThrow(/^.{0,400}$/)
    expect(new UriTemplate('a'.repeat(10_000)).match('a'.repeat(10_000))).toEqual(Object.create(null))
    expect(new UriTemplate('{a}'.repeat(100)).variableNames).toEqual(['a'])
  })

  it('lists its text and each variable once, in order [RES-014]', () => {
    const template = new UriTemplate('x{b}{/a*,b:3}{?c.d,%41_1}')
    expect(template.variableNames).toEqual(['b', 'a', 'c.d', '%41_1'])
    expect(String(template)).toBe('x{b}{/a*,b:3}{?c.d,%41_1}')
  })
})

describe('URI template matching', () => {
  it.each<[template: string, uri: string, result: Record<string, string | string[]> | undefined]>([
    ['', '', {}],
    ['', 'a', undefined],
    ['a://b', 'a://b', {}],
    ['a://b', 'a://b/', undefined],
    // simple
    ['a/{x}', 'a/b', { x: 'b' }],
    ['a/{x}', 'a/', undefined],
    ['a/{x}', 'a/b/c', undefined],
    ['a/{x}', 'a/b?c', undefined],
    ['a/{x}', 'a/b#c', undefined],
    ['a/{x}', 'a/b:c@d,e;f=g&h', { x: 'b:c@d,e;f=g&h' }],
    ['{x,y}', '1,2', { x: '1', y: '2' }],
    ['{x,y}', '1', undefined],
    ['{x,y}', '1,2,3', undefined],
    ['{x,y}', '1%2C2,3', { x: '1,2', y: '3' }],
    ['{x*}', 'a,b,c', { x: ['a', 'b', 'c'] }],
    ['{x*}', 'a', { x: ['a'] }],
    ['{x*}', 'a,,b', undefined],
    ['{x*}', 'a,', undefined],
    ['{x*,y}', 'a,b,c', { x: ['a', 'b'], y: 'c' }],
    ['{a}-{b}', 'x-y-z', { a: 'x', b: 'y-z' }],
    ['{a}{b}', 'xyz', { a: 'x', b: 'yz' }],
    ['{a}aab', 'aaaab', { a: 'aa' }],
    // reserved
    ['file:///{+path}', 'file:///a/b.txt', { path: 'a/b.txt' }],
    ['file:///{+path}', 'file:///', undefined],
    ['{+path}/edit', 'a/edit/b/edit', { path: 'a/edit/b' }],
    ['{+path}{?q}', 'a/b?q=1', { path: 'a/b', q: '1' }],
    ['{+path}{?q}', 'a/b', { path: 'a/b' }],
    ['{+x,y}', 'a/1,b,c', { x: 'a/1', y: 'b,c' }],
    ['{+x*}', 'a/1,b', { x: ['a/1', 'b'] }],
    // fragment
    ['a{#f}', 'a#b/c?d', { f: 'b/c?d' }],
    ['a{#f}', 'a', undefined],
    ['a{#f,g}', 'a#b,c', { f: 'b', g: 'c' }],
    // label
    ['a{.ext}', 'a.tar.gz', { ext: 'tar.gz' }],
    ['{name}{.ext}', 'a.tar.gz', { name: 'a', ext: 'tar.gz' }],
    ['a{.ext*}', 'a.tar.gz', { ext: ['tar', 'gz'] }],
    ['a{.ext}', 'a', undefined],
    ['a{.ext}', 'a.', undefined],
    // path segments
    ['a{/x}', 'a/b', { x: 'b' }],
    ['a{/x}', 'a/b/c', undefined],
    ['a{/x}', 'a', undefined],
    ['a{/x,y}', 'a/b/c', { x: 'b', y: 'c' }],
    ['a{/x*}', 'a/b/c/d', { x: ['b', 'c', 'd'] }],
    ['a{/x*}', 'a/b', { x: ['b'] }],
    ['a{/x*}', 'a//b', undefined],
    ['a{/x*}', 'a/b//c', undefined],
    ['a{/x*}', 'a/b/', undefined],
    ['a{/x*}', 'a/b%2Fc/d', { x: ['b/c', 'd'] }],
    ['a{/x*}/end', 'a/b/end/end', { x: ['b', 'end'] }],
    ['a{/x*}{/y}', 'a/b/c/d', { x: ['b', 'c'], y: 'd' }],
    ['a{/x*}{?q}', 'a/b/c?q=1', { x: ['b', 'c'], q: '1' }],
    // path parameters
    ['a{;x,y}', 'a;x=1;y=2', { x: '1', y: '2' }],
    ['a{;x,y}', 'a;y;x=1;z=3', { x: '1', y: '' }],
    ['a{;x}{;y*}/b', 'a;y=1;x=2;y=3/b', { x: '2', y: ['1', '3'] }],
    ['a{;x}/b', 'a/b', {}],
    ['a{;x}.json', 'a;x=1.json', { x: '1' }],
    // query
    ['a{?q,lang}', 'a?q=1&lang=en', { q: '1', lang: 'en' }],
    ['a{?q,lang}', 'a?lang=en&q=1', { q: '1', lang: 'en' }],
    ['a{?q,lang}', 'a?lang=en', { lang: 'en' }],
    ['a{?q,lang}', 'a', {}],
    ['a{?q,lang}', 'a?', {}],
    ['a{?q}', 'a?utm=x&q=1&&z', { q: '1' }],
    ['a{?q}', 'a?q=', { q: '' }],
    ['a{?q}', 'a?q', { q: '' }],
    ['a{?q}', 'a?q=x%26y%3Dz=w+v', { q: 'x&y=z=w+v' }],
    ['a{?q}', 'a?Q=1', {}],
    ['a{?q}', 'a?q=1#top', undefined],
    ['a{?q}{#f}', 'a?q=1#top', { q: '1', f: 'top' }],
    ['a{?q}#top', 'a#top', {}],
    ['a{?q}', 'a?q=1&q=1', { q: '1' }],
    ['a{?q}', 'a?q=1&q=2', undefined],
    ['a{?q*}', 'a?q=1&x&q=2', { q: ['1', '2'] }],
    ['a{?q*}', 'a?q=1', { q: ['1'] }],
    ['a{?q}', 'a?q=1,2', { q: '1,2' }],
    ['a{?q:2}', 'a?q=ab', { q: 'ab' }],
    ['a{?q:2}', 'a?q=abc', undefined],
    ['a{?q}{&r}', 'a?r=2&q=1', { q: '1', r: '2' }],
    ['a{?q}{&r}', 'a&r=2', { r: '2' }],
    ['a?v=1{&r}', 'a?v=1&x&r=2', { r: '2' }],
    ['a?v=1{&r}', 'a?v=12&r=2', undefined],
    ['a{?q}&v=1', 'a?q=2&v=1', { q: '2' }],
    ['a{?caf%C3%A9}', 'a?café=1', { 'caf%C3%A9': '1' }],
    ['a{?q}', 'a?%71=1', { q: '1' }],
    // prefix
    ['{x:3}', 'abc', { x: 'abc' }],
    ['{x:3}', 'abcd', undefined],
    ['{x:3}', '%F0%9F%98%80é%E2%82%AC', { x: '😀é€' }],
    ['{x:2}{y}', 'abcd', { x: 'a', y: 'bcd' }],
    ['{x:2}-{y}', 'abc-d', undefined],
    // repeated variables
    ['{x}/{x}', 'a/a', { x: 'a' }],
    ['{x}/{x}', 'a/%61', { x: 'a' }],
    ['{x}/{x}', 'a/b', undefined],
    ['{/x:1,x}', '/v/value', { x: 'value' }],
    ['{/x:1,x}', '/w/value', undefined],
    ['{x}{/x*}', 'a,b/a/b', { x: ['a', 'b'] }],
    ['{x}{?x}', 'a?x=b', undefined],
    ['{/x*}:{#x*}', '/a/b:#a,b', { x: ['a', 'b'] }],
    ['{/x*}:{#x*}', '/a/b:#a,b,c', undefined],
    // percent-encoding
    ['é/{x}', '%c3%A9/b', { x: 'b' }],
    ['%C3%A9/{x}', 'é/b', { x: 'b' }],
    ['a b/{x}', 'a%20b/c', { x: 'c' }],
    ['%7Ea/{x}', '~a/c', { x: 'c' }],
    ['a/{x}', 'a%2Fb', undefined],
    ['a%2F{x}', 'a/b', undefined],
    ['a%2F{x}', 'a%2fb', { x: 'b' }],
    ['{x}', '%2525', { x: '%25' }],
    ['{x}', '..%2F%2e%2e%2Fetc', { x: '../../etc' }],
    ['{x}', '%', undefined],
    ['{x}', 'a%2', undefined],
    ['{x}', '%zz', undefined],
    ['{x}', '%C3', undefined],
    ['{x}', '%C3a', undefined],
    ['{x}', '%C0%AF', undefined],
    ['{x}', '%ED%A0%80', undefined],
    ['{x}', '%F5%80%80%80', undefined],
    ['{x}', 'a%00', undefined],
    ['{x}', 'a\0', undefined],
    ['{x}', '\ud800', undefined],
    ['a{?q}', 'a?other=%zz', undefined],
    ['%FF{x}', '%FFa', undefined],
  ])('matches %s on %s as %j [RES-014]', (template, uri, result) => {
    expect(match(template, uri)).toEqual(result)
  })

  it('returns variables named like Object members as plain keys without a prototype [RES-014]', () => {
    const result = new UriTemplate('{__proto__}/{constructor}{?toString*}').match('a/b?toString=c')!
    expect(Object.getPrototypeOf(result)).toBeNull()
    expect(Object.entries(result)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['toString', ['c']],
    ])
    expect(new UriTemplate('a{?__proto__}').match('a?constructor=1')).toEqual(Object.create(null))
    expect(({} as Record<string, unknown>).a).toBeUndefined()
  })

  it('matches an expanded URI back to the same values, for every operator [RES-014]', () => {
    const random = createRandom(6570)
    for (const operator of ['', '+', '#', '.', '/', ';', '?', '&']) {
      const template = new UriTemplate(`x://h{${operator}one,two}~{${operator}three:9}~{${operator}many*}`)
      for (let round = 0; round < 200; round++) {
        // Excludes characters that some operator leaves unencoded and that are ambiguous: separators and the literal.
        const text = (max?: number) => randomText(random, max).replace(/[,.~#]/g, '_')
        const given = { one: text(), two: text(), three: text(9), many: [text(), text(), text()] }
        const uri = template.expand(given)
        expect({ ...template.match(uri) }, `${template} on ${uri}`).toEqual(given)
      }
    }
  })
})

describe('URI templates and hostile input', () => {
  // Backtracking would exceed the test timeout by far, so it is enough that these tests finish.
  const length = 10_000

  it('CVE-2026-0621: matches exploded variables in linear time [RES-014]', () => {
    expect(match('{/path*}', '/a'.repeat(length / 2))!.path).toHaveLength(length / 2)
    for (const [template, piece] of [
      ['{/path*}', '//a'],
      ['{/path*}/end', '/a'],
      ['{/a*}{/b*}{/c*}!', '/a'],
      ['{list*}!', 'a,'],
      ['{.a*}{.b*}{.c*}!', '.a'],
      ['{?q*}!', '?q=a&q'],
      ['{;p*}!', ';p=a'],
      ['{+a*}{+b*}{+c*}{+d*}!', ',a'],
    ] as const) {
      expect(match(template, piece.repeat(length / piece.length)), template).toBeUndefined()
    }
  })

  it('matches long literals that almost match everywhere as fast as short ones [RES-014]', () => {
    const template = new UriTemplate(`{+x}${`${'a'.repeat(95)}{+x}`.repeat(99)}b`)
    expect(template.match('a'.repeat(length))).toBeUndefined()
    expect(match(`{x}${'a'.repeat(4999)}b{y}`, `${'a'.repeat(9998)}bc`)).toEqual({ x: 'a'.repeat(4999), y: 'c' })
  })

  it('returns all values of a hostile URI that matches [RES-014]', () => {
    const names = Array.from({ length: 100 }, (_, index) => `v${index}`)
    const template = new UriTemplate(names.map((name) => `{/${name}*}`).join(''))
    const result = template.match('/a'.repeat(length / 2))!
    expect(result.v0).toEqual(['a'])
    expect(result.v99).toHaveLength(length / 2 - 99)
    expect(new UriTemplate('{?q*}').match(`?${'q&'.repeat(4999)}q`)!.q).toHaveLength(5000)
    expect(new UriTemplate(`{?${'q,'.repeat(199)}q}`).match(`?${'q&'.repeat(4999)}q`)).toEqual({ q: '' })
  })

  it('does not match a URI longer than 10,000 characters [RES-014]', () => {
    expect(match('{x}', 'a'.repeat(length))).toEqual({ x: 'a'.repeat(length) })
    expect(match('{x}', 'a'.repeat(length + 1))).toBeUndefined()
  })
})

/** A small deterministic generator: random(n) returns an integer below n. */
function createRandom(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

function randomText(random: (below: number) => number, max = 12): string {
  const alphabet = [...'abcXYZ019-_:/?[]@!$&\'()*+;= %"<>\\^`{|}\n\u007fé€😀']
  const text = Array.from({ length: 1 + random(max) }, () => alphabet[random(alphabet.length)]).join('')
  // Reserved expansion treats a triplet as already encoded, so it would not match back to the same text.
  return text.replace(/%(?=[0-9A-Fa-f]{2})/g, '_')
}
