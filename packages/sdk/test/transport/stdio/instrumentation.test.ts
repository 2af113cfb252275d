import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import type { RevisionId } from 'tenon'
import { Client, SSEClientTransport, StdioClientTransport, StreamableHTTPClientTransport } from 'tenon/client'
import {
  InMemoryTransport,
  McpServer,
  SSEServerTransport,
  StdioServerTransport,
  StreamableHTTPServerTransport,
  type Transport,
} from 'tenon/server'
import { describe, expect, it, onTestFinished } from 'vitest'
import { eventually } from '../../kit/eventually.ts'
import type { Message } from '../../kit/message.ts'
import { wireServer } from './support.ts'

/** Wraps `send` of an existing transport, as instrumentation libraries do. */
function watchSend(transport: Transport, change: (message: Message) => Message = (message) => message): Message[] {
  const seen: Message[] = []
  const { send } = transport
  // Passes on only the message, and asynchronously, as most hand-written wrappers do.
  transport.send = async (message) => {
    seen.push(...([message].flat() as Message[]))
    await Promise.resolve()
    return send.call(transport, change(message as Message) as never)
  }
  return seen
}

function watchReceive(transport: Transport): Message[] {
  const seen: Message[] = []
  const { onmessage } = transport
  transport.onmessage = (message, stream) => {
    seen.push(...([message].flat() as Message[]))
    onmessage?.call(transport, message, stream)
  }
  return seen
}

async function listen(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const http = createServer(answer)
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
}

interface Pair {
  client: Transport
  server: Transport
  /** Connects the server transport, if that is possible before a client connects. */
  ready?: Promise<unknown>
}

function createDemo(): McpServer {
  const server = new McpServer({ name: 'demo', version: '1.0.0' }, { listChangedDelayMs: 0 })
  const inputSchema = {
    type: 'object',
    properties: { region: { type: 'string', 'x-mcp-header': 'Region' } },
  } as const
  server.registerTool('asks', { inputSchema }, async (_args, ctx) => {
    ctx.progress(1)
    ctx.log.error('working')
    if (!ctx.can('elicit')) return 'not asked'
    const { action } = await ctx.elicit('Go on?')
    return action
  })
  return server
}

const pairs: Record<string, (server: McpServer) => Promise<Pair>> = {
  memory: async (server) => {
    const [client, end] = InMemoryTransport.createLinkedPair()
    return { client, server: end, ready: server.connect(end) }
  },
  'stdio (server)': async (server) => {
    const [up, down] = [new PassThrough(), new PassThrough()]
    const end = new StdioServerTransport({ stdin: up, stdout: down })
    const client = new StdioServerTransport({ stdin: down, stdout: up })
    return { client, server: end, ready: server.connect(end) }
  },
  'Streamable HTTP with a session': async (server) => {
    const end = new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() })
    const ready = server.connect(end)
    const url = await listen((request, response) => void end.handleRequest(request, response))
    return { client: new StreamableHTTPClientTransport(url), server: end, ready }
  },
  'Streamable HTTP without sessions': async (server) => {
    const end = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    const ready = server.connect(end)
    const url = await listen((request, response) => void end.handleRequest(request, response))
    return { client: new StreamableHTTPClientTransport(url), server: end, ready }
  },
  'HTTP+SSE': async (server) => {
    const pair = { server: undefined as Transport | undefined }
    const url = await listen(async (request, response) => {
      const known = pair.server as SSEServerTransport | undefined
      if (request.method === 'POST') return void known?.handlePostMessage(request, response)
      const end = new SSEServerTransport('/messages', response)
      pair.server = end
      await server.connect(end)
    })
    const client = new SSEClientTransport(url)
    return {
      client,
      get server() {
        return pair.server!
      },
    }
  },
}

const revisionsOf: Record<string, RevisionId[]> = {
  memory: ['2025-03-26', '2025-11-25', '2026-07-28'],
  'stdio (server)': ['2025-03-26', '2025-11-25', '2026-07-28'],
  'Streamable HTTP with a session': ['2025-03-26', '2025-11-25', '2026-07-28'],
  'Streamable HTTP without sessions': ['2026-07-28'],
  'HTTP+SSE': ['2024-11-05', '2025-11-25'],
}

const cases = Object.entries(revisionsOf).flatMap(([name, revisions]) =>
  revisions.map((revision) => [name, revision] as const),
)

/** Removes the last message of the handshake, which may not have arrived yet. */
const later = (messages: Message[]) => messages.filter(({ method }) => method !== 'notifications/initialized')

const sorted = (messages: Message[]) => messages.map((message) => JSON.stringify(message)).toSorted()

