import { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { everyPipe } from '../../kit/every-wire.ts'
import { everyRevision } from '../../kit/revisions.ts'
import { RawProcess, script } from './support.ts'

describe('a server process whose stdin is closed half-way', () => {
  everyRevision('answers what is in flight and exits with 0 [STDIO-015]', async (revision) => {
    await using server = await RawProcess.start(revision)
    const answer = server.call('sleep', { ms: 100 })
    server.child.stdin!.end()
    expect((await answer).result?.content?.[0]?.text).toBe('slept 100')
    expect(await server.exited).toEqual({ code: 0, signal: null })
  })

  everyRevision('says nothing about half a message and exits with 0 [STDIO-015]', async (revision) => {
    await using server = await RawProcess.start(revision)
    await server.stillWorks()
    const before = server.lines.length
    server.child.stdin!.end('{"jsonrpc":"2.0","id":5,"met')
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(server.lines.slice(before)).toEqual([])
  })

  it('exits with 0 when it never heard a word [STDIO-015]', async () => {
    await using server = await RawProcess.start('2026-07-28')
    server.child.stdin!.end()
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(server.lines).toEqual([])
  })

  it('does not wait for ever: what takes too long is not answered and the process ends [STDIO-015]', async () => {
    await using server = await RawProcess.start('2026-07-28')
    server.write(`${server.request(1, 'tools/call', { name: 'sleep', arguments: { ms: 60_000 } })}\n`)
    await server.until(() => server.stderr.includes('sleep begins'))
    server.child.stdin!.end()
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(server.lines).toEqual([])
  })

  it('lets a handler that takes too long clean up before the process ends', async () => {
    await using server = await RawProcess.start('2026-07-28')
    server.write(`${server.request(1, 'tools/call', { name: 'sleep', arguments: { ms: 60_000 } })}\n`)
    await server.until(() => server.stderr.includes('sleep begins'))
    server.child.stdin!.end()
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(server.stderr).toContain('sleep was stopped')
  })

  it('ends a subscription that is open [STDIO-015]', async () => {
    await using server = await RawProcess.start('2026-07-28')
    server.write(`${server.request('sub', 'subscriptions/listen', { notifications: { toolsListChanged: true } })}\n`)
    await server.until(() => server.lines.length > 0)
    server.child.stdin!.end()
    expect(await server.exited).toEqual({ code: 0, signal: null })
    // A request that is cut off after the grace period gets no response, so this one ended in good order.
    expect(server.messages.filter(({ id }) => id === 'sub')).toHaveLength(1)
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('answers what is in flight on %s too, and exits with 0', async (signal) => {
    await using server = await RawProcess.start('2025-11-25')
    const answer = server.call('sleep', { ms: 100 })
    await server.until(() => server.stderr.includes('sleep begins'))
    server.child.kill(signal)
    expect((await answer).result?.content?.[0]?.text).toBe('slept 100')
    expect(await server.exited).toEqual({ code: 0, signal: null })
  })

  it('ends when the client no longer takes its answers', async () => {
    await using server = await RawProcess.start('2026-07-28')
    await server.stillWorks()
    server.child.stdout!.destroy()
    server.write(`${server.request(1, 'tools/call', { name: 'big', arguments: { bytes: 1_000_000 } })}\n`)
    expect(await server.exited).toEqual({ code: 0, signal: null })
  })

  it('may end the connection itself: stdout closes and the process is gone [STDIO-014]', async () => {
    await using server = await RawProcess.start('2026-07-28')
    expect((await server.call('stop')).result?.content?.[0]?.text).toBe('stopping')
    expect(await server.exited).toEqual({ code: 0, signal: null })
  })
})

describe('a client that does not read', () => {
  const bytes = 100_000

  it('gets every answer when it reads again, and the server takes in no more meanwhile', async () => {
    await using server = await RawProcess.start('2026-07-28')
    await server.stillWorks()
    server.child.stdout!.pause()
    const count = 400
    const filler = 'y'.repeat(10_000)
    const ids = Array.from({ length: count }, (_, at) => at)
    let written = 0
    for (const id of ids) {
      server.child.stdin!.write(
        `${server.request(id, 'tools/call', { name: 'big', arguments: { bytes, filler } })}\n`,
        () => written++,
      )
    }
    // 4 MB of requests do not fit into a pipe: they wait on our side, because the server stopped reading.
    await stopsGrowing(() => written)
    expect(written).toBeLessThan(count)
    server.child.stdout!.resume()
    await server.answerTo(count - 1)
    const answered = server.messages.filter(({ id }) => typeof id === 'number' && id < count)
    expect(answered.map(({ id }) => id)).toEqual(ids)
    expect(answered.every(({ result }) => result?.content?.[0]?.text.length === bytes)).toBe(true)
    await server.stillWorks()
  })

  it.each(['big', 'big-late'])(
    'and leaves more than the limit unread does not crash the server, nor is any request forgotten (%s)',
    async (tool) => {
      await using server = await RawProcess.start('2026-07-28', { stdio: { maxQueuedBytes: 1_000_000 } })
      await server.stillWorks()
      const before = server.messages.length
      server.child.stdout!.pause()
      const ids = Array.from({ length: 40 }, (_, id) => id)
      const calls = ids.map((id) => server.request(id, 'tools/call', { name: tool, arguments: { bytes } }))
      server.write(`${calls.join('\n')}\n`)
      await server.until(() => server.stderr.includes('The peer does not read'))
      server.child.stdout!.resume()
      // Either the connection ends in good order, or every request gets an answer of some kind.
      const allAnswered = server.until(() => server.messages.length === before + ids.length && 'all answered')
      const never = new Promise((resolve) => setTimeout(() => resolve('requests are left open for ever'), 3_000))
      const outcome = await Promise.race([server.exited, allAnswered, never])
      expect(['all answered', { code: 0, signal: null }]).toContainEqual(outcome)
      for (const { result } of server.messages.slice(before)) {
        if (result) expect(result.content?.[0]?.text.length).toBe(bytes)
      }
    },
  )
})

describe('a server of 2026-07-28 whose request is cancelled', () => {
  everyPipe(
    'says nothing more of it, even if the handler goes on [STDIO-018, STDIO-019]',
    async (wire) => {
      const server = new McpServer({ name: 'deaf', version: '1' })
      let finish: () => void
      const finished = new Promise<void>((resolve) => {
        finish = resolve
      })
      server.registerTool('deaf', {}, async (_args, ctx) => {
        ctx.progress(1)
        await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
        ctx.progress(2)
        ctx.log.error('still here')
        ctx.notify('notifications/custom')
        finish()
        return 'too late'
      })
      await using client = await script(wire, server)
      const begun = client.nextNotification('notifications/progress')
      const _meta = { progressToken: 'p', 'io.modelcontextprotocol/logLevel': 'debug' }
      const params = client.params({ name: 'deaf', arguments: {}, _meta })
      client.say({ jsonrpc: '2.0', id: 'deaf', method: 'tools/call', params })
      await begun
      const before = client.transcript.from('server').length
      client.notify('notifications/cancelled', { requestId: 'deaf', reason: 'enough' })
      await finished
      const { id } = await client.request('tools/list')
      expect(client.transcript.from('server').slice(before)).toEqual([expect.objectContaining({ id })])
    },
    { revisions: ['2026-07-28'] },
  )
})

/** Waits until something begins to grow and then stays the same for a while. */
async function stopsGrowing(size: () => number): Promise<void> {
  for (let last = 0, looks = 0; looks < 25; ) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    looks = size() > 0 && size() === last ? looks + 1 : 0
    last = size()
  }
}
