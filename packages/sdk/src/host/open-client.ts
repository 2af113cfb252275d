import type { Client } from '../client/client.ts'
import type { ClientOptions } from '../client/options.ts'
import { connect } from '../connect/connect.ts'
import type { Implementation } from '../protocol/capabilities.ts'
import type { ActionServer, ConnectAction } from './action.ts'
import type { CommandServerConfig, ServerConfig } from './config/server-config.ts'
import type { Finding } from './findings/finding.ts'
import { commandFindings, describeCommand } from './sandbox/command-line.ts'
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
export type Target = Pick<ConnectAction, 'target' | 'env'> & { readonly findings: readonly Finding[] }

/** Opens the connection to a server, after the user has approved the command or the URL. */
export async function openClient(options: OpenOptions, client: ClientOptions): Promise<Client> {
  const { config, info, connectTimeoutMs, signal } = options
  const settings = { ...client, info, connectTimeoutMs, signal }
  if ('server' in config) return connect(config.server, settings)
  if ('command' in config) {
    const launch = await toLaunch(config)
    const env = Object.keys(launch.env).sort()
    await options.approve({ target: describeCommand(launch), env, findings: commandFindings(launch) })
    return connect({ ...launch, env: { ...launch.env } }, settings)
  }
  await options.approve({ target: config.url, env: [], findings: [] })
  const { headers, auth } = config
  return connect(config.url, { ...settings, ...(headers && { headers }), ...(auth && { auth }) })
}

/** The address of a server for users: the URL, or the complete command line. */
export function addressOf(config: ServerConfig): string {
  if ('server' in config) return 'in this process'
  if ('url' in config) return config.url
  return describeCommand({ command: config.command, args: config.args ?? [], cwd: config.cwd })
}

async function toLaunch({ command, args = [], env = {}, cwd, sandbox }: CommandServerConfig): Promise<Launch> {
  const launch: Launch = { command, args, env, cwd }
  return sandbox ? sandbox.wrap(launch) : launch
}
