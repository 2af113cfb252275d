import { TimeoutError } from '../../errors.ts'
import { backoffMs } from '../../util/backoff.ts'
import { clock } from '../../util/clock.ts'
import { random } from '../../util/random.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'

export interface FileLockOptions {
  /** How long to wait for the lock. */
  readonly maxWaitMs: number
  /** A lock without a heartbeat for this long, while it is waited for, is taken over. */
  readonly staleMs: number
}

/**
 * Runs `work` while no other process holds the same lock file. A lock whose process has died is taken over at once; one whose
 * process cannot be checked (another machine, a reused process id) after `staleMs` without a heartbeat. The waiting process
 * measures that time, so clock differences and sleeping machines do not matter.
 */
export async function withFileLock<T>(path: string, options: FileLockOptions, work: () => Promise<T>): Promise<T> {
  const holder = newHolder()
  await acquire(path, holder, options)
  const heartbeat = new Heartbeat(path, holder, options.staleMs)
  try {
    return await work()
  } finally {
    heartbeat.stop()
    release(path, holder, heartbeat.isSteady)
  }
}

/** Shows other processes that the holder is alive. */
class Heartbeat {
  readonly #path: string
  readonly #holder: Holder
  readonly #maxGapMs: number
  readonly #timer: Timer
  #last = clock.monotonic()
  #isSteady = true

  constructor(path: string, holder: Holder, staleMs: number) {
    this.#path = path
    this.#holder = holder
    this.#maxGapMs = staleMs / 2
    this.#timer = scheduler.setInterval(() => this.#beat(), staleMs / 4)
    this.#timer.unref()
  }

  /** Whether there was never a gap so long that another process may have considered this one dead. */
  get isSteady(): boolean {
    return this.#isSteady
  }

