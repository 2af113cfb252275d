import { createHost, type Host, type HostOptions } from 'tenon/host'
import { withLogins } from '../auth/credentials.ts'
import { usageError } from '../exit-codes.ts'
import type { HostServers } from '../target.ts'
import { defaultStorePath, policyHint } from './host-files.ts'

/** Options of commands that join servers. */
export interface HostFlags {
  policy?: string
  audit?: string
  store?: string
  /** In milliseconds. */
  timeout?: number
}

/** Creates the host of a command. A rule of the policy that is invalid is a mistake of the user. */
export async function openHost(
  joined: HostServers,
  flags: HostFlags,
  options: Omit<HostOptions, 'servers' | 'store' | 'limits'>,
): Promise<Host> {
  const store = flags.store ?? defaultStorePath(joined.key)
  const limits = { connectTimeoutMs: flags.timeout }
  try {
    return await createHost({ ...options, servers: await withLogins(joined.servers), store, limits })
  } catch (error) {
    if (error instanceof TypeError && error.message.startsWith('policy'))
      throw usageError(`Invalid policy: ${error.message}`, policyHint)
    throw error
  }
}

/** Connects all servers, and waits until the user has decided about each. What fails is in `host.servers`. */
export async function connectAll(host: Host): Promise<void> {
  const enabled = host.servers.filter(({ state }) => state !== 'disabled')
  await Promise.allSettled(enabled.map(({ id }) => host.connectServer(id)))
}
