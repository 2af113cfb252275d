import type { Negotiated } from '../era/negotiate.ts'
import { Heartbeat, type PingOptions } from '../jsonrpc/heartbeat.ts'
import type { Connection } from './connection.ts'

/** Pings the server periodically, and resets the connection when it no longer answers. */
export function startPings(
  options: PingOptions,
  { era, link }: Negotiated,
  connection: Connection,
  onFailure: (error: unknown) => void,
): Heartbeat {
  const method = era.facts.revision.lacks('ping') ? 'server/discover' : 'ping'
  return new Heartbeat(options, {
    name: 'The server',
    ping: (timeoutMs) => era.call(link, method, undefined, { timeoutMs, maxTotalTimeoutMs: timeoutMs }),
    onFailure,
    onDead: (reason) => void connection.reset(reason).catch(onFailure),
  })
}
