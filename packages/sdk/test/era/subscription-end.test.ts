import { connect } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'

function noticeable(): McpServer {
  const server = new McpServer({ name: 's', version: '1' })
  server.registerTool('t', {}, () => 'x')
  return server
}

describe('a subscription', () => {
  it.each(['2026-07-28', '2025-11-25'] as const)(
    'reports the end of a subscription that was closed (%s)',
    async (revision) => {
      await using client = await connect(noticeable(), { revision })
      const subscription = await client.listen({ toolsListChanged: true })
      await subscription.close()
      await expect(subscription.ended).resolves.toBeUndefined()
    },
  )

  it('reports the end of a subscription that the server ended [SUB-012]', async () => {
    const server = noticeable()
    const client = await connect(server, { revision: '2026-07-28' })
    const subscription = await client.listen({ toolsListChanged: true })
    await server.close()
    await expect(subscription.ended).resolves.toBeUndefined()
    await client.close()
  })

  it.each(['2026-07-28', '2025-11-25'] as const)(
    'reports the end of a subscription when the client is closed (%s)',
    async (revision) => {
      const client = await connect(noticeable(), { revision })
      const subscription = await client.listen({ toolsListChanged: true })
      await client.close()
      await expect(subscription.ended).resolves.toBeUndefined()
    },
  )
})
