import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { guardStdout, StdioServerTransport } from './server.ts'
import { LineWriter, type Sink } from './writer.ts'

afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
})

/** A pipe that the test can block, with what was written. */
function pipe() {
  const written: string[] = []
  const waiting: (() => void)[] = []
  const state = { isBlocked: false, queued: 0, onFlush: undefined as (() => void) | undefined }
  const sink: Sink = {
    write(text, callback) {
      if (text === '') state.onFlush = callback
      else written.push(text)
      return !state.isBlocked
    },
    once: (_event, listener) => waiting.push(listener),
    get writableLength() {
      return state.queued
    },
  }
  const drain = () => {
    state.isBlocked = false
    for (const listener of waiting.splice(0)) listener()
  }
  return { sink, state, written, drain }
}

describe('StdioServerTransport', () => {
  it('is started once and closed once', async () => {
    const transport = new StdioServerTransport({ stdin: new PassThrough(), stdout: new PassThrough() })
    let ends = 0
    transport.onclose = () => void ends++
    await transport.start()
    await expect(transport.start()).rejects.toThrow('started already')
    await transport.close()
    await transport.close()
    expect(ends).toBe(1)
  })

  it('reads no requests while the client does not read responses', async () => {
    const { sink, state, drain } = pipe()
    const stdin = new PassThrough()
    const transport = new StdioServerTransport({ stdin, stdout: sink })
    await transport.start()
    state.isBlocked = true
    transport.send({ jsonrpc: '2.0', id: 1, result: {} })
    expect(stdin.isPaused()).toBe(true)
    drain()
    expect(stdin.isPaused()).toBe(false)
    state.isBlocked = true
    transport.send({ jsonrpc: '2.0', id: 2, result: {} })
    await new Promise((resolve) => setImmediate(resolve))
    await transport.close()
    drain()
    expect(stdin.isPaused()).toBe(true)
  })

  it('stops reading when it closes, unless another program listens', async () => {
    for (const isShared of [false, true]) {
      const stdin = new PassThrough()
      const transport = new StdioServerTransport({ stdin, stdout: new PassThrough() })
      await transport.start()
      if (isShared) stdin.on('data', () => {})
      await transport.close()
      expect([stdin.isPaused(), stdin.listenerCount('data')]).toEqual(isShared ? [false, 1] : [true, 0])
    }
  })
})

describe('stdout', () => {
  it('is reserved until every holder has released it, once each', () => {
    const plain: string[] = []
    const redirected: string[] = []
    vi.spyOn(console, 'warn').mockImplementation(() => {})
    const own = (texts: string[]) => ((text: string) => texts.push(text) > 0) as never
    vi.spyOn(process.stdout, 'write').mockImplementation(own(plain))
    vi.spyOn(process.stderr, 'write').mockImplementation(own(redirected))
    const before = process.stdout.write
    const [first, second] = [guardStdout(), guardStdout()]
    process.stdout.write('stray')
    first.write('message')
    first.release()
    first.release()
    process.stdout.write('stray again')
    second.write('another message')
    second.release()
    expect(process.stdout.write).toBe(before)
    process.stdout.write('free')
    expect(plain).toEqual(['message', 'another message', 'free'])
    expect(redirected).toEqual(['stray', 'stray again'])
  })
})

describe('LineWriter', () => {
  const turn = () => new Promise((resolve) => setImmediate(resolve))

  it('writes the first line of a turn at once, and the others together', async () => {
    const { sink, written } = pipe()
    const writer = new LineWriter(sink, { maxQueuedBytes: 100_000 })
    for (const text of ['a', 'b', 'c']) writer.write(text)
    expect(written).toEqual(['a\n'])
    await turn()
    expect(written).toEqual(['a\n', 'b\nc\n'])
  })

  it('does not copy a long line together with others', async () => {
    const { sink, written } = pipe()
    const writer = new LineWriter(sink, { maxQueuedBytes: 100_000 })
    const long = 'x'.repeat(20_000)
    for (const text of ['a', 'b', long]) writer.write(text)
    await turn()
    expect(written).toEqual(['a\n', 'b\n', `${long}\n`])
  })

  it('refuses more than its limit of unread characters', () => {
    const { sink, state } = pipe()
    const writer = new LineWriter(sink, { maxQueuedBytes: 10 })
    state.queued = 7
    writer.write('abc')
    state.queued = 8
    expect(() => writer.write('abc')).toThrow('8 characters are waiting already')
  })

  it('is flushed when the pipe has taken everything, or after the timeout', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const { sink, state } = pipe()
    const writer = new LineWriter(sink, { maxQueuedBytes: 10 })
    let isFlushed = false
    const wait = () => {
      isFlushed = false
      return writer.flushed(1_000).then(() => {
        isFlushed = true
      })
    }
    await wait()
    state.queued = 5
    const taken = wait()
    await vi.advanceTimersByTimeAsync(999)
    expect(isFlushed).toBe(false)
    state.onFlush?.()
    await taken
    expect(vi.getTimerCount()).toBe(0)
    const late = wait()
    await vi.advanceTimersByTimeAsync(1_000)
    await late
  })
})
