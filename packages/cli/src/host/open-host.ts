import { createHost, type Host, type HostOptions } from 'tenon/host'
import { safeLine } from 'tenon/internal'
import { withLogins } from '../auth/credentials.ts'
import { wrap } from '../columns.ts'
import { usageError } from '../exit-codes.ts'
import type { Output } from '../output.ts'
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

/**
 * Creates the host of a command. A rule of the policy that is invalid is a mistake of the user. If there is only one server of
 * many, the policy may have rules for the others.
 */
export async function openHost(
  joined: HostServers,
  flags: HostFlags,
  output: Output,
  options: Omit<HostOptions, 'servers' | 'store' | 'limits' | 'laterServers'>,
): Promise<Host> {
  const store = flags.store ?? defaultStorePath(joined.key)
  const limits = { connectTimeoutMs: flags.timeout }
  const servers = await withLogins(joined.servers)
  const open = (laterServers: string[]) => createHost({ ...options, servers, store, limits, laterServers })
  try {
    return await open([])
  } catch (error) {
    if (!(error instanceof TypeError && error.message.startsWith('policy'))) throw error
    const isUnknown = isUnknownServer(error)
    if (!isUnknown || joined.path !== undefined)
      throw usageError(`Invalid policy: ${error.message}`, isUnknown ? unknownHint : policyHint)
    noteUnknownServer(error, output)
    return open(['*'])
  }
}

/** Prints that a rule of the policy names a server that is not configured, if this is the error. */
export function noteUnknownServer(error: unknown, output: Output): void {
  if (isUnknownServer(error))
    output.note(
      ...wrap(safeLine(`! ${error.message}`, 1_000), output.width).map((line) => output.notePaint.warning(line)),
    )
}

function isUnknownServer(error: unknown): error is TypeError {
  return error instanceof TypeError && error.message.includes('which is not configured')
}

const unknownHint =
  'Correct the id in the policy. If the server is to be added later, add it to the config file with "disabled": true.'

/** Connects all servers, and waits until the user has decided about each. What fails is in `host.servers`. */
export async function connectAll(host: Host): Promise<void> {
  const enabled = host.servers.filter(({ state }) => state !== 'disabled')
  await Promise.allSettled(enabled.map(({ id }) => host.connectServer(id)))
}
