import { expect, it } from 'vitest'
import { connect } from '../../src/entry/client.ts'
import { revisionIds } from '../../src/entry/index.ts'
import { Server } from '../../src/entry/server.ts'

const result = {
  content: [{ type: 'audio' as const, data: 'AAAA', mimeType: 'audio/wav' }],
  structuredContent: { price: 3 },
}
const handshakes = revisionIds.filter((id) => id < '2026-07-28')

async function call(results: 'as-is' | undefined, revision: (typeof revisionIds)[number]) {
  const server = new Server({ name: 'shop', version: '1.0.0' }, { results, capabilities: { tools: {} } })
  server.setRequestHandler('tools/call', () => result)
  server.setRequestHandler('tasks/list', () => ({ tasks: [] }))
  await using client = await connect(server, { revision, raw: true })
  const called = await client.request('tools/call', { name: 'price', arguments: {} })
  const listed = await client.request('tasks/list', {}).catch((error: { rpcCode?: number }) => error.rpcCode)
  return { called, listed }
}

it.each(handshakes)(
  'sends what handlers return, and serves every method, if results are as-is: %s',
  async (revision) => {
    expect(await call('as-is', revision)).toEqual({ called: result, listed: { tasks: [] } })
  },
)

it('adapts results to the revision of the client by default', async () => {
  expect(await call(undefined, '2024-11-05')).toEqual({
    called: { content: [{ type: 'text', text: '[audio, audio/wav]' }] },
    listed: -32601,
  })
})
