import { createHash, createHmac } from 'node:crypto'
import { constants, createReadStream, mkdirSync, readdirSync } from 'node:fs'
import { type FileHandle, open, rename, stat } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import { withFileLock } from '../../auth/node/file-lock.ts'
import { McpError, TimeoutError } from '../../errors.ts'
import { decodeUtf8 } from '../../util/bytes.ts'
import { deferred } from '../../util/deferred.ts'
import type { JsonObject } from '../../util/objects.ts'
import type { AuditHead, AuditLogOptions, ChainedAuditLog } from '../audit/audit.ts'
import { type AuditPosition, type AuditTarget, BatchedAuditLog } from '../audit/batched-log.ts'
import { type AuditLine, type Digest, parseLine } from '../audit/chain.ts'
import { keyBytes } from '../audit/digest.ts'
import type { AuditSourceLine } from '../audit/verify.ts'

/** Options of `fileAudit`. */
export interface FileAuditOptions extends AuditLogOptions {
  /** The size at which a new file is started. The full one is renamed: `audit.jsonl.1`, `audit.jsonl.2` ... Default 64 MiB. */
  maxFileBytes?: number | undefined
  /** Waits until every batch is on disk, so that it survives a power failure. Default false. */
  survivesPowerLoss?: boolean | undefined
  /** How long to wait for another process that has the log open. Default 5,000. */
  maxWaitMs?: number | undefined
}

/**
 * Opens an audit log in a file of JSON lines. The chain continues in a file that exists. One process at a time can have it open.
 *
 * @param path Created with its folder if it does not exist, readable by its owner only.
 *
 * @example
 * await using host = await createHost({ servers, audit: await fileAudit('audit.jsonl', { key: process.env.AUDIT_KEY }) })
 */
export async function fileAudit(path: string, options: FileAuditOptions = {}): Promise<ChainedAuditLog> {
  const digest = nodeDigest(options.key)
  const file = resolve(path)
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
  const unlock = await lock(file, options.maxWaitMs ?? 5_000)
  try {
    const target = new FileTarget(file, digest, options, unlock)
    await target.open()
    return new BatchedAuditLog(target, digest, options)
  } catch (error) {
    await unlock()
    throw error
  }
}

/** Reads the files of a log in the order in which they were written. */
export async function* readAuditFiles(path: string): AsyncGenerator<AuditSourceLine> {
  const files = await filesOf(resolve(path))
  if (files.length === 0) throw new McpError('invalid-argument', `Audit log not found: "${path}". Check the path.`)
  for (const file of files) yield* readLines(file)
}

/** Returns SHA-256, or HMAC with SHA-256 if there is a key. Faster than the Web Crypto API, because it does not wait. */
export function nodeDigest(key: AuditLogOptions['key']): Digest {
  if (key === undefined) return (text) => createHash('sha256').update(text).digest('hex')
  const bytes = keyBytes(key)
  return (text) => createHmac('sha256', bytes).update(text).digest('hex')
}

class FileTarget implements AuditTarget {
  readonly #path: string
  readonly #digest: Digest
  readonly #maxFileBytes: number
  readonly #survivesPowerLoss: boolean
  readonly #unlock: () => Promise<void>
  #file: FileHandle | undefined
  #bytes = 0
  /** If the next batch starts a new file: what its first line says about the one before. */
  #segment: JsonObject | undefined
  head: AuditHead | undefined

  constructor(path: string, digest: Digest, options: FileAuditOptions, unlock: () => Promise<void>) {
    this.#path = path
    this.#digest = digest
    this.#maxFileBytes = options.maxFileBytes ?? 64 * 1024 * 1024
    this.#survivesPowerLoss = options.survivesPowerLoss ?? false
    this.#unlock = unlock
  }

