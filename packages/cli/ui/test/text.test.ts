import { describe, expect, it } from 'vitest'
import { eventsOf } from '../src/backend/event-stream.ts'
import { clockTime, duration, size } from '../src/text/format.ts'
import { expand, variablesOf } from '../src/text/uri-template.ts'
import { visiblePieces } from '../src/text/visible.ts'

describe('text of servers', () => {
  it('shows characters without a shape as code points', () => {
    expect(visiblePieces('a\u202eb\u001b[2J')).toEqual([
      'a',
      { codePoint: 'U+202E', name: 'right-to-left override' },
      'b',
      { codePoint: 'U+001B', name: 'escape' },
      '[2J',
    ])
  })

  it('leaves line breaks, tabs, accents and emoji alone', () => {
    const text = 'é\n\tनमस्ते 👩‍💻 ❤️ 日本'
    expect(visiblePieces(text)).toEqual([text])
  })

  it('shows a joiner that belongs to no emoji', () => {
    expect(visiblePieces('a\u200db')).toHaveLength(3)
  })

  it('shortens stacked combining marks', () => {
    expect(visiblePieces(`a${'\u0301'.repeat(50)}`)).toEqual([`a${'\u0301'.repeat(4)}`, expect.anything()])
  })

  it('makes few elements of a text that is full of control characters', () => {
    const pieces = visiblePieces('\u0007'.repeat(10_000))
    expect(pieces.length).toBeLessThan(1_000)
    expect(pieces.at(-1)).toMatch(/^<U\+0007>/)
  })
})

describe('URI templates', () => {
  it.each([
    ['notes://day/{day}', { day: 'a b' }, 'notes://day/a%20b'],
    ['file://{+path}', { path: '/x/y z' }, 'file:///x/y%20z'],
    ['a://x{?q,page}', { q: '1' }, 'a://x?q=1'],
    ['a://x{/one,two}', { one: '1', two: '2' }, 'a://x/1/2'],
    ['a://{list*}', {}, 'a://'],
  ])('expands %s', (template, values, expected) => {
    expect(expand(template, values)).toBe(expected)
  })

  it('names the variables once', () => {
    expect(variablesOf('a://{x}/{y*}{?x,z:3}')).toEqual(['x', 'y', 'z'])
  })
})

describe('numbers', () => {
  it('have units', () => {
    expect([duration(0.42), duration(42), duration(4_200), duration(600_000)]).toEqual([
      '0.4 ms',
      '42 ms',
      '4.2 s',
      '10 min',
    ])
    expect([size(12), size(1_200), size(10_485_760)]).toEqual(['12 B', '1.2 KB', '10.5 MB'])
    expect(clockTime(new Date(2026, 0, 1, 2, 3, 4, 5).getTime())).toBe('02:03:04.005')
  })
})

describe('the stream of events', () => {
  it('is split at line breaks wherever its pieces end, and skips blank lines', async () => {
    const bytes = new TextEncoder().encode('{"seq":1,"text":"ä"}\n\n{"seq":2}\n{"seq":3}')
    const stream = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const byte of bytes) controller.enqueue(Uint8Array.of(byte))
        controller.close()
      },
    })
    const events = []
    for await (const some of eventsOf(stream)) events.push(...some)
    expect(events).toEqual([{ seq: 1, text: 'ä' }, { seq: 2 }])
  })
})
