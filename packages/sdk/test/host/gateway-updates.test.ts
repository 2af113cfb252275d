import type { RevisionId } from 'tenon'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { eventually } from '../kit/eventually.ts'
import { serveGateway } from './gateway-support.ts'

const eras = ['2025-11-25', '2026-07-28'] as const
const pairs = eras.flatMap((caller) => eras.map((upstream) => [caller, upstream] as const))

/** A server with two notes and a tool that logs. */
function notes(revision: RevisionId): McpServer {
  const server = new McpServer({ name: 'notes', version: '1.0.0' }, { revisions: [revision] })
  for (const day of ['today', 'tomorrow']) server.registerResource(day, `notes://${day}`, {}, () => day)
  const inputSchema = { type: 'object' as const, properties: { text: { type: 'string' } } }
  server.registerTool('log', { inputSchema }, ({ text }, ctx) => {
    ctx.log.debug(`debug ${text}`, 'notes')
    ctx.log.warning(`warning ${text}`, 'notes')
    return 'logged'
  })
  return server
}

describe.each(pairs)('subscriptions of a caller of %s to a server of %s', (revision, upstream) => {
  it('bring updates of the resource, and of no other', async () => {
    const server = notes(upstream)
    await using gateway = await serveGateway({ notes: { server } })
    await using client = await connect(gateway.url, { revision })
    const updated: string[] = []
    client.on('resourceUpdated', ({ uri }) => updated.push(uri))
    await client.subscribeResource('notes://today')
    await eventually(() => {
      server.sendResourceUpdated('notes://tomorrow')
      server.sendResourceUpdated('notes://today')
      return updated.length > 0
    })
    expect(new Set(updated)).toEqual(new Set(['notes://today']))
  })

  it('end with those of the caller', async () => {
    const server = notes(upstream)
    await using gateway = await serveGateway({ notes: { server } })
    await using client = await connect(gateway.url, { revision })
    await using other = await connect(gateway.url, { revision })
    const counts = { client: 0, other: 0 }
    client.on('resourceUpdated', () => counts.client++)
    other.on('resourceUpdated', () => counts.other++)
    await client.subscribeResource('notes://today')
    await other.subscribeResource('notes://today')
    await eventually(() => {
      server.sendResourceUpdated('notes://today')
      return counts.client > 0 && counts.other > 0
    })
    await client.unsubscribeResource('notes://today')
    const before = counts.client
    const wanted = counts.other + 20
    await eventually(() => {
      server.sendResourceUpdated('notes://today')
      return counts.other > wanted
    })
    expect(counts.client).toBeLessThanOrEqual(before + 2)
  })

  it('work for a URI that several servers have', async () => {
    const servers = { a: notes(upstream), b: notes(upstream) }
    await using gateway = await serveGateway({ a: { server: servers.a }, b: { server: servers.b } })
    await using client = await connect(gateway.url, { revision })
    const uris = (await client.listResources().all()).map(({ uri }) => uri)
    const ofB = uris.find((uri) => uri.startsWith('tenon-gateway:b/') && uri.includes('today'))!
    const updated: string[] = []
    client.on('resourceUpdated', ({ uri }) => updated.push(uri))
    await client.subscribeResource(ofB)
    await eventually(() => {
      servers.a.sendResourceUpdated('notes://today')
      servers.b.sendResourceUpdated('notes://today')
      return updated.length > 0
    })
    expect(new Set(updated)).toEqual(new Set([ofB]))
  })
})

describe('a subscription through a gateway', () => {
  it('reaches nobody if the policy denies the resource', async () => {
    const server = notes('2025-11-25')
    const errors: unknown[] = []
    const policy = [
      { kind: 'resource', decide: 'deny' },
      { kind: ['connect', 'definitions'], decide: 'allow' },
    ] as const
    await using gateway = await serveGateway(
      { notes: { server } },
      { host: { policy }, server: { onError: (error) => void errors.push(error) } },
    )
    await using client = await connect(gateway.url, { revision: '2025-11-25' })
    let updates = 0
    client.on('resourceUpdated', () => updates++)
    await expect(client.subscribeResource('notes://today')).rejects.toThrow('denied')
    await eventually(() => errors.length > 0)
    expect(errors[0]).toMatchObject({ code: 'denied' })
    server.sendResourceUpdated('notes://today')
    await client.ping()
    expect(updates).toBe(0)
  })

  it('is restored when the connection to the server was lost, and reports what may have been missed', async () => {
    const server = notes('2025-11-25')
    await using gateway = await serveGateway({ notes: { server } })
    await using client = await connect(gateway.url, { revision: '2025-11-25' })
    let updates = 0
    client.on('resourceUpdated', () => updates++)
    await client.subscribeResource('notes://today')
    await eventually(() => {
      server.sendResourceUpdated('notes://today')
      return updates > 0
    })
    await server.close()
    const before = updates
    await eventually(() => updates > before)
    const restored = updates
    await eventually(() => {
      server.sendResourceUpdated('notes://today')
      return updates > restored
    })
  })
})