  /** Finds the end of the log. A torn line stays where it is, and the next batch starts a new file that records it. */
  async open(): Promise<void> {
    const end = await findEnd(await filesOf(this.#path), this.#digest)
    this.head = end.head
    this.#file = await openPrivate(this.#path)
    this.#bytes = (await this.#file.stat()).size
    this.#segment = end.torn ? { torn: end.torn } : this.#bytes === 0 ? {} : undefined
  }

  async append(compose: (position: AuditPosition) => Promise<readonly AuditLine[]>): Promise<void> {
    if (!this.#file) await this.open()
    const segment = this.#segment ?? (this.#bytes >= this.#maxFileBytes ? {} : undefined)
    const roomBytes = this.#maxFileBytes - (segment ? 0 : this.#bytes)
    const lines = await compose({ head: this.head, segment, roomBytes })
    try {
      if (segment) await this.#startFile()
      await this.#write(lines.map(({ text }) => `${text}\n`).join(''))
    } catch (error) {
      await this.#reset()
      throw error
    }
    this.head = lines.at(-1) ?? this.head
    this.#segment = undefined
  }

  async close(): Promise<void> {
    try {
      await this.#file?.close()
    } finally {
      await this.#unlock()
    }
  }

  async #startFile(): Promise<void> {
    if (this.#bytes === 0) return
    await this.#file?.close()
    this.#file = undefined
    const files = await filesOf(this.#path)
    await rename(this.#path, `${this.#path}.${Math.max(0, ...files.map(numberOf)) + 1}`)
    this.#file = await openPrivate(this.#path)
    this.#bytes = 0
  }

  async #write(text: string): Promise<void> {
    const bytes = Buffer.from(text)
    await this.#file?.appendFile(bytes)
    if (this.#survivesPowerLoss) await this.#file?.datasync()
    this.#bytes += bytes.length
  }

  /** Removes what a failed write left. If that fails too, it is found as a torn line when the file is opened again. */
  async #reset(): Promise<void> {
    const file = this.#file
    this.#file = undefined
    await file?.truncate(this.#bytes).catch(() => {})
    await file?.close().catch(() => {})
  }
}

/** Holds the lock until the returned function is called. */
async function lock(path: string, maxWaitMs: number): Promise<() => Promise<void>> {
  const acquired = deferred<void>()
  const released = deferred<void>()
  const held = withFileLock(`${path}.lock`, { maxWaitMs, staleMs: 20_000 }, () => {
    acquired.resolve()
    return released.promise
  })
  try {
    await Promise.race([acquired.promise, held])
  } catch (error) {
    if (!(error instanceof TimeoutError)) throw error
    throw new McpError('invalid-argument', `The audit log "${path}" is in use. ${error.message} Use another file.`, {
      cause: error,
    })
  }
  return () => {
    released.resolve()
    return held
  }
}

/** Never writes through a link that another user may have placed. Windows does not have the flag. */
async function openPrivate(path: string): Promise<FileHandle> {
  const { O_APPEND, O_CREAT, O_RDWR, O_NOFOLLOW = 0 } = constants
  const file = await open(path, O_APPEND | O_CREAT | O_RDWR | O_NOFOLLOW, 0o600)
  try {
    const stats = await file.stat()
    if (!stats.isFile()) throw new McpError('invalid-argument', `The audit log "${path}" is not a regular file.`)
    if (process.platform !== 'win32' && (stats.mode & 0o077) !== 0) await file.chmod(0o600)
    return file
  } catch (error) {
    await file.close()
    throw error
  }
}

/** Returns the files of a log that exist, oldest first. */
async function filesOf(path: string): Promise<string[]> {
  const prefix = `${basename(path)}.`
  const folder = dirname(path)
  const names = readdirSync(folder).filter((name) => name.startsWith(prefix) && numberOf(name) > 0)
  const old = names.map((name) => join(folder, name)).sort((a, b) => numberOf(a) - numberOf(b))
  const exists = await stat(path).then(
    () => true,
    () => false,
  )
  return exists ? [...old, path] : old
}

/** Returns the number at the end of the name of a full file, or 0. */
function numberOf(path: string): number {
  return Number(/\.([1-9]\d{0,8})$/.exec(path)?.[1] ?? 0)
}

interface LogEnd {
  head: AuditHead | undefined
  torn: { file: string; bytes: number } | undefined
}

/** Finds the last complete entry. Files without one are possible after a crash. */
async function findEnd(files: readonly string[], digest: Digest): Promise<LogEnd> {
  let torn: LogEnd['torn']
  for (const path of files.toReversed()) {
    const tail = await readTail(path)
    if (tail.tornBytes > 0) torn ??= { file: basename(path), bytes: tail.tornBytes }
    if (tail.lastLine === undefined) continue
    const line = parseLine(tail.lastLine)
    if (line && (await digest(line.body)) === line.hash) return { head: { seq: line.seq, hash: line.hash }, torn }
    throw damagedEnd(path)
  }
  return { head: undefined, torn }
}

function damagedEnd(path: string): McpError {
  const wayOut = 'Pass the right key, or move the files of the log away to start a new one.'
  return new McpError(
    'invalid-argument',
    `Cannot continue the audit log: the last entry of "${path}" was changed, or the key is wrong. ${wayOut}`,
  )
}

/** Several times the size of the longest line. */
const tailBytes = 64 * 1024

async function readTail(path: string): Promise<{ lastLine: string | undefined; tornBytes: number }> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const start = Math.max(0, size - tailBytes)
    const bytes = Buffer.alloc(size - start)
    await file.read(bytes, 0, bytes.length, start)
    const end = bytes.lastIndexOf(lineBreak)
    const before = end > 0 ? bytes.lastIndexOf(lineBreak, end - 1) : -1
    // Without a line break before it, the line begins in front of the tail.
    if (start > 0 && before === -1) throw damagedEnd(path)
    const lastLine = end === -1 ? undefined : (decodeUtf8(bytes.subarray(before + 1, end)) ?? '')
    return { lastLine, tornBytes: bytes.length - end - 1 }
  } finally {
    await file.close()
  }
}

const lineBreak = 0x0a
const maxLineBytes = 1024 * 1024

async function* readLines(path: string): AsyncGenerator<AuditSourceLine> {
  const file = basename(path)
  let line = 0
  let rest: Buffer = Buffer.alloc(0)
  for await (const chunk of createReadStream(path, { highWaterMark: 256 * 1024 })) {
    const bytes: Buffer = rest.length > 0 ? Buffer.concat([rest, chunk]) : chunk
    let start = 0
    for (let end = bytes.indexOf(lineBreak); end !== -1; end = bytes.indexOf(lineBreak, start)) {
      // Invalid UTF-8 was not written by this program. The empty text fails the check.
      yield { text: decodeUtf8(bytes.subarray(start, end)) ?? '', file, line: ++line }
      start = end + 1
    }
    rest = bytes.subarray(start)
    if (rest.length > maxLineBytes) return yield { text: '', file, line: line + 1 }
  }
  if (rest.length > 0) yield { text: '', file, line: line + 1, tornBytes: rest.length }
}
