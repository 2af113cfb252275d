import type { Stats } from 'node:fs'
import { McpError } from '../../errors.ts'
import { isObject } from '../../util/objects.ts'
import { warnOnce } from '../../util/warn.ts'
import type { TokenStore } from '../token-store.ts'
import { type FileLockOptions, withFileLock } from './file-lock.ts'

export interface FileStoreOptions {
  /** How long to wait for other processes, and for others in this one, before giving up. Default 60,000. */
  maxWaitMs?: number | undefined
  /** When another process is taken for gone, where that cannot be found out. Default 20,000. */
  staleMs?: number | undefined
}

/**
 * Keeps tokens in one file, which any number of processes of the same user may share. The file is for its owner only and
 * is replaced as a whole, so a crash leaves the old one or the new one.
 *
 * @param path Default `tenon/tokens.json` in the user's configuration folder (`XDG_CONFIG_HOME`, `~/.config`, on Windows
 *   `APPDATA`).
 */
export function fileTokenStore(path: string = defaultPath(), options: FileStoreOptions = {}): TokenStore {
  const { maxWaitMs = 60_000, staleMs = 20_000 } = options
  return new FileTokenStore(process.getBuiltinModule('node:path').resolve(path), { maxWaitMs, staleMs })
}

class FileTokenStore implements TokenStore {
  readonly #path: string
  readonly #options: FileLockOptions
  readonly #last = new Map<string, Promise<unknown>>()

  constructor(path: string, options: FileLockOptions) {
    this.#path = path
    this.#options = options
  }

  async get(key: string): Promise<string | undefined> {
    const values = this.#read() ?? (await this.#alone('', async () => this.#readOrSetAside()))
    return values.get(key)
  }

  set(key: string, value: string): Promise<void> {
    return this.#change((values) => values.get(key) !== value && values.set(key, value))
  }

  delete(key: string): Promise<void> {
    return this.#change((values) => values.delete(key))
  }

  lock<T>(key: string, work: () => Promise<T>): Promise<T> {
    const { createHash } = process.getBuiltinModule('node:crypto')
    return this.#alone(`.${createHash('sha256').update(key).digest('hex').slice(0, 24)}`, work)
  }

  /** @param change Tells whether anything is different now. */
  #change(change: (values: Map<string, string>) => unknown): Promise<void> {
    return this.#alone('', async () => {
      const values = this.#readOrSetAside()
      if (change(values)) await replaceFile(this.#path, toText(values))
    })
  }

  /** The lock file keeps others out; the turns in this process spare most of the asking for it. */
  async #alone<T>(name: string, work: () => Promise<T>): Promise<T> {
    const path = `${this.#path}${name}.lock`
    const before = this.#last.get(path) ?? Promise.resolve()
    const mine = noLonger(before, this.#options.maxWaitMs).then(() => {
      const { dirname } = process.getBuiltinModule('node:path')
      fs().mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      return withFileLock(path, this.#options, work)
    })
    const over = mine.catch(() => {})
    this.#last.set(path, over)
    try {
      return await mine
    } finally {
      if (this.#last.get(path) === over) this.#last.delete(path)
    }
  }

  /** Undefined when the file makes no sense. */
  #read(): Map<string, string> | undefined {
    const text = readOwn(this.#path)
    return text === undefined ? new Map() : parse(text, this.#path)
  }

  #readOrSetAside(): Map<string, string> {
    const values = this.#read()
    if (values) return values
    const aside = `${this.#path}.corrupt`
    fs().renameSync(this.#path, aside)
    warnOnce(
      `corrupt ${this.#path}`,
      `${this.#path} is damaged and was set aside as ${aside}; what was in it has to be asked for again`,
    )
    return new Map()
  }
}

const version = 1

function toText(values: ReadonlyMap<string, string>): string {
  return `${JSON.stringify({ version, values: Object.fromEntries(values) }, null, 2)}\n`
}

function parse(text: string, path: string): Map<string, string> | undefined {
  let file: unknown
  try {
    file = JSON.parse(text)
  } catch {
    return undefined
  }
  if (!isObject(file)) return undefined
  // Its owner will want it back.
  if (typeof file.version === 'number' && file.version > version) {
    throw new McpError('invalid-argument', `${path} was written by a newer version of this program`)
  }
  if (file.version !== version || !isObject(file.values)) return undefined
  const entries = Object.entries(file.values)
  return entries.every(isTextEntry) ? new Map(entries.filter(isTextEntry)) : undefined
}

