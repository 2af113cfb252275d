import { fileURLToPath } from 'node:url'
import { connect } from 'tenon/client'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createHost } from '../../src/host/host.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { clock } from '../../src/util/clock.ts'
import { scheduler } from '../../src/util/scheduler.ts'
import { eventually } from '../kit/eventually.ts'
import { gate } from '../kit/gate.ts'
import { serveGateway } from './gateway-support.ts'
import { allowAll, echo, serverWith } from './support.ts'

const fixture = fileURLToPath(new URL('./fixtures/server.mjs', import.meta.url))
const silent = { command: process.execPath, args: [fixture, 'silent'] }

/** An unusual time, so that its timers can be told from others. */
const listTimeoutMs = 1_237

/** Counts how often something waits for as long as lists do. */
function countWaits(): () => number {
  const timers = vi.spyOn(scheduler, 'setTimeout')
  onTestFinished(() => timers.mockRestore())
  return () =>
    timers.mock.calls.filter(([, ms]) => ms !== undefined && ms > 0 && ms <= listTimeoutMs && ms > 500).length
}

describe('a server that does not answer', () => {
  it('delays the first list only [HOST-015]', async () => {
    const servers = { silent, local: { server: echo() } }
    await using host = await createHost({ servers, policy: allowAll, limits: { listTimeoutMs } })
    const waits = countWaits()
    await Promise.all([host.tools(), host.prompts(), host.tools()])
    expect(waits()).toBeGreaterThan(0)
    const before = waits()
    for (let count = 0; count < 20; count++) {
      expect((await host.tools()).map(({ name }) => name)).toEqual(['local_echo'])
      await host.prompts()
      await host.resources()
    }
    expect(waits()).toBe(before)
    expect(host.servers[0]?.state).toBe('connecting')
  })

  it('delays the first list of a gateway only [HOST-015]', async () => {
    const servers = { silent, local: { server: echo() } }
    await using gateway = await serveGateway(servers, { host: { limits: { listTimeoutMs } } })
    await using client = await connect(gateway.url)
    await client.listTools()
    const waits = countWaits()
    await using other = await connect(gateway.url, { revision: '2025-11-25' })
    for (let count = 0; count < 5; count++) {
      for (const each of [client, other]) {
        expect((await each.listTools()).tools.map(({ name }) => name)).toEqual(['local_echo'])
      }
    }
    expect(waits()).toBe(0)
  })

  it('is added with a notification when it answers, and a call of its tool waits for it [HOST-015]', async () => {
    const late = gate()
    const server = serverWith('work')
    const servers = { late: { server }, local: { server: echo() } }
    const connectServer = server.connect.bind(server)
    vi.spyOn(server, 'connect').mockImplementation(async (...args) => {
      await late.opened
      return connectServer(...args)
    })
    await using host = await createHost({ servers, policy: allowAll, limits: { listTimeoutMs: 20 } })
    await using client = await connect(await gatewayOf(host))
    const changed = new Promise<void>((resolve) => client.on('toolsChanged', () => resolve()))
    await client.listen({ toolsListChanged: true })
    await eventually(async () => (await client.listTools()).tools.length === 1)
    late.open()
    await changed
    await eventually(async () => (await client.listTools()).tools.length === 2)
    expect((await client.callTool('late_work')).text).toBe('work ran')
  })
})

/** Counts how often something waited in vain for as long as lists do. */
function countExpired(): () => number {
  let expired = 0
  const timers = vi.spyOn(scheduler, 'setTimeout').mockImplementation((run, ms) =>
    setTimeout(() => {
      if (ms === listTimeoutMs) expired++
      run()
    }, ms),
  )
  onTestFinished(() => timers.mockRestore())
  return () => expired
}

/** A server with one resource. `answer` runs before each page of its list. */
function withResource(uri: string, answer: (count: number) => unknown = () => {}) {
  const server = new McpServer({ name: 's', version: '1' }, { revisions: ['2025-11-25'] })
  server.registerResource(uri, uri, {}, () => uri)
  const counted = { server, lists: 0 }
  server.use(async ({ method }, next) => {
    if (method === 'resources/list') await answer(++counted.lists)
    return next()
  })
  return counted
}

describe('a server that does not list its resources', () => {
  it('delays the resources of other servers once, and gets one request at a time [HOST-015]', async () => {
    const never = gate()
    onTestFinished(() => never.open())
    const bad = withResource('x://bad', () => never.opened)
    const servers = { bad, good: withResource('x://good') }
    await using gateway = await serveGateway(servers, { host: { limits: { listTimeoutMs } } })
    await using client = await connect(gateway.url)
    await using other = await connect(gateway.url, { revision: '2025-11-25' })
    await client.listTools()
    const expired = countExpired()
    await client.listResources()
    expect(expired()).toBe(1)
    for (let count = 0; count < 5; count++) {
      for (const each of [client, other]) {
        expect((await each.listResources()).resources.map(({ uri }) => uri)).toEqual(['x://good'])
        expect((await each.readResource('x://good')).contents).toHaveLength(1)
      }
    }
    expect(expired()).toBe(1)
    expect(bad.lists).toBe(1)
  })

  it('keeps those that it listed before, and announces others when it answers [HOST-015]', async () => {
    const late = gate()
    let isSlow = false
    const slow = withResource('x://one', () => (isSlow ? late.opened : undefined))
    const servers = { slow, good: withResource('x://good') }
    await using host = await createHost({ servers, policy: allowAll, limits: { listTimeoutMs } })
    const uris = async () => (await host.resources()).map(({ uri }) => uri).join(' ')
    await eventually(async () => (await uris()) === 'x://one x://good')
    isSlow = true
    slow.server.registerResource('x://two', 'x://two', {}, () => 'two')
    expect(await uris()).toBe('x://one x://good')
    expect((await host.readResource('x://one')).contents).toHaveLength(1)
    const changed = new Promise<void>((resolve) => host.on('catalogChanged', () => resolve()))
    late.open()
    await changed
    await eventually(async () => (await uris()) === 'x://one x://two x://good')
  })

  it('is not asked for more pages without end [HOST-015]', async () => {
    const monotonic = clock.monotonic
    let passedMs = 0
    const time = vi.spyOn(clock, 'monotonic').mockImplementation(() => monotonic.call(clock) + passedMs)
    onTestFinished(() => time.mockRestore())
    let pages = 0
    const endless = new McpServer({ name: 's', version: '1' }, { revisions: ['2025-11-25'] })
    endless.registerResource('any', 'x://any', {}, () => '')
    endless.use(async ({ method }, next) => {
      if (method !== 'resources/list') return next()
      passedMs += 25_000
      return { resources: [{ uri: `x://${pages}`, name: 'x' }], nextCursor: `${pages++}` }
    })
    const servers = { endless: { server: endless }, good: withResource('x://good') }
    await using host = await createHost({ servers, policy: allowAll })
    expect((await host.resources()).map(({ uri }) => uri)).toEqual(['x://good'])
    expect(pages).toBe(3)
  })
})

async function gatewayOf(host: Awaited<ReturnType<typeof createHost>>) {
  const { createGateway } = await import('../../src/host/gateway/gateway.ts')
  return createGateway(host)
}
