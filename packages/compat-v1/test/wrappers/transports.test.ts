import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { Client } from '../../src/client/index.ts'
import { SSEClientTransport } from '../../src/client/sse.ts'
import { StdioClientTransport } from '../../src/client/stdio.ts'
import { StreamableHTTPClientTransport } from '../../src/client/streamableHttp.ts'
import { InMemoryTransport } from '../../src/inMemory.ts'
import { McpServer } from '../../src/server/mcp.ts'
import { SSEServerTransport } from '../../src/server/sse.ts'
import { StdioServerTransport } from '../../src/server/stdio.ts'
import { StreamableHTTPServerTransport } from '../../src/server/streamableHttp.ts'
import { WebStandardStreamableHTTPServerTransport } from '../../src/server/webStandardStreamableHttp.ts'
import type { Transport } from '../../src/shared/transport.ts'
import { wrappers } from './wrappers.ts'

type Wrap = <T extends object>(held: T) => T

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const clean of cleanups.splice(0).reverse()) await clean()
})

function createShop(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  server.registerTool('greet', {}, () => ({ content: [{ type: 'text', text: 'Hello' }] }))
  return server
}

/** Connects, calls a tool, closes, and says which handlers of the client's transport were called. */
async function talk(transport: Transport): Promise<unknown> {
  const client = new Client({ name: 'test', version: '1.0.0' })
  const closed = new Promise<void>((resolve) => {
    client.onclose = resolve
  })
  await client.connect(transport)
  const { tools } = await client.listTools()
  const result = await client.callTool({ name: 'greet' })
  await client.close()
  await closed
  return [tools.length, result.content]
}

async function listen(handle: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<URL> {
  const server = createServer((request, response) => void handle(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`)
}

/** A server over HTTP whose transport is wrapped. */
async function listenStreamable(wrap: Wrap): Promise<URL> {
  const transport = wrap(new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'session' }))
  await createShop().connect(transport)
  return listen((request, response) => transport.handleRequest(request, response))
}

async function listenSse(wrap: Wrap): Promise<URL> {
  const transports = new Map<string, SSEServerTransport>()
  return listen(async (request, response) => {
    if (request.method === 'POST') {
      const id = new URL(request.url!, 'http://localhost').searchParams.get('sessionId')!
      return transports.get(id)!.handlePostMessage(request, response)
    }
    const transport = wrap(new SSEServerTransport('/messages', response))
    transports.set(transport.sessionId, transport)
    await createShop().connect(transport)
  })
}

const script = `
import readline from 'node:readline'
const results = {
  initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'a', version: '1' } },
  'tools/list': { tools: [{ name: 'greet', inputSchema: { type: 'object' } }] },
  'tools/call': { content: [{ type: 'text', text: 'Hello' }] },
}
readline.createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method } = JSON.parse(line)
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }))
})`

const none: Wrap = (held) => held

/** A whole conversation over each transport, which is wrapped. */
const conversations: Record<string, (wrap: Wrap) => Promise<unknown>> = {
  InMemoryTransport: async (wrap) => {
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    // The two know each other, so the wrappers that get the handlers take their places.
    const [one, two] = [wrap(ours), wrap(theirs)]
    one._otherTransport = two
    two._otherTransport = one
    await createShop().connect(two)
    return talk(one)
  },
  StdioServerTransport: async (wrap) => {
    const [input, output] = [new PassThrough(), new PassThrough()]
    const transport = wrap(new StdioServerTransport(input, output))
    await createShop().connect(transport)
    input.write(`${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })}\n`)
    const [chunk] = await once(output, 'data')
    const closed = new Promise<string>((resolve) => {
      const before = transport.onclose
      transport.onclose = () => {
        before?.()
        resolve('closed')
      }
    })
    await transport.close()
    return [JSON.parse(String(chunk)), await closed]
  },
  StdioClientTransport: async (wrap) => {
    const args = ['--input-type=module', '-e', script]
    const transport = wrap(new StdioClientTransport({ command: process.execPath, args, stderr: 'pipe' }))
    const before = [transport.pid, transport.stderr !== null]
    return [before, await talk(transport), transport.pid]
  },
  StreamableHTTPServerTransport: async (wrap) => talk(new StreamableHTTPClientTransport(await listenStreamable(wrap))),
  WebStandardStreamableHTTPServerTransport: async (wrap) => {
    const transport = wrap(new WebStandardStreamableHTTPServerTransport({ sessionIdGenerator: () => 'session' }))
    await createShop().connect(transport)
    const fetch = (url: string | URL, init?: RequestInit) => transport.handleRequest(new Request(url, init))
    return talk(new StreamableHTTPClientTransport(new URL('http://127.0.0.1/mcp'), { fetch }))
  },
  StreamableHTTPClientTransport: async (wrap) => {
    const transport = wrap(new StreamableHTTPClientTransport(await listenStreamable(none)))
    const client = new Client({ name: 'test', version: '1.0.0' })
    await client.connect(transport)
    const session = [transport.sessionId, transport.protocolVersion, (await client.listTools()).tools.length]
    await transport.terminateSession()
    await client.close()
    return session
  },
  SSEServerTransport: async (wrap) => talk(new SSEClientTransport(await listenSse(wrap))),
  SSEClientTransport: async (wrap) => talk(wrap(new SSEClientTransport(await listenSse(none)))),
}

describe('a transport', () => {
  for (const [wrapper, wrap] of Object.entries(wrappers)) {
    it.each(Object.keys(conversations))(`carries the same conversation behind ${wrapper}: %s`, async (name) => {
      expect(await conversations[name]!(wrap)).toEqual(await conversations[name]!(none))
    })
  }

  it('sends through a send that a Proxy puts in front of its own', async () => {
    const sent: string[] = []
    const watched: Wrap = (held) =>
      new Proxy(held, {
        get: (target, key) => {
          const value: unknown = Reflect.get(target, key, target)
          if (key !== 'send') return value
          return (message: object, ...rest: unknown[]) => {
            sent.push('method' in message ? String(message.method) : 'response')
            return (value as (...args: unknown[]) => unknown).call(target, message, ...rest)
          }
        },
      })
    expect(await conversations.StreamableHTTPServerTransport!(watched)).toEqual(
      await conversations.StreamableHTTPServerTransport!(none),
    )
    await conversations.StdioClientTransport!(watched)
    expect(sent).toEqual([
      ...['response', 'response', 'response'],
      ...['initialize', 'notifications/initialized', 'tools/list', 'tools/call'],
    ])
  })
})
