import { type Command, Option } from 'commander'
import { createGateway, type Host, redactSecrets } from 'tenon/host'
import { type ConfigWatcher, fileAudit, watchConfigFile } from 'tenon/host/node'
import { safeLine } from 'tenon/internal'
import { type Server, serveStdio } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import { withLogins } from '../auth/credentials.ts'
import { usageError } from '../exit-codes.ts'
import { CallLog } from '../gateway/call-log.ts'
import { allowAllRules, createOperator } from '../gateway/operator.ts'
import { noteFindings } from '../host/finding-notes.ts'
import { readPolicy } from '../host/host-files.ts'
import { connectAll, type HostFlags, noteUnknownServer, openHost } from '../host/open-host.ts'
import { viewServers } from '../host/server-view.ts'
import {
  addColorOption,
  addHostTargetOptions,
  addJsonOption,
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
} from '../serve/caller-auth.ts'
import { serveEndpoint } from '../serve/http-endpoint.ts'
import { untilStopped } from '../stop-signal.ts'
import { type HostServers, resolveServers } from '../target.ts'
import { addTargetArgument, wordsOf } from '../words.ts'

interface GatewayFlags extends OutputFlags, ConfigFlags, ConnectionFlags, HostFlags, CallerFlags {
  port: number
  host: string
  stdio?: boolean
  allowAll?: boolean
  trustConfig?: boolean
  allowCommand?: string[]
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
    .option('--trust-config', 'start commands of usual forms in the config file without asking')
    .option(
      '--allow-command <command>',
      'start this complete command even if it looks dangerous or unusual (repeatable)',
      collect,
    )
    .addOption(
      new Option('--tool-search <mode>', 'offer a search instead of all tools')
        .choices(['on', 'off', 'auto'])
        .default('auto'),
    )
    .option('--watch', 'apply changes of the config file')
  addCallerOptions(command)
  addTargetArgument(command, 'config', 'a config file, or a single server as for "tenon list"')
  addHostTargetOptions(command)
  addJsonOption(command)
  addColorOption(command)
  command.action((words: string[], flags: GatewayFlags) => runGateway(words, flags, program))
}

async function runGateway(words: string[], flags: GatewayFlags, program: Command): Promise<void> {
  const output = createOutput(flags)
  const joined = chooseServers(words, flags, program)
  const auth = readCallerAuth(flags, flags.stdio ? undefined : flags.host)
  for (const warning of joined.warnings) output.note(safeLine(`Config: ${warning}`, 1_000))
  const isInteractive = process.stdin.isTTY === true && process.stderr.isTTY === true && !flags.stdio
  const operator = createOperator({
    output,
    isInteractive,
    color: flags.color && !process.env.NO_COLOR,
    trust: { connections: flags.trustConfig ? 'unsuspicious' : 'none', by: '--trust-config', duration: 'always' },
    allowedCommands: flags.allowCommand ?? [],
    inTerminal: 'Run the same command once in a terminal',
  })
  const policy = [
    ...(flags.policy === undefined ? [] : readPolicy(flags.policy)),
    ...(flags.allowAll ? allowAllRules : []),
  ]
  const audit = await openAudit(flags, output)
  const host = await openHost(joined, flags, output, { policy, audit, approve: operator.approve })
  noteFindings(host, output)
  try {
    await connectAll(host)
    operator.check()
    audit.begin()
    const watcher = flags.watch ? watchConfig(host, joined, output) : undefined
    await serve(host, flags, auth, output).finally(() => watcher?.close())
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
  const joined = resolveServers(target, flags)
  if (flags.policy === undefined && !flags.allowAll) {
    throw usageError(
      'A gateway needs a policy: without one, every call is denied unless the caller can be asked.',
      'Pass --policy <file> with rules such as [{ "tool": "read_*", "decide": "allow" }], or --allow-all.',
    )
  }
  if (Object.keys(joined.servers).length === 0) throw usageError(`No servers in ${joined.path}.`)
  if (flags.watch && joined.path === undefined) throw usageError('--watch needs a config file.')
  return joined
}

const toolSearchModes = { on: true, off: false, auto: 'auto' } as const

async function serve(host: Host, flags: GatewayFlags, auth: CallerAuth | undefined, output: Output): Promise<void> {
  const gateway = createGateway(host, { toolSearch: toolSearchModes[flags.toolSearch], tasks: tasks() })
  const lines = await viewServers(host, output.width, output.notePaint)
  if (flags.stdio) return serveOverStdio(gateway, lines, output)
  const { port, host: address, allowHost = [] } = flags
  const http = await serveEndpoint(gateway, { port, host: address, auth, allowedHosts: allowHost })
  const stopped = untilStopped()
  output.note('Servers', ...lines)
  noteCallers(auth, output)
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
  host.on('error', ({ error }) => noteUnknownServer(error, output))
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
