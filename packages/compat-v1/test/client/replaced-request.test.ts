import { InMemoryTransport } from 'tenon/client'
import { McpServer } from 'tenon/server'
import { expect, it } from 'vitest'
import { Client } from '../../src/client/index.ts'
import type { Transport } from '../../src/shared/transport.ts'

it('sends initialize through a request method that the program replaced, with the version that it sets', async () => {
  const server = new McpServer({ name: 'demo', version: '1.0.0' }, { instructions: 'Be kind.' })
  server.registerTool('hi', {}, () => 'hi')
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  await server.connect(theirs)
  const client = new Client({ name: 'proxy', version: '1.0.0' })
  const original = client.request
  const results: unknown[] = []
  client.request = async function (this: Client, request: { params?: object }, ...rest: unknown[]) {
    Object.assign(request.params ?? {}, { protocolVersion: '2025-06-18' })
    const result = await Reflect.apply(original, this, [request, ...rest])
    results.push(result)
    return result
  } as never
  await client.connect(ours as unknown as Transport)
  client.request = original
  expect(results).toMatchObject([
    { protocolVersion: '2025-06-18', serverInfo: { name: 'demo' }, instructions: 'Be kind.' },
  ])
  expect((await client.callTool({ name: 'hi' })).content).toEqual([{ type: 'text', text: 'hi' }])
  expect(client.getServerVersion()?.name).toBe('demo')
  await client.close()
})
