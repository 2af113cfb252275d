import { setTimeout as sleep } from 'node:timers/promises'
import { type EventStore, McpError } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { runNode } from '../../../kit/child-process.ts'
import { eventually } from '../../../kit/eventually.ts'
import { RawConnection } from '../../../kit/raw-http.ts'
import { type HttpRevision, httpRevisions } from '../../../kit/revisions.ts'
import { type FuzzCase, Fuzzer } from './fuzz.ts'
import { createServer, expectRefusal, fixture, RawClient, seeded, serve } from './support.ts'

describe('failing application callbacks and stores', () => {
  const failing = (how: 'throws' | 'rejects'): EventStore => {
    const fail = () => {
      const error = new Error('The store is down')
      if (how === 'rejects') return Promise.reject(error)
      throw error
    }
    return { storeEvent: fail, replayEventsAfter: fail }
  }

  it.each(['throws', 'rejects'] as const)(
    'an event store that %s does not lose a response or keep a session in use',
    async (how) => {
      const errors: unknown[] = []
      const server = createServer({ onError: (error) => errors.push(error) })
      server.registerTool('tell', {}, (_args, ctx) => {
        ctx.notify('notifications/message', { level: 'info', data: 'told' })
        return 'done'
      })
      const http = await serve(server, { eventStore: failing(how), sessionIdleMs: 100 })
      const client = await RawClient.open(http.port, '2025-11-25')
      const stream = await client.stream(client.call(1, 'tell'))
      expect((await stream.message(({ id }) => id === 1)).result?.content?.[0]?.text).toBe('done')
      expect(errors.length).toBeGreaterThan(0)
      await client.stillServes()
      await eventually(() => http.metrics.sessions.open === 0)
    },
    2_000,
  )

  it('a principal callback that throws causes a 500 and does not grant access', async () => {
    const errors: unknown[] = []
    const server = createServer({ onError: (error) => errors.push(error) })
    const http = await serve(server, {
      principal: (request) => {
        if (request.header('x-user') === 'broken') throw new Error('A secret of the inside')
        return request.header('x-user')
      },
    })
    const client = await RawClient.open(http.port, '2025-11-25', { 'X-User': 'alice' })
    const response = await client.post(client.call(1, 'echo'), { 'X-User': 'broken' })
    expectRefusal(response, 500, -32603)
    expect(response.text).not.toContain('secret')
    expect(errors).toHaveLength(1)
    await client.stillServes()
  })

  const refused = { opened: 400, called: 404, deleted: 404, again: 400 }
  it.each([
    ['forget', { opened: 200, called: 200, deleted: 200, again: 200 }],
    ['onSession', refused],
    ['onsessioninitialized', refused],
    ['onsessionclosed', { opened: 200, called: 200, deleted: 500, again: 200 }],
  ])('the process survives when %s fails', async (what, statuses) => {
    const stdout = await runNode([fixture('failing-callbacks.js'), what])
    expect(JSON.parse(stdout)).toEqual(statuses)
  })
})

describe('20,000 almost valid requests', () => {
  it('are all answered without an internal error, and the server keeps serving [RPC-024, RPC-025]', async () => {
    const errors: unknown[] = []
    const server = createServer({ onError: (error) => errors.push(error) })
    server.registerTool('tell', {}, (_args, ctx) => {
      ctx.notify('notifications/message', { level: 'info', data: 'told' })
      return 'done'
    })
    server.registerResource('a', 'x://a', {}, () => 'a')
    server.registerPrompt('greet', {}, () => 'hello')
    const http = await serve(server, { bodyTimeoutMs: 50, maxSessions: 50, sse: true })
    const clients = await Promise.all(httpRevisions.map((revision) => RawClient.open(http.port, revision)))
    const fuzzer = new Fuzzer(
      seeded(20_260_728),
      new Map(clients.map((client) => [client.revision as HttpRevision, client])),
    )
    const statuses = new Map<string, number>()
    let left = 20_000
    const work = async () => {
      let connection: RawConnection | undefined
      while (left-- > 0) {
        const fuzz = fuzzer.next()
        connection ??= await RawConnection.open(http.port, true)
        const outcome = await withDeadline(fuzz, answerTo(fuzz, connection))
        statuses.set(outcome.status, (statuses.get(outcome.status) ?? 0) + 1)
        if (outcome.isUsable) continue
        connection.destroy()
        connection = undefined
      }
      connection?.destroy()
    }
    await Promise.all(Array.from({ length: 8 }, work))
    console.log('Answers to fuzzed requests:', Object.fromEntries([...statuses].sort()))
    // Invalid responses of a peer are reported to onError; any other error is a bug in the SDK.
    const faults = errors.filter((error) => !(error instanceof McpError && error.code === 'invalid-response'))
    expect(faults).toEqual([])
    expect([...statuses.keys()].filter((status) => /^5/.test(status) && status !== '503')).toEqual([])
    await eventually(() => http.metrics.streams === 0 && http.metrics.calls === 0)
    for (const client of clients) await client.stillServes()
  }, 60_000)

  /** Returns the status, and whether the connection can be reused. */
  async function answerTo({ bytes, unclear }: FuzzCase, connection: RawConnection) {
    connection.write(bytes)
    // A truncated request stays incomplete until the sender closes its side.
    const giveUp = unclear ? setTimeout(() => connection.socket.end(), 30) : undefined
    try {
      const { status, headers } = await connection.head()
      const length = Number(headers.get('content-length') ?? Number.NaN)
      const isPlain = Number.isFinite(length) && !unclear && headers.get('connection') !== 'close'
      if (!isPlain || bytes.subarray(0, 4).toString() === 'HEAD') return { status: String(status), isUsable: false }
      await connection.until((received) => (received.length >= length ? true : undefined))
      const text = connection.take(length).toString()
      if (length > 0) JSON.parse(text)
      // Exactly one response per request.
      expect(connection.waiting.length).toBe(0)
      return { status: String(status), isUsable: true }
    } catch (error) {
      if (unclear && connection.ended) return { status: 'closed', isUsable: false }
      throw new Error(`No sound answer to ${JSON.stringify(bytes.toString('latin1').slice(0, 2_000))}`, {
        cause: error,
      })
    } finally {
      clearTimeout(giveUp)
    }
  }

  async function withDeadline<T>({ bytes }: FuzzCase, work: Promise<T>): Promise<T> {
    const deadline = new AbortController()
    const late = sleep(15_000, undefined, { signal: deadline.signal }).then(() => {
      throw new Error(`No answer to ${JSON.stringify(bytes.toString('latin1').slice(0, 2_000))}`)
    })
    late.catch(() => {})
    try {
      return await Promise.race([work, late])
    } finally {
      deadline.abort()
    }
  }
})
