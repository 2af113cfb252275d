import { Client, type ServerDescription } from 'tenon/client'
import { describe, expect, it } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { modern } from '../kit/revisions.ts'
import { scripted, scriptedClient } from '../kit/scripted-server.ts'
import { methodsOf } from '../kit/transcript.ts'

const info = { name: 'test', version: '1.0.0' }

describe('the order of the negotiation', () => {
  it('sends only initialize to a server with a handshake, if the handshake comes first', async () => {
    const server = scripted('2025-11-25')
    const client = await scriptedClient(server, { negotiation: 'handshake-first' })
    expect(client.revision).toBe('2025-11-25')
    expect(methodsOf(server.transcript, 'client')).toEqual(['initialize', 'notifications/initialized'])
    await client.close()
  })

  it.each([
    ['does not know initialize', { code: -32601, message: 'Method not found' }],
    ['lists other versions', { code: -32022, message: 'Unsupported', data: { supported: [modern] } }],
  ])('sends server/discover to a server that %s', async (_, error) => {
    const server = scripted(modern, { initialize: () => ({ error }) })
    const client = await scriptedClient(server, { negotiation: 'handshake-first' })
    expect(client.revision).toBe(modern)
    expect(methodsOf(server.transcript, 'client')).toEqual(['initialize', 'server/discover'])
    await client.close()
  })

  it('reports the error of initialize if the server rejects it for another reason', async () => {
    const server = scripted(modern, { initialize: () => ({ error: { code: -32603, message: 'Out of order' } }) })
    const client = new Client(info, { negotiation: 'handshake-first' })
    expect(await errorOf(client.connect(server.transport))).toMatchObject({ rpcCode: -32603, message: 'Out of order' })
    expect(methodsOf(server.transcript, 'client')).toEqual(['initialize'])
  })

  it('reports the error of initialize if server/discover fails, too', async () => {
    const server = scripted('2025-11-25', { initialize: () => ({ error: { code: -32601, message: 'Not here' } }) })
    const client = new Client(info, { negotiation: 'handshake-first' })
    expect(await errorOf(client.connect(server.transport))).toMatchObject({ rpcCode: -32601, message: 'Not here' })
  })

  it.each(['2025-11-25', modern] as const)('sends nothing to a known server of %s', async (revision) => {
    const first = await scriptedClient(scripted(revision))
    const known = JSON.parse(JSON.stringify(first.server)) as ServerDescription
    await first.close()
    const server = scripted(revision, { 'tools/list': () => ({ result: { resultType: 'complete', tools: [] } }) })
    const client = new Client(info)
    await client.connect(server.transport, { server: known })
    expect(client.server).toMatchObject(known)
    await client.listTools()
    expect(methodsOf(server.transcript, 'client')).toEqual(['tools/list'])
    await client.close()
  })

  it('stops connecting when the signal aborts', async () => {
    const server = scripted('2025-11-25', { initialize: () => undefined as never })
    const stop = new AbortController()
    const connecting = new Client(info, { negotiation: 'handshake-first' }).connect(server.transport, {
      signal: stop.signal,
    })
    stop.abort()
    expect(await errorOf(connecting)).toMatchObject({ code: 'cancelled' })
  })
})
