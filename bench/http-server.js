import { Child } from './child.js'
import { Connection, openStream } from './http-load.js'
import { WrongAnswer } from './load.js'
import { handshake, initialize, initialized, request, stateless } from './messages.js'

const plainHeaders = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

/** A server process and the connections to it, each with its own session if there are sessions. */
export class HttpServer {
  child
  url
  connections = []
  #mode
  #oneSession

  /**
   * `mode` is `stateless`, `sessions` (both on 2025-11-25) or `2026`. The connections have a session each, or together
   * if `oneSession` is set.
   */
  static async open(contestant, mode, { connections = 1, oneSession = false, folder = 'http', env, nodeArgs } = {}) {
    const server = new HttpServer()
    server.#mode = mode
    server.#oneSession = oneSession
    server.child = new Child(`servers/${folder}/${contestant}.js`, { env: { BENCH_MODE: mode, ...env }, nodeArgs })
    try {
      server.url = await server.child.ask({ want: 'url' })
      while (server.connections.length < connections) server.connections.push(await server.#connect())
      return server
    } catch (error) {
      await server.close()
      throw error
    }
  }

  /** Prepares the requests of the connections. */
  prepare({ method, params }) {
    const revision = this.#mode === '2026' ? stateless : handshake
    const routing =
      this.#mode === '2026' ? { 'Mcp-Method': method, ...(params.name && { 'Mcp-Name': params.name }) } : {}
    for (const connection of this.connections) {
      Object.assign(connection.headers, routing)
      connection.prepare(request(revision, method, params))
    }
  }

  /** Opens sessions, some at a time, and returns the headers of each. */
  async openSessions(count) {
    const sessions = []
    const work = async (connection) => {
      await connection.reopen()
      while (sessions.length < count) {
        const place = sessions.push(undefined) - 1
        connection.headers = plainHeaders
        sessions[place] = await openSession(connection)
      }
    }
    await Promise.all(this.connections.map(work))
    return sessions
  }

  /** Opens the stream of each session and returns their sockets. */
  async openStreams(sessions) {
    const streams = []
    for (const headers of sessions) {
      streams.push(await openStream(this.url, { ...headers, Accept: 'text/event-stream' }))
    }
    return streams
  }

  /** Returns the bytes of heap in use after garbage collection; the process needs --expose-gc. */
  heapBytes() {
    return this.child.ask({ want: 'heap' })
  }

  async close() {
    for (const connection of this.connections) connection.close()
    await this.child.close()
  }

  async #connect() {
    const connection = await Connection.open(this.url, plainHeaders)
    const [first] = this.connections
    if (this.#oneSession && first) connection.headers = { ...first.headers }
    else if (this.#mode === 'sessions') connection.headers = await openSession(connection)
    else connection.headers = { ...plainHeaders, 'MCP-Protocol-Version': this.#mode === '2026' ? stateless : handshake }
    return connection
  }
}

/** Performs the handshake and returns the headers of the session. */
async function openSession(connection) {
  const answer = await connection.ask(initialize)
  const session = answer.header('mcp-session-id')
  const { result } = JSON.parse(answer.text)
  if (session === undefined || result?.protocolVersion !== handshake) {
    throw new WrongAnswer(`initialize: session ${session}, ${answer.text}`)
  }
  connection.headers = { ...plainHeaders, 'MCP-Protocol-Version': handshake, 'Mcp-Session-Id': session }
  await connection.ask(initialized)
  return connection.headers
}
