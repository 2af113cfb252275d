import { describe, expect, it } from 'vitest'
import { McpError } from '../../src/errors.ts'
import type { AuditRecord } from '../../src/host/audit/audit.ts'
import { PatientAuditLog } from '../../src/host/audit/patient-log.ts'
import { toolResultFor } from '../../src/host/models/tool-result.ts'
import { checkPolicy } from '../../src/host/policy-check.ts'
import { redactTraceEvent } from '../../src/host/redact-trace.ts'
import { toStored, toStoredName } from '../../src/host/stored-definition.ts'
import { forEachFingerprint, minSharedChars, type SharedSpan, TextIndex } from '../../src/host/text-index.ts'

describe('the log of a host that is full', () => {
  /** A log with room for some records, until it is flushed. */
  function fullAfter(room: number) {
    const written: unknown[] = []
    const order: string[] = []
    let left = room
    const log = {
      append: ({ event }: AuditRecord) => {
        if ((event as string) === 'broken') throw new McpError('closed', 'the log is closed')
        if (left === 0) throw new McpError('overloaded', 'full')
        left--
        written.push(event)
      },
      waitForRoom: () => undefined,
      flush: async () => {
        order.push(`flush ${written.length}`)
        left = room
      },
      close: async () => void order.push(`close ${written.length}`),
    }
    return { log: new PatientAuditLog(log as never), written, order }
  }
  const record = (event: string) => ({ event, details: {} }) as unknown as AuditRecord

  it('keeps records in their order until there is room, and new calls wait for that [HOST-014]', async () => {
    const { log, written } = fullAfter(2)
    for (const event of ['a', 'b']) log.append(record(event))
    expect(log.waitForRoom()).toBeUndefined()
    for (const event of ['c', 'd', 'e']) log.append(record(event))
    expect(written).toEqual(['a', 'b'])
    await log.waitForRoom()
    expect(written).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(log.waitForRoom()).toBeUndefined()
  })

  it('writes what it keeps before it flushes or closes [HOST-014]', async () => {
    const flushed = fullAfter(1)
    for (const event of ['a', 'b', 'c']) flushed.log.append(record(event))
    await flushed.log.flush()
    expect(flushed.order.at(-1)).toBe('flush 3')
    const closed = fullAfter(1)
    for (const event of ['a', 'b', 'c']) closed.log.append(record(event))
    await closed.log.close()
    expect(closed.order.at(-1)).toBe('close 3')
  })

  it('passes other errors on, at once or to waiting callers [HOST-014]', async () => {
    const { log } = fullAfter(1)
    expect(() => log.append(record('broken'))).toThrow('the log is closed')
    log.append(record('a'))
    log.append(record('b'))
    log.append(record('broken'))
    await expect(log.waitForRoom()).rejects.toThrow('the log is closed')
    await expect(log.close()).rejects.toThrow('the log is closed')
  })
})

describe('mistakes in a policy', () => {
  it.each<[unknown, string]>([
    [{ finding: 'nothing', decide: 'deny' }, 'policy[0].finding has the unknown finding "nothing"'],
    [{ finding: 5, decide: 'deny' }, 'policy[0].finding'],
    [{ finding: ['toString'], decide: 'deny' }, 'has the unknown finding "toString"'],
    [{ kind: 'toString', decide: 'deny' }, 'has the unknown kind "toString"'],
    [{ annotations: true, decide: 'deny' }, 'policy[0].annotations must be an object such as { readOnlyHint: true }'],
    [{ arguments: 'x', decide: 'deny' }, "policy[0].arguments must be an object such as { path: '/srv/public/*' }"],
    [
      { kind: 'tool', decide: 'redact' },
      "policy[0] is about results, because of decide: 'redact'. Set kind to 'result', or leave it out.",
    ],
    [{ kind: ['result', 'tool'], finding: 'secret', decide: 'deny' }, 'is about results, because of finding'],
  ])('are found in %j', (rule, message) => {
    expect(() => checkPolicy([rule])).toThrow(message)
  })

  it('are not found in rules for results', () => {
    checkPolicy([
      { decide: 'redact' },
      { kind: 'result', decide: 'redact' },
      { kind: ['result'], finding: ['secret'], decide: 'deny' },
      { finding: 'secret', kind: undefined, decide: 'ask' },
    ])
  })
})

