import { McpServer } from 'tenon/server'
import { describe, expect, it } from 'vitest'
import { everyPipe } from '../../kit/every-wire.ts'
import { everyRevision } from '../../kit/revisions.ts'
import { RawProcess, script } from './support.ts'

describe('a server process whose stdin is closed', () => {
  everyRevision('answers pending requests and exits with 0 [STDIO-015]', async (revision) => {
    await using server = await RawProcess.start(revision)
    const answer = server.call('sleep', { ms: 100 })
    server.child.stdin!.end()
    expect((await answer).result?.content?.[0]?.text).toBe('slept 100')
    expect(await server.exited).toEqual({ code: 0, signal: null })
  })

  everyRevision('ignores an incomplete message and exits with 0 [STDIO-015]', async (revision) => {
    await using server = await RawProcess.start(revision)
    await server.stillWorks()
    const before = server.lines.length
    server.child.stdin!.end('{"jsonrpc":"2.0","id":5,"met')
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(server.lines.slice(before)).toEqual([])
  })

  it('exits with 0 when it received nothing [STDIO-015]', async () => {
    await using server = await RawProcess.start('2026-07-28')
    server.child.stdin!.end()
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(server.lines).toEqual([])
  })

  it('exits after the grace period without answering requests that take too long [STDIO-015]', async () => {
    await using server = await RawProcess.start('2026-07-28')
    server.write(`${server.request(1, 'tools/call', { name: 'sleep', arguments: { ms: 60_000 } })}\n`)
    await server.until(() => server.stderr.includes('sleep begins'))
    server.child.stdin!.end()
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(server.lines).toEqual([])
  })

  it('lets a handler that takes too long clean up before the process exits', async () => {
    await using server = await RawProcess.start('2026-07-28')
    server.write(`${server.request(1, 'tools/call', { name: 'sleep', arguments: { ms: 60_000 } })}\n`)
    await server.until(() => server.stderr.includes('sleep begins'))
    server.child.stdin!.end()
    expect(await server.exited).toEqual({ code: 0, signal: null })
    expect(server.stderr).toContain('sleep was stopped')
  })

  it('ends an open subscription [STDIO-015]', async () => {
    await using server = await RawProcess.start('2026-07-28')
    server.write(`${server.request('sub', 'subscriptions/listen', { notifications: { toolsListChanged: true } })}\n`)
    await server.until(() => server.lines.length > 0)
    server.child.stdin!.end()
    expect(await server.exited).toEqual({ code: 0, signal: null })
    // A request that is cut off after the grace period gets no response, so this one ended properly.
    expect(server.messages.filter(({ id }) => id === 'sub')).toHaveLength(1)
  })

  it.each(['SIGTERM', 'SIGINT'] as const)('answers pending requests on %s too, and exits with 0', async (signal) => {
    await using server = await RawProcess.start('2025-11-25')
    const answer = server.call('sleep', { ms: 100 })
    await server.until(() => server.stderr.includes('sleep begins'))
    server.child.kill(signal)
    expect((await answer).result?.content?.[0]?.text).toBe('slept 100')
    expect(await server.exited).toEqual({ code: 0, signal: null })
  })

  it('exits when the client no longer reads its responses', async () => {
    await using server = await RawProcess.start('2026-07-28')
    await server.stillWorks()
    server.child.stdout!.destroy()
    server.write(`${server.request(1, 'tools/call', { name: 'big', arguments: { bytes: 1_000_000 } })}\n`)
    expect(await server.exited).toEqual({ code: 0, signal: null })
  })

  it('can close the connection itself: stdout closes and the process exits [STDIO-014]', async () => {
    await using server = await RawProcess.start('2026-07-28')
    expect((await server.call('stop')).result?.content?.[0]?.text).toBe('stopping')
    expect(await server.exited).toEqual({ code: 0, signal: null })
  })
})

describe('a client that stops reading', () => {
  const bytes = 100_000

  it('gets every response once it reads again, and the server reads no more input meanwhile', async () => {
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
    // 4 MB of requests do not fit into a pipe: they wait in the client, because the server stopped reading.
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
    'does not crash the server when unread responses exceed the limit, and no request is lost (%s)',
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
      // Either the connection ends properly, or every request gets a response or an error.
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
    'sends nothing more for the request, even if the handler keeps running [STDIO-018, STDIO-019]',
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

/** Waits until a value has started to grow and then stays the same for a while. */
async function stopsGrowing(size: () => number): Promise<void> {
  for (let last = 0, looks = 0; looks < 25; ) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    looks = size() > 0 && size() === last ? looks + 1 : 0
    last = size()
  }
}
