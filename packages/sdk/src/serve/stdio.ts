import type { Link } from '../jsonrpc/link.ts'
import type { McpServer } from '../server/mcp-server.ts'
import type { Server } from '../server/server.ts'
import { type StdioServerOptions, StdioServerTransport } from '../transport/stdio/server.ts'

export interface ServeStdioOptions extends StdioServerOptions {
  /** End the process when the client is gone, so that none is left behind. Default true. */
  exit?: boolean | undefined
}

/** Serves over stdin and stdout until the client closes stdin, or on SIGTERM and SIGINT; then answers what is open and ends. */
export async function serveStdio(server: McpServer | Server, options: ServeStdioOptions = {}): Promise<Link> {
  const { exit = true, ...transportOptions } = options
  const transport = new StdioServerTransport(transportOptions)
  const link = await server.connect(transport)
  if (!options.stdin && process.stdin.isTTY) greet('server' in server ? server.server : server)
  if (!exit) return link
  const stop = () => void link.close()
  process.once('SIGTERM', stop)
  process.once('SIGINT', stop)
  const closed = transport.onclose
  transport.onclose = (detail) => {
    closed?.(detail)
    // Not at once: handlers that were cut off clean up first, and tasks are handed back.
    setImmediate(() => void server.close().finally(() => process.exit()))
  }
  return link
}

/** Someone started it by hand and would otherwise see nothing at all. */
function greet({ info }: Server): void {
  console.error(`${info.name} ${info.version} speaks MCP on stdin and stdout and waits for a client. Ctrl-C ends it.`)
}
