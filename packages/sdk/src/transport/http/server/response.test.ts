import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { Prepared } from '../../../jsonrpc/message.ts'
import { type HttpCall, Refusal } from './call.ts'
import { type PostOwner, PostResponse, SlowResponses } from './response.ts'
import type { EventStream } from './streams/event-stream.ts'

class Stream {
  readonly calls: unknown[] = []
  resumable = true

  send(text: string): void {
    this.calls.push(['send', text])
  }

  keepAlive(): void {
    this.calls.push('keepAlive')
  }

  end(): void {
    this.calls.push('end')
  }

  disconnect(retryMs: number): void {
    this.calls.push(['disconnect', retryMs])
  }
}

/** A response to a POST, with what was sent and told about it. */
function open(owner: Partial<PostOwner> & { hasRoom?: boolean } = {}, headers?: Record<string, string>) {
  const replies: unknown[] = []
  const opened: unknown[] = []
  const errors: unknown[] = []
  const stream = new Stream()
  let answered = 0
  const call = {
    request: { headers: {} },
    reply: (status: number, fields: object, body: string | Uint8Array = '') =>
      void replies.push([status, fields, typeof body === 'string' ? body : new TextDecoder().decode(body)]),
  } as unknown as HttpCall
  const response = new PostResponse(
    call,
    {
      era: 'handshake',
      alwaysStreams: false,
      openStream: (_, fields, isOptional, requestId) => {
        opened.push([fields, isOptional, requestId])
        return owner.hasRoom === false ? undefined : (stream as unknown as EventStream)
      },
      answered: () => void answered++,
      reportError: (error) => void errors.push(error),
      ...owner,
    },
    headers,
  )
  return { response, replies, opened, errors, stream, call, answered: () => answered }
}

const json = { 'content-type': 'application/json' }
const events = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}
const settled = () => new Promise((resolve) => setImmediate(resolve))

describe('PostResponse', () => {
  it('is plain JSON if nothing was sent before it, and is sent once', () => {
    const { response, replies, opened, answered } = open({}, { 'x-a': '1' })
    expect(response.begun).toBe(false)
    expect(response.sendText('1', true)).toBe(true)
    expect(response.sendText('2', true)).toBe(false)
    expect(response.sendText('3', false)).toBe(false)
    expect([response.begin(), response.begun, response.done]).toEqual([false, true, true])
    response.end()
    response.disconnect(1)
    response.beginStream()
    expect(replies).toEqual([[200, { ...json, 'x-a': '1' }, '1']])
    expect([opened, answered()]).toEqual([[], 1])
  })

  it('is a stream if something is sent before it', () => {
    const { response, replies, opened, stream, answered } = open({}, { 'x-a': '1' })
    response.requestId = 7
    expect([response.begin(), response.begun, response.done]).toEqual([true, true, false])
    expect(response.sendText('1', false)).toBe(true)
    response.sendText('2', true)
    expect(opened).toEqual([[{ ...events, 'x-a': '1' }, false, 7]])
    expect(stream.calls).toEqual([['send', '1'], ['send', '2'], 'end'])
    expect([replies, answered()]).toEqual([[], 1])
  })

  it('is plain JSON without room for a stream, and nothing can be sent before it', () => {
    const { response, replies } = open({ hasRoom: false })
    expect([response.begin(), response.sendText('1', false)]).toEqual([false, false])
    response.disconnect(1)
    response.sendText('2', true)
    expect(replies).toEqual([[200, json, '2']])
  })

  it('is a stream with alwaysStreams, except for errors with a status of their own', () => {
    const error = (code: number) => ({ code, message: '' })
    const all = () => open({ alwaysStreams: true, era: 'stateless' })
    for (const failure of [undefined, error(-32603)]) {
      const { response, stream, replies } = all()
      response.sendText('1', true, failure)
      expect([stream.calls, replies]).toEqual([[['send', '1'], 'end'], []])
    }
    const { response, opened, replies } = all()
    response.sendText('1', true, error(-32601))
    expect([opened, replies]).toEqual([[], [[404, json, '1']]])
  })

  it.each([
    [-32700, 400, 400],
    [-32600, 400, 400],
    [-32601, 200, 404],
    [-32602, 200, 200],
    [-32603, 200, 200],
    [-32020, 200, 400],
    [-32021, 200, 400],
    [-32022, 200, 400],
    [-32023, 200, 200],
  ])('has the status of its error %d in both eras', (code, handshake, stateless) => {
    for (const [era, status] of [
      ['handshake', handshake],
      ['stateless', stateless],
    ] as const) {
      const { response, replies } = open({ era })
      response.sendText('1', true, { code, message: '' })
      expect(replies).toEqual([[status, json, '1']])
    }
  })

  it('of a cancelled request ends without a message, once', () => {
    const plain = open({}, { 'x-a': '1' })
    plain.response.end()
    plain.response.end()
    expect([plain.replies, plain.answered()]).toEqual([[[200, { ...events, 'x-a': '1' }, '']], 1])
    const streamed = open()
    streamed.response.begin()
    streamed.response.end()
    expect([streamed.replies, streamed.stream.calls, streamed.answered()]).toEqual([[], ['end'], 1])
  })

  it('ends its connection only if the client can resume the stream [SSE-021]', () => {
    const { response, stream, answered } = open()
    response.disconnect(250)
    expect([stream.calls, answered()]).toEqual([[['disconnect', 250]], 0])
    const other = open()
    other.stream.resumable = false
    other.response.disconnect(250)
    expect(other.stream.calls).toEqual([])
  })

  it('sends a long prepared result as bytes, if nothing has to happen before', () => {
    const result = { json: JSON.stringify('ä'.repeat(16_384)) } as Prepared
    const { response, replies, answered } = open()
    expect(response.sendPrepared('a', result)).toBe(true)
    expect(response.sendPrepared('a', result)).toBe(false)
    expect(replies).toEqual([[200, json, `{"jsonrpc":"2.0","id":"a","result":${result.json}}`]])
    expect(answered()).toBe(1)
    const again = open()
    expect(again.response.sendPrepared(2, result)).toBe(true)
    expect(again.replies).toEqual([[200, json, `{"jsonrpc":"2.0","id":2,"result":${result.json}}`]])
  })

  it('does not send a prepared result that is short, or where a stream or another step comes first', () => {
    const long = { json: JSON.stringify('x'.repeat(16_384)) } as Prepared
    const streaming = open()
    streaming.response.begin()
    const saving = open()
    saving.response.beforeLast = () => undefined
    const always = open({ alwaysStreams: true })
    const short = open()
    for (const { response, replies } of [streaming, saving, always]) {
      expect([response.sendPrepared(1, long), response.done, replies]).toEqual([false, false, []])
    }
    expect(short.response.sendPrepared(1, { json: 'x'.repeat(16_383) } as Prepared)).toBe(false)
  })

  it('waits for what has to happen before it, and then tells that it was sent', async () => {
    const { response, replies, answered } = open()
    const steps: unknown[] = []
    response.beforeLast = (error) => {
      steps.push(error)
      return Promise.resolve()
    }
    response.afterLast = () => void steps.push('after')
    response.sendText('1', true)
    expect([replies, steps, answered()]).toEqual([[], [undefined], 0])
    await settled()
    expect([replies, steps, answered()]).toEqual([[[200, json, '1']], [undefined, 'after'], 1])
  })

  it('is sent although saving failed, which is reported', async () => {
    const { response, replies, errors } = open()
    response.beforeLast = () => Promise.reject(new Error('the store is down'))
    response.sendText('1', true)
    await settled()
    expect([replies, errors.map(String)]).toEqual([[[200, json, '1']], ['Error: the store is down']])
  })

  it('is a refusal without the session id if what has to happen before refuses it', async () => {
    const { response, replies, errors, answered } = open({}, { 'x-a': '1', 'mcp-session-id': 'session' })
    response.beforeLast = () => Promise.reject(new Refusal(400, -32000, 'no', 7))
    response.sendText('1', true)
    await settled()
    const body = '{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}'
    expect(replies).toEqual([[400, { ...json, 'x-a': '1' }, body]])
    expect([errors, answered()]).toEqual([[], 1])
  })

  it('reports an error that occurs when it is sent later', async () => {
    const { response, errors } = open({
      answered: () => {
        throw new Error('a mistake')
      },
    })
    response.beforeLast = () => Promise.resolve()
    response.sendText('1', true)
    await settled()
    expect(errors.map(String)).toEqual(['Error: a mistake'])
  })
})

