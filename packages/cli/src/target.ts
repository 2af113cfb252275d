import { basename, extname, resolve } from 'node:path'
import { ErrorCode, McpError, PeerError } from 'tenon'
import { type Client, type ConnectOptions, connect, StdioClientTransport, type TraceListener } from 'tenon/client'
import type { ServerConfig, ServerConfigs, UrlServerConfig } from 'tenon/host'
import { findServer, findServers, readServers } from './config-files.ts'
import { CliError, exitCodes, isAuthorizationError, loginRequired, UnknownOption, usageError } from './exit-codes.ts'
import { listNames } from './not-found.ts'
import type { ConfigFlags, ConnectionFlags, OutputFlags, RevisionFlags } from './options.ts'
import { createOutput, type Output } from './output.ts'
import { programOf } from './program-of.ts'
import type { ServerOutput } from './server-output.ts'
import { similarNames } from './similar.ts'

/** A server that the user named on the command line. */
export interface Target {
  /** The name in a config file, or one made of the URL, file or command. */
  readonly id: string
  readonly config: ServerConfig
  /** The config file that it comes from. */
  readonly source?: string | undefined
}

/** The words of a target, as they are on the command line. */
export interface TargetWords {
  readonly words: readonly string[]
  /** True after `--`: the words are a command, whatever they look like. */
  readonly isCommand: boolean
  /** True if words follow that are not part of the target. */
  readonly isFirstOfMany?: boolean
}

/**
 * Finds the server that the user means: a URL, a file, a name of a config file, or a command.
 * @throws CliError if it is none of them
 */
export function resolveTarget(target: TargetWords, flags: ConfigFlags & ConnectionFlags): Target {
  const { words, isCommand } = target
  const [first, ...rest] = words
  if (first === undefined) throw usageError('No server was given.', targetHint())
  if (isCommand) return commandTarget(first, rest)
  if (isUrl(first)) return urlTarget(first, rest, flags)
  if (flags.config !== undefined) return namedTarget(first, rest, flags.config)
  if (isFile(first)) return fileTarget(first, rest)
  const found = rest.every((word) => word.startsWith('-')) ? findServer(first) : undefined
  if (found && rest[0] !== undefined) throw new UnknownOption(rest[0])
  if (!found && target.isFirstOfMany && launchers.has(first)) {
    throw usageError(
      `"${first}" needs arguments, and a command with arguments goes after "--".`,
      `For example: tenon call add a=1 b=2 -- ${first} ...`,
    )
  }
  return found ?? commandTarget(first, rest)
}

/** Programs that start a server only with arguments. Without any, most of them wait for input, and the command would hang. */
const launchers = new Set([
  ...['node', 'npm', 'npx', 'pnpm', 'yarn', 'tsx', 'bun', 'bunx', 'deno'],
  ...['python', 'python3', 'uv', 'uvx', 'pipx', 'ruby', 'php', 'java', 'dotnet', 'go', 'cargo', 'docker', 'podman'],
])

/** Servers for a host, and where they come from. */
export interface HostServers {
  readonly servers: ServerConfigs
  /** The config file; undefined for a single target. */
  readonly path?: string | undefined
  /** The config file that a single target comes from. */
  readonly source?: string | undefined
  readonly warnings: readonly string[]
  /** Identifies the servers, so that approvals of different ones are kept apart. */
  readonly key: string
}

/** Finds the servers that a host should join: all of a config file, or a single target. */
export function resolveServers(target: TargetWords, flags: ConfigFlags & ConnectionFlags): HostServers {
  const { words, isCommand } = target
  const [first] = words
  // The other words of a command may be its options, but a config file has none.
  if (!isCommand && isConfigFile(first)) checkEnd(words.slice(1), 'the config file')
  const path = words.length === 0 ? flags.config : isConfigFile(first) ? first : undefined
  if (path !== undefined && !isCommand) {
    const { servers, warnings } = readServers(path)
    return { servers, warnings, path: resolve(path), key: resolve(path) }
  }
  const { id, config, source } = resolveTarget(target, flags)
  return {
    servers: { [id]: config },
    source,
    warnings: [],
    key: source ?? JSON.stringify(['target', process.cwd(), config]),
  }
}

