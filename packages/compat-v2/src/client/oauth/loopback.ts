import { isLoopbackHost } from 'tenon/internal'

/** Whether a host name is this machine, also by a name below `localhost` (RFC 6761, 6.3). */
export function isThisMachine(hostname: string): boolean {
  return isLoopbackHost(hostname) || hostname.endsWith('.localhost')
}
