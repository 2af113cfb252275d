import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { CommandServerConfig, ServerConfig, UrlServerConfig } from 'tenon/host'
import { usageError } from '../exit-codes.ts'
import type { Entry, KnownHost } from './hosts.ts'

/** Options of `toEntry`. */
export interface EntryOptions {
  /** Variables to add. */
  readonly env: Readonly<Record<string, string>>
  /** The version of this package, for a bridge that is started with npx. */
  readonly version: string
}

/** Writes a server in the form of a host. Files get absolute paths, because a host runs in another folder. */
export function toEntry(host: KnownHost, config: ServerConfig, { env, version }: EntryOptions): Entry {
  if ('server' in config) throw new TypeError('A target is never a server in this process.')
  if ('url' in config) {
    if (Object.keys(env).length > 0) throw usageError('--env is for commands, not for URLs.', 'Use --header.')
    return host.url ? host.url(config) : host.command(toBridge(config, version))
  }
  const command = withAbsolutePaths(config)
  const all = { ...command.env, ...env }
  if (command.cwd !== undefined && !host.hasCwd) {
    throw usageError(
      `${host.name} cannot start a server in another folder (cwd ${command.cwd}).`,
      'Use absolute paths in the arguments instead, and remove "cwd".',
    )
  }
  return host.command({ ...command, env: Object.keys(all).length > 0 ? all : undefined })
}

/** A command for hosts that cannot use URLs: this program, as a bridge. */
function toBridge({ url, headers = {} }: UrlServerConfig, version: string): CommandServerConfig {
  const args = ['serve', url, ...Object.entries(headers).flatMap(([name, value]) => ['--header', `${name}: ${value}`])]
  const program = fileURLToPath(new URL('../main.js', import.meta.url))
  // The folder of npx is deleted some day, so npx has to find the package again.
  if (/[\\/]_npx[\\/]/.test(program)) return { command: 'npx', args: ['-y', `@tenon/cli@${version}`, ...args] }
  return { command: process.execPath, args: [program, ...args] }
}

function withAbsolutePaths(config: CommandServerConfig): CommandServerConfig {
  const { command, args, cwd } = config
  // With a folder of its own, paths are relative to that folder.
  if (cwd !== undefined) return { ...config, cwd: resolve(cwd) }
  return { ...config, command: absolute(command), ...(args && { args: args.map(absolute) }) }
}

/** Only what is written like a path and exists is one: `./data`, `src/server.js`, `server.js`, but not `node` or `build`. */
function absolute(word: string): string {
  const looksLikePath = /^\.{1,2}$|[\\/]|\.\w+$/.test(word) && !/^-|:\/\//.test(word)
  return looksLikePath && existsSync(word) ? resolve(word) : word
}
