import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { MemoryTaskStore } from '../../src/store/memory/tasks.ts'
import { tasks } from '../../src/tasks/runtime.ts'
import { eventually } from '../kit/eventually.ts'
import { accept, serveNodes, shop } from './gateway-nodes-support.ts'

describe('a gateway with several nodes', () => {
  it.each(['2025-06-18', '2025-11-25', '2026-07-28'] as const)(
    'continues a call at whatever node the answer arrives, and the tool of a server of %s runs once',
    async (upstream) => {
      const { server, counts } = shop(upstream)
      await using gateway = await serveNodes({ shop: { server } })
      await using client = await connect(gateway.nodes[0]!.url, {
        revision: '2026-07-28',
        fetch: gateway.balance,
        handlers: { elicit: accept },
      })
      const results = await Promise.all([1, 2, 3, 4].map(() => client.callTool('shop_buy')))
      for (const { text } of results) expect(text).toBe('bought [{"size":"M"},{"size":"M"}]')
      expect(counts).toMatchObject({ bought: 4, ...(upstream !== '2026-07-28' && { begun: 4 }) })
    },
  )

  it('passes on errors of the server from the node that has the call', async () => {
    const { server } = shop('2025-11-25')
    await using gateway = await serveNodes({ shop: { server } })
    const decline = () => ({ action: 'decline' as const })
    await using client = await connect(gateway.nodes[0]!.url, {
      revision: '2026-07-28',
      fetch: gateway.balance,
      handlers: { elicit: decline },
    })
    expect(await client.callTool('shop_buy')).toMatchObject({ isError: true, text: 'Nothing was bought' })
  })

  it('runs tasks on any node, with questions to the caller', async () => {
    const { server, counts } = shop('2025-11-25')
    const withTasks = new McpServer({ name: 'x', version: '1' }, { tasks: tasks({ policy: 'always' }) })
    withTasks.registerTool('now', { execution: { taskSupport: 'optional' } }, () => 'now')
    const store = new MemoryTaskStore()
    await using gateway = await serveNodes({ shop: { server }, x: { server: withTasks } }, () => ({
      tasks: tasks({ store, policy: 'always', pollIntervalMs: 20 }),
    }))
    await using client = await connect(gateway.nodes[0]!.url, {
      revision: '2026-07-28',
      tasks: true,
      fetch: gateway.balance,
      handlers: { elicit: accept },
    })
    expect((await client.callTool('x_now')).text).toBe('now')
    expect((await client.callTool('shop_buy')).text).toContain('bought')
    await eventually(() => counts.bought === 1)
  })
})