  stop(): void {
    scheduler.clearInterval(this.#timer)
    this.#measure()
  }

  #beat(): void {
    this.#measure()
    if (readLock(this.#path)?.token !== this.#holder.token) return
    const now = new Date(clock.now())
    try {
      fs().lutimesSync(this.#path, now, now)
    } catch {
      this.#isSteady = false
    }
  }

  #measure(): void {
    const now = clock.monotonic()
    if (now - this.#last > this.#maxGapMs) this.#isSteady = false
    this.#last = now
  }
}

/** The content of a lock file. */
interface Holder {
  readonly pid: number
  /** The process id namespace: a machine, or a container on it. */
  readonly place: string
  readonly token: string
  readonly time: string
}

/** A lock file. Without a process id if its creator died before writing it. */
interface LockFile extends Partial<Holder> {
  readonly token: string
  readonly touchedMs: number
}

/** A lock is usually held for a few milliseconds. */
const retryBackoff = { initialDelayMs: 4, maxDelayMs: 60, growth: 1.5, maxRetries: Number.POSITIVE_INFINITY }

/** Empty lock files and claims exist only for a moment, so older ones were left behind by a crash. */
const abandonedAfterMs = 1_000

async function acquire(path: string, holder: Holder, { maxWaitMs, staleMs }: FileLockOptions): Promise<void> {
  const startedAt = clock.monotonic()
  let watched: LockFile | undefined
  let since = startedAt
  for (let attempt = 0; !create(path, holder); attempt++) {
    const found = readLock(path)
    const now = clock.monotonic()
    if (found?.token !== watched?.token || found?.touchedMs !== watched?.touchedMs) since = now
    watched = found
    const staleAfterMs = found?.pid === undefined ? Math.min(abandonedAfterMs, staleMs) : staleMs
    const isStale = found && (isDead(found) || now - since >= staleAfterMs)
    if (isStale && takeOver(path, found.token, holder)) return
    if (now - startedAt >= maxWaitMs) throw lockTimeout(path, found, maxWaitMs)
    await new Promise((resolve) => scheduler.setTimeout(resolve, 1 + backoffMs(retryBackoff, attempt)))
  }
}

/**
 * Takes over a stale lock. First creates a claim file that is named after the token of the lock, so that of all processes that
 * find the lock stale only one takes it, and none takes its successor. The claim then replaces the lock.
 */
function takeOver(path: string, token: string, holder: Holder, depth = 0): boolean {
  const claim = `${path}.${token}`
  if (!create(claim, holder)) {
    const other = readLock(claim)
    // Its process may have died inside this function.
    const isAbandoned = other && (isDead(other) || clock.now() - other.touchedMs > abandonedAfterMs)
    if (!isAbandoned || depth > 2 || !takeOver(claim, other.token, holder, depth + 1)) return false
  }
  if (readLock(path)?.token !== token) {
    unlink(claim)
    return false
  }
  try {
    fs().renameSync(claim, path)
    return true
  } catch (error) {
    // This process was suspended, and its claim was considered abandoned.
    if (isCode(error, 'ENOENT')) return false
    throw error
  }
}

/** @param isSteady If false, another process may hold the lock by now or be taking it over, so a claim is needed. */
function release(path: string, holder: Holder, isSteady: boolean): void {
  const claim = `${path}.${holder.token}`
  try {
    if (!isSteady && !create(claim, holder)) return
    if (readLock(path)?.token === holder.token) unlink(path)
    if (!isSteady) unlink(claim)
  } catch {
    // The work is done. Without a heartbeat the lock is soon taken over.
  }
}

/**
 * Returns false if the file exists. Uses a dangling symbolic link where the file system has them, because it is created
 * together with its content; a process that is killed while it writes a file leaves an empty one.
 */
function create(path: string, holder: Holder): boolean {
  if (process.platform === 'win32') return createFile(path, holder)
  try {
    fs().symlinkSync(JSON.stringify(holder), path)
    return true
  } catch (error) {
    return isCode(error, 'EEXIST') ? false : createFile(path, holder)
  }
}

function createFile(path: string, holder: Holder): boolean {
  const { openSync, writeSync, closeSync } = fs()
  let file: number
  try {
    file = openSync(path, 'wx', 0o600)
  } catch (error) {
    // Windows reports EPERM for a file that is being deleted.
    if (isCode(error, 'EEXIST') || (process.platform === 'win32' && isCode(error, 'EPERM'))) return false
    throw error
  }
  try {
    writeSync(file, JSON.stringify(holder))
  } catch (error) {
    unlink(path)
    throw error
  } finally {
    closeSync(file)
  }
  // If this process was suspended, the file may have been considered abandoned.
  return readLock(path)?.token === holder.token
}

function readLock(path: string): LockFile | undefined {
  try {
    const { mtimeMs, ino } = fs().lstatSync(path)
    return { token: `file-${ino}-${Math.trunc(mtimeMs)}`, ...parseHolder(readContent(path)), touchedMs: mtimeMs }
  } catch {
    return undefined
  }
}

function readContent(path: string): string {
  const { lstatSync, readlinkSync, readFileSync } = fs()
  return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'utf8')
}

function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, place, token, time } = JSON.parse(text)
    // The token becomes part of a file name.
    const isValid = typeof pid === 'number' && typeof place === 'string' && /^[\w-]{1,64}$/.test(token)
    return isValid ? { pid, place, token, time } : undefined
  } catch {
    return undefined
  }
}

function isDead({ pid, place }: LockFile): boolean {
  if (pid === undefined || place !== placeOf()) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return isCode(error, 'ESRCH')
  }
}

function newHolder(): Holder {
  return { pid: process.pid, place: placeOf(), token: random.uuid(), time: new Date(clock.now()).toISOString() }
}

let place: string | undefined

function placeOf(): string {
  place ??= `${process.getBuiltinModule('node:os').hostname()} ${pidNamespace()}`.trim()
  return place
}

/** On Linux, containers have their own process ids. */
function pidNamespace(): string {
  try {
    return fs().readlinkSync('/proc/self/ns/pid')
  } catch {
    return ''
  }
}

function unlink(path: string): void {
  try {
    fs().unlinkSync(path)
  } catch (error) {
    if (!isCode(error, 'ENOENT')) throw error
  }
}

function lockTimeout(path: string, found: LockFile | undefined, maxWaitMs: number): TimeoutError {
  const holder = found?.pid === undefined ? 'another process' : `process ${found.pid} since ${found.time}`
  return new TimeoutError(`Timed out after ${maxWaitMs} ms waiting for the lock ${path}, held by ${holder}.`, maxWaitMs)
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code
}

function fs() {
  return process.getBuiltinModule('node:fs')
}