describe('definitions as pins store them', () => {
  it('have short texts and names, a bounded depth and no undefined members', () => {
    expect(toStored('x'.repeat(4_000))).toHaveLength(4_000)
    expect(toStored('x'.repeat(4_001))).toMatch(/^x.* \(4001 characters\)$/)
    expect(toStoredName('x'.repeat(256))).toHaveLength(256)
    expect(toStoredName('x'.repeat(257))).toMatch(/^x.* \(257 characters\)$/)
    const nested = (levels: number): unknown => (levels === 0 ? 1 : [nested(levels - 1)])
    expect(toStored(nested(64))).toEqual(nested(64))
    expect(JSON.stringify(toStored(nested(65)))).toContain('…')
    expect(toStored({ a: undefined, b: null, c: [true, { d: 1 }] })).toEqual({ b: null, c: [true, { d: 1 }] })
    expect(Object.keys(toStored({ a: undefined }) as object)).toEqual([])
  })
})

describe('events of a trace without secrets', () => {
  const token = 'ghp_R8x2Lq0vT5nW3yZ7bK1mD4pS6hJ9cF0aEgUi'
  const hidden = '[redacted GitHub token]'

  it.each([
    [{ type: 'message', message: { a: token } }, { message: { a: hidden } }],
    [{ type: 'fault', problem: token }, { problem: hidden }],
    [{ type: 'stderr', text: token }, { text: hidden }],
    [{ type: 'http-end', error: token }, { error: hidden }],
  ])('have them replaced: %j', (event, expected) => {
    expect(redactTraceEvent(event as never)).toEqual({ ...event, ...expected })
  })

  it('stay the same if a request ended well', () => {
    const event = { type: 'http-end' } as never
    expect(redactTraceEvent(event)).toBe(event)
  })
})

describe('media in results for a model', () => {
  const read = (content: object[]) => toolResultFor('anthropic', { content } as never)
  const image = (data: string, mimeType = 'image/png') => ({ type: 'image', mimeType, data })

  it('are passed on if the API takes them, and named otherwise', () => {
    expect(read([image('AAAA', 'IMAGE/PNG; q=1')])).toMatchObject({
      content: [{ type: 'image', source: { media_type: 'image/png', data: 'AAAA' } }],
      notes: [],
    })
    expect(read([image('AAAA', 'image/tiff')]).notes).toEqual([
      'left out image of the type "image/tiff", 3 bytes: this API does not take it in results of tools',
    ])
    expect(read([image('not base64!')]).notes).toEqual([
      'left out image of the type "image/png", 8 bytes: it is not valid base64',
    ])
    expect(read([image('A'.repeat(100_000_000))]).notes[0]).toContain('75000000 bytes: it is too large')
  })
})

describe('the index of texts', () => {
  const encode = (text: string) => Uint16Array.from(text, (each) => each.charCodeAt(0))
  const letters = (seed: number, length: number) => {
    let state = seed
    return Array.from({ length }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return String.fromCharCode(97 + ((state >>> 16) % 26))
    }).join('')
  }
  function find(index: TextIndex, text: string): string[] {
    const chars = encode(text)
    const spans: SharedSpan[] = []
    forEachFingerprint(chars, chars.length, (position, hash) => {
      const span = index.match(chars, chars.length, position, hash)
      if (span) spans.push(span)
      return span?.end
    })
    return spans.map(({ start, end }) => text.slice(start, end))
  }
  const add = (index: TextIndex, text: string) => index.add(encode(text), text.length)

  it('finds every part of the shortest length, wherever it starts, and not more than is shared [HOST-031]', () => {
    const index = new TextIndex(1_000)
    const text = letters(1, 300)
    add(index, text)
    for (let start = 0; start + minSharedChars <= text.length; start++) {
      const part = text.slice(start, start + minSharedChars)
      expect(find(index, `## ${part} ##`)).toEqual([part])
    }
    expect(find(index, letters(2, 300))).toEqual([])
  })

  it('does not join texts that were added one after the other, and ignores short ones', () => {
    const index = new TextIndex(1_000)
    const [first, second] = [letters(3, 30), letters(4, 30)]
    add(index, first)
    add(index, second)
    expect(find(index, first + second)).toEqual([first, second])
    const short = letters(5, 11)
    const { bytes } = index
    add(index, short)
    expect(find(index, short.repeat(2))).toEqual([])
    expect(index.bytes).toBe(bytes)
  })

  it('forgets the oldest texts when it is full, and needs no room for a text that it knows', () => {
    const index = new TextIndex(64)
    const texts = Array.from({ length: 40 }, (_, at) => letters(at + 10, 130))
    for (const text of texts) add(index, text)
    expect(find(index, texts.at(-1)!)).toEqual([texts.at(-1)])
    expect(find(index, texts[0]!)).toEqual([])
    const known = new TextIndex(1_000)
    for (const text of texts.slice(0, 2)) add(known, text)
    for (let count = 0; count < 200; count++) add(known, texts[1]!)
    expect(find(known, texts[0]!)).toEqual([texts[0]])
  })
})
