import type { RevisionId } from 'tenon'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import { serveGateway } from './gateway-support.ts'
import { createLog, fixture, pidOf } from './process-support.ts'

const fragile = fixture('fragile.mjs')

describe('a crash of a server that callers share', () => {
  it('starts one process, however many callers there are [HOST-023]', async () => {
    const started = await createLog()
    await using gateway = await serveGateway({ fragile: { command: process.execPath, args: [fragile, started.path] } })
    const revisions: readonly RevisionId[] = ['2025-11-25', '2026-07-28']
    const callers = await Promise.all(
      Array.from({ length: 20 }, (_, index) => connect(gateway.url, { revision: revisions[index % 2] })),
    )
    const before = new Set(await Promise.all(callers.map((client) => pidOf(client, 'fragile'))))
    expect(before.size).toBe(1)
    await callers[0]?.callTool('fragile_crash').catch(() => {})
    const after = new Set(await Promise.all(callers.map((client) => pidOf(client, 'fragile'))))
    expect(after.size).toBe(1)
    expect(after).not.toEqual(before)
    expect(await started.lines()).toHaveLength(2)
    await Promise.all(callers.map((client) => client.close()))
  })
})
