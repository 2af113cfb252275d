import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { PendingAnswers } from './pending-answers.ts'
import { ResumableStream, type ResumableStreamOptions } from './resumable-stream.ts'
import { SilenceDetector } from './silence-detector.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const backoff = { initialDelayMs: 100, maxDelayMs: 1_000, growth: 2, maxRetries: 2, jitter: undefined }

function open(options: Partial<ResumableStreamOptions> = {}) {
  const events: string[] = []
  const stream = new ResumableStream({ maxBytes: 1_000, onEvent: ({ data }) => void events.push(data), ...options })
  const push = (text: string) => stream.push(new TextEncoder().encode(text))
  return { stream, events, push }
}

describe('ResumableStream', () => {
  it('passes on events of the type message, and knows the last id', () => {
    const ids: string[] = []
    const { stream, events, push } = open({ onId: (id) => void ids.push(id) })
    expect([stream.lastEventId, stream.headers]).toEqual(['', {}])
    stream.begin()
    push('id: ä\ndata: 1\n\nevent: other\ndata: 2\n\ndata: 3\n\n')
    expect(events).toEqual(['1', '3'])
    expect([stream.lastEventId, ids]).toEqual(['ä', ['ä']])
    // The bytes of the UTF-8 text.
    expect(stream.headers).toEqual({ 'last-event-id': 'Ã¤' })
  })

  it('begins at an event that was received before', () => {
    const { stream, push } = open({ lastEventId: 'before' })
    expect(stream.headers).toEqual({ 'last-event-id': 'before' })
    stream.begin()
    expect(stream.lastEventId).toBe('before')
    push('id: after\ndata: 1\n\n')
    expect(stream.lastEventId).toBe('after')
    stream.forgetPosition()
    expect([stream.lastEventId, stream.headers]).toEqual(['', {}])
  })

  it('drops events that the server repeats on another connection, and no others', () => {
    const { stream, events, push } = open()
    stream.begin()
    push('id: a\ndata: 1\n\nid: a\ndata: 2\n\n')
    expect(events).toEqual(['1', '2'])
    stream.begin()
    push('id: a\ndata: 1\n\nid: b\ndata: 3\n\nid:\ndata: 4\n\ndata: 4\n\n')
    expect(events).toEqual(['1', '2', '3', '4', '4'])
    stream.forgetPosition()
    stream.begin()
    push('id: a\ndata: 1\n\n')
    expect(events.at(-1)).toBe('1')
  })

  it('waits longer after each connection without progress, and gives up', () => {
    const { stream, push } = open()
    const delays = () => [stream.nextDelayMs(backoff), stream.attempts]
    for (const attempts of [1, 2, 3]) expect(delays()).toEqual([expect.any(Number), attempts])
    expect(delays()).toEqual([undefined, 4])
    stream.begin()
    push('data: 1\n\n')
    expect(delays()[1]).toBe(1)
    stream.begin()
    expect(delays()[1]).toBe(2)
    stream.begin()
    vi.advanceTimersByTime(600_000)
    expect(delays()[1]).toBe(1)
    stream.resetAttempts()
    expect(stream.attempts).toBe(0)
  })

  it('polls as often as the server asks, which does not count as failing', () => {
    const { stream, push } = open()
    stream.begin()
    push('id: a\nretry: 3000\ndata: 1\n\n')
    expect(stream.retryMs).toBe(3_000)
    for (let poll = 0; poll < 5; poll++) {
      expect(stream.nextDelayMs(backoff)).toBeGreaterThanOrEqual(3_000)
      expect(stream.attempts).toBe(1)
      stream.begin()
    }
    expect([stream.retryMs, stream.isStuck]).toEqual([3_000, false])
  })

  it('is stuck if the server accepts its position again and again, but sends nothing', () => {
    const { stream, push } = open()
    stream.begin()
    push('id: a\ndata: 1\n\n')
    stream.nextDelayMs(backoff)
    expect(stream.isStuck).toBe(false)
    for (let each = 0; each < 20 && !stream.isStuck; each++) stream.nextDelayMs({ ...backoff, maxRetries: 100 })
    expect(stream.isStuck).toBe(true)
    stream.forgetPosition()
    expect(stream.isStuck).toBe(false)
  })

  it('fails after too many invalid messages on one connection', () => {
    const { stream } = open()
    const faults = () => {
      for (let each = 0; each < 10_000; each++) {
        try {
          stream.addFault()
        } catch (error) {
          expect(String(error)).toContain(`more than ${each} messages are not valid`)
          return each
        }
      }
      return Number.POSITIVE_INFINITY
    }
    const limit = faults()
    expect(limit).toBeLessThan(10_000)
    stream.begin()
    expect(faults()).toBe(limit)
  })
})

describe('SilenceDetector', () => {
  function detector() {
    let silent = 0
    const made = new SilenceDetector(() => void silent++)
    let comments = 0
    const comment = () => made.onData(++comments)
    return { made, comment, data: () => made.onData(comments), silent: () => silent }
  }

  it('reports a server that stops sending comments, once', () => {
    const { comment, silent } = detector()
    for (let each = 0; each < 3; each++) {
      comment()
      vi.advanceTimersByTime(1_000)
    }
    vi.advanceTimersByTime(8_999)
    expect(silent()).toBe(0)
    vi.advanceTimersByTime(1)
    expect([silent(), vi.getTimerCount()]).toEqual([1, 0])
  })

  it('waits for four times the longest time between two comments', () => {
    const { comment, silent } = detector()
    for (const ms of [2_000, 15_000, 3_000]) {
      comment()
      vi.advanceTimersByTime(ms)
    }
    vi.advanceTimersByTime(56_999)
    expect(silent()).toBe(0)
    vi.advanceTimersByTime(1)
    expect(silent()).toBe(1)
  })

  it('does not report a server whose data still arrives, or that sent fewer than three comments', () => {
    const { comment, data, silent } = detector()
    comment()
    comment()
    expect(vi.getTimerCount()).toBe(0)
    comment()
    vi.advanceTimersByTime(9_000)
    data()
    vi.advanceTimersByTime(9_999)
    expect(silent()).toBe(0)
    vi.advanceTimersByTime(1)
    expect(silent()).toBe(1)
  })

  it('starts from the beginning after it was stopped', () => {
    const { made, comment, silent } = detector()
    for (let each = 0; each < 3; each++) comment()
    made.stop()
    expect(vi.getTimerCount()).toBe(0)
    vi.advanceTimersByTime(60_000)
    expect(silent()).toBe(0)
    made.onData(1)
    made.onData(2)
    expect(vi.getTimerCount()).toBe(0)
    made.onData(3)
    vi.advanceTimersByTime(10_000)
    expect(silent()).toBe(1)
  })
})

describe('PendingAnswers', () => {
  it('fails while 256 responses are being sent', () => {
    const answers = new PendingAnswers()
    for (let each = 0; each < 255; each++) answers.begin()
    answers.check()
    answers.begin()
    expect(() => answers.check()).toThrow('has not accepted 256 responses')
    answers.end()
    answers.check()
  })
})
