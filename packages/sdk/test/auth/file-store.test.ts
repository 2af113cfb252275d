import { execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { withFileLock } from '../../src/auth/node/file-lock.ts'
import { fileTokenStore } from '../../src/auth/node/file-store.ts'
import { replaceFile } from '../../src/auth/node/replace-file.ts'
import { deferred } from '../../src/util/deferred.ts'

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'tokens-'))
  onTestFinished(() => rmSync(path, { recursive: true, force: true }))
  return path
}

const modeOf = (path: string) => statSync(path).mode & 0o777

/** What is written to stderr, instead of there. */
function warnings(): string[] {
  const given: string[] = []
  const spy = vi.spyOn(console, 'warn').mockImplementation((text: string) => void given.push(text))
  onTestFinished(() => spy.mockRestore())
  return given
}

describe('the token file', () => {
  it('stores, replaces and deletes tokens that another store can read', async () => {
    const path = join(folder(), 'tokens.json')
    const store = fileTokenStore(path)
    expect(await store.get('a')).toBeUndefined()
    await store.delete('a')
    expect(existsSync(path)).toBe(false)
    await store.set('a', '{"access_token":"ä"}')
    await store.set('__proto__', '2')
    await store.set('a', '{"access_token":"b"}')
    const other = fileTokenStore(path)
    expect([await other.get('a'), await other.get('__proto__')]).toEqual(['{"access_token":"b"}', '2'])
    expect(await other.get('constructor')).toBeUndefined()
    await other.delete('a')
    expect(await store.get('a')).toBeUndefined()
    expect(await store.get('__proto__')).toBe('2')
  })

  it('creates the file and its folder for the owner only [AUTH-094, AUTH-097]', async () => {
    const root = folder()
    const before = process.umask(0)
    onTestFinished(() => void process.umask(before))
    const path = join(root, 'config', 'tenon', 'tokens.json')
    const store = fileTokenStore(path)
    await store.lock('a', () => Promise.resolve(store.set('a', '1')))
    expect([modeOf(path), modeOf(join(root, 'config', 'tenon')), modeOf(join(root, 'config'))]).toEqual([
      0o600, 0o700, 0o700,
    ])
    // Nothing else is left.
    expect(readdirSync(join(root, 'config', 'tenon'))).toEqual(['tokens.json'])
  })

  it('restricts the file again after its permissions were widened [AUTH-094]', async () => {
    const path = join(folder(), 'tokens.json')
    const given = warnings()
    const store = fileTokenStore(path)
    await store.set('a', 's3cret')
    chmodSync(path, 0o644)
    expect(await store.get('a')).toBe('s3cret')
    expect(modeOf(path)).toBe(0o600)
    expect(given.join()).toContain(path)
    expect(given.join()).not.toContain('s3cret')
  })

  it('replaces the file atomically, so that a reader never sees half of it', async () => {
    const path = join(folder(), 'tokens.json')
    const store = fileTokenStore(path)
    await store.set('a', 'x'.repeat(200_000))
    linkSync(path, `${path}.first`)
    const first = readFileSync(path, 'utf8')
    let isOver = false
    const writing = (async () => {
      for (let round = 0; round < 20; round++) await store.set('a', String(round).repeat(100_000))
      isOver = true
    })()
    while (!isOver) {
      JSON.parse(readFileSync(path, 'utf8'))
      await new Promise((resolve) => setImmediate(resolve))
    }
    await writing
    // Nobody wrote into the file that was there.
    expect(readFileSync(`${path}.first`, 'utf8')).toBe(first)
  })

  it('does not write through a symbolic link', async () => {
    const root = folder()
    const path = join(root, 'tokens.json')
    const victim = join(root, 'victim')
    writeFileSync(victim, 'untouched')
    symlinkSync(victim, `${path}.new`)
    await fileTokenStore(path).set('a', '1')
    expect(readFileSync(victim, 'utf8')).toBe('untouched')
    expect(await fileTokenStore(path).get('a')).toBe('1')
  })

  it('does not read through a symbolic link [AUTH-094]', async () => {
    const root = folder()
    const path = join(root, 'tokens.json')
    const planted = join(root, 'planted')
    await fileTokenStore(planted).set('a', 'of somebody else')
    symlinkSync(planted, path)
    const store = fileTokenStore(path)
    await expect(store.get('a')).rejects.toThrow(`The token file ${path} is not safe to use: it is a symbolic link`)
    await expect(store.set('b', '1')).rejects.toThrow('symbolic link')
    expect(readlinkSync(path)).toBe(planted)
    expect(await fileTokenStore(planted).get('b')).toBeUndefined()
  })

  it('neither reads nor replaces a dangling symbolic link [AUTH-094]', async () => {
    const path = join(folder(), 'tokens.json')
    symlinkSync(`${path}.gone`, path)
    await expect(fileTokenStore(path).set('a', '1')).rejects.toThrow('symbolic link')
    expect(existsSync(`${path}.gone`)).toBe(false)
  })

  it('does not read a file of another user [AUTH-094]', async () => {
    const path = join(folder(), 'tokens.json')
    const store = fileTokenStore(path)
    await store.set('a', '1')
    const user = vi.spyOn(process, 'geteuid').mockReturnValue(process.geteuid!() + 1)
    onTestFinished(() => user.mockRestore())
    await expect(store.get('a')).rejects.toThrow('it belongs to another user')
    await expect(store.set('a', '2')).rejects.toThrow('it belongs to another user')
    user.mockRestore()
    expect(await store.get('a')).toBe('1')
  })

  it.each([0o620, 0o602, 0o666])('does not read a file that others can write to: mode %d [AUTH-094]', async (mode) => {
    const path = join(folder(), 'tokens.json')
    const store = fileTokenStore(path)
    await store.set('a', '1')
    chmodSync(path, mode)
    await expect(store.get('a')).rejects.toThrow('other users can write to it')
    expect(modeOf(path)).toBe(mode)
  })

  it('does not read from a pipe or a folder, and does not block on one [AUTH-094]', async () => {
    const root = folder()
    execFileSync('mkfifo', [join(root, 'pipe')])
    mkdirSync(join(root, 'folder'))
    for (const name of ['pipe', 'folder']) {
      await expect(fileTokenStore(join(root, name)).get('a')).rejects.toThrow('it is not a regular file')
    }
  })

  it.each([
    ['nothing', ''],
    ['half of it', '{"version":1,"values":{"a":"s3c'],
    ['no JSON', 's3cret'],
    ['an array', '["s3cret"]'],
    ['another shape', '{"version":1,"values":{"a":{"access_token":"s3cret"}}}'],
    ['null', 'null'],
    ['no values', '{"version":1}'],
    ['NULs', '\0'.repeat(100)],
  ])('sets a damaged file aside with a warning: %s', async (_, text) => {
    const path = join(folder(), 'tokens.json')
    const given = warnings()
    writeFileSync(path, text, { mode: 0o600 })
    const store = fileTokenStore(path)
    expect(await store.get('a')).toBeUndefined()
    expect(readFileSync(`${path}.corrupt`, 'utf8')).toBe(text)
    expect(modeOf(`${path}.corrupt`)).toBe(0o600)
    expect(given).toHaveLength(1)
    expect(given[0]).toContain(`${path}.corrupt`)
    expect(given[0]).not.toContain('s3c')
    await store.set('a', '1')
    expect(await store.get('a')).toBe('1')
    writeFileSync(path, text)
    await store.set('b', '2')
    expect([await store.get('a'), await store.get('b')]).toEqual([undefined, '2'])
  })

  it('leaves a file of a newer version unchanged', async () => {
    const path = join(folder(), 'tokens.json')
    writeFileSync(path, '{"version":2,"other":true}', { mode: 0o600 })
    const store = fileTokenStore(path)
    await expect(store.get('a')).rejects.toThrow('newer version')
    await expect(store.set('a', '1')).rejects.toThrow('newer version')
    expect(readFileSync(path, 'utf8')).toBe('{"version":2,"other":true}')
  })

  it('defaults to the configuration folder of the user', async () => {
    const root = folder()
    vi.stubEnv('XDG_CONFIG_HOME', root)
    vi.stubEnv('HOME', root)
    onTestFinished(() => void vi.unstubAllEnvs())
    await fileTokenStore().set('a', '1')
    expect(existsSync(join(root, 'tenon', 'tokens.json'))).toBe(true)
    vi.stubEnv('XDG_CONFIG_HOME', 'relative')
    expect(homedir()).toBe(root)
    await fileTokenStore().set('a', '1')
    expect(existsSync(join(root, '.config', 'tenon', 'tokens.json'))).toBe(true)
  })
})

