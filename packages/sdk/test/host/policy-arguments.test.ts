import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { HostAction } from '../../src/host/action.ts'
import type { PolicyRule } from '../../src/host/policy.ts'
import { decide, type PolicyDecision } from '../../src/host/policy-match.ts'

const server = { id: 'files', trust: 'untrusted', address: 'node a.js' } as const

function matches(rule: Omit<PolicyRule, 'decide'>, action: HostAction, wanted: PolicyRule['decide']): boolean {
  const { decision } = decide([{ ...rule, decide: wanted }, { decide: 'ask' }], action) as PolicyDecision
  return decision === wanted
}

function call(args: Readonly<Record<string, unknown>>): HostAction {
  const tool = { name: 'read', inputSchema: { type: 'object' as const } }
  return { kind: 'tool', server, tool, name: 'files_read', arguments: args, flows: [] }
}

const denies = (pattern: string | RegExp, value: unknown) =>
  matches({ arguments: { value: pattern } }, call({ value }), 'deny')
const allows = (pattern: string | RegExp, value: unknown) =>
  matches({ arguments: { value: pattern } }, call({ value }), 'allow')

interface Entry {
  readonly set: number
  readonly rule: Readonly<Record<string, string>>
  readonly arguments: Readonly<Record<string, unknown>>
  readonly decide: 'allow' | 'deny'
  readonly matches: boolean
}

const corpus = JSON.parse(readFileSync(new URL('./corpus/held-out-arguments.json', import.meta.url), 'utf8')) as {
  policy: readonly Entry[]
}