describe('Slow responses', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('become streams after streamAfterMs, with a first byte, as optional streams', () => {
    const slow = new SlowResponses(1_000)
    const { response, stream, opened } = open()
    response.requestId = 7
    slow.add(response)
    vi.advanceTimersByTime(1_000)
    expect(opened).toEqual([])
    vi.advanceTimersByTime(250)
    expect([opened, stream.calls]).toEqual([[[events, true, 7]], ['keepAlive']])
    response.sendText('1', true)
    expect(stream.calls).toEqual(['keepAlive', ['send', '1'], 'end'])
  })

  it('do not become streams if they were sent or have begun, and the timer stops', () => {
    const slow = new SlowResponses(1_000)
    const [sent, begun, streaming] = [open(), open(), open()]
    for (const { response } of [sent, begun]) slow.add(response)
    sent.response.sendText('1', true)
    begun.response.begin()
    streaming.response.begin()
    slow.add(streaming.response)
    expect(vi.getTimerCount()).toBe(1)
    vi.advanceTimersByTime(250)
    expect(vi.getTimerCount()).toBe(0)
    const late = open()
    slow.add(late.response)
    vi.advanceTimersByTime(1_250)
    expect(late.stream.calls).toEqual(['keepAlive'])
    expect([begun.stream.calls, streaming.stream.calls]).toEqual([[], []])
  })

  it('never become streams with Infinity, and times that are none are refused', () => {
    const slow = new SlowResponses(Number.POSITIVE_INFINITY)
    slow.add(open().response)
    expect(vi.getTimerCount()).toBe(0)
    for (const ms of [0, -1, Number.NaN]) expect(() => new SlowResponses(ms)).toThrow('streamAfterMs must be a number')
  })

  it('report an error of a framework that has responded already', () => {
    const slow = new SlowResponses(1_000)
    const failing = open({
      openStream: () => {
        throw new Error('headers were sent')
      },
    })
    slow.add(failing.response)
    vi.advanceTimersByTime(1_250)
    expect(failing.errors.map(String)).toEqual(['Error: headers were sent'])
  })
})
