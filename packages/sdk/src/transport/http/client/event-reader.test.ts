import { describe, expect, it } from 'vitest'
import { EventReader, type ServerSentEvent } from './event-reader.ts'

const bytes = (text: string) => new TextEncoder().encode(text)

function read(chunks: (string | Uint8Array)[], options: { maxBytes?: number; lastEventId?: string } = {}) {
  const events: ServerSentEvent[] = []
  const reader = new EventReader({ maxBytes: 1_000, ...options, onEvent: (event) => events.push(event) })
  for (const chunk of chunks) reader.push(typeof chunk === 'string' ? bytes(chunk) : chunk)
  return { reader, events, data: events.map(({ data }) => data) }
}

describe('the SSE event reader', () => {
  it.each(['\n', '\r', '\r\n'])('accepts lines that end with %j', (end) => {
    const text = ['event: x', 'id: 7', 'data: a', 'data: b', '', 'data: c', '', ''].join(end)
    expect(read([text, ' ']).events).toEqual([
      { type: 'x', data: 'a\nb', id: '7' },
      { type: 'message', data: 'c', id: '' },
    ])
  })

  it('reads the same events wherever the bytes are split, also inside a character and between CR and LF', () => {
    const text =
      '\uFEFFid: 1\r\nevent: message\r\ndata: {"a":"żółw 🐢"}\r\n\r\n: comment\r\ndata: second\r\ndata: line\r\n\r\ndata:x\n\n'
    const whole = read([text]).events
    expect(whole.map(({ data }) => data)).toEqual(['{"a":"żółw 🐢"}', 'second\nline', 'x'])
    const all = bytes(text)
    for (let at = 1; at < all.length; at++) {
      expect(read([all.subarray(0, at), all.subarray(at)]).events).toEqual(whole)
    }
    expect(read(Array.from(all, (byte) => Uint8Array.of(byte))).events).toEqual(whole)
  })

  it('ignores comments and unknown fields [HTTP-053]', () => {
    expect(read([':\n', ': keep-alive\r\n\r\n', 'what: ever\nno colon\ndata: x\n\n', ':\n\n']).data).toEqual(['x'])
  })

  it('reports no event without data, but keeps its id and retry delay [SSE-020]', () => {
    const { reader, events } = read(['id: first\nretry: 500\ndata: \n\n', 'id: second\ndata:\n\n'])
    expect(events).toEqual([])
    expect(reader.lastEventId).toBe('second')
    expect(reader.retryMs).toBe(500)
  })

  it('strips exactly one space after the colon', () => {
    expect(read(['data:x\ndata: y\ndata:  z\n\n']).data).toEqual(['x\ny\n z'])
  })

  it('drops an event that is incomplete at the end of the stream', () => {
    const { reader, events } = read(['id: 1\ndata: x\n\nid: 2\ndata: y\n'])
    expect(events).toHaveLength(1)
    expect(reader.lastEventId).toBe('1')
  })

  it('ignores a retry that is not a number and an id that is not a valid header value', () => {
    const { reader } = read(
      ['retry: soon\nid: a\0b\ndata: x\n\n', 'id: \u0001\ndata: x\n\n', `id: ${'x'.repeat(5_000)}\n\n`],
      {
        maxBytes: 10_000,
      },
    )
    expect(reader.retryMs).toBeUndefined()
    expect(reader.lastEventId).toBe('')
  })

  it('continues from the last event id of the previous stream', () => {
    expect(read(['data: x\n\n'], { lastEventId: '9' }).reader.lastEventId).toBe('9')
  })

  it.each([
    ['an unterminated line', 'x'.repeat(20)],
    ['a line', `data: ${'x'.repeat(20)}\n`],
    ['an event of many lines', 'data: xxx\n'.repeat(6)],
  ])('refuses %s that is too long', (_, text) => {
    expect(() => read([text], { maxBytes: 19 })).toThrow(/longer than 19 bytes/)
    expect(() => read(Array.from(text), { maxBytes: 19 })).toThrow(/longer than 19 bytes/)
  })

  it('refuses bytes that are not UTF-8', () => {
    expect(() => read([Uint8Array.of(0x64, 0xff, 0x0a)])).toThrow(TypeError)
  })
})
