import { connect } from 'tenon/client'
import { createMcpHandler, McpServer, MemoryBus, MemoryEventStore, MemorySessionStore } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import * as z from 'zod'

/** Creates two nodes with shared stores, and a fetch that alternates between them. */
function twoNodes(make: () => McpServer) {
  const shared = { sessionStore: new MemorySessionStore(), eventStore: new MemoryEventStore(), bus: new MemoryBus() }
  const nodes = [createMcpHandler(make(), shared), createMcpHandler(make(), shared)] as const
  let turn = 0
  const fetch = (url: string | URL, init?: RequestInit) => nodes[turn++ % 2]!.fetch(new Request(url, init))
  return {
    fetch: fetch as typeof globalThis.fetch,
    [Symbol.asyncDispose]: async () => {
      for (const node of nodes) await node.close(100)
    },
  }
}

describe('sessions served by several processes', () => {
  for (const revision of ['2025-06-18', '2025-11-25'] as const) {
    it(`route an answer to the process that asked, whichever process receives it (${revision})`, async () => {
      await using nodes = twoNodes(() => {
        const server = new McpServer({ name: 'node', version: '1.0.0' })
        server.registerTool('three', {}, async (_args, ctx) => {
          const words: string[] = []
          for (const key of ['a', 'b', 'c']) {
            const { content } = await ctx.elicit(key, z.object({ word: z.string() }), { key, timeoutMs: 5_000 })
            words.push(content!.word)
          }
          return words.join(' ')
        })
        return server
      })
      const client = await connect('http://127.0.0.1/mcp', {
        revision,
        fetch: nodes.fetch,
        handlers: { elicit: ({ message }) => ({ action: 'accept', content: { word: message.toUpperCase() } }) },
      })
      const calls = Array.from({ length: 11 }, () => client.callTool('three'))
      for (const result of await Promise.all(calls)) expect(result.text).toBe('A B C')
      await client.close()
    })
  }

  it('cancel a call in any process that receives the cancellation (2025-11-25)', async () => {
    let aborted = 0
    await using nodes = twoNodes(() => {
      const server = new McpServer({ name: 'node', version: '1.0.0' })
      server.registerTool('wait', {}, async (_args, ctx) => {
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
        aborted++
      })
      return server
    })
    const client = await connect('http://127.0.0.1/mcp', { revision: '2025-11-25', fetch: nodes.fetch })
    for (let call = 1; call <= 4; call++) {
      const stop = new AbortController()
      const waiting = client.callTool('wait', {}, { signal: stop.signal })
      setTimeout(() => stop.abort(), 20)
      await expect(waiting).rejects.toMatchObject({ code: 'cancelled' })
      await expect.poll(() => aborted).toBe(call)
    }
    await client.close()
  })
})
