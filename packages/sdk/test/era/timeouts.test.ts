import type { RevisionId } from 'tenon'
import { TimeoutError } from 'tenon/client'
import { InMemoryTransport, ScriptedClient } from 'tenon/testing'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { errorOf } from '../kit/error-of.ts'
import { allRevisions, handshakeRevisions, modern } from '../kit/revisions.ts'
import { scripted, scriptedClient, shaped } from '../kit/scripted-server.ts'
import { heard, methodsOf, said } from '../kit/transcript.ts'
import { testServer } from './support.ts'

beforeEach(() => {
  vi.useFakeTimers()
})
afterEach(() => {
  vi.useRealTimers()
})

/** Tracks the outcome of a promise without awaiting it. */
function watch(promise: PromiseLike<unknown>) {
  const state: { outcome: unknown } = { outcome: 'pending' }
  promise.then(
    (value) => {
      state.outcome = value
    },
    (error) => {
      state.outcome = error
    },
  )
  return state
}

async function clientOf(revision: RevisionId, options = {}) {
  const server = scripted(revision, { 'tools/call': () => undefined, 'resources/read': () => undefined })
  const client = await scriptedClient(server, { revision, ...options })
  const tell = (token: unknown, progress: number) =>
    server.say({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: token, progress } })
  return { server, client, tell }
}

async function linkOf(revision: RevisionId) {
  const [ours, theirs] = InMemoryTransport.createLinkedPair()
  const link = await testServer().server.connect(theirs)
  const caller = await ScriptedClient.connect(ours, { revision })
  await caller.open()
  return { link, caller }
}

const cancelId = {
  '2024-11-05': '',
  '2025-03-26': ' [LIFE-015]',
  '2025-06-18': ' [LIFE-015]',
  '2025-11-25': ' [LIFE-015]',
  '2026-07-28': ' [LIFE-016, CANC-012]',
}