function isTextEntry(entry: [string, unknown]): entry is [string, string] {
  return typeof entry[1] === 'string'
}

/**
 * Reads a file that only this user can have written; undefined where there is none. Someone who can place a link or a file
 * there would otherwise choose which tokens are used, and where the next ones are written.
 */
function readOwn(path: string): string | undefined {
  const { openSync, fstatSync, readFileSync, closeSync, constants } = fs()
  // Without O_NONBLOCK, opening a pipe would wait for a writer. Windows has neither flag.
  const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0)
  let file: number
  try {
    file = openSync(path, flags)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return undefined
    if (code === 'ELOOP' || code === 'EMLINK')
      throw refused(path, 'it is a symbolic link. Pass the path of the file itself')
    throw error
  }
  try {
    checkOwner(path, file, fstatSync(file))
    return readFileSync(file, 'utf8')
  } finally {
    closeSync(file)
  }
}

function checkOwner(path: string, file: number, stats: Stats): void {
  if (!stats.isFile()) throw refused(path, 'it is not a regular file')
  if (process.platform === 'win32') return
  const own = process.geteuid?.()
  if (own !== undefined && stats.uid !== own) {
    throw refused(path, `it belongs to another user (${stats.uid}). Remove it, or pass a path of your own`)
  }
  if (stats.mode & 0o022) throw refused(path, 'other users can write to it. Remove it, and log in again')
  if ((stats.mode & 0o077) === 0) return
  fs().fchmodSync(file, 0o600)
  warnOnce(`open ${path}`, `${path} holds secrets and could be read by other users; that is no longer so`)
}

function refused(path: string, why: string): McpError {
  return new McpError('invalid-argument', `Tokens are not read from ${path}: ${why}.`)
}

/** In the lock, so no two at a time. Never through a link that somebody put in its place. */
async function replaceFile(path: string, text: string): Promise<void> {
  const { open, rm } = process.getBuiltinModule('node:fs/promises')
  const fresh = `${path}.new`
  await rm(fresh, { force: true })
  const file = await open(fresh, 'wx', 0o600)
  try {
    await file.writeFile(text)
    await file.sync()
  } finally {
    await file.close()
  }
  await rename(fresh, path)
  await syncFolder(path)
}

/** On Windows a file cannot be replaced while somebody reads it, which does not take long. */
async function rename(from: string, to: string): Promise<void> {
  const { rename } = process.getBuiltinModule('node:fs/promises')
  for (let left = process.platform === 'win32' ? 20 : 0; ; left--) {
    try {
      return await rename(from, to)
    } catch (error) {
      if (left === 0) throw error
      await new Promise((resolve) => setTimeout(resolve, 10))
    }
  }
}

/** So that the new name outlives a power cut, where the system has a way to say so. */
async function syncFolder(path: string): Promise<void> {
  const { open } = process.getBuiltinModule('node:fs/promises')
  const { dirname } = process.getBuiltinModule('node:path')
  try {
    const folder = await open(dirname(path), 'r')
    await folder.sync().finally(() => folder.close())
  } catch {
    // Not everywhere.
  }
}

/** Who waits for longer leaves the queue; the lock file still keeps everybody apart. */
function noLonger(work: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms)
    void work.then(() => {
      clearTimeout(timer)
      resolve()
    })
  })
}

function defaultPath(): string {
  const { isAbsolute, join } = process.getBuiltinModule('node:path')
  const { APPDATA, XDG_CONFIG_HOME } = process.env
  const home = process.getBuiltinModule('node:os').homedir()
  if (process.platform === 'win32') return join(APPDATA || join(home, 'AppData', 'Roaming'), 'tenon', 'tokens.json')
  // The specification of XDG: a relative path is ignored.
  const folder = XDG_CONFIG_HOME && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(home, '.config')
  return join(folder, 'tenon', 'tokens.json')
}

function fs() {
  return process.getBuiltinModule('node:fs')
}
