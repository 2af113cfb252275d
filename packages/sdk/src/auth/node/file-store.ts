import type { Stats } from 'node:fs'
import { McpError } from '../../errors.ts'
import { isObject } from '../../util/objects.ts'
import { scheduler } from '../../util/scheduler.ts'
import { warnOnce } from '../../util/warn.ts'
import type { TokenStore } from '../token-store.ts'
import { type FileLockOptions, withFileLock } from './file-lock.ts'
import { replaceFile } from './replace-file.ts'

/** Options of `fileTokenStore`. */
export interface FileStoreOptions {
  /** How long to wait for the lock, held by this or another process. Default 60,000. */
  maxWaitMs?: number | undefined
  /** After how long without a heartbeat a lock is taken over, if its process cannot be checked. Default 20,000. */
  staleMs?: number | undefined
}

/**
 * Stores tokens in a file that any number of processes of the same user can share. Only the owner can read the file. It is
 * replaced atomically, so a crash leaves either the old or the new content.
 *
 * @param path Default `tenon/tokens.json` in the user's configuration folder (`XDG_CONFIG_HOME`, `~/.config`, on Windows
 *   `APPDATA`).
 *
 * @example
 * const client = await connect(url, { auth: oauth({ store: fileTokenStore() }) })
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
    const values = this.#read() ?? (await this.#exclusively('', async () => this.#readOrQuarantine()))
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
    return this.#exclusively(`.${createHash('sha256').update(key).digest('hex').slice(0, 24)}`, work)
  }

  /** @param change Returns whether anything changed. */
  #change(change: (values: Map<string, string>) => unknown): Promise<void> {
    return this.#exclusively('', async () => {
      const values = this.#readOrQuarantine()
      if (change(values)) await replaceFile(this.#path, toText(values))
    })
  }

  /** Calls in this process queue in memory; the lock file keeps other processes out. */
  async #exclusively<T>(name: string, work: () => Promise<T>): Promise<T> {
    const path = `${this.#path}${name}.lock`
    const previous = this.#last.get(path) ?? Promise.resolve()
    const current = waitAtMost(previous, this.#options.maxWaitMs).then(() => {
      const { dirname } = process.getBuiltinModule('node:path')
      fs().mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
      return withFileLock(path, this.#options, work)
    })
    const settled = current.catch(() => {})
    this.#last.set(path, settled)
    try {
      return await current
    } finally {
      if (this.#last.get(path) === settled) this.#last.delete(path)
    }
  }

  /** Returns undefined if the file is corrupt. */
  #read(): Map<string, string> | undefined {
    const text = readPrivateFile(this.#path)
    return text === undefined ? new Map() : parse(text, this.#path)
  }

  #readOrQuarantine(): Map<string, string> {
    const values = this.#read()
    if (values) return values
    const backup = `${this.#path}.corrupt`
    fs().renameSync(this.#path, backup)
    warnOnce(
      `corrupt ${this.#path}`,
      `The token file ${this.#path} is corrupt and was renamed to ${backup}. Log in again.`,
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
  // Not treated as corrupt, because the newer version still needs it.
  if (typeof file.version === 'number' && file.version > version) {
    throw new McpError(
      'invalid-argument',
      `The token file ${path} was written by a newer version. Update this program, or pass another path.`,
    )
  }
  if (file.version !== version || !isObject(file.values)) return undefined
  const entries = Object.entries(file.values)
  return entries.every(isTextEntry) ? new Map(entries.filter(isTextEntry)) : undefined
}

function isTextEntry(entry: [string, unknown]): entry is [string, string] {
  return typeof entry[1] === 'string'
}

/**
 * Reads a file that only this user can have written, or returns undefined if there is none. Otherwise another user who can
 * place a link or a file there could choose which tokens are used, and where new ones are written.
 */
function readPrivateFile(path: string): string | undefined {
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
      throw unsafeFile(path, 'it is a symbolic link. Pass the path of the file itself')
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
  if (!stats.isFile()) throw unsafeFile(path, 'it is not a regular file')
  if (process.platform === 'win32') return
  const own = process.geteuid?.()
  if (own !== undefined && stats.uid !== own) {
    throw unsafeFile(path, `it belongs to another user (${stats.uid}). Remove it, or pass another path`)
  }
  if (stats.mode & 0o022) throw unsafeFile(path, 'other users can write to it. Remove it and log in again')
  if ((stats.mode & 0o077) === 0) return
  fs().fchmodSync(file, 0o600)
  warnOnce(`open ${path}`, `The token file ${path} was readable by other users. Its permissions were changed to 600.`)
}

function unsafeFile(path: string, reason: string): McpError {
  return new McpError('invalid-argument', `The token file ${path} is not safe to use: ${reason}.`)
}

/** Waits for earlier calls, but not forever. The lock file still keeps them apart. */
function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = scheduler.setTimeout(resolve, ms)
    void work.then(() => {
      scheduler.clearTimeout(timer)
      resolve()
    })
  })
}

function defaultPath(): string {
  const { isAbsolute, join } = process.getBuiltinModule('node:path')
  const { APPDATA, XDG_CONFIG_HOME } = process.env
  const home = process.getBuiltinModule('node:os').homedir()
  if (process.platform === 'win32') return join(APPDATA || join(home, 'AppData', 'Roaming'), 'tenon', 'tokens.json')
  // The XDG specification says to ignore relative paths.
  const folder = XDG_CONFIG_HOME && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(home, '.config')
  return join(folder, 'tenon', 'tokens.json')
}

function fs() {
  return process.getBuiltinModule('node:fs')
}
