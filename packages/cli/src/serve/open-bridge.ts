import { type AuditLog, createGateway, createHost, type Host, type ServerConfig, type ServerConfigs } from 'tenon/host'
import type { Server } from 'tenon/server'
import { tasks } from 'tenon/tasks'
import type { Operator } from '../gateway/operator.ts'
import { noteFindings } from '../host/finding-notes.ts'
import type { Output } from '../output.ts'
import type { HostServers } from '../target.ts'

/** Options of `openBridge`. */
export interface BridgeOptions {
  readonly joined: HostServers
  readonly audit: AuditLog
  readonly output: Output
  /** Decides what is started, and about definitions that changed. */
  readonly operator: Operator
  /** The file that keeps the definitions that were served before. */
  readonly store: string
  /** How long a server may take to start. In milliseconds. */
  readonly timeout?: number | undefined
}

/** A server that passes everything on to other servers. */
export interface Bridge {
  readonly host: Host
  readonly server: Server
}

/**
 * Opens the server that callers see. A single target keeps its names, its own name and its instructions; the servers of a config
 * file are joined, and their names get the id of the server as prefix.
 */
export async function openBridge({ joined, audit, output, operator, store, timeout }: BridgeOptions): Promise<Bridge> {
  const isSingle = joined.path === undefined
  const servers = isSingle ? withoutPrefix(joined.servers) : joined.servers
  const host = await createHost({
    servers,
    audit,
    store,
    // Whoever may call this server may do what the others offer. What they are is decided by the user who serves them.
    policy: ({ kind }) => (kind === 'connect' || kind === 'definitions' ? 'ask' : 'allow'),
    approve: operator.approve,
    // The servers themselves check what they get.
    limits: { connectTimeoutMs: timeout, strictArguments: false, questionsPerMinute },
  })
  noteFindings(host, output)
  try {
    await connectServers(host, isSingle)
    operator.check()
    const [status] = host.servers
    const own = isSingle
      ? { info: status?.info, server: { instructions: status?.instructions }, toolSearch: false }
      : {}
    return { host, server: createGateway(host, { ...own, tasks: tasks() }) }
  } catch (error) {
    await host.close()
    // Says more than the error of the host.
    operator.check()
    throw error
  }
}

/** A caller answers its own questions here, so the limit need not protect a user from many servers. */
const questionsPerMinute = 600

function withoutPrefix(servers: ServerConfigs): ServerConfigs {
  const entries = Object.entries(servers).map(([id, config]): [string, ServerConfig] => [
    id,
    { ...config, prefix: false },
  ])
  return Object.fromEntries(entries)
}

/** A single server has to be there. Of several, those that are not are shown in the list. */
async function connectServers(host: Host, isSingle: boolean): Promise<void> {
  const enabled = host.servers.filter(({ state }) => state !== 'disabled')
  const connected = enabled.map(({ id }) => host.connectServer(id))
  if (isSingle) await Promise.all(connected)
  else await Promise.allSettled(connected)
}
