import type { RevisionId } from 'tenon'
import { McpServer } from '../../src/server/mcp-server.ts'
import { MemoryBus } from '../../src/store/memory/bus.ts'
import type { Bus } from '../../src/store/ports.ts'
import { type ServedGateway, type ServedGatewayOptions, serveGateway } from './gateway-support.ts'

const size = { type: 'object' as const, properties: { size: { type: 'string' } }, required: ['size'] }
const stateKey = 'a key that all nodes of this test share, and nobody else'

/** A server whose tool asks twice, reports progress, and counts how often it ran. */
export function shop(revision: RevisionId) {
  const server = new McpServer({ name: 'shop', version: '1.0.0' }, { revisions: [revision] })
  const counts = { begun: 0, bought: 0 }
  server.registerTool('buy', {}, async (_, ctx) => {
    await ctx.once('begun', () => counts.begun++)
    const first = await ctx.elicit('Which size?', size)
    ctx.progress(1, { total: 2 })
    const second = await ctx.elicit('Which one for your friend?', size)
    if (first.action !== 'accept' || second.action !== 'accept') throw new Error('Nothing was bought')
    counts.bought++
    return `bought ${JSON.stringify([first.content, second.content])}`
  })
  return { server, counts }
}

/** Gateways that share a bus and a key, behind a load balancer that sends each request to the next one. */
export async function serveNodes(
  servers: Parameters<typeof serveGateway>[0],
  options: () => ServedGatewayOptions = () => ({}),
  busOf: () => Bus = sharedBus(),
) {
  const create = () => serveGateway(servers, { bus: busOf(), server: { stateKey }, ...options() })
  const nodes: ServedGateway[] = [await create(), await create(), await create()]
  let turn = 0
  const balance: typeof fetch = (input, init) => {
    const { url } = nodes[turn++ % nodes.length]!
    const { pathname } = new URL(String(input))
    return fetch(new URL(pathname, url), init)
  }
  return {
    nodes,
    balance,
    [Symbol.asyncDispose]: async () => {
      for (const node of nodes) await node[Symbol.asyncDispose]()
    },
  }
}

/** Answers every form. */
export const accept = () => ({ action: 'accept' as const, content: { size: 'M' } })

function sharedBus(): () => Bus {
  const bus = new MemoryBus()
  return () => bus
}
