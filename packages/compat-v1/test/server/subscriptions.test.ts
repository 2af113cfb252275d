import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { Server } from '../../src/server/index.ts'
import { StreamableHTTPServerTransport } from '../../src/server/streamableHttp.ts'
import { ErrorCode, McpError, SubscribeRequestSchema, UnsubscribeRequestSchema } from '../../src/types.ts'
import { listen } from '../http/support.ts'
import { connectTo } from './connect.ts'

/** A program that sends updates to recorded subscribers only, and lets nobody subscribe to what is private. */
function createServer(subscribed: Set<string>, log: string[] = []): Server {
  const server = new Server({ name: 'notes', version: '1.0.0' }, { capabilities: { resources: { subscribe: true } } })
  server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
    log.push(`subscribe ${uri} by ${server.getClientVersion()?.name}`)
    if (uri.includes('private')) throw new McpError(ErrorCode.MethodNotFound, 'Not yours')
    subscribed.add(uri)
    return {}
  })
  server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    log.push(`unsubscribe ${uri}`)
    subscribed.delete(uri)
    return {}
  })
  return server
}

const info = { name: 'tester', version: '1' }

describe('a subscription of a 2026-07-28 client to a program of SDK 1.x', () => {
  it('calls the subscribe handler for each resource, and the unsubscribe handler when it ends', async () => {
    const subscribed = new Set<string>()
    const log: string[] = []
    await using client = await connectTo(createServer(subscribed, log), '2026-07-28', { info })
    const uris = ['note://one', 'note://two']
    const subscription = await client.listen({ resourceSubscriptions: uris })
    expect([...subscribed]).toEqual(uris)
    await subscription.close()
    await expect
      .poll(() => log)
      .toEqual([
        'subscribe note://one by tester',
        'subscribe note://two by tester',
        'unsubscribe note://one',
        'unsubscribe note://two',
      ])
  })

  it('calls the unsubscribe handler when the last request for a resource ends', async () => {
    const subscribed = new Set<string>()
    const log: string[] = []
    await using client = await connectTo(createServer(subscribed, log), '2026-07-28', { info })
    const first = await client.listen({ resourceSubscriptions: ['note://one', 'note://two'] })
    const second = await client.listen({ resourceSubscriptions: ['note://one'] })
    await first.close()
    await expect.poll(() => log.filter((line) => line.startsWith('unsubscribe'))).toEqual(['unsubscribe note://two'])
    expect([...subscribed]).toEqual(['note://one'])
    await second.close()
    await expect.poll(() => subscribed.size).toBe(0)
  })

  it('leaves out a resource that the handler refuses [SDK-030]', async () => {
    const subscribed = new Set<string>()
    const log: string[] = []
    const server = createServer(subscribed, log)
    await using client = await connectTo(server, '2026-07-28', { info })
    const updated: string[] = []
    client.on('resourceUpdated', ({ uri }) => void updated.push(uri))
    const subscription = await client.listen({ resourceSubscriptions: ['note://private', 'note://one'] })
    await server.sendResourceUpdated({ uri: 'note://private' })
    await server.sendResourceUpdated({ uri: 'note://one' })
    await expect.poll(() => updated).toEqual(['note://one'])
    await subscription.close()
    await expect.poll(() => log.at(-1)).toBe('unsubscribe note://one')
    expect(log).not.toContain('unsubscribe note://private')
  })

  it('gets every update of a program without a subscribe handler', async () => {
    const server = new Server({ name: 'notes', version: '1.0.0' }, { capabilities: { resources: { subscribe: true } } })
    await using client = await connectTo(server, '2026-07-28')
    const updated: string[] = []
    client.on('resourceUpdated', ({ uri }) => void updated.push(uri))
    await client.listen({ resourceSubscriptions: ['note://one'] })
    await server.sendResourceUpdated({ uri: 'note://one' })
    await expect.poll(() => updated).toEqual(['note://one'])
  })

  it('reaches subscribers of a program that creates a server for each HTTP request, and forgets those that leave', async () => {
    const subscribers = new Set<Server>()
    await using http = await listen(async (request, response) => {
      const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined })
      const server = new Server(
        { name: 'notes', version: '1.0.0' },
        { capabilities: { resources: { subscribe: true } } },
      )
      server.setRequestHandler(SubscribeRequestSchema, () => {
        subscribers.add(server)
        return {}
      })
      server.setRequestHandler(UnsubscribeRequestSchema, () => {
        subscribers.delete(server)
        return {}
      })
      await server.connect(transport)
      await transport.handleRequest(request, response)
    })
    const client = await connect(http.url, { revision: '2026-07-28' })
    const updated: string[] = []
    client.on('resourceUpdated', ({ uri }) => void updated.push(uri))
    await client.listen({ resourceSubscriptions: ['note://one'] })
    expect(subscribers.size).toBe(1)
    for (const server of subscribers) await server.sendResourceUpdated({ uri: 'note://one' })
    await expect.poll(() => updated).toEqual(['note://one'])
    await client.close()
    await expect.poll(() => subscribers.size).toBe(0)
  })
})
