import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createHost, type Host } from '../../src/host/host.ts'
import { eventually } from '../kit/eventually.ts'
import { allowAll, echo } from './support.ts'

const fixture = fileURLToPath(new URL('./fixtures/server.mjs', import.meta.url))

function misbehaving(mode: string) {
  return { command: process.execPath, args: [fixture, mode] }
}

/** A host with an honest server and one that misbehaves. Everything is allowed. */
function open(mode: string, limits = {}): Promise<Host> {
  return createHost({
    servers: { bad: misbehaving(mode), honest: misbehaving('honest'), local: { server: echo() } },
    policy: allowAll,
    limits: { listTimeoutMs: 10_000, ...limits },
  })
}

async function expectOthersToWork(host: Host): Promise<void> {
  expect((await host.callTool('honest_work')).text).toBe('honest worked')
  expect((await host.callTool('local_echo', { text: 'hi' })).text).toBe('hi')
}

describe('a host with one bad server', () => {
  it('keeps the others working when the process dies in a call, and starts it again for the next one [HOST-006]', async () => {
    await using host = await open('dies')
    await host.tools()
    await expect(host.callTool('bad_work')).rejects.toThrow('Server "bad": ')
    await expectOthersToWork(host)
    await eventually(() => host.servers[0]?.state === 'ready')
    await expect(host.callTool('bad_work')).rejects.toMatchObject({ code: 'closed' })
  })

  it('keeps the others working when it hangs in a call, which can be cancelled [HOST-006]', async () => {
    await using host = await open('hangs')
    await host.tools()
    const stop = new AbortController()
    const hanging = host.callTool('bad_work', {}, { signal: stop.signal })
    await expectOthersToWork(host)
    stop.abort()
    await expect(hanging).rejects.toMatchObject({ code: 'cancelled' })
  })

  it('lists the tools of the others when it does not answer at all [HOST-006]', async () => {
    await using host = await open('silent', { listTimeoutMs: 3_000 })
    await eventually(async () => (await host.tools()).length === 2)
    expect(host.servers[0]?.state).toBe('connecting')
    await expectOthersToWork(host)
  })

  it('refuses definitions that are too large, and keeps the others [HOST-006]', async () => {
    await using host = await open('floods')
    expect((await host.tools()).map(({ server }) => server).sort()).toEqual(['honest', 'local'])
    expect(host.servers[0]?.error).toMatchObject({ message: expect.stringContaining('maxDefinitionBytes') })
    await expectOthersToWork(host)
  })

  it('refuses a result that is too large, and keeps the others [HOST-006] [TOOL-045]', async () => {
    await using host = await open('shouts')
    await host.tools()
    await expect(host.callTool('bad_work')).rejects.toThrow('maxResultBytes')
    await expectOthersToWork(host)
  })

  it('keeps the others working when its command does not exist, and says so for that server only', async () => {
    const servers = { bad: { command: 'no-such-program-of-tenon' }, local: { server: echo() } }
    await using host = await createHost({ servers, policy: allowAll })
    expect((await host.tools()).map(({ name }) => name)).toEqual(['local_echo'])
    expect(host.servers[0]).toMatchObject({ state: 'failed', error: { code: 'spawn-failed' } })
  })
})

describe('the connection to a server', () => {
  it('is opened by the first call and closed when it is idle [HOST-009]', async () => {
    const servers = { s: { ...misbehaving('honest'), idleMs: 50 } }
    await using host = await createHost({ servers, policy: allowAll })
    expect(host.servers[0]?.state).toBe('idle')
    const states: string[] = []
    host.on('server', ({ state }) => states.push(state))
    await host.callTool('s_work')
    await eventually(() => host.servers[0]?.state === 'idle')
    expect((await host.tools()).map(({ name }) => name)).toEqual(['s_work'])
    expect((await host.callTool('s_work')).text).toBe('honest worked')
    expect(states.filter((state) => state === 'ready')).toHaveLength(2)
  })

  it('stays open when the configuration of another server changes', async () => {
    const local = { server: echo() }
    await using host = await createHost({ servers: { a: misbehaving('honest'), local }, policy: allowAll })
    await host.tools()
    const states: string[] = []
    host.on('server', ({ id, state }) => states.push(`${id} ${state}`))
    await host.configure({ a: misbehaving('honest'), b: { server: echo() } })
    expect((await host.tools()).map(({ name }) => name)).toEqual(['a_work', 'b_echo'])
    expect(states.filter((state) => state.startsWith('a '))).toEqual([])
  })
})
