import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { isInitializeRequest, type RequestId, type RpcMessage } from 'tenon'
import { StreamableHTTPServerTransport } from 'tenon/server'
import { listen } from '../listen.ts'
import type { DevServer } from './dev-server.ts'
import type { DevSession } from './dev-session.ts'
import { SharedClients } from './shared-clients.ts'

/** An HTTP endpoint for the clients of a `DevServer`. */
export interface HttpClients {
  readonly url: string
  close(): Promise<void>
}

/**
 * Serves clients over HTTP, on this machine only. Each session has a process of its own, because a server over stdio has one
 * client; clients of 2026-07-28 share one.
 */
export async function serveHttpClients(server: DevServer, port: number): Promise<HttpClients> {
  const clients = new Clients(server)
  const http = createServer((request, response) => void clients.handle(request, response))
  await listen(http, { host: address, port })
  const { port: actual } = http.address() as AddressInfo
  return {
    url: `http://${address}:${actual}${path}`,
    close: async () => {
      http.close()
      await clients.close()
      http.closeAllConnections()
    },
  }
}

const address = '127.0.0.1'
const path = '/mcp'

/** Each session is a process, so there are fewer than a server in production would have. */
const maxSessions = 32

interface Session {
  readonly transport: StreamableHTTPServerTransport
  readonly session: DevSession
}

class Clients {
  readonly #server: DevServer
  readonly #shared: SharedClients
  /** The least recently used first. */
  readonly #sessions = new Map<string, Session>()

  constructor(server: DevServer) {
    this.#server = server
    this.#shared = new SharedClients((send) => server.open(send))
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (request.url?.split('?')[0] !== path) return notFound(response)
    const id = request.headers['mcp-session-id']
    const known = typeof id === 'string' ? this.#use(id) : undefined
    if (known) return known.transport.handleRequest(request, response)
    const transport = this.#createTransport()
    await transport.handleRequest(request, response)
    // It opened a session, or was for this request only.
    if (transport.sessionId === undefined) await transport.close()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map(({ transport }) => transport.close()))
  }

  #use(id: string): Session | undefined {
    const found = this.#sessions.get(id)
    if (!found) return undefined
    this.#sessions.delete(id)
    this.#sessions.set(id, found)
    return found
  }

  #createTransport(): StreamableHTTPServerTransport {
    let session: DevSession | undefined
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        if (session) this.#add(id, { transport, session })
      },
    })
    const send = (message: unknown, related?: RequestId) => sendTo(transport, message as RpcMessage, related)
    const shared = this.#shared.attach((message) => send(message, 'id' in message ? undefined : onlyRequest))
    let onlyRequest: RequestId | undefined
    transport.onmessage = (message) => {
      if (isInitializeRequest(message)) session ??= this.#server.open(send)
      if (session) return session.receive(message)
      onlyRequest = (message as { id?: RequestId }).id ?? onlyRequest
      shared.receive(message)
    }
    transport.onclose = () => {
      if (transport.sessionId !== undefined) this.#sessions.delete(transport.sessionId)
      if (session) void this.#server.end(session)
    }
    return transport
  }

  #add(id: string, session: Session): void {
    this.#sessions.set(id, session)
    const [oldest] = this.#sessions.values()
    if (this.#sessions.size > maxSessions) void oldest?.transport.close()
  }
}

/** A message for a stream that has ended goes to the stream of the session, or nowhere. */
async function sendTo(
  transport: StreamableHTTPServerTransport,
  message: RpcMessage,
  relatedRequestId: RequestId | undefined,
): Promise<void> {
  try {
    await transport.send(message, { relatedRequestId })
  } catch {
    // The client is gone, or has cancelled the request. A response has no other way to go.
    if ('method' in message && relatedRequestId !== undefined) await transport.send(message)
  }
}

function notFound(response: ServerResponse): void {
  response.writeHead(404, { 'content-type': 'text/plain' }).end(`The MCP endpoint is ${path}\n`)
}
