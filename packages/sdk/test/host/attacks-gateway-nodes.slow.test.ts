import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { MemoryBus } from '../../src/store/memory/bus.ts'
import type { Bus } from '../../src/store/ports.ts'
import { deferred } from '../../src/util/deferred.ts'
import { eventually } from '../kit/eventually.ts'
import { accept } from './gateway-nodes-support.ts'
import { serveGateway } from './gateway-support.ts'

const stateKey = 'a key that all nodes of this test share, and nobody else'
const size = { type: 'object' as const, properties: { size: { type: 'string' } }, required: ['size'] }

describe('a node of a gateway that drives the call of another', () => {
  it('and ends in the middle does not keep the call open for ever', async () => {
    const bus = new MemoryBus()
    const server = new McpServer({ name: 'shop', version: '1' }, { revisions: ['2025-11-25'] })
    const answered = deferred<void>()
    const proceed = deferred<void>()
    let cancelled = 0
    server.registerTool('buy', {}, async (_, ctx) => {
      ctx.signal.addEventListener('abort', () => cancelled++)
      await ctx.elicit('Which size?', size)
      answered.resolve()
      await proceed.promise
      await ctx.elicit('Which colour?', size)
      return 'bought'
    })
    const options = { server: { stateKey }, parkedMs: 10_000 }
    await using first = await serveGateway({ shop: { server } }, { ...options, bus })
    let isDead = false
    // A process that ended neither sends nor receives.
    const dying: Bus = {
      publish: (topic, message) => (isDead ? undefined : bus.publish(topic, message)),
      subscribe: (topic, listener) => bus.subscribe(topic, (message) => (isDead ? undefined : listener(message))),
    }
    await using second = await serveGateway({ shop: { server } }, { ...options, bus: dying })
    let turn = 0
    const fetchFrom: typeof fetch = (input, init) => {
      const { pathname } = new URL(String(input))
      return fetch(new URL(pathname, turn > 0 ? second.url : first.url), init)
    }
    const elicit = () => {
      turn++
      return accept()
    }
    await using client = await connect(first.url, { revision: '2026-07-28', fetch: fetchFrom, handlers: { elicit } })
    const call = client.callTool('shop_buy').catch((error: unknown) => error)
    await answered.promise
    isDead = true
    proceed.resolve()
    await eventually(() => cancelled === 1, 60_000)
    expect(await call).toBeInstanceOf(Error)
  }, 120_000)
})
