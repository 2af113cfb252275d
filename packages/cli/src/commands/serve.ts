import type { Command } from 'commander'
import type { ServerConfig } from 'tenon/host'
import { safeLine } from 'tenon/internal'
import { serveStdio } from 'tenon/server'
import { usageError } from '../exit-codes.ts'
import { CallLog } from '../gateway/call-log.ts'
import { createOperator, type Operator } from '../gateway/operator.ts'
import { defaultStorePath } from '../host/host-files.ts'
import { viewServers } from '../host/server-view.ts'
import {
  addColorOption,
  addJsonOption,
  addTargetOptions,
  type ConfigFlags,
  type ConnectionFlags,
  collect,
  type OutputFlags,
  parsePort,
} from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import {
  addCallerOptions,
  type CallerAuth,
  type CallerFlags,
  noteCallers,
  readCallerAuth,
  tokenVariable,
} from '../serve/caller-auth.ts'
import { serveEndpoint } from '../serve/http-endpoint.ts'
import { type Bridge, openBridge } from '../serve/open-bridge.ts'
import { untilStopped } from '../stop-signal.ts'
import { type HostServers, resolveServers, type TargetWords } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

interface ServeFlags extends OutputFlags, ConfigFlags, ConnectionFlags, CallerFlags {
  stdio?: boolean
  http?: boolean
  port?: number
  host: string
  store?: string
  allowCommand?: string[]
}

/** Registers `tenon serve`: serves any server over the other transport, in every revision. */
export function registerServe(program: Command): void {
  const command = program
    .command('serve')
    .description('serve a stdio server over HTTP, or an HTTP server over stdio')
    .addHelpText('before', 'Example: tenon serve ./server.ts --port 3000\n')
    .option('--http', 'serve over HTTP; the default for a file, a command and a config file')
    .option('--stdio', 'serve over stdin and stdout; the default for a URL')
    .option('--port <number>', 'the port; 0 picks a free one (default: 3000)', parsePort)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--store <file>', "where approvals are kept (default: in the user's config folder)")
    .option(
      '--allow-command <command>',
      'start this complete command even if it looks dangerous or unusual (repeatable)',
      collect,
    )
  addCallerOptions(command)
  addTargetArgument(command, 'target', 'a file, a URL, a config file, or a server as for "tenon list"')
  addTargetOptions(command)
  addJsonOption(command)
  addColorOption(command)
  command.action((words: string[], flags: ServeFlags) => runServe(wordsOf(words, program), flags))
}

async function runServe(target: TargetWords, flags: ServeFlags): Promise<void> {
  const output = createOutput(flags)
  const joined = withEnvironment(chooseServers(target, flags))
  const isStdio = flags.stdio ?? (!flags.http && isUrl(joined))
  checkTransport(flags, isStdio)
  const auth = readCallerAuth(flags, isStdio ? undefined : flags.host)
  for (const warning of joined.warnings) output.note(safeLine(`Config: ${warning}`, 1_000))
  const audit = new CallLog(output, undefined)
  const operator = operatorOf(joined, flags, isStdio, output)
  const store = flags.store ?? defaultStorePath(joined.key)
  const bridge = await openBridge({ joined, audit, output, operator, store, timeout: flags.timeout })
  try {
    audit.begin()
    output.note('Servers', ...(await viewServers(bridge.host, output.width, output.notePaint)))
    await (isStdio ? serveOverStdio(bridge) : serveOverHttp(bridge, flags, auth, output))
  } finally {
    await bridge.server.close()
    await bridge.host.close()
  }
  // The client may keep stdin open.
  process.exit()
}

function chooseServers(target: TargetWords, flags: ServeFlags): HostServers {
  const joined = resolveServers(target, flags)
  if (Object.keys(joined.servers).length === 0) throw usageError(`No servers in ${joined.path}.`)
  return joined
}

/** A server that the user starts here gets the environment of the user, as if it were started directly. */
function withEnvironment(joined: HostServers): HostServers {
  if (!isTyped(joined)) return joined
  const { [tokenVariable]: _token, ...variables } = process.env
  const env = Object.fromEntries(Object.entries(variables).map(([name, value = '']) => [name, value]))
  const entries = Object.entries(joined.servers).map(([id, config]): [string, ServerConfig] => [
    id,
    'command' in config ? { ...config, env } : config,
  ])
  return { ...joined, servers: Object.fromEntries(entries) }
}

function isUrl({ servers, path }: HostServers): boolean {
  return path === undefined && Object.values(servers).every((config) => 'url' in config)
}

function checkTransport({ stdio, http, port }: ServeFlags, isStdio: boolean): void {
  if (stdio && http) throw usageError('Pass either --stdio or --http.')
  if (isStdio && port !== undefined) throw usageError('--port is for HTTP.', 'Add --http.')
}

/** The user named the servers, so they are started. A command of a config file is one that the user may not have read. */
function operatorOf(joined: HostServers, flags: ServeFlags, isStdio: boolean, output: Output): Operator {
  return createOperator({
    output,
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true && !isStdio,
    color: flags.color && !process.env.NO_COLOR,
    trust: { connections: isTyped(joined) ? 'all' : 'unsuspicious', by: 'the command line', duration: 'until-close' },
    allowedCommands: flags.allowCommand ?? [],
    inTerminal: `Run the same command${isStdio ? ' with --http' : ''} once in a terminal`,
  })
}

/** Whether the command or the URL is on the command line, not in a config file. */
function isTyped({ path, source }: HostServers): boolean {
  return path === undefined && source === undefined
}

async function serveOverHttp(
  { host, server }: Bridge,
  flags: ServeFlags,
  auth: CallerAuth | undefined,
  output: Output,
): Promise<void> {
  const { port = 3000, host: address, allowHost = [] } = flags
  const http = await serveEndpoint(server, { port, host: address, auth, allowedHosts: allowHost })
  const stopped = untilStopped()
  noteCallers(auth, output)
  if (output.isJson) output.printJson({ url: http.url, servers: host.servers.map(({ id, state }) => ({ id, state })) })
  else output.print(http.url)
  await stopped
  output.note('Shutting down. Press Ctrl-C again to end at once.')
  await http.close()
}

async function serveOverStdio({ server }: Bridge): Promise<void> {
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve).once('close', resolve))
  const link = await serveStdio(server, { exit: false })
  await Promise.race([ended, untilStopped()])
  // Finishes running calls.
  await link.close()
}
