import type { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/options.ts'
import { connect } from '../connect/connect.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { ActionServer, ConnectAction } from './action.ts'
import type { CommandServerConfig, ServerConfig } from './config/server-config.ts'
import type { Finding } from './findings/finding.ts'
import { commandFindings, describeCommand } from './sandbox/command-line.ts'
import { approvedVariables } from './sandbox/environment-rules.ts'
import type { Launch } from './sandbox/sandbox.ts'

export interface OpenOptions {
  readonly server: ActionServer
  readonly config: ServerConfig
  readonly info: Implementation
  readonly connectTimeoutMs: number
  /** Aborts when the connection is not needed any more. */
  readonly signal: AbortSignal
  /** Rejects if the user does not approve. Called before anything is started. */
  approve(target: Target): Promise<void>
}

/** What is about to be started or connected to. */
export interface Target extends Pick<ConnectAction, 'target' | 'env'> {
  /** The variables of the configuration whose values are approved with the command. They may contain secrets. */
  readonly variables: readonly (readonly [name: string, value: string])[]
  readonly findings: readonly Finding[]
}

/** Opens the connection to a server, after the user has approved the command or the URL. */
export async function openClient(options: OpenOptions, client: ClientOptions): Promise<Client> {
  const { config, info, connectTimeoutMs, signal } = options
  const settings = { ...client, info, connectTimeoutMs, signal }
  if ('server' in config) return connect(config.server, settings)
  if ('command' in config) {
    const launch = await toLaunch(config)
    const env = Object.keys(launch.env).sort()
    // A sandbox adds variables of this machine, which differ between terminals. They are not from the configuration.
    const variables = approvedVariables(config.env ?? {})
    await options.approve({ target: describeCommand(launch), env, variables, findings: findingsOf(config, launch) })
    return connect({ ...launch, env: { ...launch.env } }, settings)
  }
  await options.approve({ target: config.url, env: [], variables: [], findings: [] })
  const { headers, auth } = config
  return connect(config.url, { ...settings, ...(headers && { headers }), ...(auth && { auth }) })
}

/** The address of a server for users: the URL, or the complete command line. */
export function addressOf(config: ServerConfig): string {
  if ('server' in config) return 'in this process'
  if ('url' in config) return config.url
  return describeCommand({ command: config.command, args: config.args ?? [], cwd: config.cwd })
}

async function toLaunch(config: CommandServerConfig): Promise<Launch> {
  const launch = innerLaunch(config)
  return config.sandbox ? config.sandbox.wrap(launch) : launch
}

/** Without its sandbox. */
function innerLaunch({ command, args = [], env = {}, cwd }: CommandServerConfig): Launch {
  return { command, args, env, cwd }
}

/**
 * The command in the sandbox has to have a usual form. The program that confines gets variables of this machine, and options of
 * a container can come from a config file.
 */
function findingsOf(config: CommandServerConfig, launch: Launch): Finding[] {
  if (!config.sandbox) return commandFindings(launch)
  const isUnknown = ({ rule }: Finding) => rule === 'unknown-launcher'
  const isBubblewrap = /(?:^|\/)bwrap$/.test(launch.command)
  const outer = commandFindings(launch).filter(
    (finding) => !isUnknown(finding) || (finding.where === 'command' && !isBubblewrap),
  )
  return [...outer, ...commandFindings(innerLaunch(config)).filter(isUnknown)]
}
