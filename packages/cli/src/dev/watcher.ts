import { existsSync, statSync } from 'node:fs'
import { basename, dirname, extname, relative, resolve, sep } from 'node:path'
import { type FSWatcher, watch } from 'chokidar'

/** Options of `ChangeWatcher`. */
export interface ChangeWatcherOptions {
  /** The file of the server. The code in its folder is watched. */
  readonly file?: string | undefined
  /** Further files and folders; everything in them counts. */
  readonly paths: readonly string[]
  /** Called at once for the first change. */
  onStale(): void
  /** Called with the name of a changed file when no more changes came for a while. */
  onChange(changed: string): void
  onError(error: unknown): void
}

/** Reports changes of the server's code, several at once as one. */
export class ChangeWatcher {
  readonly #options: ChangeWatcherOptions
  readonly #file: string | undefined
  readonly #watcher: FSWatcher
  #version: string
  #timer: NodeJS.Timeout | undefined
  #firstAt = 0

  constructor(options: ChangeWatcherOptions) {
    this.#options = options
    this.#file = options.file === undefined ? undefined : resolve(options.file)
    this.#version = this.#readVersion()
    const paths = options.paths.map((path) => resolve(path))
    const folder = this.#file === undefined ? [] : [dirname(this.#file)]
    const startedAt = Date.now()
    let isReady = false
    this.#watcher = watch([...folder, ...paths], {
      alwaysStat: true,
      ignored: (path, stats) => isIgnored(path, stats?.isFile() === true, this.#file, paths),
    })
    this.#watcher.on('ready', () => {
      isReady = true
    })
    this.#watcher.on('all', (event, path, stats) => {
      // Files that are found at first have changed only if somebody wrote them since the server was started.
      const isNews = isReady || (stats?.mtimeMs ?? 0) > startedAt
      if (isNews && !event.endsWith('Dir')) this.#noteChange(path)
    })
    this.#watcher.on('error', (error) => options.onError(error))
  }

  /**
   * Looks at the server's file itself, because the operating system reports changes a little later. A client that sends a request
   * right after the author saved the file then gets the answer of the new version.
   */
  check(): void {
    if (this.#file !== undefined && this.#readVersion() !== this.#version) this.#noteChange(this.#file)
  }

  async close(): Promise<void> {
    clearTimeout(this.#timer)
    await this.#watcher.close()
  }

  #noteChange(path: string): void {
    const isFirst = this.#timer === undefined
    if (isFirst) this.#firstAt = performance.now()
    clearTimeout(this.#timer)
    const waited = performance.now() - this.#firstAt
    this.#timer = setTimeout(() => this.#settle(path), Math.max(0, Math.min(quietMs, maxWaitMs - waited)))
    this.#version = this.#readVersion()
    if (isFirst) this.#options.onStale()
  }

  #settle(path: string): void {
    const isMissing = this.#file !== undefined && !existsSync(this.#file)
    // Many editors save by writing another file and renaming it.
    if (isMissing && performance.now() - this.#firstAt < maxMissingMs) {
      this.#timer = setTimeout(() => this.#settle(path), quietMs)
      return
    }
    this.#timer = undefined
    this.#version = this.#readVersion()
    this.#options.onChange(basename(path))
  }

  #readVersion(): string {
    const stats = this.#file === undefined ? undefined : statSync(this.#file, { throwIfNoEntry: false })
    return stats ? `${stats.mtimeMs} ${stats.size} ${stats.ino}` : ''
  }
}

/** A save is often several changes: of the file itself, of a backup, of compiled files. */
const quietMs = 100
/** Folders that change all the time are not waited for. */
const maxWaitMs = 1_000
/** How long the server's file may be missing while it is replaced. */
const maxMissingMs = 2_000

/** Folders with files that are not written by the author. A server in one of them is watched all the same. */
const ignoredFolders: ReadonlySet<string> = new Set(['node_modules', 'dist', 'build', 'coverage', '__pycache__'])

/** Data files are not watched unless `--watch` names them: a server may write them itself, and would restart at every call. */
const code = /^\.([cm]?[jt]s|[jt]sx)$/i
const codeFiles: ReadonlySet<string> = new Set(['package.json', 'tsconfig.json'])

function isIgnored(path: string, isFile: boolean, file: string | undefined, paths: readonly string[]): boolean {
  const full = resolve(path)
  const named = paths.find((watched) => full === watched || full.startsWith(watched + sep))
  if (named !== undefined) return isInIgnoredFolder(relative(named, full))
  if (file === undefined) return false
  if (isInIgnoredFolder(relative(dirname(file), full))) return true
  const extension = extname(full)
  return isFile && extension !== extname(file) && !code.test(extension) && !codeFiles.has(basename(full))
}

function isInIgnoredFolder(path: string): boolean {
  return path.split(sep).some((name) => ignoredFolders.has(name) || /^\.[^.]/.test(name))
}
