import {
  closeSync,
  constants,
  existsSync,
  type FSWatcher,
  fstatSync,
  openSync,
  readFileSync,
  realpathSync,
  watch,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { McpError } from '../../errors.ts'
import { scheduler, type Timer } from '../../util/scheduler.ts'
import { parseJsonWithComments } from '../config/json-with-comments.ts'
import { checkServerConfigs, type ParseConfigOptions } from '../config/parse-config.ts'
import { ConfigError, type ConfigProblem } from '../config/problems.ts'
import type { ServerConfigs } from '../config/server-config.ts'

/** Options of `readConfigFile`. */
export interface ConfigFileOptions {
  /** The environment variables that `${NAME}` stands for. Default: those of this process. */
  env?: ParseConfigOptions['env'] | undefined
  /** The folder that `${workspaceFolder}` stands for. Default: the current one. */
  cwd?: string | undefined
  /** Larger files are refused. Default 1,048,576 (1 MiB). */
  maxBytes?: number | undefined
}

/** The servers of a configuration file. */
export interface LoadedConfig {
  /** The absolute path of the file. */
  readonly path: string
  readonly servers: ServerConfigs
  /** Members that are not known or not used. */
  readonly warnings: readonly ConfigProblem[]
}

/**
 * Reads and validates a configuration file of any known host. Throws an error with all problems if it is invalid.
 *
 * @example
 * const { servers, warnings } = readConfigFile('mcp.json')
 */
export function readConfigFile(path: string, options: ConfigFileOptions = {}): LoadedConfig {
  const absolute = resolve(path)
  return loadConfig(absolute, readText(absolute, options.maxBytes), options)
}

function loadConfig(path: string, text: string, options: ConfigFileOptions): LoadedConfig {
  const value = parseJsonWithComments(text, { path })
  const { servers, errors, warnings } = checkServerConfigs(value, {
    env: options.env ?? process.env,
    cwd: options.cwd ?? process.cwd(),
    path,
    home: homedir(),
    readText: (file) => readText(file, options.maxBytes),
  })
  if (errors.length > 0) throw new ConfigError(errors, path)
  return { path, servers, warnings }
}

const defaultMaxBytes = 1_048_576

/** Reads a file of bounded size. Errors name the file. */
function readText(path: string, maxBytes = defaultMaxBytes): string {
  let file: number | undefined
  try {
    // A named pipe would block, and a device has no end.
    file = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0))
    const stats = fstatSync(file)
    if (!stats.isFile()) throw new McpError('invalid-argument', `Cannot read ${path}: it is not a file.`)
    const { size } = stats
    if (size > maxBytes)
      throw new McpError('invalid-argument', `The file ${path} is too large: ${size} bytes, at most ${maxBytes}.`)
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw error instanceof McpError ? error : unreadable(path, error)
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

function unreadable(path: string, cause: unknown): McpError {
  const { code } = cause as NodeJS.ErrnoException
  const reason =
    code === 'ENOENT' ? 'it does not exist. Check the path.' : cause instanceof Error ? cause.message : String(cause)
  return new McpError('invalid-argument', `Cannot read the file ${path}: ${reason}`, { cause })
}

/** The place of a configuration file. */
export interface FoundConfigFile {
  readonly path: string
  /** The host that it belongs to, such as `Claude Desktop`. */
  readonly host: string
  /** `project`: in the current folder. `user`: for all projects of the user. */
  readonly scope: 'project' | 'user'
}

/** Options of `findConfigFiles` and `knownConfigFiles`. */
export interface FindConfigOptions {
  /** Default: the current folder. */
  cwd?: string | undefined
  /** Default: the home directory of the user. */
  home?: string | undefined
  /** As in `process.platform`. Default: that of this process. */
  platform?: string | undefined
}

/** Lists the configuration files of known hosts that exist, those of the project first. Nothing is read or started. */
export function findConfigFiles(options: FindConfigOptions = {}): FoundConfigFile[] {
  const seen = new Set<string>()
  return knownConfigFiles(options).filter(({ path }) => {
    // The project can be the home directory.
    const isNew = !seen.has(path) && existsSync(path)
    seen.add(path)
    return isNew
  })
}

/** Lists where known hosts keep their configuration files, those of the project first. The files need not exist. */
export function knownConfigFiles(options: FindConfigOptions = {}): FoundConfigFile[] {
  const { cwd = process.cwd(), home = homedir(), platform = process.platform } = options
  const project = projectFiles.map(([host, path]) => ({ path: join(cwd, path), host, scope: 'project' as const }))
  const user = userFiles(home, platform).map(([host, path]) => ({ path, host, scope: 'user' as const }))
  return [...project, ...user]
}

const projectFiles: readonly (readonly [host: string, path: string])[] = [
  ['Tenon', 'mcp.json'],
  ['Claude Code', '.mcp.json'],
  ['VS Code', '.vscode/mcp.json'],
  ['Cursor', '.cursor/mcp.json'],
  ['Gemini CLI', '.gemini/settings.json'],
  ['Roo Code', '.roo/mcp.json'],
  ['Zed', '.zed/settings.json'],
  ['opencode', 'opencode.json'],
  ['opencode', 'opencode.jsonc'],
]

function userFiles(home: string, platform: string): [host: string, path: string][] {
  const data = dataFolder(home, platform)
  const config = join(home, '.config')
  return [
    ['Claude Desktop', join(data, 'Claude', 'claude_desktop_config.json')],
    ['Claude Code', join(home, '.claude.json')],
    ['VS Code', join(data, 'Code', 'User', 'mcp.json')],
    ['Cursor', join(home, '.cursor', 'mcp.json')],
    ['Windsurf', join(home, '.codeium', 'windsurf', 'mcp_config.json')],
    [
      'Cline',
      join(data, 'Code', 'User', 'globalStorage', 'saoudrizwan.claude-dev', 'settings', 'cline_mcp_settings.json'),
    ],
    ['Gemini CLI', join(home, '.gemini', 'settings.json')],
    ['Zed', join(platform === 'win32' ? data : config, platform === 'win32' ? 'Zed' : 'zed', 'settings.json')],
    ['opencode', join(config, 'opencode', 'opencode.json')],
    ['LM Studio', join(home, '.lmstudio', 'mcp.json')],
  ]
}

/** Where programs keep the data of a user. */
function dataFolder(home: string, platform: string): string {
  if (platform === 'darwin') return join(home, 'Library', 'Application Support')
  return platform === 'win32' ? join(home, 'AppData', 'Roaming') : join(home, '.config')
}

/** A configuration file changed. */
export interface ConfigChange {
  /** The newest valid configuration. If there is an error, it is the one from before. */
  readonly config: LoadedConfig
  /** Why the new content cannot be used: a `ConfigError`, a syntax error, or the file cannot be read. */
  readonly error: McpError | undefined
}

/** Options of `watchConfigFile`. */
export interface WatchConfigOptions extends ConfigFileOptions {
  /** How long to wait after a change for further ones, because editors write in several steps. Default 100. */
  debounceMs?: number | undefined
  /** How often to look for changes that the file system does not report, as on network disks. Default 5,000. */
  intervalMs?: number | undefined
}

/** Watches a configuration file. */
export interface ConfigWatcher {
  /** The newest valid configuration. */
  readonly config: LoadedConfig
  /** Stops watching. */
  close(): void
}

/**
 * Reads a configuration file and watches it. An invalid new version is reported, and the last valid one stays in use. Replacing
 * the file by renaming another one is noticed, also behind symbolic links. Files of `envFile` are not watched. Does not keep the
 * process running. Throws if the file is invalid at first.
 *
 * @example
 * const watcher = watchConfigFile('mcp.json', ({ config, error }) => {
 *   if (error) console.error(error.message)
 *   else apply(config.servers)
 * })
 */
export function watchConfigFile(
  path: string,
  onChange: (change: ConfigChange) => void,
  options: WatchConfigOptions = {},
): ConfigWatcher {
  return new FileWatcher(resolve(path), onChange, options)
}

class FileWatcher implements ConfigWatcher {
  readonly #path: string
  readonly #onChange: (change: ConfigChange) => void
  readonly #options: WatchConfigOptions
  readonly #watchers: FSWatcher[] = []
  readonly #interval: Timer
  #debounce: Timer | undefined
  #config: LoadedConfig
  #text: string | undefined
  #isClosed = false
  #lastError = ''

  constructor(path: string, onChange: (change: ConfigChange) => void, options: WatchConfigOptions) {
    this.#path = path
    this.#onChange = onChange
    this.#options = options
    this.#text = readText(path, options.maxBytes)
    this.#config = loadConfig(path, this.#text, options)
    // The folder, because a watched file is lost when another one replaces it.
    for (const folder of new Set([dirname(path), dirname(realpathSync(path))])) this.#watch(folder)
    this.#interval = scheduler.setInterval(() => this.#schedule(), options.intervalMs ?? 5_000)
    scheduler.unref(this.#interval)
    // A change between reading and watching would go unnoticed until the interval.
    this.#schedule()
  }

  get config(): LoadedConfig {
    return this.#config
  }

  close(): void {
    this.#isClosed = true
    scheduler.clearTimeout(this.#debounce)
    scheduler.clearInterval(this.#interval)
    for (const watcher of this.#watchers) watcher.close()
  }

  /** Where a folder cannot be watched, the interval remains. */
  #watch(folder: string): void {
    try {
      const watcher = watch(folder, { persistent: false }, () => this.#schedule())
      watcher.on('error', () => watcher.close())
      this.#watchers.push(watcher)
    } catch {}
  }

  /** Does not wait longer when more changes follow: in a busy folder they never end. */
  #schedule(): void {
    if (this.#debounce !== undefined || this.#isClosed) return
    this.#debounce = scheduler.setTimeout(() => {
      this.#debounce = undefined
      this.#look()
    }, this.#options.debounceMs ?? 100)
    scheduler.unref(this.#debounce)
  }

  #look(): void {
    try {
      const text = readText(this.#path, this.#options.maxBytes)
      if (text === this.#text) return
      this.#text = text
      this.#config = loadConfig(this.#path, text, this.#options)
    } catch (error) {
      this.#report(error instanceof McpError ? error : unreadable(this.#path, error))
      return
    }
    this.#lastError = ''
    this.#onChange({ config: this.#config, error: undefined })
  }

  /** A file that stays away or invalid is reported once. */
  #report(error: McpError): void {
    if (!existsSync(this.#path)) this.#text = undefined
    if (error.message === this.#lastError) return
    this.#lastError = error.message
    this.#onChange({ config: this.#config, error })
  }
}