describe.each(cases)('a wrapped send on both ends of %s on %s', (name, revision) => {
  const talk = async (change?: (message: Message) => Message) => {
    const server = createDemo()
    const pair = await pairs[name]!(server)
    const clientSent = watchSend(pair.client, change)
    await pair.ready
    const client = new Client(
      { name: 'c', version: '1' },
      { revision, logLevel: 'debug', handlers: { elicit: () => ({ action: 'accept', content: {} }) } },
    )
    onTestFinished(() => client.close())
    await client.connect(pair.client)
    const begun = { clientSent: clientSent.length, first: clientSent[0]?.method }
    const serverSent = watchSend(pair.server, change)
    const clientReceived = watchReceive(pair.client)
    const serverReceived = watchReceive(pair.server)
    await client.listTools()
    const result = await client.callTool('asks', { region: 'eu' }, { onProgress: () => {} })
    const since = clientSent.slice(begun.clientSent)
    return { begun, result, since, serverSent, clientReceived, serverReceived: () => later(serverReceived) }
  }

  it('sees every message', async () => {
    const { begun, result, since, serverSent, clientReceived, serverReceived } = await talk()
    expect(begun.first).toMatch(/^(?:initialize|server\/discover)$/)
    expect(result.text).toBe(revision < '2025-06-18' ? 'not asked' : 'accept')
    await eventually(() => serverSent.length === clientReceived.length && since.length === serverReceived().length)
    expect(sorted(serverSent)).toEqual(sorted(clientReceived))
    expect(sorted(since)).toEqual(sorted(serverReceived()))
    expect(serverSent.map(({ method }) => method)).toContain('notifications/progress')
  })

  it('can pass on a modified copy of a message', async () => {
    const { result, clientReceived } = await talk((message) => structuredClone(message))
    expect(result.text).toBe(revision < '2025-06-18' ? 'not asked' : 'accept')
    expect(clientReceived.length).toBeGreaterThan(0)
  })
})

describe('a wrapped send of a transport with many clients', () => {
  /** Sends requests with the same id from 20 clients; they wait for each other, so all responses are sent at once. */
  async function callTogether(change?: (message: Message) => Message): Promise<Message[]> {
    const server = new McpServer({ name: 'demo', version: '1.0.0' }, { onError: () => {} })
    let waiting: (() => void)[] = []
    server.registerTool('meet', {}, async (_args, ctx) => {
      await new Promise<void>((resolve) => {
        if (waiting.push(resolve) < 20) return
        for (const go of waiting) go()
        waiting = []
      })
      return ctx.request?.header('x-who') ?? ''
    })
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    await server.connect(transport)
    const sent = watchSend(transport, change)
    const url = await listen((request, response) => void transport.handleRequest(request, response))
    const answers = await Promise.all(Array.from({ length: 20 }, (_, who) => post(url, who)))
    expect(sent).toHaveLength(20)
    await transport.close()
    return answers
  }

  async function post(url: string, who: number): Promise<Message> {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2025-11-25',
        'x-who': `${who}`,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'meet', arguments: {} } }),
    })
    return (await response.json()) as Message
  }

  it('delivers each response to its own client although the request ids are equal', async () => {
    const answers = await callTogether()
    expect(answers.map(({ result }) => result?.content?.[0]?.text)).toEqual(answers.map((_, who) => `${who}`))
  })

  it('never delivers a copied response to the wrong client', async () => {
    const answers = await callTogether((message) => structuredClone(message))
    for (const [who, { result, error }] of answers.entries()) {
      if (error) expect(error.code).toBe(-32603)
      else expect(result?.content?.[0]?.text).toBe(`${who}`)
    }
  })
})

describe('a wrapped send of StreamableHTTPServerTransport', () => {
  it('answers the client with an error when it throws', async () => {
    const end = new StreamableHTTPServerTransport({ sessionIdGenerator: () => crypto.randomUUID() })
    await createDemo().connect(end)
    const url = await listen((request, response) => void end.handleRequest(request, response))
    const client = new Client({ name: 'c', version: '1' }, { revision: '2025-11-25' })
    onTestFinished(() => client.close())
    await client.connect(new StreamableHTTPClientTransport(url))
    const errors: string[] = []
    end.onerror = ({ message }) => void errors.push(message)
    end.send = async () => {
      throw new Error('the tracer is down')
    }
    await expect(client.listTools()).rejects.toThrow('Internal error')
    expect(errors).toEqual(['the tracer is down'])
  })
})

describe('a wrapped send of StdioClientTransport', () => {
  it('sees every message that is sent to the child process', async () => {
    const transport = new StdioClientTransport(wireServer)
    const sent = watchSend(transport)
    const client = new Client({ name: 'c', version: '1' }, { revision: '2025-11-25' })
    onTestFinished(() => client.close())
    await client.connect(transport)
    await client.callTool('echo', {})
    client.notify('notifications/custom', {})
    expect(sent.map(({ method }) => method)).toEqual([
      'initialize',
      'notifications/initialized',
      'tools/call',
      'notifications/custom',
    ])
  })

  it('fails the request when it throws', async () => {
    const transport = new StdioClientTransport(wireServer)
    const client = new Client({ name: 'c', version: '1' }, { revision: '2025-11-25' })
    onTestFinished(() => client.close())
    await client.connect(transport)
    transport.send = async () => {
      throw new Error('the tracer is down')
    }
    await expect(client.callTool('echo', {})).rejects.toThrow('the tracer is down')
  })
})
