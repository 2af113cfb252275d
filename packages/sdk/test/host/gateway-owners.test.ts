import type { RevisionId } from 'tenon'
import { describe, expect, it } from 'vitest'
import { connect } from '../../src/connect/connect.ts'
import type { HttpRequest } from '../../src/protocol/http-request.ts'
import { McpServer } from '../../src/server/mcp-server.ts'
import { deferred } from '../../src/util/deferred.ts'
import { eventually } from '../kit/eventually.ts'
import { post, serveGateway } from './gateway-support.ts'
import { createLog, fixture, isAlive, pidOf } from './process-support.ts'

const stateless = '2026-07-28'
const bank = fixture('bank.mjs')

describe('a server of the handshake era behind a gateway', () => {
  it('cannot ask one anonymous caller about the call of another, nor send it the log of that call [HOST-021]', async () => {
    const started = await createLog()
    await using gateway = await serveGateway({ bank: { command: process.execPath, args: [bank, started.path] } })
    await using alice = await connectAsking(gateway.url, stateless)
    await using bob = await connectAsking(gateway.url, stateless)
    expect((await alice.client.callTool('bank_transfer', { who: 'alice' })).text).toBe('accepted')
    const pid = Number((await bob.client.callTool('bank_balance')).text)
    expect(bob.asked).toEqual([])
    expect(bob.logs).toEqual([])
    // The host itself has a process, for the list of tools.
    expect(await started.lines()).toHaveLength(3)
    expect((await started.lines()).at(-1)).toBe(String(pid))
  })

  it('has no process left of the anonymous callers whose calls ended [HOST-021]', async () => {
    await using gateway = await serveGateway({ bank: { command: process.execPath, args: [bank] } })
    await using client = await connect(gateway.url, { revision: stateless })
    const pids = [await pidOf(client, 'bank'), await pidOf(client, 'bank')]
    expect(pids[0]).not.toBe(pids[1])
    await eventually(() => !pids.some(isAlive))
  })

  it('asks the anonymous caller whose call is open, also over several requests [HOST-021]', async () => {
    await using gateway = await serveGateway({ bank: { command: process.execPath, args: [bank] } })
    await using alice = await connectAsking(gateway.url, stateless)
    const [pid, action] = ((await alice.client.callTool('bank_confirm')).text ?? '').split(' ')
    expect(action).toBe('accept')
    expect(alice.asked).toEqual(['bank: Are you sure?'])
    await eventually(() => !isAlive(Number(pid)))
  })

  it('is shared by anonymous callers if its entry says so, and then its late messages reach nobody [HOST-021]', async () => {
    const entry = { command: process.execPath, args: [bank], shared: true }
    await using gateway = await serveGateway({ bank: entry })
    await using alice = await connectAsking(gateway.url, stateless)
    await using bob = await connectAsking(gateway.url, stateless)
    const pid = await pidOf(alice.client, 'bank')
    await alice.client.callTool('bank_transfer', { who: 'alice' })
    expect(Number((await bob.client.callTool('bank_balance')).text)).toBe(pid)
    expect([alice.asked, bob.asked]).toEqual([[], []])
    expect([alice.logs, bob.logs]).toEqual([[], []])
  })
})

describe('a user with many slow calls', () => {
  const users = { principal: ({ headers }: HttpRequest) => headers['x-user'] }

  it('does not take the places of other users [HOST-022]', async () => {
    const gate = deferred<void>()
    let running = 0
    const server = new McpServer({ name: 'slow', version: '1' }, { revisions: ['2025-11-25'] })
    server.registerTool('wait', {}, async () => {
      running++
      await gate.promise
      return 'waited'
    })
    server.registerTool('quick', {}, () => 'quick')
    await using gateway = await serveGateway({ s: { server } }, { maxCallers: 8, http: users })
    const ofUser = (user: string) => connect(gateway.url, { revision: '2025-11-25', headers: { 'x-user': user } })
    const greedy = await Promise.all(Array.from({ length: 8 }, () => ofUser('mallory')))
    // All have a session before the first is busy.
    for (const client of greedy) await client.callTool('s_quick')
    const outcomes = greedy.map((client) => client.callTool('s_wait').then(() => 'done', String))
    const refused: string[] = []
    for (const outcome of outcomes) void outcome.then((text) => text !== 'done' && refused.push(text))
    await eventually(() => running + refused.length === 8)
    expect(running).toBe(6)
    expect(refused[0]).toContain('Try again later')
    await using other = await ofUser('alice')
    expect((await other.callTool('s_quick')).text).toBe('quick')
    gate.resolve()
    await Promise.all(outcomes)
    await Promise.all(greedy.map((client) => client.close()))
  })

  it('loses its own unused sessions before another user does [HOST-022]', async () => {
    await using gateway = await serveGateway(
      { bank: { command: process.execPath, args: [bank] } },
      { maxCallers: 3, http: users },
    )
    const ofUser = (user: string) => connect(gateway.url, { revision: '2025-11-25', headers: { 'x-user': user } })
    await using alice = await ofUser('alice')
    const pid = await pidOf(alice, 'bank')
    for (let index = 0; index < 4; index++) {
      const greedy = await ofUser('mallory')
      await pidOf(greedy, 'bank')
    }
    expect(await pidOf(alice, 'bank')).toBe(pid)
  })

  it('does not take the places of other addresses if callers are anonymous [HOST-022]', async () => {
    const gate = deferred<void>()
    let running = 0
    const server = new McpServer({ name: 'slow', version: '1' }, { revisions: ['2025-11-25'] })
    server.registerTool('wait', {}, async () => {
      running++
      await gate.promise
      return 'waited'
    })
    const http = { clientAddress: ({ headers }: HttpRequest) => headers['x-address'] }
    await using gateway = await serveGateway({ s: { server } }, { maxCallers: 8, http })
    const call = (address: string) =>
      post(gateway.url, 'tools/call', { name: 's_wait', arguments: {} }, { 'x-address': address })
    const greedy = Array.from({ length: 8 }, () => call('192.0.2.1'))
    let refused = 0
    for (const answer of greedy) void answer.then(({ body }) => body.error && refused++)
    await eventually(() => running + refused === 8)
    expect(running).toBe(6)
    const other = call('192.0.2.2')
    await eventually(() => running === 7)
    gate.resolve()
    expect((await other).body.result).toMatchObject({ content: [{ text: 'waited' }] })
    await Promise.all(greedy)
  })
})

/** A client that records what it is asked and sent. */
async function connectAsking(url: string, revision: RevisionId) {
  const asked: string[] = []
  const logs: unknown[] = []
  const elicit = ({ message }: { message: string }) => {
    asked.push(message)
    return { action: 'accept' as const, content: { ok: true } }
  }
  const client = await connect(url, { revision, handlers: { elicit }, logLevel: 'debug' })
  client.on('log', ({ data }) => logs.push(data))
  return { client, asked, logs, [Symbol.asyncDispose]: () => client.close() }
}
