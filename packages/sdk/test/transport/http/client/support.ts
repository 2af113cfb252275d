import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { discovery, initialized as scriptedInitialized } from '../../../kit/scripted-server.ts'

/** A received request, with functions to answer it. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The JSON-RPC message; an empty object when there is none. */
  readonly message: {
    id?: number
    method?: string
    params?: Record<string, unknown>
    result?: unknown
    error?: unknown
  }
  readonly response: ServerResponse
  /** Answers with JSON. */
  json(value: unknown, status?: number, headers?: Record<string, string>): void
  /** Answers the request with a result. */
  result(result: object, headers?: Record<string, string>): void
  error(code: number, message: string, status?: number, data?: unknown): void
  /** Begins an event stream. */
  stream(...events: string[]): void
  status(status: number, body?: string, headers?: Record<string, string>): void
}

export interface Scripted {
  readonly url: string
  readonly origin: string
  readonly port: number
  readonly received: Received[]
  /** Returns the JSON-RPC methods of all POST requests, in order. */
  methods(): (string | undefined)[]
  of(method: string): Received[]
  /** Waits for the given number of requests of a kind: a JSON-RPC method, or `GET` and `DELETE`. */
  until(kind: string, count?: number): Promise<Received>
  close(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

/** A scripted server. */
export async function script(answer: (received: Received) => unknown, port = 0): Promise<Scripted> {
  const received: Received[] = []
  const waiting = new Set<() => void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const each = toReceived(
        request.method!,
        request.url!,
        request.headers,
        Buffer.concat(chunks).toString(),
        response,
      )
      received.push(each)
      answer(each)
      for (const look of waiting) look()
    })
  })
  await listen(server, port)
  const { port: actual } = server.address() as AddressInfo
  const origin = `http://127.0.0.1:${actual}`
  const of = (kind: string) => received.filter(({ method, message }) => method === kind || message.method === kind)
  const close = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return {
    url: `${origin}/mcp`,
    origin,
    port: actual,
    received,
    of,
    methods: () => received.filter(({ method }) => method === 'POST').map(({ message }) => message.method),
    until: (kind, count = 1) =>
      new Promise((resolve) => {
        const look = () => {
          const found = of(kind)[count - 1]
          if (!found) return
          waiting.delete(look)
          resolve(found)
        }
        waiting.add(look)
        look()
      }),
    close,
    [Symbol.asyncDispose]: close,
  }
}

const capabilities = {
  tools: { listChanged: true },
  prompts: {},
  resources: { subscribe: true },
  completions: {},
  logging: {},
}

/** Returns the result of `initialize`. */
export function initialized(version = '2025-11-25') {
  return scriptedInitialized(version, capabilities)
}

/** Returns the result of `server/discover`. */
export function discovered(versions = ['2026-07-28']) {
  return discovery(versions, capabilities)
}

/** A server with sessions. Requests that `answer` does not handle are answered normally. */
export function sessions(
  answer: (received: Received) => unknown = () => false,
  { version = '2025-11-25', stream = false }: { version?: string; stream?: boolean } = {},
  port = 0,
): Promise<Scripted> {
  let count = 0
  return script((received) => {
    if (answer(received)) return
    const { method, message } = received
    if (method === 'GET') return stream ? received.stream() : received.status(405)
    if (method === 'DELETE') return received.status(200)
    if (message.method === 'server/discover') return received.status(400, 'No session')
    if (message.method === 'initialize') {
      return received.result(initialized(version), { 'Mcp-Session-Id': `session-${++count}` })
    }
    plainly(received)
  }, port)
}

/** A 2026-07-28 server. */
export function modern(answer: (received: Received) => unknown = () => false, port = 0): Promise<Scripted> {
  return script((received) => {
    if (answer(received)) return
    if (received.method !== 'POST') return received.status(405)
    if (received.message.method === 'server/discover') return received.result(discovered())
    plainly(received)
  }, port)
}

/** Answers lists with nothing and calls with a fixed result. */
export function plainly(received: Received): void {
  const { id, method } = received.message
  if (id === undefined || method === undefined) return received.status(202)
  if (method === 'tools/list') return received.result({ tools: [{ name: 'act', inputSchema: { type: 'object' } }] })
  if (method === 'prompts/get') return received.result({ messages: [] })
  if (method === 'resources/read') return received.result({ contents: [] })
  received.result({ content: [{ type: 'text', text: 'done' }] })
}

/** Formats one event of a stream. */
export function event(message: unknown, id?: string): string {
  const data = typeof message === 'string' ? message : JSON.stringify(message)
  return `${id === undefined ? '' : `id: ${id}\n`}data: ${data}\n\n`
}

export function answer(id: number | undefined, result: object = { content: [{ type: 'text', text: 'done' }] }) {
  return { jsonrpc: '2.0', id, result }
}

export const changed = { jsonrpc: '2.0', method: 'notifications/tools/list_changed' }

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', resolve)
  })
}

function toReceived(
  method: string,
  path: string,
  headers: IncomingHttpHeaders,
  text: string,
  response: ServerResponse,
): Received {
  const message = text === '' ? {} : JSON.parse(text)
  const status = (code: number, body = '', own: Record<string, string> = {}) => {
    response.writeHead(code, own)
    response.end(body)
  }
  const json = (value: unknown, code = 200, own: Record<string, string> = {}) =>
    status(code, JSON.stringify(value), { 'Content-Type': 'application/json', ...own })
  return {
    method,
    path,
    headers,
    text,
    message,
    response,
    status,
    json,
    result: (result, own) => json(answer(message.id, result), 200, own),
    error: (code, what, statusCode = 200, data) =>
      json({ jsonrpc: '2.0', id: message.id ?? null, error: { code, message: what, data } }, statusCode),
    stream: (...events) => {
      response.writeHead(200, { 'Content-Type': 'text/event-stream' })
      response.flushHeaders()
      for (const each of events) response.write(each)
    },
  }
}

/** Resolves with the first event of a client. */
export function once<T>(on: (listener: (event: T) => void) => () => void): Promise<T> {
  return new Promise((resolve) => {
    const stop = on((event) => {
      stop()
      resolve(event)
    })
  })
}
