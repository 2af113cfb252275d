import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { MemoryTaskStore } from '../../src/store/memory/tasks.ts'
import { tasks } from '../../src/tasks/runtime.ts'
import { accept, serveNodes, shop } from './gateway-nodes-support.ts'

describe('tasks of users on several nodes', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)(
    'keep their user and scopes on any node (a server of %s)',
    async (upstream) => {
      const { server } = shop(upstream)
      const store = new MemoryTaskStore()
      const verify = async (token: string) => ({ subject: token, scopes: ['shop'] })
      const auth = { verify, resource: 'http://127.0.0.1/mcp', authorizationServers: ['https://login.example'] }
      const runner = new McpServer({ name: 'x', version: '1' }, { tasks: tasks({ policy: 'always' }) })
      runner.registerTool('whoami', { execution: { taskSupport: 'optional' } }, () => 'done')
      await using gateway = await serveNodes({ shop: { server }, x: { server: runner } }, () => ({
        tasks: tasks({ store, policy: 'always', pollIntervalMs: 20 }),
        access: [{ scope: 'shop' }],
        http: { auth },
      }))
      await using client = await connect(gateway.nodes[0]!.url, {
        revision: '2026-07-28',
        tasks: true,
        fetch: gateway.balance,
        headers: { authorization: 'Bearer alice' },
        handlers: { elicit: accept },
      })
      expect((await client.callTool('x_whoami')).text).toBe('done')
      expect((await client.callTool('shop_buy')).text).toContain('bought')
    },
  )
})
