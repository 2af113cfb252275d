import type { ServerConfig, ServerConfigs } from 'tenon/host'
import { findConfigFiles, readConfigFile } from 'tenon/host/node'
import { usageError } from './exit-codes.ts'

/** The servers of a config file. */
export interface ReadServers {
  readonly servers: ServerConfigs
  readonly warnings: readonly string[]
}

/** Reads the servers of a config file. */
export function readServers(path: string): ReadServers {
  const { servers, warnings } = readConfigFile(path)
  return {
    servers,
    warnings: warnings.map(({ server, member, message }) => [server, member, message].filter(Boolean).join(' ')),
  }
}

/** A server of a config file that was found. */
export interface FoundServer {
  readonly id: string
  readonly config: ServerConfig
  /** The path of the file. */
  readonly source: string
}

/**
 * Looks for a server by its name in the config files of the current folder and of the user. Returns undefined if none has it.
 * @throws CliError if files disagree about it: the file of a folder must not silently replace a server of the user
 */
export function findServer(name: string): FoundServer | undefined {
  const found = findServers().filter(({ id }) => id === name)
  const [first] = found
  const other = found.find(({ config }) => JSON.stringify(config) !== JSON.stringify(first?.config))
  if (first && other) {
    throw usageError(
      `Several config files have a different server "${name}": ${first.source} and ${other.source}.`,
      'Choose one with --config <file>.',
    )
  }
  return first
}

/** All servers of the config files that exist. Files that cannot be used are left out: they may belong to other programs. */
export function findServers(): FoundServer[] {
  return findConfigFiles().flatMap(({ path }) => {
    try {
      return Object.entries(readConfigFile(path).servers).map(([id, config]) => ({ id, config, source: path }))
    } catch {
      return []
    }
  })
}
