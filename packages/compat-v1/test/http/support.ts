import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Serves HTTP on a free port. */
export async function listen(answer: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const server = createServer((request, response) => void answer(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export const initialize = {
  jsonrpc: '2.0',
  id: 'init',
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'test', version: '1.0.0' } },
} as const

/** Posts a message as an MCP client does. */
export function post(url: string, message: unknown, headers: Record<string, string> = {}): Promise<Response> {
  return fetch(url, {
    method: 'POST',
    headers: {
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  })
}

export const statelessMeta = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}

/** Calls the tool `echo` as a client of 2026-07-28 does. */
export function callStateless(url: string, headers: Record<string, string> = {}, text = 'x'): Promise<Response> {
  const params = { name: 'echo', arguments: { text }, _meta: statelessMeta }
  const standard = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
  return post(url, { jsonrpc: '2.0', id: 1, method: 'tools/call', params }, { ...standard, ...headers })
}

/** The messages of an event stream that has ended. */
export async function messagesOf(response: Response): Promise<Record<string, unknown>[]> {
  const text = await response.text()
  return text
    .split('\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice('data: '.length)))
}

/** Headers of a request in a session. */
export function inSession(sessionId: string | undefined): Record<string, string> {
  return { 'mcp-session-id': sessionId ?? '', 'mcp-protocol-version': '2025-11-25' }
}

/** The body of a response, as any JSON. */
// biome-ignore lint/suspicious/noExplicitAny: tests look at the members they expect
export async function jsonOf(response: Response): Promise<any> {
  return response.json()
}