describe.each(allRevisions)('requests of a client on %s', (revision) => {
  it('name the limit that was over first, although the timer was late [LIFE-014]', async () => {
    const { client } = await clientOf(revision)
    const call = errorOf(client.callTool('x', {}, { timeoutMs: 20 }))
    await vi.advanceTimersByTimeAsync(10)
    vi.setSystemTime(Date.now() + 10_000)
    await vi.advanceTimersByTimeAsync(10)
    expect(await call).toMatchObject({ code: 'timeout', timeoutMs: 20 })
  })

  it('time out after 60 seconds by default [LIFE-014]', async () => {
    const { client } = await clientOf(revision)
    const call = watch(client.callTool('x'))
    const read = watch(client.readResource('a://b'))
    await vi.advanceTimersByTimeAsync(59_999)
    expect([call.outcome, read.outcome]).toEqual(['pending', 'pending'])
    await vi.advanceTimersByTimeAsync(1)
    expect(call.outcome).toBeInstanceOf(TimeoutError)
    expect(call.outcome).toMatchObject({ code: 'timeout', timeoutMs: 60_000 })
    expect(read.outcome).toBeInstanceOf(TimeoutError)
    await client.close()
  })

  it(`send a cancellation when they time out, and ignore a late response${cancelId[revision]}`, async () => {
    const { client, server } = await clientOf(revision)
    const call = watch(client.callTool('x', {}, { timeoutMs: 100 }))
    await vi.advanceTimersByTimeAsync(100)
    expect(call.outcome).toBeInstanceOf(TimeoutError)
    const asked = said(server.transcript, 'client', 'tools/call')[0]!
    const cancelled = await heard(server.transcript, 'client', 'notifications/cancelled')
    expect(cancelled.params).toMatchObject({ requestId: asked.id, reason: expect.any(String) })
    const problems: unknown[] = []
    client.on('error', ({ error }) => problems.push(error))
    server.say({ jsonrpc: '2.0', id: asked.id, ...shaped(revision, { content: [] }) })
    await client.ping()
    expect(problems).toEqual([])
    expect(client.state).toBe('ready')
    await client.close()
  })

  it(`have a timeout per request, per client, or none${revision === '2024-11-05' ? '' : ' [LIFE-017]'}`, async () => {
    const { client } = await clientOf(revision, { request: { timeoutMs: 5_000 } })
    const short = watch(client.callTool('x', {}, { timeoutMs: 10 }))
    const usual = watch(client.callTool('x'))
    const long = watch(client.callTool('x', {}, { timeoutMs: 20_000 }))
    const endless = watch(client.callTool('x', {}, { timeoutMs: 0 }))
    const outcomes = () =>
      [short, usual, long, endless].map(({ outcome }) => (outcome === 'pending' ? 'pending' : 'over'))
    await vi.advanceTimersByTimeAsync(9)
    expect(outcomes()).toEqual(['pending', 'pending', 'pending', 'pending'])
    await vi.advanceTimersByTimeAsync(1)
    expect(outcomes()).toEqual(['over', 'pending', 'pending', 'pending'])
    await vi.advanceTimersByTimeAsync(4_990)
    expect(outcomes()).toEqual(['over', 'over', 'pending', 'pending'])
    await vi.advanceTimersByTimeAsync(15_000)
    expect(outcomes()).toEqual(['over', 'over', 'over', 'pending'])
    await vi.advanceTimersByTimeAsync(10 * 24 * 3_600_000)
    expect(outcomes()).toEqual(['over', 'over', 'over', 'pending'])
    await client.close()
  })

  it(`restart their timeout on their own progress only${revision === '2024-11-05' ? '' : ' [LIFE-018]'}`, async () => {
    const { client, server, tell } = await clientOf(revision)
    const fed = watch(client.callTool('fed', {}, { timeoutMs: 100 }))
    const starved = watch(client.callTool('starved', {}, { timeoutMs: 100 }))
    const stubborn = watch(client.callTool('stubborn', {}, { timeoutMs: 100, resetTimeoutOnProgress: false }))
    await heard(server.transcript, 'client', 'tools/call', 3)
    const [first, , third] = said(server.transcript, 'client', 'tools/call')
    for (let step = 1; step <= 5; step++) {
      await vi.advanceTimersByTimeAsync(60)
      tell(first!.params!._meta!.progressToken, step)
      tell(third!.params!._meta!.progressToken, step)
      await vi.advanceTimersByTimeAsync(0)
    }
    expect(fed.outcome).toBe('pending')
    expect(starved.outcome).toBeInstanceOf(TimeoutError)
    expect(stubborn.outcome).toBeInstanceOf(TimeoutError)
    await vi.advanceTimersByTimeAsync(100)
    expect(fed.outcome).toBeInstanceOf(TimeoutError)
    expect((fed.outcome as TimeoutError).timeoutMs).toBe(100)
    await client.close()
  })

  it(`end at the total timeout, regardless of progress${revision === '2024-11-05' ? '' : ' [LIFE-019]'}`, async () => {
    const { client, server, tell } = await clientOf(revision)
    const capped = watch(client.callTool('x', {}, { timeoutMs: 100, maxTotalTimeoutMs: 250 }))
    const usual = watch(client.callTool('x', {}, { timeoutMs: 100 }))
    await heard(server.transcript, 'client', 'tools/call', 2)
    const tokens = said(server.transcript, 'client', 'tools/call').map(({ params }) => params!._meta!.progressToken)
    const feed = async (ms: number) => {
      for (let passed = 0; passed < ms; passed += 10) {
        await vi.advanceTimersByTimeAsync(10)
        for (const token of tokens) tell(token, Date.now())
        await vi.advanceTimersByTimeAsync(0)
      }
    }
    await feed(240)
    expect(capped.outcome).toBe('pending')
    await feed(10)
    expect(capped.outcome).toMatchObject({ code: 'timeout', timeoutMs: 250 })
    expect((capped.outcome as Error).message).toContain('maxTotalTimeoutMs')
    // The default total is ten times the timeout.
    await feed(740)
    expect(usual.outcome).toBe('pending')
    await feed(10)
    expect(usual.outcome).toMatchObject({ code: 'timeout', timeoutMs: 1_000 })
    const asked = said(server.transcript, 'client', 'tools/call').map(({ id }) => id)
    const cancelled = said(server.transcript, 'client', 'notifications/cancelled').map(
      ({ params }) => params?.requestId,
    )
    expect(cancelled).toEqual(asked)
    await client.close()
  })

  it('leave no timer behind after the response', async () => {
    const server = scripted(revision, { 'tools/call': () => shaped(revision, { content: [] }) })
    const client = await scriptedClient(server, { revision })
    await client.callTool('x', {}, { timeoutMs: 50 })
    await vi.advanceTimersByTimeAsync(200)
    expect(methodsOf(server.transcript, 'client')).not.toContain('notifications/cancelled')
    await client.close()
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe.each(handshakeRevisions)('requests of a server to a client on %s', (revision) => {
  const later = revision !== '2024-11-05'

  it(`time out and are cancelled${later ? ' [LIFE-014, LIFE-015, LIFE-017]' : ' [LIFE-014]'}`, async () => {
    const { link, caller } = await linkOf(revision)
    const usual = watch(link.request('ping'))
    const short = watch(link.request('ping', undefined, { timeoutMs: 10 }))
    await vi.advanceTimersByTimeAsync(10)
    expect(short.outcome).toBeInstanceOf(TimeoutError)
    expect(usual.outcome).toBe('pending')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(usual.outcome).toBeInstanceOf(TimeoutError)
    const asked = said(caller.transcript, 'server', 'ping').map(({ id }) => id)
    const cancelled = said(caller.transcript, 'server', 'notifications/cancelled').map(
      ({ params }) => params?.requestId,
    )
    expect(cancelled).toEqual([asked[1], asked[0]])
    await caller.close()
  })

  it(`are extended by progress, up to the total timeout${later ? ' [LIFE-018, LIFE-019]' : ''}`, async () => {
    const { link, caller } = await linkOf(revision)
    const call = watch(
      link.request(
        'sampling/createMessage',
        { messages: [], maxTokens: 1 },
        { timeoutMs: 100, maxTotalTimeoutMs: 300, onProgress: () => {} },
      ),
    )
    const asked = await heard(caller.transcript, 'server', 'sampling/createMessage')
    for (let step = 1; step <= 4; step++) {
      await vi.advanceTimersByTimeAsync(70)
      caller.notify('notifications/progress', { progressToken: asked.params!._meta!.progressToken, progress: step })
      await vi.advanceTimersByTimeAsync(0)
    }
    expect(call.outcome).toBe('pending')
    await vi.advanceTimersByTimeAsync(20)
    expect(call.outcome).toMatchObject({ code: 'timeout', timeoutMs: 300 })
    await caller.close()
  })
})

describe('a timeout', () => {
  it('names the method and the duration', async () => {
    const { client } = await clientOf(modern)
    const failed = errorOf<TimeoutError>(client.callTool('x', {}, { timeoutMs: 123 }))
    await vi.advanceTimersByTimeAsync(123)
    const error = await failed
    expect(error.message).toContain('tools/call')
    expect(error.message).toContain('123 ms')
    expect(error).not.toHaveProperty('rpcCode')
    await client.close()
  })

  it('and an AbortSignal are independent: the first one wins', async () => {
    const { client, server } = await clientOf(modern)
    const stop = new AbortController()
    const call = errorOf(client.callTool('x', {}, { timeoutMs: 100, signal: stop.signal }))
    await vi.advanceTimersByTimeAsync(100)
    expect((await call).code).toBe('timeout')
    stop.abort()
    const other = errorOf(
      client.callTool('x', {}, { timeoutMs: 100, signal: AbortSignal.any([new AbortController().signal]) }),
    )
    await vi.advanceTimersByTimeAsync(100)
    expect((await other).code).toBe('timeout')
    expect(said(server.transcript, 'client', 'notifications/cancelled')).toHaveLength(2)
    await client.close()
  })

  it('aborts the handler on the server on 2026-07-28 [LIFE-016, CANC-005]', async () => {
    const { server, started, seen } = testServer()
    const [ours, theirs] = InMemoryTransport.createLinkedPair()
    await server.connect(theirs)
    const { Client } = await import('tenon/client')
    const client = new Client({ name: 'c', version: '1' })
    await client.connect(ours)
    const call = errorOf(client.callTool('wait', {}, { timeoutMs: 50 }))
    await started
    await vi.advanceTimersByTimeAsync(50)
    expect((await call).code).toBe('timeout')
    await client.ping()
    expect(seen.signal?.aborted).toBe(true)
    await client.close()
  })
})
