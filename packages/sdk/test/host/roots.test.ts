import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { watchRoots } from '../../src/host/node/watch-roots.ts'
import { checkRootAccess, createServerRoots, pathFindings, type RootAccess } from '../../src/host/roots.ts'
import { eventually } from '../kit/eventually.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'roots-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const rootOf = (path: string) => ({ uri: pathToFileURL(path).href })

describe('roots of servers', () => {
  it('gives each server only its own roots [ROOT-008]', () => {
    const roots = createServerRoots({
      files: ['file:///srv/a', { uri: 'file:///srv/b', name: 'B' }],
      mail: ['file:///srv/a'],
    })
    expect(roots.rootsFor('files')).toEqual([{ uri: 'file:///srv/a' }, { uri: 'file:///srv/b', name: 'B' }])
    expect(roots.rootsFor('mail')).toEqual([{ uri: 'file:///srv/a' }])
    expect(roots.rootsFor('other')).toEqual([])
    expect(roots.rootsFor('constructor')).toEqual([])
    expect(roots.all).toHaveLength(2)
  })

  it('gives a list to all servers, and nothing without roots', () => {
    expect(createServerRoots(['file:///srv/a']).rootsFor('any')).toEqual([{ uri: 'file:///srv/a' }])
    expect(createServerRoots().rootsFor('any')).toEqual([])
  })

  it('takes absolute paths, also of Windows', () => {
    const { all } = createServerRoots(['/srv/a b#c?d%20', 'C:\\Users\\me'])
    expect(all.map(({ uri }) => uri)).toEqual(['file:///srv/a%20b%23c%3Fd%2520', 'file:///C:/Users/me'])
  })

  it.each([
    'srv/a',
    '/srv/../etc',
    'https://example.com',
    'file:///srv/../etc',
    'file:///srv/%2e%2e/etc',
    'file://host/share',
  ])('refuses %s as a root', (uri) => {
    expect(() => createServerRoots({ files: [uri] })).toThrow('Invalid root')
  })

  it('checks that roots exist and can be read before they are exposed [ROOT-017]', async () => {
    const path = folder()
    writeFileSync(join(path, 'file.txt'), '')
    const roots = [path, join(path, 'file.txt'), join(path, 'none'), join(path, 'file.txt/none')].map(rootOf)
    const access = await checkRootAccess(roots)
    expect(access.map(({ isAccessible, reason }) => [isAccessible, reason])).toEqual([
      [true, undefined],
      [true, undefined],
      [false, 'does not exist'],
      [false, 'does not exist'],
    ])
    expect(access.map(({ root }) => root)).toEqual(roots)
  })

  const isRoot = process.getuid?.() === 0
  if (isRoot) console.log('[skipped] a root that cannot be read: root can read everything')
  it.skipIf(isRoot)('reports a root that this user may not read [ROOT-017]', async () => {
    const path = join(folder(), 'private')
    mkdirSync(path, { mode: 0o000 })
    onTestFinished(() => chmodSync(path, 0o700))
    expect(await checkRootAccess([rootOf(path)])).toMatchObject([{ reason: 'cannot be read: permission denied' }])
  })

  it('reports when a root becomes inaccessible and accessible again [ROOT-015, ROOT-018]', async () => {
    const path = folder()
    const [steady, changing] = [join(path, 'a'), join(path, 'b')]
    mkdirSync(steady)
    mkdirSync(changing)
    const reports: (readonly RootAccess[])[] = []
    const watcher = await watchRoots([rootOf(steady), rootOf(changing)], (access) => void reports.push(access), {
      intervalMs: 10,
    })
    onTestFinished(() => watcher.close())
    expect(watcher.access.map(({ isAccessible }) => isAccessible)).toEqual([true, true])
    rmSync(changing, { recursive: true })
    await eventually(() => reports.length === 1)
    expect(reports[0]?.map(({ isAccessible }) => isAccessible)).toEqual([true, false])
    mkdirSync(changing)
    await eventually(() => reports.length === 2)
    expect(watcher.access.map(({ isAccessible }) => isAccessible)).toEqual([true, true])
  })

  it('reports nothing while nothing changes, and nothing after close', async () => {
    const path = join(folder(), 'a')
    mkdirSync(path)
    const reports: unknown[] = []
    const watcher = await watchRoots([rootOf(path)], (access) => void reports.push(access), { intervalMs: 1_000_000 })
    await watcher.check()
    await watcher.check()
    expect(reports).toEqual([])
    watcher.close()
    rmSync(path, { recursive: true })
    expect(await watcher.check()).toMatchObject([{ isAccessible: false }])
    expect(reports).toEqual([])
  })
})

