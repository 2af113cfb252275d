import { describe, expect, it } from 'vitest'
import { InMemoryTransport } from '../../src/core/in-memory.ts'
import { McpServer } from '../../src/server/index.ts'
import { serveStdio } from '../../src/server/stdio.ts'
import { envelope, RawClient } from './kit.ts'

async function serve(options: { legacy?: 'serve' | 'reject' } = {}) {
  const eras: string[] = []
  const [own, theirs] = InMemoryTransport.createLinkedPair()
  let server: McpServer | undefined
  const handle = serveStdio(
    ({ era }) => {
      eras.push(era)
      server = new McpServer({ name: 'demo', version: '1.0.0' })
      server.registerTool('hi', {}, () => ({ content: [{ type: 'text', text: era }] }))
      return server
    },
    { ...options, transport: theirs },
  )
  const client = new RawClient(own)
  await own.start()
  return { client, handle, eras, current: () => server as McpServer }
}

describe('serveStdio of the 2.x packages', () => {
  it('serves the era of the first request', async () => {
    const { client, eras, handle } = await serve()
    const { result } = await client.request(1, 'tools/call', { name: 'hi', _meta: envelope })
    expect(result).toMatchObject({ resultType: 'complete', content: [{ text: 'modern' }] })
    expect(eras).toEqual(['modern'])
    await handle.close()
  })

  it('lets a client ask server/discover and then fall back to initialize', async () => {
    const { client, eras, handle } = await serve()
    const { result } = await client.request(1, 'server/discover', { _meta: envelope })
    expect(result).toMatchObject({ supportedVersions: ['2026-07-28'] })
    expect((await client.initialize()).result).toMatchObject({ protocolVersion: '2025-11-25' })
    expect((await client.request(2, 'tools/call', { name: 'hi' })).result).toMatchObject({
      content: [{ text: 'legacy' }],
    })
    expect(eras).toEqual(['modern', 'legacy'])
    await handle.close()
  })

  it('answers initialize with the revisions that it serves if legacy is set to reject', async () => {
    const { client, handle } = await serve({ legacy: 'reject' })
    expect((await client.initialize()).error).toMatchObject({ code: -32022, data: { supported: ['2026-07-28'] } })
    await handle.close()
  })

  it('sends list changes to the subscriptions that want them', async () => {
    const { client, current, handle } = await serve()
    await client.send({
      id: 5,
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true }, _meta: envelope },
    })
    await client.find(({ method }) => method === 'notifications/subscriptions/acknowledged')
    current().registerTool('more', {}, () => ({ content: [] }))
    const changed = await client.find(({ method }) => method === 'notifications/tools/list_changed')
    expect(changed.params).toEqual({ _meta: { 'io.modelcontextprotocol/subscriptionId': 5 } })
    await handle.close()
    expect(await client.find(({ id }) => id === 5)).toMatchObject({ result: { resultType: 'complete' } })
  })
})
