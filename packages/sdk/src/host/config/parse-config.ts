import { findServers } from './formats.ts'
import { ConfigError, type ConfigProblem, Problems } from './problems.ts'
import type { ServerConfig, ServerConfigs } from './server-config.ts'
import { readServer } from './server-entry.ts'
import type { VariableSource } from './variables.ts'

/** Options of `parseServerConfigs`. */
export interface ParseConfigOptions {
  /** The environment variables that `${NAME}` stands for. */
  env: Readonly<Record<string, string | undefined>>
  /** The folder that `${workspaceFolder}` stands for, and where relative paths start. */
  cwd: string
  /** The file that the configuration comes from, for error messages. */
  path?: string | undefined
  /** The folder that `${userHome}` and `~/` stand for. Default: HOME or USERPROFILE of `env`. */
  home?: string | undefined
  /** Reads the file of an `envFile` member. Without it, such a member is an error. */
  readText?: ((path: string) => string) | undefined
}

/** A configuration that was validated. */
export interface CheckedConfigs {
  /** The servers without errors. */
  readonly servers: ServerConfigs
  /** Nothing should be started while there are errors. */
  readonly errors: readonly ConfigProblem[]
  /** Members that are not known or not used. */
  readonly warnings: readonly ConfigProblem[]
}

/**
 * Validates the servers of a configuration, in the format of any of the known hosts: Claude Desktop, Claude Code, Cursor,
 * Windsurf, Cline, Gemini CLI (`mcpServers`), VS Code (`servers`), Zed (`context_servers`), opencode (`mcp`), or a plain map.
 * Throws a `ConfigError` with all problems.
 *
 * Permissions that the user gave to another host (`autoApprove`, `alwaysAllow`) are ignored.
 *
 * @example
 * parseServerConfigs(
 *   { mcpServers: { files: { command: 'npx', args: ['server-files', '${workspaceFolder}'] } } },
 *   { env: process.env, cwd: process.cwd() },
 * ) // { files: { command: 'npx', args: ['server-files', '/work'] } }
 */
export function parseServerConfigs(value: unknown, options: ParseConfigOptions): ServerConfigs {
  const { servers, errors } = checkServerConfigs(value, options)
  if (errors.length > 0) throw new ConfigError(errors, options.path)
  return servers
}

/** Validates like `parseServerConfigs`, but returns the errors and warnings. */
export function checkServerConfigs(value: unknown, options: ParseConfigOptions): CheckedConfigs {
  const problems = new Problems()
  const { entries, inputs, hasBracedVariables } = findServers(value, problems)
  const home = options.home ?? options.env.HOME ?? options.env.USERPROFILE
  const variables: VariableSource = { env: options.env, cwd: options.cwd, home, inputs, hasBracedVariables }
  // Without a prototype, a server called "constructor" is found only if it is there.
  const servers: Record<string, ServerConfig> = Object.create(null)
  for (const [id, entry] of entries) {
    const ownProblems = problems.of(id)
    const idProblem = checkServerId(id)
    if (idProblem !== undefined) ownProblems.fail(undefined, idProblem)
    const before = problems.errors.length
    const server = readServer(entry, { variables, problems: ownProblems, readText: options.readText })
    if (server && idProblem === undefined && problems.errors.length === before) servers[id] = server
  }
  checkPrefixes(servers, problems)
  return { servers, errors: problems.errors, warnings: problems.warnings }
}

/** Two servers without a prefix could have equal names, and the order in which they answer would decide which one counts. */
function checkPrefixes(servers: Record<string, ServerConfig>, problems: Problems): void {
  const unprefixed = Object.entries(servers).filter(([, { prefix, disabled }]) => prefix === false && !disabled)
  const [first, ...others] = unprefixed.map(([id]) => id)
  for (const id of others) {
    problems.of(id).fail('prefix', `cannot be false, because it is for "${first}". Only one server can have no prefix.`)
    delete servers[id]
  }
}

const maxIdLength = 64

/** Returns what is wrong with the id of a server; undefined if nothing is. */
export function checkServerId(id: string): string | undefined {
  if (id !== '__proto__' && id.length <= maxIdLength && /^[\w.-]+$/.test(id)) return undefined
  const suggestion = id
    .slice(0, 10 * maxIdLength)
    .replace(/[^\w.-]+/g, '-')
    .replace(/^[-_]+/, '')
    .slice(0, maxIdLength)
    .replace(/[-_]+$/, '')
  return `is not a valid id: use 1 to ${maxIdLength} letters, digits, "-", "_" or ".", for example "${suggestion || 'server-1'}".`
}
