import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { connect } from '../../src/connect/connect.ts'
import type { HttpRequest } from '../../src/protocol/http-request.ts'
import { ResourceTemplate } from '../../src/server/features/resource-entry.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { eventually } from '../kit/eventually.ts'
import { serveGateway } from './gateway-support.ts'
import { createLog, fixture, isAlive } from './process-support.ts'

const notes = fixture('notes.mjs')
const users = { principal: ({ headers }: HttpRequest) => headers['x-user'] }
/** Callers with an identity: their calls and subscriptions use the same connection. */
const identified = [
  { revision: '2024-11-05', headers: {} },
  { revision: '2025-11-25', headers: {} },
  { revision: '2026-07-28', headers: { 'x-user': 'alice' } },
] as const

describe.each(identified)('a subscription of a caller of $revision to a slow stdio server', (caller) => {
  it('is confirmed when the server has it, so that the next update is heard [HOST-024]', async () => {
    await using gateway = await serveGateway({ notes: { command: process.execPath, args: [notes] } }, { http: users })
    await using client = await connect(gateway.url, caller)
    const updated = record(client)
    // The connection of the calls is there before.
    await client.callTool('notes_pid')
    await client.subscribeResource('notes://today')
    await client.callTool('notes_touch')
    await eventually(() => updated.length > 0, 5_000)
    expect(updated).toEqual(['notes://today'])
  })

  it('is an error if the server refuses it, and the others stay [HOST-024]', async () => {
    await using gateway = await serveGateway({ notes: { command: process.execPath, args: [notes] } }, { http: users })
    await using client = await connect(gateway.url, caller)
    const updated = record(client)
    await client.subscribeResource('notes://today')
    await expect(client.subscribeResource('notes://secret')).rejects.toThrow('Nobody may follow the secret')
    await client.callTool('notes_touch')
    await eventually(() => updated.length > 0, 5_000)
    expect(updated).toEqual(['notes://today'])
  })
})

describe('a stream of a caller of 2026-07-28', () => {
  it('acknowledges only the resources whose server confirmed them [HOST-024]', async () => {
    await using gateway = await serveGateway({ notes: { command: process.execPath, args: [notes] } })
    await using client = await connect(gateway.url, { revision: '2026-07-28' })
    const resourceSubscriptions = ['notes://secret', 'notes://today', 'notes://unknown']
    const stream = await client.listen({ resourceSubscriptions, toolsListChanged: true })
    expect(stream.honoured).toEqual({ resourceSubscriptions: ['notes://today'], toolsListChanged: true })
    await stream.close()
  })

  it('brings an anonymous caller the updates of a stdio server of 2025, from a process of its own [HOST-024] [HOST-021]', async () => {
    const file = await createLog()
    await using gateway = await serveGateway({ notes: { command: process.execPath, args: [notes, file.path] } })
    const callers = await Promise.all(
      Array.from({ length: 3 }, async () => {
        const client = await connect(gateway.url, { revision: '2026-07-28' })
        return { client, updated: record(client) }
      }),
    )
    await Promise.all(callers.map(({ client }) => client.subscribeResource('notes://today')))
    await callers[0]?.client.callTool('notes_write')
    await eventually(() => callers.every(({ updated }) => updated.length > 0), 10_000)
    for (const { updated } of callers) expect(new Set(updated)).toEqual(new Set(['notes://today']))
    await Promise.all(callers.map(({ client }) => client.close()))
  })

  it('shares the process of a server with shared: true, so that updates caused by calls are heard [HOST-024]', async () => {
    const entry = { command: process.execPath, args: [notes], shared: true }
    await using gateway = await serveGateway({ notes: entry })
    await using client = await connect(gateway.url, { revision: '2026-07-28' })
    const updated = record(client)
    await client.subscribeResource('notes://today')
    const pid = Number((await client.callTool('notes_touch')).text)
    await eventually(() => updated.length > 0, 5_000)
    expect(updated).toEqual(['notes://today'])
    expect(isAlive(pid)).toBe(true)
  })
})

describe('a stream for many resources', () => {
  it('makes the gateway look for them in one list of the server [HOST-024]', async () => {
    const server = new McpServer({ name: 'many', version: '1' }, { revisions: ['2025-11-25'] })
    server.registerResource('first', 'many://n0', {}, () => 'x')
    server.registerResource('other', new ResourceTemplate('many://{id}'), {}, () => 'x')
    let lists = 0
    server.server.use(({ method }, next) => {
      if (method === 'resources/list') lists++
      return next()
    })
    await using gateway = await serveGateway({ many: { server } })
    await using client = await connect(gateway.url, { revision: '2026-07-28' })
    const resourceSubscriptions = Array.from({ length: 500 }, (_, index) => `many://n${index}`)
    const stream = await client.listen({ resourceSubscriptions })
    expect(stream.honoured.resourceSubscriptions).toEqual(resourceSubscriptions)
    expect(lists).toBeLessThanOrEqual(3)
    await stream.close()
  })
})

function record(client: Client): string[] {
  const updated: string[] = []
  client.on('resourceUpdated', ({ uri }) => updated.push(uri))
  return updated
}
