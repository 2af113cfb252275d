import { describe, expect, it } from 'vitest'
import { splitWords } from '../src/arguments/split-words.ts'
import { EventLog } from '../src/inspector/event-log.ts'
import type { InspectorEvent, InspectorFact } from '../src/inspector/protocol.ts'

const server = 'one'
const noise = (text = 'x'): InspectorFact => ({ kind: 'stderr', server, text })
const message = (value: unknown): InspectorFact => ({
  kind: 'message',
  server,
  direction: 'received',
  message: value,
  bytes: 1,
})

/** All events that a page would get after an event. */
function read(log: EventLog, after = 0): InspectorEvent[] {
  const events: InspectorEvent[] = []
  for (let part = log.read(after, 100); part; part = log.read(part.last, 100))
    events.push(...part.text.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line)])))
  return events
}

function add(log: EventLog, ...facts: InspectorFact[]): void {
  for (const fact of facts) log.append(fact)
}

describe('the event log of the inspector', () => {
  it('numbers events without gaps, and returns those after a position', () => {
    const log = new EventLog()
    add(log, noise('a'), noise('b'), noise('c'))
    expect(read(log)).toMatchObject([
      { seq: 1, text: 'a', at: expect.any(Number) },
      { seq: 2, text: 'b' },
      { seq: 3, text: 'c' },
    ])
    expect(read(log, 2)).toMatchObject([{ seq: 3 }])
    expect(read(log, 3)).toEqual([])
    expect(read(log, 99)).toEqual([])
  })

  it('drops the oldest events above the limit', () => {
    const log = new EventLog({ maxEvents: 3 })
    for (let index = 0; index < 5_000; index++) add(log, noise(String(index)))
    expect(read(log).map(({ seq }) => seq)).toEqual([4_998, 4_999, 5_000])
    expect(log.find(1)).toBeUndefined()
    expect(JSON.parse(log.find(4_999) ?? '')).toMatchObject({ text: '4998' })
  })

  it('drops by size, but never the newest event', () => {
    const log = new EventLog({ maxChars: 1_000 })
    for (let index = 0; index < 10; index++) add(log, noise('y'.repeat(300)))
    expect(read(log).length).toBeLessThan(4)
    add(log, noise('z'.repeat(5_000)))
    expect(read(log)).toMatchObject([{ seq: 11 }])
  })

  it('keeps what describes the current state, and only the newest of it', () => {
    const log = new EventLog({ maxEvents: 2 })
    const added: InspectorFact = {
      kind: 'server-added',
      server,
      name: 'n',
      address: 'a',
      transport: 'stdio',
      revision: null,
    }
    const list = (offset: number, total: number): InspectorFact => ({
      kind: 'list',
      server,
      list: 'tools',
      items: [{}],
      offset,
      total,
    })
    add(log, added, { kind: 'server-state', server, state: 'connecting' })
    add(log, list(0, 2), list(1, 2), { kind: 'server-state', server, state: 'ready' }, list(0, 1))
    add(log, { kind: 'operation', server, operation: 'ended', method: 'ping', params: {} })
    add(log, { kind: 'operation', server, operation: 'running', method: 'ping', params: {} })
    add(log, { kind: 'operation-ended', operation: 'ended', durationMs: 1 })
    add(log, noise('1'), noise('2'), noise('3'))
    expect(read(log)).toMatchObject([
      { kind: 'server-added' },
      { kind: 'server-state', state: 'ready' },
      { kind: 'list', offset: 0, total: 1 },
      { kind: 'operation', operation: 'ended' },
      { kind: 'operation', operation: 'running' },
      { kind: 'operation-ended', operation: 'ended' },
      { text: '2' },
      { text: '3' },
    ])
    expect(JSON.parse(log.find(1) ?? '')).toMatchObject({ kind: 'server-added' })
    add(log, { kind: 'server-removed', server }, noise('4'), noise('5'))
    const kinds = read(log).map(({ kind }) => kind)
    expect(kinds).toEqual(['operation', 'operation', 'operation-ended', 'server-removed', 'stderr', 'stderr'])
  })

  it('still tells a page that is behind how an operation and a question ended', () => {
    const log = new EventLog({ maxEvents: 2 })
    add(log, { kind: 'operation', server, operation: 'slow', method: 'ping', params: {} })
    const behind = log.last
    add(log, { kind: 'operation-ended', operation: 'slow', result: { ok: true }, durationMs: 1 })
    add(log, { kind: 'question-ended', question: 'q', outcome: 'answered' }, noise('1'), noise('2'), noise('3'))
    expect(read(log, behind)).toMatchObject([
      { kind: 'operation-ended', operation: 'slow', result: { ok: true } },
      { kind: 'question-ended', question: 'q' },
      { text: '2' },
      { text: '3' },
    ])
  })

  it('keeps a limited number of finished operations, by count and by size, and the newest of them', () => {
    const log = new EventLog({ maxEvents: 1 })
    const run = (operation: string, result = '') =>
      add(
        log,
        { kind: 'operation', server, operation, method: 'ping', params: {} },
        { kind: 'operation-ended', operation, result, durationMs: 1 },
      )
    const ended = () => read(log).flatMap((event) => (event.kind === 'operation-ended' ? [event.operation] : []))
    for (let index = 0; index < 3_000; index++) run(String(index))
    add(log, noise())
    expect(ended()).toHaveLength(1_000)
    expect(ended().at(-1)).toBe('2999')
    expect(read(log).filter(({ kind }) => kind === 'operation')).toHaveLength(1_000)
    for (const name of ['a', 'b', 'c']) run(name, 'x'.repeat(9 * 1024 * 1024))
    add(log, noise())
    expect(ended()).toEqual(['c'])
    run('d', 'x'.repeat(17 * 1024 * 1024))
    add(log, noise())
    expect(ended()).toEqual(['d'])
  })

  it('forgets complete texts of shortened messages above their limit', () => {
    const log = new EventLog({ maxCompleteChars: 1_000_000 })
    for (let index = 0; index < 3; index++) add(log, message({ text: 'm'.repeat(400_000) }))
    expect(read(log)).toMatchObject([{ isShortened: true }, { isShortened: true }, { isShortened: true }])
    expect(JSON.parse(log.find(1) ?? '')).toMatchObject({ isShortened: true })
    expect(JSON.parse(log.find(3) ?? '').message.text).toHaveLength(400_000)
  })

  it('never cuts a surrogate pair', () => {
    const log = new EventLog()
    add(log, message('😀'.repeat(200_000)))
    expect(read(log)).toMatchObject([{ message: expect.not.stringMatching(/[\ud800-\udbff]$/) }])
  })
})

describe('splitting a command line', () => {
  it.each([
    ['node server.js', ['node', 'server.js']],
    ['  node   "my server.js"  ', ['node', 'my server.js']],
    [`node -e 'console.log("hi")'`, ['node', '-e', 'console.log("hi")']],
    ['a "" b', ['a', '', 'b']],
    ['a\\ b c', ['a b', 'c']],
    ['"a\\"b" \'c\\d\'', ['a"b', 'c\\d']],
    ['$(rm -rf) `x` ; y | z', ['$(rm', '-rf)', '`x`', ';', 'y', '|', 'z']],
    ['', []],
  ])('splits %j', (line, words) => {
    expect(splitWords(line, false)).toEqual(words)
  })

  it('keeps backslashes of paths on Windows', () => {
    expect(splitWords('C:\\node.exe server.js', true)).toEqual(['C:\\node.exe', 'server.js'])
  })

  it('refuses a quote that is not closed', () => {
    expect(() => splitWords('node "x')).toThrow('is not closed')
  })
})
