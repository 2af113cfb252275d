import { TimeoutError } from '../../errors.ts'
import { backoffMs } from '../../util/backoff.ts'
import { clock } from '../../util/clock.ts'

export interface FileLockOptions {
  /** How long to wait for others. */
  readonly maxWaitMs: number
  /** A lock that shows no sign of life for this long, while it is waited for, is taken over. */
  readonly staleMs: number
}

/**
 * Does the work while no other process does any under the same lock file. A lock whose process has died is taken over at
 * once; one of an unknown process (another machine, a process number that was given out again) after `staleMs` without a
 * sign of life. That time is measured by who waits, so neither clocks that differ nor a machine that slept matter.
 */
export async function withFileLock<T>(path: string, options: FileLockOptions, work: () => Promise<T>): Promise<T> {
  const holder = newHolder()
  await acquire(path, holder, options)
  const pulse = new Pulse(path, holder, options.staleMs)
  try {
    return await work()
  } finally {
    pulse.stop()
    release(path, holder, pulse.isSteady)
  }
}

/** Shows others that the holder is alive. */
class Pulse {
  readonly #path: string
  readonly #holder: Holder
  readonly #longestMs: number
  readonly #timer: ReturnType<typeof setInterval>
  #last = performance.now()
  #isSteady = true

  constructor(path: string, holder: Holder, staleMs: number) {
    this.#path = path
    this.#holder = holder
    this.#longestMs = staleMs / 2
    this.#timer = setInterval(() => this.#beat(), staleMs / 4)
    this.#timer.unref()
  }

  /** Never so long without a sign of life that somebody may have thought this process gone. */
  get isSteady(): boolean {
    return this.#isSteady
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#measure()
  }

  #beat(): void {
    this.#measure()
    if (look(this.#path)?.token !== this.#holder.token) return
    const now = new Date()
    try {
      fs().lutimesSync(this.#path, now, now)
    } catch {
      this.#isSteady = false
    }
  }

  #measure(): void {
    const now = performance.now()
    if (now - this.#last > this.#longestMs) this.#isSteady = false
    this.#last = now
  }
}

/** What a lock file says. */
interface Holder {
  readonly pid: number
  /** Where process numbers mean the same: a machine, or a container on it. */
  readonly place: string
  readonly token: string
  readonly time: string
}

/** A lock file as it was found; without a process when its creator had no time to say who it is. */
interface Found extends Partial<Holder> {
  readonly token: string
  readonly touchedMs: number
}

/** A lock is held for a few milliseconds as a rule. */
const waits = { initialDelayMs: 4, maxDelayMs: 60, growth: 1.5, maxRetries: Number.POSITIVE_INFINITY }

/** Files that do not say whose they are will do so at once, and claims are gone at once; these, older, were left behind. */
const leftMs = 1_000

async function acquire(path: string, holder: Holder, { maxWaitMs, staleMs }: FileLockOptions): Promise<void> {
  const begun = performance.now()
  let watched: Found | undefined
  let since = begun
  for (let attempt = 0; !create(path, holder); attempt++) {
    const found = look(path)
    const now = performance.now()
    if (found?.token !== watched?.token || found?.touchedMs !== watched?.touchedMs) since = now
    watched = found
    const patienceMs = found?.pid === undefined ? Math.min(leftMs, staleMs) : staleMs
    const isStale = found && (isDead(found) || now - since >= patienceMs)
    if (isStale && takeOver(path, found.token, holder)) return
    if (now - begun >= maxWaitMs) throw heldTooLong(path, found, maxWaitMs)
    await new Promise((resolve) => setTimeout(resolve, 1 + backoffMs(waits, attempt)))
  }
}

/**
 * Whoever takes a lock from its holder first creates a file that is named after its token. So of all who find the same lock
 * stale only one takes it, and nobody takes the one that came after it. The file then replaces the lock.
 */
function takeOver(path: string, token: string, holder: Holder, depth = 0): boolean {
  const claim = `${path}.${token}`
  if (!create(claim, holder)) {
    const other = look(claim)
    // Its process died between two lines of this function.
    const isLeft = other && (isDead(other) || clock.now() - other.touchedMs > leftMs)
    if (!isLeft || depth > 2 || !takeOver(claim, other.token, holder, depth + 1)) return false
  }
  if (look(path)?.token !== token) {
    unlink(claim)
    return false
  }
  try {
    fs().renameSync(claim, path)
    return true
  } catch (error) {
    // This process stood still, and its claim was taken for left behind.
    if (isCode(error, 'ENOENT')) return false
    throw error
  }
}

/** @param isSteady Nobody can want it from us; otherwise it may be somebody else's by now, or just become so. */
function release(path: string, holder: Holder, isSteady: boolean): void {
  const claim = `${path}.${holder.token}`
  try {
    if (!isSteady && !create(claim, holder)) return
    if (look(path)?.token === holder.token) unlink(path)
    if (!isSteady) unlink(claim)
  } catch {
    // The work is done, whatever becomes of the lock: without a pulse it is soon taken over.
  }
}

/**
 * False when the file is there already. A symbolic link that leads nowhere is created together with what it says; a process
 * that is killed between the two would leave a file that says nothing. Some file systems have none.
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
    // Windows says the second of a file that is just being deleted.
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
  // It may have been taken for left behind while this process stood still.
  return look(path)?.token === holder.token
}

function look(path: string): Found | undefined {
  try {
    const { mtimeMs, ino } = fs().lstatSync(path)
    return { token: `file-${ino}-${Math.trunc(mtimeMs)}`, ...parseHolder(read(path)), touchedMs: mtimeMs }
  } catch {
    return undefined
  }
}

function read(path: string): string {
  const { lstatSync, readlinkSync, readFileSync } = fs()
  return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : readFileSync(path, 'utf8')
}

function parseHolder(text: string): Holder | undefined {
  try {
    const { pid, place, token, time } = JSON.parse(text)
    // It becomes part of a file's name.
    const isWhole = typeof pid === 'number' && typeof place === 'string' && /^[\w-]{1,64}$/.test(token)
    return isWhole ? { pid, place, token, time } : undefined
  } catch {
    return undefined
  }
}

function isDead({ pid, place }: Found): boolean {
  if (pid === undefined || place !== placeOf()) return false
  try {
    process.kill(pid, 0)
    return false
  } catch (error) {
    return isCode(error, 'ESRCH')
  }
}

function newHolder(): Holder {
  return { pid: process.pid, place: placeOf(), token: crypto.randomUUID(), time: new Date().toISOString() }
}

let place: string | undefined

function placeOf(): string {
  place ??= `${process.getBuiltinModule('node:os').hostname()} ${processNumbers()}`.trim()
  return place
}

/** On Linux, containers count their processes on their own. */
function processNumbers(): string {
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

function heldTooLong(path: string, found: Found | undefined, maxWaitMs: number): TimeoutError {
  const who = found?.pid === undefined ? '' : ` by process ${found.pid}, since ${found.time}`
  return new TimeoutError(`${path} is held${who}; gave up after ${maxWaitMs} ms`, maxWaitMs)
}

function isCode(error: unknown, code: string): boolean {
  return (error as NodeJS.ErrnoException).code === code
}

function fs() {
  return process.getBuiltinModule('node:fs')
}
