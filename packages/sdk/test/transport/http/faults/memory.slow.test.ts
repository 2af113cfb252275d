import { type ServingHttp, serveHttp } from 'tenon/server'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { runNode } from '../../../kit/child-process.ts'
import { RawConnection } from '../../../kit/raw-http.ts'
import { modern } from '../../../kit/revisions.ts'
import { createServer, expectRefusal, fixture, RawClient, serve } from './support.ts'

/** Runs `fixtures/memory.js` in its own process, where nothing else is on the heap. */
async function measure(what: string) {
  const stdout = await runNode(['--expose-gc', fixture('memory.js'), what])
  return JSON.parse(stdout)
}

// The measurements take a while and are independent, so they run beside the other tests.
const abandoned = measure('abandon')
const flooded = abandoned.then(() => measure('flood'))

/** Sends a header line every 100 ms, from the start of these tests to their end. */
let slow: { http: ServingHttp; connection: RawConnection }
beforeAll(async () => {
  const http = await serveHttp(createServer(), { port: 0, exit: false, graceMs: 0 })
  const connection = await RawConnection.open(http.port)
  connection.write(`POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${http.port}\r\n`)
  const drip = setInterval(() => connection.write('X-Slow: 1\r\n'), 100)
  connection.socket.on('close', () => clearInterval(drip))
  slow = { http, connection }
})
afterAll(async () => {
  slow.connection.destroy()
  await slow.http.close()
})
for (const measured of [abandoned, flooded]) measured.catch(() => {})

describe('memory', () => {
  it('CVE-2026-67430, mcp-go #723: 2,000 abandoned sessions expire and release all their memory', async () => {
    const seen = await abandoned
    console.log(`Heap after 2,000 abandoned sessions: ${seen.ratio.toFixed(3)} of before; ${seen.peak} open at once.`)
    const sessions = { open: 0, opened: 6_000, expired: 6_000, refused: 0 }
    expect(seen.metrics).toEqual({ sessions, streams: 0, calls: 0, unsentBytes: 0 })
    expect(seen.ratio).toBeLessThan(1.05)
  }, 60_000)

  it('GHSA-9pj6-vhgr-3mwh: a flood of initialize gets 503, existing sessions are served', async () => {
    const seen = await flooded
    console.log(`Heap after a flood of 10,000 initializes: ${seen.ratio.toFixed(3)} of before.`)
    expect(seen.statuses).toEqual({ 200: 100, '503, try again': 9_900 })
    expect(seen.metrics.sessions.open).toBe(500)
    expect(seen.ratio).toBeLessThan(1.05)
  }, 60_000)

  it('a principal is limited to maxSessionsPerPrincipal, without effect on others', async () => {
    const http = await serve(createServer(), {
      maxSessionsPerPrincipal: 3,
      principal: (request) => request.header('x-user'),
    })
    const greedy = { 'X-User': 'greedy' }
    const clients = await Promise.all([1, 2, 3].map(() => RawClient.open(http.port, '2025-11-25', greedy)))
    const refused = await clients[0]!.post(clients[0]!.initialize(), { ...greedy, 'Mcp-Session-Id': undefined })
    expectRefusal(refused, 429, -32000)
    expect(refused.headers.get('retry-after')).toBeDefined()
    await (await RawClient.open(http.port, '2025-11-25', { 'X-User': 'modest' })).stillServes()
    await clients[0]!.delete()
    await RawClient.open(http.port, '2025-11-25', greedy)
  })
})

describe('a client whose headers never end', () => {
  it('gets a 408 and does not affect other clients', async () => {
    const { http, connection } = slow
    const client = new RawClient(http.port, modern)
    await client.stillServes()
    expectRefusal(await connection.response(), 408, -32000)
    await connection.closed()
    await client.stillServes()
  }, 50_000)
})
