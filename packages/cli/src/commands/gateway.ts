import { type Command, Option } from 'commander'
import { createGateway, type Host, redactSecrets } from 'tenon/host'
import { type ConfigWatcher, fileAudit, watchConfigFile } from 'tenon/host/node'
import { type Server, serveHttp, serveStdio } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { withLogins } from '../auth/credentials.ts'
import { usageError } from '../exit-codes.ts'
import { CallLog } from '../gateway/call-log.ts'
import { allowAllRules, createOperator } from '../gateway/operator.ts'
import { readPolicy } from '../host/host-files.ts'
import { connectAll, type HostFlags, openHost } from '../host/open-host.ts'
import { viewServers } from '../host/server-view.ts'
import { isLoopback } from '../listen.ts'
import {
  addColorOption,
  addHostTargetOptions,
  addJsonOption,
  type ConfigFlags,
  type ConnectionFlags,
  type OutputFlags,
  parsePort,
} from '../options.ts'
import { createOutput, type Output } from '../output.ts'
import { safeLine } from '../safe-text.ts'
import { untilStopped } from '../stop-signal.ts'
import { type HostServers, resolveServers } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

interface GatewayFlags extends OutputFlags, ConfigFlags, ConnectionFlags, HostFlags {
  port: number
  host: string
  stdio?: boolean
  allowAll?: boolean
  trustConfig?: boolean
  toolSearch: 'on' | 'off' | 'auto'
  watch?: boolean
}

/** Registers `tenon gateway`: serves many servers as one. */
export function registerGateway(program: Command): void {
  const command = program
    .command('gateway')
    .description('serve the servers of a config file as one MCP server')
    .addHelpText('before', 'Example: tenon gateway mcp.json --policy policy.json\n')
    .option('--port <number>', 'the port; 0 picks a free one', parsePort, 3000)
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--stdio', 'serve over stdin and stdout instead of HTTP')
    .option('--policy <file>', 'rules that allow, deny or ask')
    .option('--allow-all', 'allow every call that no rule decides')
    .option('--audit <file>', 'record what happens')
    .option('--store <file>', "where approvals are kept (default: in the user's config folder)")
    .option('--trust-config', 'start everything in the config file without asking')
    .addOption(
      new Option('--tool-search <mode>', 'offer a search instead of all tools')
        .choices(['on', 'off', 'auto'])
        .default('auto'),
    )
    .option('--watch', 'apply changes of the config file')
  addTargetArgument(command, 'config', 'a config file, or a single server as for "tenon list"')
  addHostTargetOptions(command)
  addJsonOption(command)
  addColorOption(command)
  command.action((words: string[], flags: GatewayFlags) => runGateway(words, flags, program))
}

async function runGateway(words: string[], flags: GatewayFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const joined = chooseServers(words, flags, program)
  for (const warning of joined.warnings) output.note(safeLine(`Config: ${warning}`, 1_000))
  const isInteractive = process.stdin.isTTY === true && process.stderr.isTTY === true && !flags.stdio
  const { color, trustConfig = false } = flags
  const operator = createOperator({ output, isInteractive, trustConfig, color: color && !process.env.NO_COLOR })
  const policy = [
    ...(flags.policy === undefined ? [] : readPolicy(flags.policy)),
    ...(flags.allowAll ? allowAllRules : []),
  ]
  const audit = await openAudit(flags, output)
  const host = await openHost(joined, flags, { policy, audit, approve: operator.approve })
  try {
    await connectAll(host)
    operator.check()
    audit.begin()
    const watcher = flags.watch ? watchConfig(host, joined, output) : undefined
    await serve(host, flags, output).finally(() => watcher?.close())
  } finally {
    await host.close()
    await audit.close()
  }
  // Connections of callers belong to the gateway. They end with the process.
  process.exit()
}

async function openAudit({ audit }: GatewayFlags, output: Output): Promise<CallLog> {
  return new CallLog(output, audit === undefined ? undefined : await fileAudit(audit, { redact: redactSecrets }))
}

function chooseServers(words: string[], flags: GatewayFlags, program: Command): HostServers {
  const target = wordsOf(words, program)
  if (target.words.length === 0 && flags.config === undefined)
    throw usageError('No config file was given.', 'Pass one: tenon gateway mcp.json --policy policy.json')
  if (flags.policy === undefined && !flags.allowAll) {
    throw usageError(
      'A gateway needs a policy: without one, every call is denied unless the caller can be asked.',
      'Pass --policy <file> with rules such as [{ "tool": "read_*", "decide": "allow" }], or --allow-all.',
    )
  }
  const joined = resolveServers(target, flags)
  if (Object.keys(joined.servers).length === 0) throw usageError(`No servers in ${joined.path}.`)
  if (flags.watch && joined.path === undefined) throw usageError('--watch needs a config file.')
  return joined
}

const toolSearchModes = { on: true, off: false, auto: 'auto' } as const

async function serve(host: Host, flags: GatewayFlags, output: Output): Promise<void> {
  const gateway = createGateway(host, { toolSearch: toolSearchModes[flags.toolSearch], tasks: tasks() })
  const lines = await viewServers(host, output.width, output.notePaint)
  if (flags.stdio) return serveOverStdio(gateway, lines, output)
  const http = await serveHttp(gateway, { port: flags.port, host: flags.host, exit: false })
  const stopped = untilStopped()
  output.note('Servers', ...lines)
  if (!isLoopback(flags.host))
    output.note(
      output.notePaint.warning('! No token is required: everyone who can reach this address can call the servers.'),
    )
  if (output.isJson) output.printJson({ url: http.url, servers: host.servers.map(({ id, state }) => ({ id, state })) })
  else output.print(http.url)
  await stopped
  output.note('Shutting down. Press Ctrl-C again to end at once.')
  await http.close()
}

async function serveOverStdio(gateway: Server, lines: readonly string[], output: Output): Promise<void> {
  output.note('Servers', ...lines)
  const ended = new Promise<void>((resolve) => process.stdin.once('end', resolve).once('close', resolve))
  const link = await serveStdio(gateway, { exit: false })
  await Promise.race([ended, untilStopped()])
  // Finishes running calls.
  await link.close()
}

function watchConfig(host: Host, { path = '' }: HostServers, output: Output): ConfigWatcher {
  let last: Promise<void> = Promise.resolve()
  return watchConfigFile(path, ({ config, error }) => {
    if (error) return output.note(output.notePaint.warning(safeLine(error.message, 2_000)))
    last = last
      .then(() => applyConfig(host, config.servers, output))
      .catch((failure: unknown) => output.note(safeLine(`Cannot apply the config file: ${failure}`)))
  })
}

async function applyConfig(host: Host, servers: Parameters<Host['configure']>[0], output: Output): Promise<void> {
  await host.configure(await withLogins(servers))
  await connectAll(host)
  output.note('The config file changed.', ...(await viewServers(host, output.width, output.notePaint)))
}
