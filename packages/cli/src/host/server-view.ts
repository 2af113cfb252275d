import { McpError } from 'tenon'
import type { Host, ServerStatus } from 'tenon/host'
import { safeLine } from 'tenon/internal'
import { columnsOf, fit, padEnd } from '../columns.ts'
import type { Paint } from '../output.ts'

/** One line per server: id, state, and its tools or what is wrong. Connects servers whose tools are not known. */
export async function viewServers(host: Host, width: number, paint: Paint): Promise<string[]> {
  const tools = await host.tools()
  const { servers } = host
  const left = Math.min(24, Math.max(...servers.map(({ id }) => columnsOf(id)), 0))
  return servers.map((server) => {
    const count = tools.filter((tool) => tool.server === server.id).length
    const start = `  ${padEnd(fit(server.id, left), left)}  ${padEnd(stateOf(server), 10)}  `
    const details = fit(safeLine(detailsOf(server, count)), width - columnsOf(start))
    return start + (isBroken(server) ? paint.warning(details) : paint.faint(details))
  })
}

/** A server that the user denied has not failed. */
function stateOf({ state, error }: ServerStatus): string {
  return state === 'failed' && error instanceof McpError && error.code === 'denied' ? 'denied' : state
}

function isBroken({ state }: ServerStatus): boolean {
  return state === 'failed' || state === 'held'
}

function detailsOf(server: ServerStatus, count: number): string {
  const { id, error, address } = server
  const reason = error instanceof Error ? error.message : String(error ?? 'unknown reason')
  if (isBroken(server)) return reason.replace(`Server "${id}": `, '')
  return `${count === 1 ? '1 tool' : `${count} tools`}, ${address}`
}