describe('the lock of a token file', () => {
  it('serializes work under one key, and runs other keys in parallel', async () => {
    const store = fileTokenStore(join(folder(), 'tokens.json'))
    const events: string[] = []
    const gate = deferred<void>()
    const first = store.lock('a', async () => {
      events.push('a1')
      await gate.promise
      events.push('a1 over')
      return 1
    })
    const second = store.lock('a', async () => void events.push('a2'))
    await store.lock('b', async () => void events.push('b'))
    gate.resolve()
    expect(await first).toBe(1)
    await second
    expect(events).toEqual(['a1', 'b', 'a1 over', 'a2'])
  })

  it('releases the lock when the work fails', async () => {
    const store = fileTokenStore(join(folder(), 'tokens.json'))
    await expect(store.lock('a', () => Promise.reject(new Error('no')))).rejects.toThrow('no')
    expect(await store.lock('a', async () => 1)).toBe(1)
  })

  it('times out waiting for the lock, even for its own holder', async () => {
    const path = join(folder(), 'tokens.json')
    const store = fileTokenStore(path, { maxWaitMs: 50 })
    const inner = store.lock('a', () => store.lock('a', async () => 1))
    await expect(inner).rejects.toMatchObject({ code: 'timeout', timeoutMs: 50 })
    const gate = deferred<void>()
    const held = store.lock('a', () => gate.promise)
    await expect(fileTokenStore(path, { maxWaitMs: 50 }).lock('a', async () => 1)).rejects.toThrow(
      `held by process ${process.pid} since`,
    )
    gate.resolve()
    await held
  })

  it('keeps the lock for as long as its holder is alive', async () => {
    const path = join(folder(), 'tokens.json')
    const options = { staleMs: 200, maxWaitMs: 1_000 }
    const gate = deferred<void>()
    const held = fileTokenStore(path, options).lock('a', () => gate.promise)
    await expect(fileTokenStore(path, options).lock('a', async () => 1)).rejects.toMatchObject({ code: 'timeout' })
    gate.resolve()
    await held
  })

  it.each([
    ['another machine', { pid: 1, place: 'elsewhere', token: 'x', time: '2020' }],
    ['a process number that was given out again', { token: 'x', time: '2020' }],
    ['nobody, as its process died before it could say who it is', ''],
    ['nonsense', '{"pid":1,"place":"x","token":"../../escape"}'],
  ])('takes over a stale lock: from %s', async (_, content) => {
    const path = join(folder(), 'tokens.json')
    const store = fileTokenStore(path, { staleMs: 100 })
    const lockFile = await lockFileOf(path)
    writeFileSync(lockFile, typeof content === 'string' ? content : JSON.stringify({ ...ownLock, ...content }))
    expect(await store.lock('a', async () => 1)).toBe(1)
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it.each([
    ['of another machine, where its process may live', { place: 'elsewhere' }],
    ['of a process that it does not name', { pid: undefined }],
  ])('does not take over a lock %s, before it is stale', async (_, content) => {
    const path = join(folder(), 'tokens.json')
    const lockFile = await lockFileOf(path)
    const holder = { ...ownLock, pid: await deadPid(), token: 'theirs', ...content }
    symlinkSync(JSON.stringify(holder), lockFile)
    const waiting = fileTokenStore(path, { staleMs: 60_000, maxWaitMs: 30 }).lock('a', async () => 1)
    await expect(waiting).rejects.toMatchObject({ code: 'timeout' })
    expect(JSON.parse(readlinkSync(lockFile)).token).toBe('theirs')
  })

  it('takes over a stale lock although a previous takeover died', async () => {
    const path = join(folder(), 'tokens.json')
    const lockFile = await lockFileOf(path)
    const pid = await deadPid()
    symlinkSync(JSON.stringify({ ...ownLock, pid, token: 'stale' }), lockFile)
    symlinkSync(JSON.stringify({ ...ownLock, pid, token: 'claim' }), `${lockFile}.stale`)
    writeFileSync(`${lockFile}.stale.claim`, '')
    const longAgo = new Date(Date.now() - 60_000)
    utimesSync(`${lockFile}.stale.claim`, longAgo, longAgo)
    expect(await fileTokenStore(path).lock('a', async () => 1)).toBe(1)
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it('does not release the lock of another process after standing still too long', async () => {
    const path = join(folder(), 'tokens.json')
    const lockFile = await lockFileOf(path)
    await fileTokenStore(path, { staleMs: 20 }).lock('a', async () => {
      const until = performance.now() + 50
      while (performance.now() < until) {}
      // What somebody who found it stale would do.
      rmSync(lockFile)
      symlinkSync(JSON.stringify({ ...ownLock, token: 'theirs' }), lockFile)
    })
    expect(JSON.parse(readlinkSync(lockFile)).token).toBe('theirs')
    expect(readdirSync(join(path, '..'))).toHaveLength(1)
  })

  it('reports a folder that is not writable', async () => {
    const path = join(folder(), 'file', 'tokens.json')
    writeFileSync(join(path, '..'), '')
    await expect(fileTokenStore(path).lock('a', async () => 1)).rejects.toThrow(/EEXIST|ENOTDIR/)
  })
})

describe('the lock of a token file on Windows, which has no symbolic links for everyone', () => {
  function onWindows(): void {
    const platform = Object.getOwnPropertyDescriptor(process, 'platform')!
    Object.defineProperty(process, 'platform', { ...platform, value: 'win32' })
    onTestFinished(() => void Object.defineProperty(process, 'platform', platform))
  }

  it('is a file with the holder', async () => {
    onWindows()
    const path = join(folder(), 'tokens.json')
    const store = fileTokenStore(path, { maxWaitMs: 30 })
    const names = await store.lock('a', async () => {
      const [name] = readdirSync(join(path, '..'))
      const lockFile = join(path, '..', name!)
      expect(lstatSync(lockFile).isFile()).toBe(true)
      expect(modeOf(lockFile)).toBe(0o600)
      expect(JSON.parse(readFileSync(lockFile, 'utf8'))).toMatchObject({ pid: process.pid, token: expect.any(String) })
      await expect(fileTokenStore(path, { maxWaitMs: 30 }).lock('a', async () => 1)).rejects.toThrow(
        `held by process ${process.pid} since`,
      )
      return readdirSync(join(path, '..'))
    })
    expect(names).toHaveLength(1)
    expect(readdirSync(join(path, '..'))).toEqual([])
    await store.set('a', '1')
    expect(await store.get('a')).toBe('1')
    expect(readdirSync(join(path, '..'))).toEqual(['tokens.json'])
  })

  it('is taken over if its process died before it could write it', async () => {
    const path = join(folder(), 'tokens.json')
    const lockFile = await lockFileOf(path)
    onWindows()
    writeFileSync(lockFile, '')
    expect(await fileTokenStore(path, { staleMs: 50 }).lock('a', async () => 1)).toBe(1)
    expect(readdirSync(join(path, '..'))).toEqual([])
  })

  it('of a folder that is missing is an error', async () => {
    onWindows()
    const path = join(folder(), 'file')
    writeFileSync(path, '')
    await expect(withFileLock(join(path, 'x.lock'), { maxWaitMs: 30, staleMs: 30 }, async () => 1)).rejects.toThrow(
      /ENOTDIR/,
    )
  })

  it('protects a file in the folder for applications', async () => {
    onWindows()
    const before = process.env.APPDATA
    onTestFinished(() => {
      if (before === undefined) delete process.env.APPDATA
      else process.env.APPDATA = before
    })
    const path = folder()
    process.env.APPDATA = path
    await fileTokenStore().set('a', '1')
    expect(existsSync(join(path, 'tenon', 'tokens.json'))).toBe(true)
  })
})

describe('taking over a lock', () => {
  const options = { maxWaitMs: 30, staleMs: 60_000 }

  it('is left to the process that claimed it first, while that may be alive', async () => {
    const path = join(folder(), 'tokens.json')
    const lockFile = await lockFileOf(path)
    symlinkSync(JSON.stringify({ ...ownLock, pid: await deadPid(), token: 'stale' }), lockFile)
    symlinkSync(JSON.stringify({ ...ownLock, token: 'claim' }), `${lockFile}.stale`)
    await expect(fileTokenStore(path, options).lock('a', async () => 1)).rejects.toMatchObject({ code: 'timeout' })
    expect(readdirSync(join(path, '..'))).toHaveLength(2)
  })

  it('stops after a few claims of processes that died', async () => {
    const path = join(folder(), 'tokens.json')
    const lockFile = await lockFileOf(path)
    const pid = await deadPid()
    let name = lockFile
    for (const token of ['a', 'b', 'c', 'd', 'e', 'f']) {
      symlinkSync(JSON.stringify({ ...ownLock, pid, token }), name)
      name = `${name}.${token}`
    }
    await expect(fileTokenStore(path, options).lock('a', async () => 1)).rejects.toMatchObject({ code: 'timeout' })
  })

  it('names another process if the lock does not say which', async () => {
    const path = join(folder(), 'tokens.json')
    const lockFile = await lockFileOf(path)
    writeFileSync(lockFile, 'nonsense')
    await expect(fileTokenStore(path, options).lock('a', async () => 1)).rejects.toThrow(
      `Timed out after 30 ms waiting for the lock ${lockFile}, held by another process.`,
    )
  })
})

it('reports a file that cannot be replaced, and does not try again', async () => {
  const path = join(folder(), 'tokens.json')
  mkdirSync(join(path, 'full'), { recursive: true })
  await expect(replaceFile(path, 'text')).rejects.toThrow(/EISDIR|ENOTEMPTY|EEXIST/)
})

/** What this process writes into a lock file. */
let ownLock: object = {}

/** Where the lock of the key `a` is kept. */
async function lockFileOf(path: string): Promise<string> {
  mkdirSync(join(path, '..'), { recursive: true })
  let name = ''
  await fileTokenStore(path).lock('a', async () => {
    name = readdirSync(join(path, '..')).find((file) => file.endsWith('.lock'))!
    ownLock = JSON.parse(readlinkSync(join(path, '..', name)))
  })
  return join(path, '..', name)
}

async function deadPid(): Promise<number> {
  const child = fork(process.execPath, { execPath: process.execPath, execArgv: ['-e', '0'], silent: true })
  await once(child, 'exit')
  return child.pid!
}