describe('paths in arguments', () => {
  const roots = [{ uri: 'file:///home/me/project' }, { uri: 'file:///data/%C3%BCbung' }]
  const severities = (args: Record<string, unknown>, given = roots) =>
    pathFindings(args, given).map(({ severity }) => severity)

  it.each([
    '/etc/passwd',
    '/home/me/project/../.ssh/id_rsa',
    '/home/me/project/%2e%2e/secret',
    '/home/me/project/%252e%252e/secret',
    '/home/me/project/..%2fsecret',
    '/home/me/project/..\\secret',
    '/home/me/project-other/a',
    '/home/me',
    '//etc/passwd',
    ' /etc/passwd\n',
    '/home/me/project/a.txt\0/../../b',
    'uploads/x.png\0/../../etc/passwd',
    'uploads/x.php%00.png',
    'file:///etc/passwd',
    'FILE:///etc/passwd',
    'file:/etc/passwd',
    'file:///home/me/project/%2e%2e%2f%2e%2e/x',
    'file://home/me/project/a',
    'file://localhost/etc/passwd',
    'C:\\Windows\\system32',
    '\\\\server\\share',
    '../../etc/passwd',
    '..',
    'a/b/../../../c',
    './../x',
    '%2e%2e/x',
    '~/.ssh/id_rsa',
    '~',
  ])('finds that %j is outside of the roots', (path) => {
    expect(pathFindings({ path }, roots)).toMatchObject([
      { rule: 'outside-roots', severity: 'high', where: 'argument path' },
    ])
  })

  it.each([
    '/home/me/project',
    '/home/me/project/',
    '/home/me/project/a/../b.txt',
    '/home/me/project/100%.txt',
    '/home/me/project/..hidden',
    'file:///home/me/project/a%20b.txt',
    'file://localhost/home/me/project/a',
    'file:///data/%C3%BCbung/1',
    '/data/übung/1',
    '~/project/a.txt',
    'src/index.ts',
    './a/../b',
    'https://example.com/etc/passwd',
    'https://example.com/../../../..',
    'read ../../notes and tell me',
    'import x from "../../../x.ts"',
    '// first line\nimport x from "../../../x"\n',
    'and/or',
    '1/2',
    '...',
    '',
  ])('accepts %j', (path) => {
    expect(pathFindings({ path }, roots)).toEqual([])
  })

  it('has no findings for a server without roots', () => {
    expect(severities({ path: '/etc/passwd' }, [])).toEqual([])
  })

  it('compares paths of Windows without regard to case and slashes', () => {
    const windows = [{ uri: 'file:///C:/Users/Me/Project' }]
    expect(severities({ path: 'c:\\users\\me\\project\\a.txt' }, windows)).toEqual([])
    expect(severities({ path: '\\\\?\\C:\\Users\\Me\\Project\\a.txt' }, windows)).toEqual([])
    expect(severities({ path: 'file:///c:/Users/Me/Project/a' }, windows)).toEqual([])
    expect(severities({ path: 'C:\\Users\\Me\\Project\\..\\Other' }, windows)).toEqual(['high'])
    expect(severities({ path: 'D:\\Users\\Me\\Project' }, windows)).toEqual(['high'])
  })

  it('only shows what may be a route or a command', () => {
    expect(severities({ command: '/help', route: '/api/users' })).toEqual(['low', 'low'])
    expect(severities({ command: '/etc/hosts', filePath: '/api/users' })).toEqual(['high', 'high'])
  })

  it('takes a text for a path if it begins with the same folder as a root', () => {
    expect(severities({ command: '/data/other' })).toEqual(['high'])
    expect(severities({ command: '/data/other' }, [{ uri: 'file:///home/me' }])).toEqual(['low'])
  })

  it.each([
    ['pattern', '\\bfoo\\b'],
    ['pattern', '\\bin\\b'],
    ['regex', '\\$\\{[^}]+\\}'],
    ['patterns', ['\\d+']],
    ['path_regex', '\\.ts$'],
    ['latex', '\\frac{1}{2}'],
    ['query', '\\section{Intro}'],
    ['file_content', '\\documentclass{article}'],
  ])('does not take an escape for a path: %s = %j', (name, value) => {
    expect(pathFindings({ [name]: value }, roots)).toEqual([])
  })

  it('finds a path that begins with a backslash by its name, its folder or its share', () => {
    expect(severities({ path: '\\temp\\x', source: '\\temp', content_path: '\\temp' })).toEqual([
      'high',
      'high',
      'high',
    ])
    expect(severities({ value: '\\Users\\me', pattern: '\\\\server\\share' })).toEqual(['high', 'high'])
    expect(severities({ value: '\\temp\\x' })).toEqual(['low'])
  })

  it('looks into nested arguments and names the place', () => {
    const args = { edits: [{ file: 'a' }, { file: '/etc/hosts', text: 'x' }], paths: ['b', '/etc/shadow'] }
    expect(pathFindings(args, roots).map(({ where, excerpt }) => [where, excerpt])).toEqual([
      ['argument edits[1].file', '/etc/hosts'],
      ['argument paths[1]', '/etc/shadow'],
    ])
  })

  it('makes invisible characters visible in the excerpt', () => {
    expect(pathFindings({ path: '/etc/\u202epasswd' }, roots)[0]?.excerpt).toBe('/etc/<U+202E>passwd')
  })

  it('bounds its work, and says so', () => {
    const many = pathFindings({ paths: Array(30_000).fill('/etc/passwd') }, roots)
    expect(many).toHaveLength(21)
    expect(many.at(-1)).toMatchObject({
      severity: 'high',
      message: 'The arguments are too large to find all paths in them.',
    })
    let deep: unknown = '/etc/passwd'
    for (let level = 0; level < 100_000; level++) deep = [deep]
    expect(pathFindings({ deep }, roots)).toMatchObject([{ where: 'arguments' }])
    expect(severities({ path: `/etc/${'../'.repeat(50_000)}` })).toEqual([])
  })
})
