import type { EraName } from './revision.ts'

/** What a server was found to speak. */
export interface KnownServer {
  readonly era: EraName
  /** `'sse'` if the server has only the HTTP+SSE transport of 2024-11-05. */
  readonly transport?: 'sse' | undefined
}

const maxServers = 1_000

/** By address, so that a second connection does not have to negotiate again. */
const servers = new Map<string, KnownServer>()

/** 2026-07-28 versioning: a client may cache what a server speaks for as long as the server stays the same. */
export function knownServer(address: string | undefined): KnownServer | undefined {
  return address === undefined ? undefined : servers.get(address)
}

/** Remembers the last {@link maxServers} servers. */
export function rememberServer(address: string, server: KnownServer): void {
  servers.delete(address)
  servers.set(address, server)
  if (servers.size > maxServers) forgetServer(servers.keys().next().value!)
}

/** Called when a server turns out to speak something else. */
export function forgetServer(address: string): void {
  servers.delete(address)
}

/** For tests, where one port is many servers. */
export function forgetServers(): void {
  servers.clear()
}
