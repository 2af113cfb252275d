import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { openBrowser } from '../../src/auth/node/browser.ts'

/** A system whose opener writes down what it was given, in the place of the real one. */
function system(platform: NodeJS.Platform, { exit = 0, missing = false } = {}) {
  const folder = mkdtempSync(join(tmpdir(), 'browser-'))
  const notes = join(folder, 'notes')
  const script = `#!/bin/sh
printf '%s\\n' "$0" "$@" > '${notes}'
exit ${exit}
`
  const root = join(folder, 'root')
  const path = openerIn(folder, root, platform)
  if (!missing) {
    writeFileSync(path, script)
    chmodSync(path, 0o755)
  }
  const before = { platform: process.platform, PATH: process.env.PATH, SystemRoot: process.env.SystemRoot }
  Object.defineProperty(process, 'platform', { value: platform })
  Object.assign(process.env, { PATH: folder, SystemRoot: root })
  onTestFinished(() => {
    Object.defineProperty(process, 'platform', { value: before.platform })
    process.env.PATH = before.PATH
    if (before.SystemRoot === undefined) delete process.env.SystemRoot
    else process.env.SystemRoot = before.SystemRoot
    rmSync(folder, { recursive: true })
  })
  return {
    folder,
    /** Its name and arguments. */
    argv: () => {
      const [own, ...args] = readFileSync(notes, 'utf8').trimEnd().split('\n')
      return [basename(own!), ...args]
    },
  }
}

function openerIn(folder: string, root: string, platform: NodeJS.Platform): string {
  if (platform === 'win32') return `${root}\\System32\\rundll32.exe`
  return join(folder, platform === 'darwin' ? 'open' : 'xdg-open')
}

const page = 'https://as.example/authorize?client_id=1&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2Fcallback&scope=a+b'

describe('opening the browser', () => {
  it.each([
    ['linux', ['xdg-open', page]],
    ['freebsd', ['xdg-open', page]],
    ['darwin', ['open', page]],
    ['win32', ['root\\System32\\rundll32.exe', 'url.dll,FileProtocolHandler', page]],
  ] as const)('passes the URL to the program of %s as one argument [SEC-005]', async (platform, argv) => {
    const { argv: given } = system(platform)
    await openBrowser(page)
    expect(given()).toEqual(argv)
  })

  it.each([
    'https://as.example/$(touch pwned)',
    'https://as.example/`touch pwned`?a=`touch pwned`',
    'https://as.example/?a=$(touch pwned)&b=1;touch pwned|touch pwned',
    'https://as.example/"; touch pwned; "',
    "https://as.example/'; touch pwned; '#'; touch pwned; '",
    'https://as.example/?a=%24(calc)&b={1..9}^&c=\\x&d=!x&e=*',
    'https://as.example/\r\n\t\u0000\u001b--help',
  ])('CVE-2025-6514, CVE-2025-10619: passes %j so that a shell interprets none of it [SEC-005]', async (hostile) => {
    const { argv, folder } = system('linux')
    await openBrowser(hostile)
    const [, url, ...rest] = argv()
    expect(rest).toEqual([])
    expect(url).toMatch(/^https:\/\/as\.example\/[\w\-.~:/?#[\]@&=+,%]*$/)
    // A server reads the same in it.
    expect(decodeURIComponent(url!)).toBe(decodeURIComponent(new URL(hostile).href))
    expect(() => readFileSync(join(folder, 'pwned'))).toThrow('ENOENT')
    expect(() => readFileSync('pwned')).toThrow('ENOENT')
  })

  it.each([
    'javascript:alert(1)',
    ' javascript:alert(1)',
    'java\nscript:alert(1)',
    'JaVaScRiPt:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    'file:///etc/passwd',
    'vbscript:x',
    'ms-msdt:/id',
    'search-ms:query=x',
    'ftp://as.example/',
    'http://as.example/authorize',
    'http://10.0.0.1/authorize',
    'http://localhost.example/authorize',
    'https://me:s3cret@as.example/authorize',
    '--help',
    '-a Calculator',
    '/usr/bin/env',
    '',
  ])('CVE-2025-58444: refuses %j and starts no program [SEC-004, SEC-006]', async (hostile) => {
    const { argv } = system('linux')
    const error = await openBrowser(hostile).then(
      () => undefined,
      (error: Error) => error,
    )
    expect(error).toBeInstanceOf(TypeError)
    expect(error?.message).not.toContain('s3cret')
    expect(argv).toThrow('ENOENT')
  })

  it.each(['http://127.0.0.1:8080/authorize', 'http://localhost:8080/authorize', 'http://[::1]:8080/authorize'])(
    'opens the loopback URL %s [SEC-004]',
    async (url) => {
      const { argv } = system('linux')
      await openBrowser(new URL(url))
      expect(argv()).toEqual(['xdg-open', url])
    },
  )

  it('reports when there is no program to open a URL, or when it fails', async () => {
    system('linux', { missing: true })
    await expect(openBrowser(page)).rejects.toMatchObject({
      code: 'spawn-failed',
      message: 'The browser could not be opened: xdg-open did not start (ENOENT).',
    })
    system('linux', { exit: 3 })
    await expect(openBrowser(page)).rejects.toMatchObject({
      code: 'spawn-failed',
      message: 'The browser could not be opened: xdg-open exited with 3.',
    })
  })

  it('does not wait for an opener that runs as long as the browser', async () => {
    const { folder } = system('linux', { missing: true })
    const path = join(folder, 'xdg-open')
    const notes = join(folder, 'pid')
    writeFileSync(path, `#!/bin/sh\necho $$ > '${notes}'\nexec ${process.execPath} -e 'setTimeout(() => {}, 60_000)'\n`)
    chmodSync(path, 0o755)
    await openBrowser(page)
    const pid = Number(readFileSync(notes, 'utf8'))
    // It has not been ended either.
    expect(process.kill(pid, 'SIGKILL')).toBe(true)
  })
})
