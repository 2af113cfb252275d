import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { connect, StdioClientTransport } from 'tenon/client'
import { InMemoryTransport, type McpServer, StreamableHTTPServerTransport, type Transport } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { gate } from '../../../kit/gate.ts'
import { Peer } from '../../../kit/http-peer.ts'
import type { Message } from '../../../kit/message.ts'
import { eachRevision, httpRevisions, modern, sessionRevisions } from '../../../kit/revisions.ts'
import { listenWith } from '../../../kit/serve-http.ts'
import { registerSlow, withProgress, workshop } from '../../../kit/workshop.ts'

const stdioServer = fileURLToPath(new URL('../../stdio/fixtures/server.js', import.meta.url))

/** The other side of a proxy: a server on another transport. */
async function overMemory(server: McpServer): Promise<Transport> {
  const [near, far] = InMemoryTransport.createLinkedPair()
  await server.connect(far)
  return near
}

/** Finds the request that a message of the other side belongs to, as proxies do. */
function relatedTo({ method, params }: Message, tokens: Map<unknown, string | number>): string | number | undefined {
  if (method === 'notifications/progress') return tokens.get(params?.progressToken)
  return undefined
}

/** A proxy as written against the classic API: one pair of transports per session, and no server object. */
async function startProxy(openFar: () => Promise<Transport>, hasSessions = true) {
  const near = new Map<string, StreamableHTTPServerTransport>()
  const errors: Error[] = []
  const answer = async (request: IncomingMessage, response: ServerResponse) => {
    const known = near.get(String(request.headers['mcp-session-id'] ?? ''))
    if (known) return known.handleRequest(request, response)
    const transport: StreamableHTTPServerTransport = new StreamableHTTPServerTransport({
      sessionIdGenerator: hasSessions ? () => crypto.randomUUID() : undefined,
      onsessioninitialized: (id) => void near.set(id, transport),
    })
    if (!hasSessions) near.set('', transport)
    const far = await openFar()
    const tokens = new Map<unknown, string | number>()
    transport.onmessage = (message) => {
      const { id, params } = message as Message
      const token = (params?._meta as { progressToken?: unknown } | undefined)?.progressToken
      if (token !== undefined) tokens.set(token, id as number)
      void far.send(message as never)
    }
    transport.onerror = (error) => errors.push(error)
    transport.onclose = () => void far.close()
    far.onmessage = (message) => {
      const relatedRequestId = relatedTo(message as Message, tokens)
      transport.send(message as never, { relatedRequestId }).catch((error) => errors.push(error))
    }
    await far.start()
    await transport.start()
    await transport.handleRequest(request, response)
  }
  const http = await listenWith((request, response) => void answer(request, response))
  const close = async () => {
    await Promise.all([...near.values()].map((transport) => transport.close()))
    await http[Symbol.asyncDispose]()
  }
  return { url: http.url, near, errors, [Symbol.asyncDispose]: close }
}

