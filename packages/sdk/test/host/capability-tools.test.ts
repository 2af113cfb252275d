import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { createGateway } from '../../src/host/gateway/gateway.ts'
import { createHost } from '../../src/host/host.ts'
import { memoryHostStore } from '../../src/host/host-store.ts'
import { Server } from '../../src/server/server.ts'

const revision = '2025-11-25'
const handlers = { elicit: () => ({ action: 'accept' as const, content: {} }) }

/** A server of the handshake era that offers one more tool to clients with elicitation. */
function dependent(change: { description?: string } = {}) {
  const server = new Server(
    { name: 'dependent', version: '1.0.0' },
    { capabilities: { tools: {} }, revisions: [revision] },
  )
  const tool = (name: string, description = `Does ${name}`) => ({
    name,
    description,
    inputSchema: { type: 'object' as const },
  })
  server.setRequestHandler('tools/list', (_params, ctx) => ({
    tools: [
      tool('work', ctx.can('elicit') ? change.description : undefined),
      ...(ctx.can('elicit') ? [tool('ask')] : []),
    ],
  }))
  server.setRequestHandler('tools/call', ({ name }) => ({ content: [{ type: 'text', text: `${name} ran` }] }))
  return server
}

const names = async (client: Awaited<ReturnType<typeof connect>>) =>
  (await client.listTools()).tools.map(({ name }) => name)

/** The operator allows connections and calls, and is never there to approve changed definitions. */
const policy = [{ kind: 'connect' as const, decide: 'allow' as const }, { decide: 'allow' as const }]

describe('tools that depend on what a caller can be asked', () => {
  it('are offered through a gateway to the callers that can, whoever comes first [HOST-016]', async () => {
    for (const order of ['plain first', 'asking first']) {
      await using host = await createHost({ servers: { s: { server: dependent() } }, policy })
      const gateway = createGateway(host)
      const open = {
        plain: () => connect(gateway, { revision }),
        asking: () => connect(gateway, { revision, handlers }),
      }
      const first = order === 'plain first' ? await open.plain() : await open.asking()
      await first.listTools()
      await using plain = await open.plain()
      await using asking = await open.asking()
      expect(await names(plain)).toEqual(['s_work'])
      expect(await names(asking)).toEqual(['s_work', 's_ask'])
      for (const name of ['s_work', 's_ask']) expect((await asking.callTool(name)).text).toBe(`${name.slice(2)} ran`)
      expect((await plain.callTool('s_work')).text).toBe('work ran')
      await expect(plain.callTool('s_ask')).rejects.toThrow('Unknown tool')
      expect(await names(plain)).toEqual(['s_work'])
      await first.close()
    }
  })

  it('are pinned for each set of abilities, so that nobody loses the server, also after a restart [HOST-016]', async () => {
    const store = memoryHostStore()
    for (let run = 0; run < 2; run++) {
      await using host = await createHost({ servers: { s: { server: dependent() } }, policy, store })
      const gateway = createGateway(host)
      await using plain = await connect(gateway, { revision })
      await using asking = await connect(gateway, { revision, handlers })
      expect((await plain.callTool('s_work')).text).toBe('work ran')
      expect((await asking.callTool('s_work')).text).toBe('work ran')
      expect((await plain.callTool('s_work')).text).toBe('work ran')
    }
  })

  it('hold the server if a tool that was approved is different for another set of abilities [HOST-016]', async () => {
    const servers = { s: { server: dependent({ description: 'Does something else' }) } }
    await using host = await createHost({ servers, policy })
    const gateway = createGateway(host)
    await using plain = await connect(gateway, { revision })
    expect((await plain.callTool('s_work')).text).toBe('work ran')
    await using asking = await connect(gateway, { revision, handlers })
    expect(await names(asking)).toEqual(['s_work'])
    const denied = await asking.callTool('s_work')
    expect(denied).toMatchObject({ isError: true, text: expect.stringContaining('until its definitions are approved') })
    expect((await plain.callTool('s_work')).text).toBe('work ran')
  })

  it('hold the server if one is changed after it was approved [HOST-016]', async () => {
    const store = memoryHostStore()
    const change: { description?: string } = {}
    for (const expected of [undefined, true]) {
      await using host = await createHost({ servers: { s: { server: dependent(change) } }, policy, store })
      await using asking = await connect(createGateway(host), { revision, handlers })
      await asking.listTools()
      expect((await asking.callTool('s_work')).isError).toBe(expected)
      change.description = 'Does something else'
    }
  })
})
