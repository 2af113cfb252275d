import type { Link } from '../jsonrpc/link.ts'
import type { McpServer } from '../server/mcp-server.ts'
import type { Server } from '../server/server.ts'
import { type StdioServerOptions, StdioServerTransport } from '../transport/stdio/server.ts'
import { hintAtCrashes } from '../util/crash-hint.ts'
import { endOnSignal, endProcess } from '../util/process-end.ts'
import { scheduler } from '../util/scheduler.ts'

/** Options of `serveStdio()`. */
export interface ServeStdioOptions extends StdioServerOptions {
  /** Exit the process when the client disconnects, so that it is not left running. Default true. */
  exit?: boolean | undefined
}

/**
 * Serves over stdin and stdout until the client closes stdin or a SIGTERM or SIGINT arrives. Finishes running requests, then
 * exits the process.
 *
 * @example
 * ```ts
 * await serveStdio(server)
 * ```
 */
export async function serveStdio(server: McpServer | Server, options: ServeStdioOptions = {}): Promise<Link> {
  const { exit = true, ...transportOptions } = options
  hintAtCrashes()
  const transport = new StdioServerTransport(transportOptions)
  const link = await server.connect(transport)
  if (!options.stdin && process.stdin.isTTY) printHint('server' in server ? server.server : server)
  if (!exit) return link
  const closed = new Promise<void>((resolve) => {
    const onclose = transport.onclose
    transport.onclose = (detail) => {
      onclose?.(detail)
      resolve()
    }
  })
  endOnSignal({
    drain: async () => {
      await link.close()
      await closed
      // Aborted handlers clean up first, and tasks are released to other workers.
      await new Promise((resolve) => scheduler.setImmediate(resolve))
    },
    close: () => server.close(),
  })
  void closed.then(() => endProcess())
  return link
}

/** A person who starts the server in a terminal would otherwise see no output. */
function printHint({ info }: Server): void {
  console.error(
    `${info.name} ${info.version} is an MCP server on stdin and stdout, waiting for a client. Press Ctrl-C to stop.`,
  )
}
