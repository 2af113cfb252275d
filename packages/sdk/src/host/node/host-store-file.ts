import { constants, mkdirSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { withFileLock } from '../../auth/node/file-lock.ts'
import { replaceFile } from '../../auth/node/replace-file.ts'
import { McpError } from '../../errors.ts'
import { type HostRecord, type HostStore, LoadedRecords, parseRecord } from '../host-store.ts'

/**
 * Keeps what a host remembers in a file that any number of processes of the same user can share. Only the owner can read it. It is
 * replaced atomically, so a crash leaves either the old or the new content. A file that cannot be read is an error: starting
 * without it would forget which definitions were approved.
 *
 * @example
 * await using host = await createHost({ servers, store: fileHostStore('.tenon/host.json') })
 */
export function fileHostStore(path: string): HostStore {
  return new FileHostStore(resolve(path))
}

class FileHostStore implements HostStore {
  readonly #path: string
  readonly #loaded = new LoadedRecords()
  #last: Promise<unknown> = Promise.resolve()

  constructor(path: string) {
    this.#path = path
  }

  async load(): Promise<HostRecord | undefined> {
    const record = await readRecord(this.#path)
    return record && this.#loaded.remember(record)
  }

  /** Calls in this process queue in memory; the lock file keeps other processes out. */
  save(record: HostRecord): Promise<void> {
    const done = this.#last.then(() => this.#merge(record))
    this.#last = done.catch(() => {})
    return done
  }

  async #merge(record: HostRecord): Promise<void> {
    mkdirSync(dirname(this.#path), { recursive: true, mode: 0o700 })
    await withFileLock(`${this.#path}.lock`, lockOptions, async () => {
      const merged = this.#loaded.merge(record, await readRecord(this.#path))
      await replaceFile(this.#path, toText(merged))
    })
    this.#loaded.remember(record)
  }
}

const lockOptions = { maxWaitMs: 30_000, staleMs: 20_000 }

function toText(record: HostRecord): string {
  return `${JSON.stringify(record, null, 2)}\n`
}

async function readRecord(path: string): Promise<HostRecord | undefined> {
  try {
    const text = await readText(path)
    return text === undefined ? undefined : parseRecord(JSON.parse(text))
  } catch (error) {
    const problem =
      error instanceof SyntaxError ? 'it is not JSON' : error instanceof Error ? error.message : String(error)
    throw new McpError(
      'invalid-argument',
      `Cannot read the approvals in "${path}": ${problem}. Restore the file from a backup. To start afresh and approve everything again, delete it.`,
      { cause: error },
    )
  }
}

/** The file decides what is approved, so links and files that other users can change are rejected. */
async function readText(path: string): Promise<string | undefined> {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  const file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw error
  })
  if (!file) return undefined
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new McpError('invalid-argument', 'it is not a regular file')
    const own = process.geteuid?.()
    if (own !== undefined && stats.uid !== own) throw new McpError('invalid-argument', 'it belongs to another user')
    if (own !== undefined && stats.mode & 0o022) throw new McpError('invalid-argument', 'other users can write to it')
    return await file.readFile('utf8')
  } finally {
    await file.close()
  }
}
