import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type McpServer, type ServeHttpOptions, serveHttp } from 'tenon/server'

/** Serves on a free port. */
export function serve(server: McpServer, options: ServeHttpOptions = {}) {
  return serveHttp(server, { port: 0, exit: false, graceMs: 100, ...options })
}

/** Starts a plain `node:http` server on a free port, like an application with its own routing. */
export async function listenWith(answer: (request: IncomingMessage, response: ServerResponse) => void) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    port,
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