/** The flags that `openTarget` reads. */
export type OpenFlags = ConnectionFlags & RevisionFlags & Partial<OutputFlags>

/** Options of the client that a command adds. */
export type TargetClientOptions = Pick<
  ConnectOptions,
  'handlers' | 'tasks' | 'taskIds' | 'signal' | 'logLevel' | 'trace' | 'cache' | 'request' | 'restarts'
>

/** What `openTarget` takes besides the flags. */
export interface OpenOptions extends TargetClientOptions {
  /** Shows the stderr of a server that is started. `--trace` shows it too, so then it is not used. */
  readonly serverOutput?: ServerOutput | undefined
}

/**
 * Connects to a target with the options of the command line: headers, timeout, revision, login and trace.
 * @throws CliError with the exit code 4 if the server requires a login that there is not
 */
export async function openTarget(target: Target, flags: OpenFlags, own: OpenOptions = {}): Promise<Client> {
  const { config } = target
  const { serverOutput, ...clientOptions } = own
  const { timeout, revision } = flags
  const output = createOutput(flags)
  const options: ConnectOptions = {
    ...(revision && { revision }),
    ...(timeout !== undefined && { connectTimeoutMs: timeout, request: { timeoutMs: timeout } }),
    ...(flags.trace && { trace: await printedTrace(output) }),
    ...clientOptions,
  }
  if ('server' in config) throw new TypeError('A target is never a server in this process.')
  if ('url' in config) return openUrl(config, flags, options, output)
  const { command, args, env, cwd } = config
  const stderr = flags.trace ? undefined : serverOutput?.push
  const transport = new StdioClientTransport({ command, args, cwd, ...(env && { env: { ...env } }), stderr })
  try {
    const client = await connect(transport, options)
    serverOutput?.connected(transport.process)
    return client
  } catch (error) {
    if (isUnknownHandshake(error)) throw notMcp(describeTarget(target), error)
    throw isMissingProgram(error) && target.source === undefined && !args?.length ? unknownName(command, error) : error
  }
}

/** Only `--trace` needs the part of the SDK that hides secrets, which is large. */
async function printedTrace(output: Output): Promise<TraceListener> {
  const { tracePrinter } = await import('./print-trace.ts')
  return tracePrinter(output)
}

/** A program that repeats its input, such as `cat`, sends back our own answer: that we have no such method. */
function isUnknownHandshake(error: unknown): error is PeerError {
  return error instanceof PeerError && error.rpcCode === ErrorCode.MethodNotFound
}

function notMcp(command: string, cause: PeerError): CliError {
  return new CliError('not-mcp', `This is not an MCP server: ${command}. It answered: ${cause.message}`, {
    hint: 'Check the command. If the server speaks another revision than you passed, leave out --revision.',
    exitCode: exitCodes.connection,
    cause,
  })
}

function isMissingProgram(error: unknown): error is McpError {
  return error instanceof McpError && error.code === 'spawn-failed'
}

/** A single word that is not in PATH may be the name of a server, with a typing error. */
function unknownName(word: string, cause: McpError): CliError {
  const servers = findServers()
  const similar = similarNames(word, [...new Set(servers.map(({ id }) => id))])
  const [first] = similar
  const source = servers.find(({ id }) => id === first)?.source
  const hint =
    first === undefined
      ? targetHint()
      : `Did you mean ${similar.map((id) => `"${id}"`).join(' or ')}? It is a server of ${source}.`
  return new CliError('spawn-failed', `There is no server and no program "${word}".`, {
    hint,
    exitCode: exitCodes.connection,
    cause,
  })
}

async function openUrl(
  config: UrlServerConfig,
  flags: OpenFlags,
  options: ConnectOptions,
  output: Output,
): Promise<Client> {
  const { url } = config
  const headers = { ...config.headers, ...flags.header }
  // Only servers with a URL need the OAuth libraries, which are large.
  const { credentialsFor } = await import('./auth/credentials.ts')
  const auth = config.auth ?? (await credentialsFor(url, { headers, auth: flags.auth === true, output }))
  try {
    return await connect(url, { ...options, headers, reconnect, ...(auth && { auth }) })
  } catch (error) {
    throw isAuthorizationError(error) ? loginRequired(url, error, { hasLogin: auth !== undefined, headers }) : error
  }
}

