import { startServer } from './http.js'
import { program } from './programs.js'

/**
 * The transports to reach a server. Each has `start(file)`, which returns a `target` to connect to and `stop()`.
 *
 * - isOrdered: messages sent before a response arrive before it, and requests arrive in the order of sending.
 * - hasSessions: the server keeps the state of a client of a handshake revision.
 */
export const stdio = {
  name: 'stdio',
  isOrdered: true,
  hasSessions: true,
  start: async (file) => ({ target: program(file), stop: async () => {} }),
}

/** Streamable HTTP with sessions. */
export const sessions = overHttp('sessions', '/mcp', { hasSessions: true })

/** Streamable HTTP with independent requests. */
export const stateless = overHttp('stateless', '/mcp', { hasSessions: false })

/** HTTP+SSE of 2024-11-05. */
export const sse = overHttp('sse', '/sse', { hasSessions: true })

function overHttp(name, path, facts) {
  return {
    name: `HTTP, ${name}`,
    isOrdered: false,
    ...facts,
    start: async (file) => {
      const server = await startServer(file, '--http', name)
      const url = new URL(path, server.origin)
      return { target: { url, isSse: name === 'sse' }, stop: server.stop }
    },
  }
}
