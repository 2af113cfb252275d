import type { RevisionId } from 'tenon'
import { describe, expect, it } from 'vitest'
import type { Client } from '../../src/client/client.ts'
import { connect } from '../../src/connect/connect.ts'
import type { AuditRecord } from '../../src/host/audit/audit.ts'
import type { Host } from '../../src/host/host.ts'
import { eventually } from '../kit/eventually.ts'
import { serveGateway } from './gateway-support.ts'
import { fixture } from './process-support.ts'
import { echo } from './support.ts'

const flood = { command: process.execPath, args: [fixture('flood.mjs')] }
const count = 20_000

describe('a server that floods its subscribers with updates', () => {
  it.each([
    { kind: 'updates', heard: 'notes://today' },
    // Too many to remember, so the resource that contains them may have changed.
    { kind: 'parts', heard: 'notes://today' },
  ])('is heard, but not $kind by $kind, and does not hide a later update [HOST-025]', async ({ kind, heard }) => {
    const { audit, records } = recordingAudit()
    await using gateway = await serveGateway({ flood: { ...flood, shared: true } }, { host: { audit } })
    const notices = noticesOf(gateway.host)
    const callers = await subscribers(gateway.url, 10)
    await callers[0]?.client.callTool('flood_flood', { kind, count })
    await eventually(() => callers.every(({ updated }) => updated.includes('notes://last')))
    await eventually(() => callers.every(({ updated }) => updated.includes(heard)))
    for (const { updated } of callers) expect(updated.length).toBeLessThan(1_000)
    expect(notices).toEqual(['Server "flood" sends too many resource updates: most of them are not passed on.'])
    expect(records.filter(({ event }) => event === 'flood')).toEqual([
      { event: 'flood', server: 'flood', details: { what: 'resource updates' } },
    ])
    await Promise.all(callers.map(({ client }) => client.close()))
  })

  it('does not stop the calls of other servers, however long it goes on [HOST-025]', async () => {
    await using gateway = await serveGateway({ flood: { ...flood, shared: true }, echo: { server: echo() } })
    const callers = await subscribers(gateway.url, 10)
    await using other = await connect(gateway.url)
    const flooding = callers[0]?.client.callTool('flood_flood', { kind: 'updates' })
    await eventually(() => callers.every(({ updated }) => updated.length > 0))
    for (let index = 0; index < 20; index++) {
      expect((await other.callTool('echo_echo', { text: String(index) })).text).toBe(String(index))
    }
    // The server itself can be called too.
    await callers[1]?.client.callTool('flood_stop')
    expect(Number((await flooding)?.text)).toBeGreaterThan(0)
    await Promise.all(callers.map(({ client }) => client.close()))
  })
})

describe('a server that floods its caller', () => {
  it.each(['2025-11-25', '2026-07-28'] as const)(
    'with log messages is cut short (caller of %s) [HOST-025]',
    async (revision) => {
      await using gateway = await serveGateway({ flood })
      const notices = noticesOf(gateway.host)
      await using client = await connect(gateway.url, { revision, logLevel: 'debug' })
      let logs = 0
      client.on('log', () => logs++)
      await client.callTool('flood_flood', { kind: 'logs', count })
      expect(logs).toBeGreaterThan(0)
      expect(logs).toBeLessThan(5_000)
      expect(notices).toEqual(['Server "flood" sends too many log messages: most of them are not passed on.'])
    },
  )

  it('with changes of its tools is read again a few times [HOST-025]', async () => {
    await using gateway = await serveGateway({ flood, echo: { server: echo() } })
    await using client = await connect(gateway.url, { revision: '2025-11-25' })
    let changes = 0
    client.on('toolsChanged', () => changes++)
    await client.callTool('flood_flood', { kind: 'lists', count })
    expect((await client.callTool('echo_echo', { text: 'x' })).text).toBe('x')
    expect(changes).toBeLessThan(100)
  })

  it('with questions asks its caller a few times [HOST-025]', async () => {
    await using gateway = await serveGateway({ flood, echo: { server: echo() } })
    let asked = 0
    const elicit = () => {
      asked++
      return { action: 'decline' as const }
    }
    await using client = await connect(gateway.url, { revision: '2025-11-25', handlers: { elicit } })
    await client.callTool('flood_flood', { kind: 'questions', count })
    expect((await client.callTool('echo_echo', { text: 'x' })).text).toBe('x')
    expect(asked).toBeLessThanOrEqual(20)
  })
})

/** Callers of mixed revisions that subscribed to both notes. */
async function subscribers(url: string, callers: number): Promise<{ client: Client; updated: string[] }[]> {
  const revisions: readonly RevisionId[] = ['2025-11-25', '2026-07-28']
  return Promise.all(
    Array.from({ length: callers }, async (_, index) => {
      const client = await connect(url, { revision: revisions[index % 2] })
      const updated: string[] = []
      client.on('resourceUpdated', ({ uri }) => updated.push(uri))
      for (const uri of ['notes://today', 'notes://last']) await client.subscribeResource(uri)
      return { client, updated }
    }),
  )
}

function noticesOf(host: Host): string[] {
  const notices: string[] = []
  host.on('error', ({ error }) => notices.push((error as Error).message))
  return notices
}

function recordingAudit() {
  const records: AuditRecord[] = []
  const audit = {
    append: (record: AuditRecord) => void records.push(record),
    flush: async () => {},
    close: async () => {},
  }
  return { audit, records }
}
