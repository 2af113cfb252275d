import { startServer } from './http.js'
import { program } from './programs.js'

/**
 * The ways to reach a server. Each has `start(file)`, which gives a `target` to connect to and `stop()`.
 *
 * - isOrdered: what was sent before an answer has arrived before it, and requests arrive in the order they were made.
 * - hasSessions: what a client of a revision with a handshake said before is remembered.
 */
export const stdio = {
  name: 'stdio',
  isOrdered: true,
  hasSessions: true,
  start: async (file) => ({ target: program(file), stop: async () => {} }),
}

/** Streamable HTTP with sessions. */
export const sessions = overHttp('sessions', '/mcp', { hasSessions: true })

/** Streamable HTTP where every request stands alone. */
export const stateless = overHttp('stateless', '/mcp', { hasSessions: false })

/** The two endpoints of 2024-11-05. */
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
