import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { basename, isAbsolute, join } from 'node:path'
import type { PolicyRule } from 'tenon/host'
import { usageError } from '../exit-codes.ts'

/**
 * The file that keeps approvals, in the user's config folder. Each set of servers has its own, because two projects may use the
 * same name for different servers.
 * @param key Identifies the servers, such as the path of the config file.
 */
export function defaultStorePath(key: string): string {
  const digest = createHash('sha256').update(key).digest('hex').slice(0, 16)
  const name = basename(key)
    .replace(/[^\w.-]+/g, '-')
    .slice(0, 40)
  return join(configFolder(), 'tenon', 'hosts', `${isAbsolute(key) ? `${name}-` : ''}${digest}.json`)
}

/** Reads the rules of a policy. The host checks each of them. */
export function readPolicy(path: string): PolicyRule[] {
  const value = parseJson(path)
  if (Array.isArray(value)) return value as PolicyRule[]
  throw usageError(`Invalid policy in ${path}: it is not a list of rules.`, policyHint)
}

/** What a policy looks like. */
export const policyHint =
  'A policy is a JSON file such as [{ "server": "files", "tool": "read_*", "decide": "allow" }].'

function parseJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    const reason = error instanceof SyntaxError ? `it is not JSON (${error.message})` : reasonOf(error)
    throw usageError(`Cannot read the policy ${path}: ${reason}.`, policyHint)
  }
}

function reasonOf(error: unknown): string {
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'it does not exist'
  return error instanceof Error ? error.message : String(error)
}

function configFolder(): string {
  const { APPDATA, XDG_CONFIG_HOME } = process.env
  const home = homedir()
  if (process.platform === 'win32') return APPDATA || join(home, 'AppData', 'Roaming')
  // The XDG specification says to ignore relative paths.
  return XDG_CONFIG_HOME && isAbsolute(XDG_CONFIG_HOME) ? XDG_CONFIG_HOME : join(home, '.config')
}
