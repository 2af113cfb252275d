import { McpError } from 'tenon'
import type { Host, ServerStatus } from 'tenon/host'
import { type FoundConfigFile, findConfigFiles } from 'tenon/host/node'
import { readServers } from '../config-files.ts'
import { isAuthorizationError } from '../exit-codes.ts'
import { createOperator } from '../gateway/operator.ts'
import { openHost } from '../host/open-host.ts'
import type { CommonFlags } from '../options.ts'
import type { Output } from '../output.ts'
import type { HostServers } from '../target.ts'

/** A configured server, as `tenon list` without a target shows it. */
export interface CheckedServer {
  readonly id: string
  /** The path of the config file. */
  readonly source: string
  readonly state: 'ok' | 'failed' | 'login required' | 'not approved' | 'held' | 'disabled'
  readonly tools: number | null
  /** How long it took to connect and list the tools. */
  readonly ms: number | null
  readonly address: string
  readonly error: string | null
}

/** How long a server may take, if there is no `--timeout`. */
const defaultTimeoutMs = 15_000

/**
 * Connects to all servers of the config files that are found, or of `--config`. A file in the current folder can come from
 * anyone, so its servers are started only after the user approved them, as in `tenon chat`.
 */
export async function checkServers(flags: CommonFlags, output: Output): Promise<CheckedServer[]> {
  const files: readonly Pick<FoundConfigFile, 'path' | 'scope'>[] =
    flags.config === undefined ? findConfigFiles() : [{ path: flags.config, scope: 'project' }]
  const checked: CheckedServer[] = []
  // One file at a time, because the user may be asked about its servers.
  for (const file of files) {
    const servers = readFile(file.path, flags.config !== undefined)
    if (servers) checked.push(...(await checkFile(servers, file, flags, output)))
  }
  return checked
}

/** Files that were found may belong to other programs, so one that cannot be used is left out. */
function readFile(path: string, isNamed: boolean): HostServers | undefined {
  try {
    const { servers, warnings } = readServers(path)
    return Object.keys(servers).length === 0 ? undefined : { servers, warnings, path, key: path }
  } catch (error) {
    if (isNamed) throw error
    return undefined
  }
}

async function checkFile(
  joined: HostServers,
  { path, scope }: Pick<FoundConfigFile, 'path' | 'scope'>,
  flags: CommonFlags,
  output: Output,
): Promise<CheckedServer[]> {
  const operator = createOperator({
    // The state of a server says that it was not approved.
    output: { ...output, note: () => {} },
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true && !output.isJson,
    color: flags.color && !process.env.NO_COLOR,
    trust: { connections: scope === 'user' ? 'unsuspicious' : 'none', by: 'tenon list', duration: 'until-close' },
    allowedCommands: [],
    inTerminal: 'Run "tenon list" in a terminal',
  })
  const timeout = flags.timeout ?? defaultTimeoutMs
  await using host = await openHost(joined, { timeout }, output, { policy: [], approve: operator.approve })
  const times = new Map<string, number>()
  await Promise.all(host.servers.filter(({ state }) => state !== 'disabled').map(({ id }) => connect(host, id, times)))
  const tools = await host.tools()
  return host.servers.map((server) => {
    const count = tools.filter((tool) => tool.server === server.id).length
    return describe(server, path, count, times.get(server.id))
  })
}

async function connect(host: Host, id: string, times: Map<string, number>): Promise<void> {
  const start = performance.now()
  // What fails is in `host.servers`.
  await host.connectServer(id).catch(() => {})
  times.set(id, Math.round(performance.now() - start))
}

function describe(server: ServerStatus, source: string, count: number, ms: number | undefined): CheckedServer {
  const { id, address, error } = server
  const state = stateOf(server)
  const message = error instanceof Error ? error.message : error === undefined ? null : String(error)
  return {
    id,
    source,
    state,
    tools: state === 'ok' ? count : null,
    ms: state === 'disabled' || state === 'not approved' ? null : (ms ?? null),
    address,
    error: state === 'ok' ? null : (message?.replace(`Server "${id}": `, '') ?? null),
  }
}

function stateOf({ state, error }: ServerStatus): CheckedServer['state'] {
  if (state === 'ready') return 'ok'
  if (state === 'held' || state === 'disabled') return state
  if (error instanceof McpError && error.code === 'denied') return 'not approved'
  return isAuthorizationError(error) ? 'login required' : 'failed'
}
