import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { readJson } from './json-output.ts'
import { fixture, Workspace } from './support.ts'
import { startWebSite } from './web-site.ts'

const workshop = fixture('workshop.js')
const notes = fixture('notes.js')
const unruly = fixture('unruly.js')

describe('tenon call', () => {
  it('prints the text of the result', async () => {
    using work = new Workspace()
    expect(await work.run(['call', notes, 'add', 'a=1', 'b=2'])).toEqual({ code: 0, stdout: '3\n', stderr: '' })
    const afterDashes = await work.run(['call', 'echo', 'text=two words', '--', process.execPath, notes])
    expect(afterDashes).toEqual({ code: 0, stdout: 'two words\n', stderr: '' })
  })

  it.each(['2025-11-25', '2026-07-28'])('gives arguments the types of the schema on %s', async (revision) => {
    using work = new Workspace()
    const args = ['count=3', 'tags=a', 'tags=b', 'dry=true', 'address.zip=12345', 'address.city:="Oslo"']
    const { stdout } = await work.run(['call', workshop, 'typed', ...args, '--json', '--revision', revision])
    expect(readJson('call', stdout)).toMatchObject({
      isError: false,
      structuredContent: {
        given: { count: 3, tags: ['a', 'b'], dry: true, address: { zip: 12345, city: 'Oslo' } },
      },
    })
  })

  it('takes arguments from --args and from stdin, and lets words replace them', async () => {
    using work = new Workspace()
    const fromOption = await work.run(['call', notes, 'add', 'b=5', '--args', '{"a": 1, "b": 2}'])
    expect(fromOption.stdout).toBe('6\n')
    const fromInput = await work.run(['call', notes, 'add', '--args', '-'], { input: '{"a": 20, "b": 2}\n' })
    expect(fromInput.stdout).toBe('22\n')
    const invalid = await work.run(['call', notes, 'add', '--args', '[1]'])
    expect(invalid.code).toBe(2)
  })

  it('prints structured content as JSON if there is no text', async () => {
    using work = new Workspace()
    const { stdout } = await work.run(['call', workshop, 'typed', 'count=1'])
    expect(JSON.parse(stdout)).toEqual({ given: { count: 1 } })
  })

  it('returns 1 if the tool fails, and prints what it said', async () => {
    using work = new Workspace()
    const { code, stdout, stderr } = await work.run(['call', notes, 'fail'])
    expect({ code, stdout }).toEqual({ code: 1, stdout: 'The disk is full\n' })
    expect(stderr).toContain('The tool answered with an error.')
    const json = await work.run(['call', notes, 'fail', '--json'])
    expect(json.code).toBe(1)
    expect(readJson('call', json.stdout).isError).toBe(true)
    const invalid = await work.run(['call', notes, 'add', 'a=x', 'b=1'])
    expect(invalid.code).toBe(1)
  })

  it('rejects a command with arguments that does not follow "--"', async () => {
    using work = new Workspace()
    for (const words of [
      ['call', 'node', notes, 'add'],
      ['watch', 'npx', 'server'],
    ]) {
      const { code, stderr } = await work.run(words)
      expect(code).toBe(2)
      expect(stderr).toContain('a command with arguments goes after "--"')
    }
  })

  it('lists the tools if there is none with this name', async () => {
    using work = new Workspace()
    const { code, stdout } = await work.run(['call', notes, 'adder', '--json'])
    expect(code).toBe(1)
    expect(readJson('error', stdout).error).toEqual({
      code: 'not-found',
      message: 'The server has no tool "adder".',
      hint: 'Similar: add',
    })
  })

  it('shows control characters of results as code points, unless they are wanted', async () => {
    using work = new Workspace()
    expect((await work.run(['call', workshop, 'hostile'])).stdout).toBe('red<U+001B>[31m <U+202E>gnp.exe\n')
    expect((await work.run(['call', workshop, 'hostile', '--raw'])).stdout).toBe('red\u001b[31m \u202egnp.exe')
  })

  it('saves files with safe names and never replaces one', async () => {
    using work = new Workspace()
    const first = await work.run(['call', workshop, 'files', '--output', 'out'])
    expect(first.stdout).toBe('Three files\nout/files-1.png\nout/files-2.wav\nout/pass-wd.bin\ntoday  note://today\n')
    expect(readdirSync(work.file('out')).sort()).toEqual(['files-1.png', 'files-2.wav', 'pass-wd.bin'])
    const before = readFileSync(work.file('out/files-1.png'))
    expect(before.subarray(1, 4).toString()).toBe('PNG')
    const second = readJson('call', (await work.run(['call', workshop, 'files', '--output', 'out', '--json'])).stdout)
    expect(second.files.map(({ path }: { path: string }) => path)).toEqual([
      'out/files-1-2.png',
      'out/files-2-2.wav',
      'out/pass-wd-2.bin',
    ])
    expect(readFileSync(work.file('out/files-1.png'))).toEqual(before)
    const without = await work.run(['call', workshop, 'files'])
    expect(without.stderr).toContain('(image/png, 70 bytes: save it with --output <folder>)')
    expect(existsSync(work.file('files-1.png'))).toBe(false)
  })

  it('cancels the call on Ctrl-C, and says so', async () => {
    using work = new Workspace()
    await using child = work.start(['call', 'wait', '--trace', '--', process.execPath, workshop])
    await child.until(() => child.stderr.includes('waiting'))
    child.child.kill('SIGINT')
    const { code } = await child.exited
    expect(code).toBe(130)
    expect(child.stderr).toContain('Cancelling the call of "wait". Press Ctrl-C again to leave at once.')
    expect(child.stderr).toContain('notifications/cancelled')
    expect(child.stderr).toContain('tenon: You cancelled the call of "wait".')
  })

  it('says that a question needs a terminal', async () => {
    using work = new Workspace()
    const { code, stderr } = await work.run(['call', workshop, 'ask'])
    expect(code).toBe(1)
    expect(stderr).toContain('Run the command in a terminal to answer it.')
  })

  it('shows what the server writes to stderr, but not its greeting', async () => {
    using work = new Workspace()
    const { code, stdout, stderr } = await work.run(['call', unruly, 'warn'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'done\n' })
    expect(stderr).toBe('│ Warning: the cache folder is missing\n│ the disk is nearly full <U+001B>[31m\n')
    const flood = (await work.run(['call', unruly, 'flood'])).stderr
    expect(flood).toContain('│ line 199\n│ (the server wrote more to stderr, which is not shown)\n')
    expect(flood).not.toContain('line 200')
  })

  it('says that the server crashed after it had answered', async () => {
    using work = new Workspace()
    const { code, stdout, stderr } = await work.run(['call', unruly, 'late'])
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'ok\n' })
    expect(stderr).toContain('│ Error: the pool was closed twice\n')
    expect(stderr).toMatch(/\ntenon: The server crashed: it exited with code 1\.\n$/)
  })

  it('shows the stderr of a server that exits during the call once', async () => {
    using work = new Workspace()
    const { code, stderr } = await work.run(['call', unruly, 'exit'])
    expect(code).toBe(3)
    expect(stderr).toBe(
      '│ Warning: the cache folder is missing\n│ cannot go on\ntenon: The connection closed before the response (exit code 3)\n',
    )
    const json = await work.run(['call', unruly, 'exit', '--json'])
    expect(readJson('error', json.stdout).error.message).toContain('cannot go on')
  })

  it.each([
    ['no tool', ['call', notes], 2],
    ['no target', ['call'], 2],
    ['an empty command', ['call', 'add', '--'], 2],
    ['a word that is not an argument', ['call', notes, 'add', 'word'], 2],
    ['an unknown option', ['call', notes, 'add', '--bogus'], 2],
    ['a program that is not a server', ['call', '--timeout', '2', fixture('junk.js'), 'add'], 5],
  ])('reports %s as JSON', async (_name, args, code) => {
    using work = new Workspace()
    const finished = await work.run([args[0] ?? '', '--json', ...args.slice(1)])
    expect(finished.code).toBe(code)
    readJson('error', finished.stdout)
  })

  it('reports a web page that is not an MCP server', async () => {
    using work = new Workspace()
    await using site = await startWebSite()
    const { code, stdout } = await work.run(['call', site.url, 'add', '--json'])
    expect(code).toBe(3)
    expect(readJson('error', stdout).error.message).toContain('text/html')
  })
})
