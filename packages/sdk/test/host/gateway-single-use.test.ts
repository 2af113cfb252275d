import { describe, expect, it } from 'vitest'
import type { UsedStates } from '../../src/replay/used-states.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { serveNodes } from './gateway-nodes-support.ts'
import { post, serveGateway } from './gateway-support.ts'

/** The host asks its caller before each call. */
const asking = { policy: [{ kind: 'tool', decide: 'ask' } as const, { decide: 'allow' } as const] }
const params = { name: 'shop_pay', arguments: {} }

function shop() {
  const counts = { paid: 0 }
  const server = new McpServer({ name: 'shop', version: '1.0.0' })
  // What a server says about its tools proves nothing to the gateway.
  server.registerTool('pay', { annotations: { idempotentHint: true } }, () => `paid ${++counts.paid}`)
  return { server, counts }
}

/** Returns the params that answer the question of the gateway with "once". */
async function consent(url: string) {
  const { requestState, inputRequests } = (await post(url, 'tools/call', params)).body.result ?? {}
  expect(requestState).toBeTypeOf('string')
  const answer = { action: 'accept', content: { decision: 'once' } }
  const inputResponses = Object.fromEntries(Object.keys(inputRequests as object).map((key) => [key, answer]))
  return { ...params, requestState, inputResponses }
}

describe('a consent that a caller of a gateway sends twice', () => {
  it('allows one call by default [MRTR-022]', async () => {
    const { server, counts } = shop()
    await using gateway = await serveGateway({ shop: { server } }, { host: asking })
    const answered = await consent(gateway.url)
    expect(JSON.stringify((await post(gateway.url, 'tools/call', answered)).body.result)).toContain('paid 1')
    const again = await post(gateway.url, 'tools/call', answered)
    expect(again.body.error).toMatchObject({ code: -32602, message: expect.stringContaining('was already used') })
    expect(counts.paid).toBe(1)
  })

  it('allows one call on several nodes with a store, at whatever node it arrives [MRTR-022]', async () => {
    const used = new Set<string>()
    const singleUse: UsedStates = { claim: async (id) => !used.has(id) && !!used.add(id) }
    const server = { stateKey: 'a key that all nodes of this test share', questions: { singleUse } }
    const { server: upstream, counts } = shop()
    await using gateway = await serveNodes({ shop: { server: upstream } }, () => ({ server, host: asking }))
    const [one, two, three] = gateway.nodes.map(({ url }) => url)
    const answered = await consent(one!)
    expect(JSON.stringify((await post(two!, 'tools/call', answered)).body.result)).toContain('paid 1')
    for (const url of [one!, two!, three!]) {
      expect((await post(url, 'tools/call', answered)).body.error).toMatchObject({ code: -32602 })
    }
    expect(counts.paid).toBe(1)
  })

  it('continues at any node with a key and without a store', async () => {
    const { server, counts } = shop()
    await using gateway = await serveNodes({ shop: { server } }, () => ({ host: asking }))
    const answered = await consent(gateway.nodes[0]!.url)
    expect(JSON.stringify((await post(gateway.nodes[2]!.url, 'tools/call', answered)).body.result)).toContain('paid')
    expect(counts.paid).toBe(1)
  })
})
