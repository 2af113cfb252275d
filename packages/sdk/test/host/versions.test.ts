import { describe, expect, it } from 'vitest'
import { memoryAudit } from '../../src/host/audit/memory.ts'
import { createHost } from '../../src/host/host.ts'
import { memoryHostStore } from '../../src/host/host-store.ts'
import { McpServer } from '../../src/server/mcp-server.ts'

interface Release {
  readonly name?: string
  readonly version: string
  readonly description?: string
  readonly instructions?: string
}

function released({ name = 'files', version, description = 'Reads', instructions = 'Read first.' }: Release) {
  const server = new McpServer({ name, version }, { instructions })
  server.registerTool('read', { description }, () => 'read')
  return server
}

/** Starts a host with each release of a server in turn, and returns the state of the server in each run. */
async function statesOf(...releases: Release[]) {
  const store = memoryHostStore()
  const audit = memoryAudit()
  const policy = [{ kind: 'connect' as const, decide: 'allow' as const }, { decide: 'allow' as const }]
  const states = []
  for (const release of releases) {
    await using host = await createHost({ servers: { s: { server: released(release) } }, policy, store, audit })
    await host.tools()
    states.push(host.servers[0]?.state)
  }
  return { states, audit, pins: (await store.load())?.pins }
}

describe('a new version of a server', () => {
  it('is used at once if it offers the same, and is recorded [HOST-017]', async () => {
    const { states, audit, pins } = await statesOf({ version: '1.0.0' }, { version: '1.0.1' }, { version: '1.0.1' })
    expect(states).toEqual(['ready', 'ready', 'ready'])
    const changes = audit.lines.filter((line) => line.includes('definitions-changed'))
    expect(changes).toHaveLength(1)
    expect(JSON.stringify(changes)).toContain('1.0.1')
    expect(JSON.stringify(pins)).toContain('1.0.1')
    expect(JSON.stringify(pins)).not.toContain('1.0.0')
  })

  it.each([
    ['a tool', { description: 'Reads everything' }],
    ['the instructions', { instructions: 'Read everything.' }],
    ['the name of the server', { name: 'file5' }],
  ])('is held if it changes %s [HOST-017]', async (_what, change) => {
    const { states } = await statesOf(
      { version: '1.0.0' },
      { version: '1.0.1', ...change },
      { version: '1.0.1', ...change },
    )
    expect(states).toEqual(['ready', 'held', 'held'])
  })
})
