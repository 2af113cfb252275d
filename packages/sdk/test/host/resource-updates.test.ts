import { describe, expect, it } from 'vitest'
import { createHost } from '../../src/host/host.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { eventually } from '../kit/eventually.ts'
import { allowAll } from './support.ts'

describe.each(['2025-11-25', '2026-07-28'] as const)('host.subscribeResource, at a server of %s', (revision) => {
  /** A server with one resource. */
  function notes(subscribe = true) {
    const capabilities = { resources: { subscribe } }
    const server = new McpServer({ name: 'notes', version: '1.0.0' }, { revisions: [revision], capabilities })
    server.registerResource('today', 'notes://today', {}, () => 'Buy milk')
    return server
  }

  it('finds the server of the resource, and calls the listener until it ends', async () => {
    const server = notes()
    const servers = { notes: { server }, other: { server: new McpServer({ name: 'other', version: '1.0.0' }) } }
    await using host = await createHost({ servers, policy: allowAll })
    const seen: string[] = []
    const also: string[] = []
    const end = await host.subscribeResource('notes://today', ({ uri }) => seen.push(uri))
    const endOther = await host.subscribeResource('notes://today', ({ uri }) => also.push(uri), { server: 'notes' })
    server.sendResourceUpdated('notes://today')
    await eventually(() => seen.length === 1 && also.length === 1)
    await end()
    server.sendResourceUpdated('notes://today')
    await eventually(() => also.length === 2)
    expect(seen).toEqual(['notes://today'])
    await endOther()
  })

  it('rejects if no server has the resource, or if its server sends no updates', async () => {
    await using host = await createHost({ servers: { notes: { server: notes(false) } }, policy: allowAll })
    await expect(host.subscribeResource('notes://none', () => {})).rejects.toMatchObject({ code: 'invalid-argument' })
    await expect(host.subscribeResource('notes://today', () => {})).rejects.toThrow('does not send updates')
  })

  it('needs the permission to read the resource', async () => {
    const policy = [{ kind: 'resource' as const, decide: 'deny' as const }, ...allowAll]
    await using host = await createHost({ servers: { notes: { server: notes() } }, policy })
    await expect(host.subscribeResource('notes://today', () => {})).rejects.toMatchObject({ code: 'denied' })
  })
})