describe('StreamableHTTPServerTransport without a server', () => {
  it('works as a proxy between Streamable HTTP and a stdio server', async () => {
    await using proxy = await startProxy(
      async () => new StdioClientTransport({ command: process.execPath, args: [stdioServer] }),
    )
    const client = await connect(proxy.url, { revision: '2025-11-25' })
    expect((await client.callTool('echo', { a: 1 })).text).toBe('{"a":1}')
    const changed = gate()
    client.on('toolsChanged', () => changed.open())
    await client.callTool('add-tool', { name: 'extra' })
    await changed.opened
    expect((await client.callTool('extra')).text).toBe('new')
    await expect(client.callTool('missing')).rejects.toMatchObject({ rpcCode: -32602 })
    await client.close()
    expect(proxy.errors).toEqual([])
  })

  eachRevision(
    sessionRevisions,
    'sends messages of a request on its stream, and others on the GET stream [HTTP-021, HTTP-032]',
    async (revision) => {
      const server = workshop()
      await using proxy = await startProxy(() => overMemory(server))
      await using peer = await Peer.open(proxy.url, revision)
      const listening = await peer.get()
      const steps = await peer.call('steps', {}, { ...withProgress, id: 'mine' })
      await steps.ended
      expect(steps.methods).toEqual([...Array(3).fill('notifications/progress'), undefined])
      expect(steps.messages.at(-1)).toMatchObject({ id: 'mine', result: { content: [{ text: 'three steps' }] } })
      server.sendToolListChanged()
      await listening.notified('notifications/tools/list_changed')
      expect(listening.methods).toEqual(['notifications/tools/list_changed'])
      expect(proxy.errors).toEqual([])
    },
  )

  it('2025-11-25: primes streams once the server behind it accepted the revision [SSE-019]', async () => {
    await using proxy = await startProxy(() => overMemory(workshop()))
    await using peer = await Peer.open(proxy.url, '2025-11-25')
    const stream = await peer.get()
    expect(await stream.until(() => stream.events[0])).toEqual({ id: expect.any(String), data: '' })
  })

  it('2025-03-26: answers a batch with one batch', async () => {
    await using proxy = await startProxy(() => overMemory(workshop()))
    await using peer = await Peer.open(proxy.url, '2025-03-26')
    const call = (id: number, text: string) => peer.message('tools/call', { name: 'echo', arguments: { text } }, id)
    const answer = await peer.post([call(1, 'one'), call(2, 'two')])
    const texts = ((await answer.json()) as unknown as Message[]).map(({ id, result }) => [
      id,
      result?.content?.[0]?.text,
    ])
    expect(texts.toSorted()).toEqual([
      [1, 'one'],
      [2, 'two'],
    ])
  })

  it(`${modern}: works without sessions, and notifies the other side when a client disconnects`, async () => {
    const server = workshop()
    const slow = registerSlow(server)
    await using proxy = await startProxy(() => overMemory(server), false)
    await using peer = new Peer(proxy.url, modern)
    expect(await peer.textOf('echo', { text: 'hello' })).toBe('hello')
    const stream = await peer.call('slow', {}, withProgress)
    await stream.notified('notifications/progress')
    stream.close()
    expect(await slow.aborted).toBe('The client closed the connection')
  })

  eachRevision(sessionRevisions, 'ends the stream of a request that the client cancels', async (revision) => {
    const server = workshop()
    const slow = registerSlow(server)
    await using proxy = await startProxy(() => overMemory(server))
    await using peer = await Peer.open(proxy.url, revision)
    const stream = await peer.call('slow', {}, { ...withProgress, id: 9 })
    await slow.began
    await peer.notify('notifications/cancelled', { requestId: 9, reason: 'enough' })
    expect(await stream.ended).toBe('ended')
    expect(await slow.aborted).toBe('enough')
  })

  eachRevision(httpRevisions, 'answers an invalid message itself', async (revision) => {
    await using proxy = await startProxy(() => overMemory(workshop()), revision !== modern)
    await using peer = await Peer.open(proxy.url, revision)
    const { error } = await (await peer.send('POST', {}, '{"jsonrpc":"2.0","id":1,"method":7}')).json()
    expect(error?.code).toBe(-32600)
  })

  it('rejects a response without a pending request', async () => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    transport.onmessage = () => {}
    await transport.start()
    await expect(transport.send({ jsonrpc: '2.0', id: 5, result: {} })).rejects.toThrow(/No request with the id 5/)
    await transport.close()
  })

  it('works without start() once onmessage is set', async () => {
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
    const seen: string[] = []
    transport.onmessage = (message, extra) => {
      const { id, method } = message as Message
      seen.push(`${method} ${extra?.requestInfo?.headers['x-who']}`)
      void transport.send({ jsonrpc: '2.0', id: id as number, result: { resultType: 'complete', content: [] } })
    }
    await using http = await listenWith((request, response) => void transport.handleRequest(request, response))
    await using peer = new Peer(http.url, modern, { headers: { 'x-who': 'me' } })
    expect((await peer.call('anything')).status).toBe(200)
    expect(seen).toEqual(['tools/call me'])
    await transport.close()
  })

  it('closes the other side when its session ends', async () => {
    const closed = gate()
    await using proxy = await startProxy(async () => {
      const far = await overMemory(workshop())
      far.onclose = () => closed.open()
      return far
    })
    await using peer = await Peer.open(proxy.url, '2025-11-25')
    await peer.delete()
    await closed.opened
  })
})
