import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StdioClientTransport } from 'tenon/client'
import type { CommandServerConfig } from 'tenon/host'
import { isObject, type JsonObject } from 'tenon/internal'

/** A stdio server that can be reached over HTTP. */
export interface Bridge {
  readonly url: string
  close(): Promise<void>
}

/**
 * Serves a stdio server over HTTP on this machine, for programs that speak only HTTP. Messages pass as they are, so that it is the
 * server itself that is examined. Each session has its own process.
 */
export async function createBridge(config: CommandServerConfig): Promise<Bridge> {
  const sessions = new Map<string, BridgedSession>()
  const http = createServer((request, response) => {
    serve(request, response, sessions, config).catch((error: unknown) => {
      if (!response.headersSent) response.writeHead(500)
      response.end(String(error))
    })
  })
  await new Promise<void>((resolve, reject) => http.once('error', reject).listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return { url: `http://localhost:${port}/mcp`, close: () => close(http, sessions) }
}

async function close(http: Server, sessions: ReadonlyMap<string, BridgedSession>): Promise<void> {
  http.closeAllConnections()
  await new Promise((resolve) => http.close(resolve))
  await Promise.all([...sessions.values()].map((session) => session.close()))
}

/** All requests without a session belong to one process, as on revisions without sessions. */
const shared = ''

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  sessions: Map<string, BridgedSession>,
  config: CommandServerConfig,
): Promise<void> {
  const id = String(request.headers['mcp-session-id'] ?? shared)
  const session = sessions.get(id)
  if (request.method === 'GET' && session) return session.listen(response)
  if (request.method === 'DELETE' && session) {
    sessions.delete(id)
    await session.close()
    return void response.writeHead(200).end()
  }
  if (request.method !== 'POST') return void response.writeHead(405).end()
  const message: unknown = JSON.parse(await readBody(request))
  if (!isObject(message)) return void response.writeHead(400).end()
  if (message.method === 'initialize') return open(message, response, sessions, config, randomUUID())
  if (session) return session.post(message, response)
  if (id !== shared) return void response.writeHead(404).end()
  return open(message, response, sessions, config, shared)
}

async function open(
  message: JsonObject,
  response: ServerResponse,
  sessions: Map<string, BridgedSession>,
  config: CommandServerConfig,
  id: string,
): Promise<void> {
  const session = await BridgedSession.start(config)
  sessions.set(id, session)
  if (id !== shared) response.setHeader('mcp-session-id', id)
  session.post(message, response)
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

interface OpenRequest {
  readonly id: unknown
  readonly response: ServerResponse
}

/** One process, and the HTTP requests that wait for it. */
class BridgedSession {
  readonly #transport: StdioClientTransport
  /** By the id that the process sees: clients without a session may use the same ids. */
  readonly #open = new Map<string, OpenRequest>()
  #listener: ServerResponse | undefined
  #count = 0

  private constructor(transport: StdioClientTransport) {
    this.#transport = transport
    transport.onmessage = (message) => isObject(message) && this.#receive(message)
    transport.onclose = () => this.#end()
  }

  static async start({ command, args, env, cwd }: CommandServerConfig): Promise<BridgedSession> {
    const transport = new StdioClientTransport({ command, args, cwd, ...(env && { env: { ...env } }) })
    const session = new BridgedSession(transport)
    await transport.start()
    return session
  }

  close(): Promise<void> {
    this.#end()
    return this.#transport.close()
  }

  /** Passes a message to the process. A request is answered by an event stream that ends with its response. */
  post(message: JsonObject, response: ServerResponse): void {
    if (message.id === undefined || message.method === undefined) {
      this.#send(this.#withOurId(message))
      return void response.writeHead(202).end()
    }
    const id = `bridge-${++this.#count}`
    this.#open.set(id, { id: message.id, response })
    response.once('close', () => this.#open.delete(id))
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' })
    this.#send({ ...message, id })
  }

  /** Keeps a response open for messages that belong to no request. */
  listen(response: ServerResponse): void {
    this.#listener = response
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' }).flushHeaders()
  }

  #send(message: JsonObject): void {
    this.#transport.sendText(JSON.stringify(message))
  }

  /** A cancellation names a request by the id that its sender chose. */
  #withOurId(message: JsonObject): JsonObject {
    if (message.method !== 'notifications/cancelled' || !isObject(message.params)) return message
    const { requestId } = message.params
    const [id] = [...this.#open].find(([, open]) => open.id === requestId) ?? []
    return id === undefined ? message : { ...message, params: { ...message.params, requestId: id } }
  }

  #receive(message: JsonObject): void {
    const open = message.method === undefined ? this.#open.get(String(message.id)) : undefined
    if (open) {
      this.#open.delete(String(message.id))
      return void open.response.end(toEvent({ ...message, id: open.id }))
    }
    const stream = [...this.#open.values()].at(-1)?.response ?? this.#listener
    stream?.write(toEvent(message))
  }

  #end(): void {
    for (const { response } of this.#open.values()) response.end()
    this.#open.clear()
    this.#listener?.end()
  }
}

function toEvent(message: JsonObject): string {
  return `event: message\ndata: ${JSON.stringify(message)}\n\n`
}