/** The URL of a target with the headers for it. */
export interface TargetUrl {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
}

/**
 * Finds the URL that the user means: the word itself, or a server of a config file.
 * @throws CliError if it is something that has no URL
 */
export function urlOf(word: string, flags: ConfigFlags & ConnectionFlags): TargetUrl {
  const { config } = resolveTarget({ words: [word], isCommand: false }, flags)
  if ('url' in config) return { url: config.url, headers: { ...config.headers, ...flags.header } }
  throw usageError(`Not a URL: ${word}`, 'Only servers with a URL have logins.')
}

/** Describes a target in one line: the URL, or the complete command line. */
export function describeTarget({ config }: Target): string {
  if ('url' in config) return config.url
  return 'command' in config ? [config.command, ...(config.args ?? [])].join(' ') : 'in this process'
}

/** A person waits for the answer, so a server that cannot be reached is reported soon. */
const reconnect = { maxRetries: 1 }

/** Names the forms of a target, and the servers of the config files. */
export function targetHint(): string {
  const names = [...new Set(findServers().map(({ id }) => id))]
  const shown = names.slice(0, 10).join(', ') + (names.length > 10 ? ' ...' : '')
  const forms = 'Pass a URL, a command (node server.js), a file (./server.ts) or the name of a server in a config file'
  return names.length === 0 ? `${forms}.` : `${forms}: ${shown}`
}

function isUrl(word: string): boolean {
  return /^https?:\/\//i.test(word)
}

function urlTarget(url: string, rest: readonly string[], { header }: ConnectionFlags): Target {
  checkEnd(rest, 'the URL')
  if (!URL.canParse(url)) throw usageError(`Not a valid URL: ${url}`)
  return { id: toId(new URL(url).hostname), config: { url, ...(header && { headers: header }) } }
}

function checkEnd([next]: readonly string[], after: string): void {
  if (next?.startsWith('-')) throw new UnknownOption(next)
  if (next !== undefined) throw usageError(`Unexpected argument after ${after}: ${next}`)
}

function namedTarget(name: string, rest: readonly string[], path: string): Target {
  checkEnd(rest, 'the name of a server')
  const { servers } = readServers(path)
  const config = Object.hasOwn(servers, name) ? servers[name] : undefined
  if (config) return { id: name, config, source: resolve(path) }
  throw usageError(`No server "${name}" in ${path}.`, listNames(name, Object.keys(servers)))
}

function fileTarget(path: string, rest: readonly string[]): Target {
  if (isConfigFile(path)) {
    throw usageError(`${path} is a config file.`, `Name one of its servers, and pass --config ${path}.`)
  }
  return { id: toId(basename(path, extname(path))), config: programOf(path, rest) }
}

/** A single word that is not known is a command as well. Its error names the other possibilities. */
function commandTarget(command: string, args: readonly string[]): Target {
  if (/^[\w.-]+:\d+(\/|$)/.test(command)) {
    throw usageError(`Not a command: ${command}`, `For a URL, write http://${command}`)
  }
  return { id: toId(basename(command, extname(command))), config: { command, args } }
}

/** A path, or a name with an extension. Any other word is looked for in PATH, so that no file of the folder can replace it. */
function isFile(word: string): boolean {
  return /^\.{0,2}[/\\]/.test(word) || /^[A-Za-z]:[/\\]/.test(word) || /\.([cm]?[jt]s|[jt]sx|jsonc?)$/i.test(word)
}

function isConfigFile(word: string | undefined): boolean {
  return word !== undefined && /\.jsonc?$/i.test(word) && !isUrl(word)
}

/** An id with the characters that a host accepts. */
function toId(name: string): string {
  return name.replace(/[^\w.-]+/g, '-').slice(0, 64) || 'server'
}
