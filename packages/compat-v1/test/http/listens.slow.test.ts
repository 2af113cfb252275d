import { Agent, type IncomingMessage, request } from 'node:http'
import { describe, expect, it } from 'vitest'
import { Server } from '../../src/server/index.ts'
import { McpServer } from '../../src/server/mcp.ts'
import { StreamableHTTPServerTransport } from '../../src/server/streamableHttp.ts'
import { SubscribeRequestSchema } from '../../src/types.ts'
import { callStateless, listen, statelessMeta } from './support.ts'

function createServer(): McpServer {
  const server = new McpServer({ name: 'demo', version: '1.0.0' })
  server.registerTool('echo', {}, async () => ({ content: [] }))
  return server
}

describe('subscriptions of 2026-07-28 to programs of SDK 1.x', () => {
  it('are limited over all transports of the process, however many the program creates [SDK-031]', async () => {
    await using http = await listen(async (incoming, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      const server = createServer()
      response.on('close', () => void server.close())
      await server.connect(transport)
      await transport.handleRequest(incoming, response)
    })
    const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
    const open = () => openListen(http.url, agent)
    const streams: Awaited<ReturnType<typeof open>>[] = []
    // In groups, because a listening socket has a short queue.
    while (streams.length < 1_200) streams.push(...(await Promise.all(Array.from({ length: 50 }, open))))
    expect(streams.filter(({ statusCode }) => statusCode === 200)).toHaveLength(1_000)
    expect(streams.filter(({ statusCode }) => statusCode === 429 || statusCode === 503)).toHaveLength(200)
    // Other requests are answered meanwhile, and a stream that ends makes room for another.
    expect((await callStateless(http.url)).status).toBe(200)
    streams.find(({ statusCode }) => statusCode === 200)!.destroy()
    await expect.poll(async () => (await open()).statusCode).toBe(200)
    agent.destroy()
  })

  it('are limited too if all of them wait for the subscribe handler of the program [SDK-031]', async () => {
    let waiting = 0
    let release = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    await using http = await listen(async (incoming, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      const server = new Server({ name: 'demo', version: '1' }, { capabilities: { resources: { subscribe: true } } })
      server.setRequestHandler(SubscribeRequestSchema, async () => {
        waiting++
        await released
        return {}
      })
      response.on('close', () => void server.close())
      await server.connect(transport)
      await transport.handleRequest(incoming, response)
    })
    const agent = new Agent({ maxSockets: Number.POSITIVE_INFINITY })
    const answers: Promise<IncomingMessage>[] = []
    while (answers.length < 1_100) {
      for (let count = 0; count < 50; count++) answers.push(openListen(http.url, agent, ['note://one']))
      await expect.poll(() => waiting, { timeout: 60_000 }).toBe(answers.length)
    }
    release()
    const types = (await Promise.all(answers)).map(({ headers }) => headers['content-type'])
    // Every request was answered, those beyond the limit with an error.
    const streams = types.filter((type) => type === 'text/event-stream').length
    expect(streams).toBe(1_000)
    expect(types.filter((type) => type === 'application/json')).toHaveLength(100)
    agent.destroy()
  })
})

/** Opens a subscription and resolves with the response, which stays open if it was accepted. */
function openListen(url: string, agent: Agent, uris: string[] = []): Promise<IncomingMessage> {
  const params = { notifications: { toolsListChanged: true, resourceSubscriptions: uris }, _meta: statelessMeta }
  const headers = {
    accept: 'application/json, text/event-stream',
    'content-type': 'application/json',
    'mcp-protocol-version': '2026-07-28',
    'mcp-method': 'subscriptions/listen',
  }
  return new Promise((resolve, reject) => {
    const sent = request(url, { method: 'POST', headers, agent }, (response) => resolve(response.resume()))
    sent.on('error', reject)
    sent.end(JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'subscriptions/listen', params }))
  })
}
