import { connect } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { createBridge } from '../src/test/bridge.ts'
import { fixture } from './support.ts'

const server = { command: process.execPath, args: [fixture('notes.js')] }

describe('the bridge from HTTP to a stdio server', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)('passes calls, progress and cancellations on %s', async (revision) => {
    const bridge = await createBridge(server)
    try {
      await using client = await connect(bridge.url, { revision })
      expect((await client.callTool('add', { a: 1, b: 2 })).text).toBe('3')
      const aborted = new AbortController()
      const call = client.callTool('wait', {}, { signal: aborted.signal, onProgress: () => aborted.abort() })
      await expect(call).rejects.toMatchObject({ code: 'cancelled' })
      expect((await client.callTool('echo', { text: 'still there' })).text).toBe('still there')
    } finally {
      await bridge.close()
    }
  })

  it('lets a server ask its client', async () => {
    const bridge = await createBridge(server)
    try {
      const handlers = { elicit: () => ({ action: 'accept' as const, content: { name: 'Ann' } }) }
      await using client = await connect(bridge.url, { revision: '2025-11-25', handlers })
      expect((await client.callTool('name')).text).toBe('Hello Ann')
    } finally {
      await bridge.close()
    }
  })

  it('keeps the sessions of two clients apart', async () => {
    const bridge = await createBridge(server)
    try {
      await using first = await connect(bridge.url, { revision: '2025-11-25' })
      await using second = await connect(bridge.url, { revision: '2025-11-25' })
      const results = await Promise.all([
        first.callTool('echo', { text: 'first' }),
        second.callTool('echo', { text: 'second' }),
      ])
      expect(results.map(({ text }) => text)).toEqual(['first', 'second'])
    } finally {
      await bridge.close()
    }
  })
})