describe('rules about arguments [HOST-002]', () => {
  it.each(corpus.policy.map((entry) => [JSON.stringify(entry), entry] as const))('decides: %s', (_, entry) => {
    expect(matches({ arguments: entry.rule }, call(entry.arguments), entry.decide)).toBe(entry.matches)
  })

  it.each([
    ['a doubled slash', '//var//log/x'],
    ['a dot segment', '/var/./log/x'],
    ['a parent segment', '/tmp/../var/log/x'],
    ['a parent segment with a path parameter', '/tmp/..;a=b/var/log/x'],
    ['a relative path to the root', '../../../var/log/x'],
    ['percent-encoding', '/var%2flog%2Fx'],
    ['percent-encoding of percent-encoding', '/var%25252flog/x'],
    ['percent-encoding of single digits', '/var%25%32%66log/x'],
    ['percent-encoding that is longer than necessary', '/tmp/%c0%ae%c0%ae%c0%afvar/log/x'],
    ['backslashes', '\\var\\log\\x'],
    ['a file URL', 'file:///var/log/x'],
    ['a file URL with a host', 'FILE://localhost/var/log/x'],
    ['space around it', '\t/var/log/x\n'],
    ['a NUL character', '/var/log\0/x'],
    ['the folder itself', '/var/log'],
    ['full-width slashes', '\uff0fvar\uff0flog\uff0fx'],
  ])('denies a path in a folder, written with %s', (_, value) => {
    expect(denies('/var/log/*', value)).toBe(true)
    expect(denies('/var/log/*', [value])).toBe(true)
  })

  it.each([
    [3, true],
    [4, false],
  ])('reads a text that is encoded %d times: %j', (times, isRead) => {
    let text = '/srv/a b'
    // Single digits are encoded, because a repeated encoding of "%" is read at once.
    const encode = (char: string) => `%${char.charCodeAt(0).toString(16)}`
    for (let count = 0; count < times; count++) text = text.replace(count === 0 ? / / : /(?<=%)\d/, encode)
    expect(allows(/^/, text)).toBe(isRead)
    expect(denies(/^never$/, text)).toBe(!isRead)
  })

  it('denies with a regular expression whatever the spelling of a path is', () => {
    expect(denies(/^\/var\/log\//, '/tmp/..//var/%6cog/x')).toBe(true)
    expect(denies(/^\/var\/log\//, '/tmp/log/x')).toBe(false)
  })

  it('allows with a regular expression only if every reading of a path matches', () => {
    expect(allows(/^\/srv\//, '/srv/a')).toBe(true)
    expect(allows(/^\/srv\//, '/srv/../etc/passwd')).toBe(false)
    expect(allows(/^\/srv\//, '/srv/%2e%2e/etc/passwd')).toBe(false)
  })

  it('ignores how a pattern is spelled', () => {
    expect(denies('/var//log/./*', '/var/log/x')).toBe(true)
    expect(denies('C:\\Windows\\*', 'c:/windows/system32')).toBe(true)
    expect(denies('file:///var/log/*', '/var/log/x')).toBe(true)
    expect(allows('C:\\data\\*', 'C:\\data\\a.txt')).toBe(true)
  })

  it('does not deny what only resembles the pattern', () => {
    expect(denies('/var/log/*', '/var/logs/x')).toBe(false)
    expect(denies('/var/log/*', '/srv/var/log/x')).toBe(false)
    expect(denies('/var/log/*', 'see /var/log/x')).toBe(false)
    expect(denies('https://evil.example/*', 'https://good.example/https://evil.example/x')).toBe(false)
  })

  it('finds a member in every item of a list, and allows only if all items match', () => {
    const rule = { arguments: { 'files.path': '/srv/*' } }
    const files = (...paths: string[]) => call({ files: paths.map((path) => ({ path })) })
    expect(matches(rule, files('/srv/a', '/srv/b'), 'allow')).toBe(true)
    expect(matches(rule, files('/srv/a', '/etc/b'), 'allow')).toBe(false)
    expect(matches(rule, files('/etc/b', '/srv/a'), 'deny')).toBe(true)
    expect(matches(rule, files(), 'allow')).toBe(false)
    expect(matches(rule, call({ files: [{ path: '/srv/a' }, { other: 1 }] }), 'allow')).toBe(false)
    expect(matches(rule, call({ files: [[{ path: '/srv/a' }]] }), 'deny')).toBe(true)
    expect(matches({ arguments: { 'files.1.path': '/srv/*' } }, files('/etc/b', '/srv/a'), 'deny')).toBe(true)
    expect(matches({ arguments: { 'files.length': '*' } }, files('/srv/a'), 'deny')).toBe(false)
  })

  it('also finds a member whose name contains the dot', () => {
    expect(matches({ arguments: { 'file.path': '/etc/*' } }, call({ 'file.path': '/etc/x' }), 'deny')).toBe(true)
    const both = call({ 'file.path': '/etc/x', file: { path: '/srv/a' } })
    expect(matches({ arguments: { 'file.path': '/srv/*' } }, both, 'allow')).toBe(false)
  })

  it.each([
    'https://evil.example/.good.example/',
    'https://evil.example/a.good.example/x',
    'https://evil.example?x.good.example/',
    'https://evil.example#x.good.example/',
    'https://evil.example\\x.good.example/',
    'https://api.good.example@evil.example/',
    'https://api.good.example:x@evil.example/',
    'https://api.good.example.evil.example/',
    'https://evil.example/\thttps://api.good.example/',
    'http://api.good.example/',
    'https://api.good.example:8443/',
  ])('does not allow a URL of another host or port: %s', (value) => {
    expect(allows('https://*.good.example/*', value)).toBe(false)
    expect(allows('https://api.good.example*', value)).toBe(value.includes(':8443'))
    expect(matches({ resource: 'https://*.good.example/*' }, { kind: 'resource', server, uri: value }, 'allow')).toBe(
      false,
    )
  })

  it('matches the host of a URL without a scheme in the pattern', () => {
    expect(allows('*.good.example/*', 'https://api.good.example/x')).toBe(true)
    expect(allows('*.good.example/*', 'https://evil.example/x.good.example/y')).toBe(false)
  })

  it('allows URLs of the host, whatever their path, query and spelling are', () => {
    expect(allows('https://*.good.example/*', 'https://api.good.example/a?b=c/../d#e')).toBe(true)
    expect(allows('https://*.good.example/*', 'HTTPS://API.good.example:443/a')).toBe(true)
    expect(allows('https://*', 'https://any.example/a')).toBe(true)
    expect(allows('http://localhost*', 'http://localhost:3000/a')).toBe(true)
    expect(allows('http://localhost:*/a', 'http://localhost:3000/a')).toBe(true)
    expect(allows('https://good.example', 'https://good.example')).toBe(true)
    expect(allows('https://good.example/a/*', 'https://good.example/a/b%20c')).toBe(true)
    expect(allows('https://good.example/a/*', 'https://good.example/a/../b')).toBe(false)
    expect(allows('https://good.example/a/*', 'https://good.example/a/%252e%252e/b')).toBe(false)
    expect(allows('db://main/*', 'db://main/table')).toBe(true)
  })

  it.each([
    'https://EVIL.example/x',
    'https://evil.example:443/x',
    'https://evil.example./x',
    'https://user:password@evil.example/x',
    'https:\\\\evil.example\\x',
    'https:/evil.example/x',
    'https://ev\til.example/x',
    ' https://evil.example',
    'https://evil.example?x',
    '//evil.example/x',
  ])('denies a host, however the URL is written: %j', (value) => {
    expect(denies('https://evil.example/*', value)).toBe(true)
  })

  it('denies an address, however it is written', () => {
    for (const host of ['169.254.169.254', '0xa9fea9fe', '2852039166', '0251.0376.0251.0376', '169.254.43518']) {
      expect(denies('http://169.254.169.254/*', `http://${host}/latest`)).toBe(true)
    }
  })

  it.each([
    'file:etc/hosts',
    'fi\tle:///etc/hosts',
    '\x01file:///etc/hosts',
    ' \x1f\nFILE:/etc/hosts',
    'file:///srv/../proc/self/root/../etc/hosts',
    'file:///etc/ho%73ts',
    'url:file:///etc/hosts',
    '<URL:file:///etc/hosts>',
    '~/../etc/hosts',
    '~/a/../../../etc/hosts',
    '~root/../etc/hosts',
    '$HOME/../etc/hosts',
    '/proc/self/root/etc/hosts',
    '/proc/self/root/../etc/hosts',
    '/proc/1/root/etc/hosts',
    '/proc//thread-self/./root/proc/7/task/8/root/etc/hosts',
    '/proc/self/cwd/../../../etc/hosts',
    '/etc/hosts?x=1',
    '/etc?x=1',
    '/etc;a/hosts',
  ])('denies a folder, whatever a program makes of the text: %j', (value) => {
    expect(denies('/etc/*', value)).toBe(true)
    expect(denies('file:///etc/*', value)).toBe(true)
    expect(matches({ resource: 'file:///etc/*' }, { kind: 'resource', server, uri: value }, 'deny')).toBe(true)
    expect(denies(/^\/etc\/hosts/, value)).toBe(!/^\/etc[?;]/.test(value))
    expect(allows('file:///srv/*', value)).toBe(false)
    expect(allows('/srv/*', value)).toBe(false)
  })

  it.each([
    'https:a.evil.test/x',
    'https:/a.evil.test/x',
    'ht\ttps://a.evil.test/x',
    'https:\r\n//a.evil.test/x',
    '\x01https://a.evil.test/x',
    'https://good.test\\@a.evil.test/x',
    'https://good.test\\.evil.test/x',
    'https://good.test:80\\@a.evil.test:443/x',
    'url:https://a.evil.test/x',
    'https://good.test^\\@a.evil.test/x',
    'https://good.test:x\\@a.evil.test/x',
    'a.evil.test/x',
    'A.evil.test',
    '\x01//a.evil.test/x',
  ])('denies a host, whatever a client makes of the text: %j', (value) => {
    expect(denies('https://*.evil.test/*', value)).toBe(true)
    expect(denies('*.evil.test/*', value)).toBe(true)
    expect(matches({ resource: 'https://*.evil.test/*' }, { kind: 'resource', server, uri: value }, 'deny')).toBe(true)
    expect(allows('https://good.test/*', value)).toBe(false)
    expect(allows('https://good.test*', value)).toBe(false)
  })

  it.each([
    'https://example.com\\@evil.test/',
    'https://a.example.com\\@evil.test/',
    'https://a.example.com\\.evil.test/',
    'https://evil.test\t.example.com/',
    'https://evil.test\x00.example.com/',
    'http:evil.test/.example.com/x',
    'https:a.example.com/x',
    '\x01http://evil.test/.example.com/x',
    'evil.test/.example.com/x',
    'evil.test\\.example.com/x',
    'evil.test?.example.com/x',
    '//evil.test/.example.com/x',
    '/evil.test/.example.com/x',
    'evil:x.example.com/x',
    'a.example.com:x@evil.test/.example.com/x',
  ])('allows no host that a client could find in another part of the text: %j', (value) => {
    for (const pattern of [
      'https://example.com/*',
      'https://*.example.com/*',
      '*.example.com/*',
      '*://*.example.com/*',
    ]) {
      expect(allows(pattern, value)).toBe(false)
    }
    expect(allows(/^https:\/\/(?:a\.)?example\.com(?:\/|\\@)/, value)).toBe(false)
  })

  it('allows a host without a scheme if the pattern has none', () => {
    expect(allows('*.example.com/*', 'a.example.com/x?y#z')).toBe(true)
    expect(allows('https://*.example.com/*', 'a.example.com/x')).toBe(false)
    expect(allows('docs.old/*', 'docs.old/a b.txt')).toBe(true)
  })

  it.each(['/admin?x=1', '/admin#f', '/admin;a/x', '/admin;a', '/a/..;b/admin/x', '/%61dmin?x', '/admin/;a?b'])(
    'denies the path of a URL, whatever its query, fragment and parameters are: %s',
    (path) => {
      expect(denies('https://api.test/admin/*', `https://api.test${path}`)).toBe(true)
      expect(denies('/admin/*', path)).toBe(true)
      expect(denies('https://api.test/admin/*', `https://api.test/public${path.replaceAll('/', '')}`)).toBe(false)
    },
  )

  it('allows the end of a path only if it is not a query, a fragment or a parameter', () => {
    expect(allows('https://api.test/*.png', 'https://api.test/a.png')).toBe(true)
    expect(allows('https://api.test/*.png', 'https://api.test/a.png?size=1.png')).toBe(true)
    expect(allows('https://api.test/*.png', 'https://api.test/admin?.png')).toBe(false)
    expect(allows('https://api.test/*.png', 'https://api.test/admin#.png')).toBe(false)
    expect(allows('https://api.test/*.png', 'https://api.test/admin;.png')).toBe(false)
    expect(allows('https://api.test/a?page=*', 'https://api.test/a?page=2')).toBe(true)
    expect(allows('https://api.test/a;v=*', 'https://api.test/a;v=2')).toBe(true)
  })

  it('denies, and does not allow, what is encoded more often than it is decoded', () => {
    let value = '/'
    for (let count = 0; count < 8; count++)
      value = [...value].map((char) => `%${char.charCodeAt(0).toString(16)}`).join('')
    expect(denies('/etc/*', value)).toBe(true)
    expect(denies(/^\/etc/, value)).toBe(true)
    expect(allows('%*', value)).toBe(false)
  })

  it('takes ordinary words and paths for neither hosts nor folders', () => {
    expect(denies('https://*', 'index.js')).toBe(false)
    expect(denies('https://*.evil.test/*', 'src/a.evil.test/x')).toBe(false)
    expect(denies('/etc/*', '~/etc/hosts')).toBe(false)
    expect(denies('/etc/*', 'file: etc')).toBe(false)
    expect(denies('/etc/*', 'note: etc/hosts')).toBe(false)
    expect(denies('/etc/*', '/proc/self/status')).toBe(false)
    expect(allows('/srv/*', '/srv/a;b?c#d.txt')).toBe(true)
    expect(allows('file:///srv/*', 'file:///srv/a')).toBe(true)
  })

  it('reads a long path through processes once', () => {
    const long = `/proc/${'1'.repeat(500_000)}/${'a/../'.repeat(100_000)}${'/proc/self/root'.repeat(20_000)}`
    expect(denies('/etc/*', `${long}/etc/hosts`)).toBe(false)
    expect(denies('/etc/*', `${'/proc/self/root'.repeat(20_000)}/etc/hosts`)).toBe(true)
  })

  it('reads a long text with many encoded characters once', () => {
    const long = `${'%252e%252e%252f'.repeat(50_000)}etc/passwd`
    expect(denies('/etc/*', long)).toBe(true)
    expect(allows('/etc/*', `/etc/${long}`)).toBe(false)
  })
})
