import { describe, expect, it, onTestFinished } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { redisStore } from '../../src/store/redis/store.ts'
import { hasRedis, RedisServer } from '../kit/redis-server.ts'
import { accept, serveNodes, shop } from './gateway-nodes-support.ts'

describe('a node of a gateway that stops', () => {
  it('answers with an error if the node with the call has stopped, and does not call the tool again', async () => {
    const { server, counts } = shop('2025-11-25')
    await using gateway = await serveNodes({ shop: { server } })
    const [first] = gateway.nodes
    let isStopped = false
    const elicit = async () => {
      if (!isStopped) await first![Symbol.asyncDispose]()
      isStopped = true
      return accept()
    }
    const fetchFrom: typeof fetch = (input, init) =>
      isStopped ? fetch(new URL(new URL(String(input)).pathname, gateway.nodes[1]!.url), init) : fetch(input, init)
    await using client = await connect(first!.url, { revision: '2026-07-28', fetch: fetchFrom, handlers: { elicit } })
    await expect(client.callTool('shop_buy')).rejects.toThrow(/not open any more|has stopped/)
    expect(counts.bought).toBe(0)
    expect(counts.begun).toBe(1)
  }, 60_000)
})

describe.skipIf(!hasRedis)('nodes of a gateway that are connected by Redis', () => {
  it('continue each other\u2019s calls, and a tool of a 2025-11-25 server runs once', async () => {
    const redis = await RedisServer.start()
    onTestFinished(() => redis.close())
    const stores = [1, 2, 3].map(() => redisStore({ url: redis.url, prefix: 'gateway' }))
    const buses = stores.map(({ bus }) => bus)
    const { server, counts } = shop('2025-11-25')
    await using gateway = await serveNodes(
      { shop: { server } },
      () => ({}),
      () => buses.pop()!,
    )
    await using client = await connect(gateway.nodes[0]!.url, {
      revision: '2026-07-28',
      fetch: gateway.balance,
      handlers: { elicit: accept },
    })
    const results = await Promise.all(Array.from({ length: 10 }, () => client.callTool('shop_buy')))
    for (const { text } of results) expect(text).toContain('bought')
    expect(counts).toEqual({ begun: 10, bought: 10 })
    await Promise.all(stores.map((store) => store.close()))
  })
})