describe.each(pairs)('log messages for a caller of %s from a server of %s', (revision, upstream) => {
  it('reach the caller of the tool at the level that it chose, and name the server', async () => {
    await using gateway = await serveGateway({ notes: { server: notes(upstream) } })
    const logs: Record<'a' | 'b', string[]> = { a: [], b: [] }
    await using a = await connect(gateway.url, { revision })
    await using b = await connect(gateway.url, { revision })
    a.on('log', ({ level, data, logger }) => logs.a.push(`${level} ${data} (${logger})`))
    b.on('log', ({ level, data, logger }) => logs.b.push(`${level} ${data} (${logger})`))
    await a.setLoggingLevel('debug')
    await b.setLoggingLevel('error')
    await a.callTool('notes_log', { text: 'one' })
    await b.callTool('notes_log', { text: 'two' })
    await eventually(() => logs.a.length === 2)
    expect(logs.a).toEqual(['debug debug one (notes/notes)', 'warning warning one (notes/notes)'])
    expect(logs.b).toEqual([])
  })
})

describe('log messages of a server over HTTP that many callers share', () => {
  it('reach the caller whose call caused them, while other calls run', async () => {
    const { serveHttp } = await import('../../src/serve/http.ts')
    await using upstream = await serveHttp(notes('2026-07-28'), { port: 0, exit: false })
    await using gateway = await serveGateway({ notes: { url: upstream.url } })
    const callers = await Promise.all(
      ['a', 'b', 'c', 'd'].map(async (name) => {
        const client = await connect(gateway.url, { revision: '2026-07-28' })
        const logs: unknown[] = []
        client.on('log', ({ data }) => logs.push(data))
        return { name, client, logs }
      }),
    )
    await Promise.all(
      callers.flatMap(({ name, client }) => [1, 2, 3].map(() => client.callTool('notes_log', { text: name }))),
    )
    for (const { name, logs, client } of callers) {
      expect(new Set(logs)).toEqual(new Set([`warning ${name}`]))
      expect(logs).toHaveLength(3)
      await client.close()
    }
  })
})

describe('log messages outside of calls', () => {
  it('reach the session whose connection they came on', async () => {
    const server = notes('2025-11-25')
    await using gateway = await serveGateway({ notes: { server } })
    await using client = await connect(gateway.url, { revision: '2025-11-25' })
    const logs: unknown[] = []
    client.on('log', ({ data, logger }) => logs.push([data, logger]))
    await client.callTool('notes_log', { text: 'x' })
    logs.length = 0
    await eventually(() => {
      server.server.sendLoggingMessage({ level: 'error', data: 'on fire' })
      return logs.length > 0
    })
    expect(logs[0]).toEqual(['on fire', 'notes'])
  })
})

describe('subscriptions to resources that do not exist', () => {
  it.each(eras)('do not fill the log of the operator (caller of %s)', async (revision) => {
    const server = notes('2026-07-28')
    const errors: unknown[] = []
    const onError = (error: unknown) => errors.push(error)
    await using gateway = await serveGateway({ notes: { server } }, { server: { onError } })
    await using client = await connect(gateway.url, { revision })
    const updated: string[] = []
    client.on('resourceUpdated', ({ uri }) => updated.push(uri))
    for (const uri of ['notes://never', 'tenon-gateway:nobody/x'])
      await expect(client.subscribeResource(uri)).rejects.toThrow('Resource not found')
    await client.subscribeResource('notes://today')
    await eventually(() => {
      server.sendResourceUpdated('notes://today')
      return updated.length > 0
    })
    expect(errors).toEqual([])
  })
})
