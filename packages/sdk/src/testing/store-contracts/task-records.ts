import { McpError } from '../../errors.ts'
import type { TaskLimits, TaskPosition, TaskStore, TaskSummary, TaskWriteOptions } from '../../store/ports.ts'
import { noLimits } from '../../store/task-limits.ts'
import { clock } from '../../util/clock.ts'
import { isRefused, options, Runs, ready, type Suite } from './task-store-suite.ts'

export function keeping({ it, expect, entry }: Suite): void {
  it('returns what was created', async (near, far) => {
    const entries = [
      entry('one'),
      entry('two', { owner: 'user ü "\n', isOpen: false, body: '{"list":[1,null,"ü\\n\u2028"]}' }),
      entry('three', { owner: '', expiresAt: 253_402_300_799_999, body: JSON.stringify('x'.repeat(100_000)) }),
      entry('__proto__'),
    ]
    for (const one of entries) await near.create(one)
    for (const one of entries) expect(await far.get(one.id)).toEqual(one)
  })

  it('returns undefined for an unknown task', async (near, far) => {
    await near.create(entry('one'), { notes: ['1'] })
    for (const id of ['', 'on', 'one1', 'ONE', 'one ', '%', 'constructor']) {
      expect(await far.get(id)).toBe(undefined)
      expect(await far.notes(id)).toEqual([])
      expect(await far.replace(entry(id, { version: 2 }))).toBe(false)
      expect(await far.get(id)).toBe(undefined)
    }
  })

  it('rejects a second task with the same id and leaves the first unchanged', async (near, far) => {
    const first = entry('one')
    await near.create(first, { notes: ['1'] })
    expect(await isRefused(far.create(entry('one', { owner: 'somebody else' }), { notes: ['2'] }))).toBe(true)
    expect(await near.get('one')).toEqual(first)
    expect(await near.notes('one')).toEqual(['1'])
  })

  it('replaces the whole entry if its version is the next one', async (near, far) => {
    await near.create(entry('one'))
    const second = entry('one', { version: 2, isOpen: false, body: '"second"', expiresAt: 253_402_300_799_999 })
    expect(await far.replace(second)).toBe(true)
    expect(await near.get('one')).toEqual(second)
    const third = { ...second, version: 3, expiresAt: null }
    expect(await near.replace(third)).toBe(true)
    expect(await far.get('one')).toEqual(third)
  })

  it('changes nothing if the version is not the next one', async (near, far) => {
    await near.create(entry('one'), { notes: ['1'] })
    const second = entry('one', { version: 2, body: '"second"' })
    await near.replace(second)
    const runs = new Runs()
    const worker = await near.work(runs.run, options())
    for (const version of [0, 1, 2, 4]) {
      expect(await far.replace(entry('one', { version, body: '"late"' }), { notes: ['2'], isReady: true })).toBe(false)
    }
    expect(await near.get('one')).toEqual(second)
    expect(await far.notes('one')).toEqual(['1'])
    await far.create(entry('after'), ready)
    await runs.over('after')
    expect(runs.order).toEqual(['after'])
    await worker.stop()
  })

  it('lets exactly one of many concurrent replacements of a version succeed, with its notes', async (near, far) => {
    await near.create(entry('one'))
    const expected: string[] = []
    for (let version = 2; version < 12; version++) {
      const tries = Array.from({ length: 20 }, (_, index) => ({
        store: index % 2 === 0 ? near : far,
        text: JSON.stringify([version, index]),
      }))
      const wins = await Promise.all(
        tries.map(({ store, text }) => store.replace(entry('one', { version, body: text }), { notes: [text] })),
      )
      const winners = tries.filter((_, index) => wins[index])
      expect(winners.length).toBe(1)
      expect((await near.get('one'))?.body).toBe(winners[0]?.text)
      expected.push(winners[0]?.text ?? '')
    }
    expect(await far.notes('one')).toEqual(expected)
  })

  it('returns all notes in order, separately for each task', async (near, far) => {
    const texts = ['"ü\\n"', '', ' ', '{"a":1}', '"same"', '"same"']
    await near.create(entry('one'), { notes: texts.slice(0, 2) })
    await near.create(entry('two'), { notes: ['2'] })
    await far.replace(entry('one', { version: 2 }), { notes: texts.slice(2) })
    await far.replace(entry('one', { version: 3 }), { notes: [] })
    const many = Array.from({ length: 300 }, (_, index) => `${index}`)
    for (const [index, text] of many.entries()) {
      await (index % 2 ? near : far).replace(entry('one', { version: 4 + index }), { notes: [text] })
    }
    expect(await near.notes('one')).toEqual([...texts, ...many])
    expect(await near.notes('two')).toEqual(['2'])
  })

  it('stores many tasks concurrently', async (near, far) => {
    const entries = Array.from({ length: 200 }, (_, index) => entry(`task ${index}`))
    await Promise.all(entries.map((one, index) => (index % 2 ? near : far).create(one, { notes: [one.id] })))
    expect(await Promise.all(entries.map(({ id }) => near.get(id)))).toEqual(entries)
    expect(await Promise.all(entries.map(({ id }) => far.notes(id)))).toEqual(entries.map(({ id }) => [id]))
  })
}

export function listing({ it, expect, entry, driver }: Suite): void {
  const ids = async (store: TaskStore, owner: string, limit = 100) =>
    (await store.list(owner, { limit })).map(({ id }) => id)

  it('lists the tasks of an owner, oldest first, then by id', async (near, far) => {
    for (const [id, createdAt] of [
      ['new', 3000],
      ['b', 2000],
      ['a', 2000],
      ['A', 2000],
      ['old', 1000],
    ] as const) {
      await near.create(entry(id, { createdAt }))
    }
    expect(await ids(far, 'somebody')).toEqual(['old', 'A', 'a', 'b', 'new'])
    expect(await ids(far, 'somebody', 2)).toEqual(['old', 'A'])
    await near.replace(entry('old', { version: 2, isOpen: false }))
    const { body: _body, ...summary } = entry('old', { version: 2, isOpen: false })
    expect((await far.list('somebody', { limit: 1 }))[0]).toEqual(summary)
  })

  it('never lists or counts tasks of another owner', async (near, far) => {
    const owners = ['a', 'A', 'a ', 'a%', '_', '', 'b']
    for (const [index, owner] of owners.entries()) {
      await near.create(entry(`${index}`, { owner }))
      expect(await ids(far, owner)).toEqual([`${index}`])
      expect(await far.countOpen(owner)).toBe(1)
    }
    expect(await ids(far, 'nobody')).toEqual([])
    expect(await far.countOpen('nobody')).toBe(0)
  })

  it('continues a list after any task, even a deleted one', async (near, far) => {
    for (let index = 0; index < 7; index++) {
      await near.create(entry(`t${index}`, { createdAt: 1000 * Math.floor(index / 2) }))
    }
    const seen: string[] = []
    for (let after: TaskPosition | undefined, page: TaskSummary[] = []; ; ) {
      page = await far.list('somebody', { after, limit: 2 })
      if (page.length === 0) break
      seen.push(...page.map(({ id }) => id))
      after = page.at(-1)
    }
    expect(seen).toEqual(['t0', 't1', 't2', 't3', 't4', 't5', 't6'])
    const gone = await far.list('somebody', { after: { id: 't00', createdAt: 0 }, limit: 2 })
    expect(gone.map(({ id }) => id)).toEqual(['t1', 't2'])
    const between = await far.list('somebody', { after: { id: 'z', createdAt: 1500 }, limit: 1 })
    expect(between.map(({ id }) => id)).toEqual(['t4'])
  })

  it('lists each task under the name it was given, and not if it has none', async (near, far) => {
    await near.create(entry('unlisted', { listedFor: null }))
    await near.create(entry('session', { listedFor: 'session 1' }))
    await near.create(entry('empty', { listedFor: '' }))
    expect(await ids(far, 'somebody')).toEqual([])
    expect(await ids(far, 'session 1')).toEqual(['session'])
    expect(await ids(far, '')).toEqual(['empty'])
    expect((await far.get('unlisted'))?.listedFor).toBe(null)
    await near.replace(entry('session', { version: 2, listedFor: null }))
    expect(await ids(far, 'session 1')).toEqual([])
  })

  it('counts the open tasks of an owner', async (near, far) => {
    for (const id of ['one', 'two', 'three']) await near.create(entry(id))
    await near.create(entry('closed', { isOpen: false }))
    expect(await far.countOpen('somebody')).toBe(3)
    await far.replace(entry('two', { version: 2, isOpen: false }))
    expect(await near.countOpen('somebody')).toBe(2)
    await near.replace(entry('two', { version: 3, isOpen: true }))
    expect(await far.countOpen('somebody')).toBe(3)
    await near.create(entry('another', { owner: 'another' }))
    expect(await far.countOpen()).toBe(4)
  })

  it('reports what it holds, for monitoring [TASK-059]', async (near, far) => {
    if (!near.usage || !far.usage) return
    expect(await near.usage()).toEqual({ open: 0, finished: 0, bytes: 0, queued: 0, oldestOpenAt: undefined })
    const expiresAt = (driver.now?.() ?? clock.now()) + 1000
    await near.create(entry('soon gone', { createdAt: 1000, expiresAt }), { isReady: true })
    await near.create(entry('young', { createdAt: 4000, owner: 'another' }), { isReady: true })
    await near.create(entry('old', { createdAt: 2000 }))
    await near.create(entry('done', { createdAt: 500, isOpen: false }))
    const { bytes, ...first } = await far.usage()
    expect(first).toEqual({ open: 3, finished: 1, queued: 2, oldestOpenAt: 1000 })
    expect(bytes > 0).toBe(true)
    await driver.advance(1100)
    const { open, queued, oldestOpenAt } = await far.usage()
    expect({ open, queued, oldestOpenAt }).toEqual({ open: 2, queued: 1, oldestOpenAt: 2000 })
    await far.replace(entry('old', { createdAt: 2000, version: 2, isOpen: false }))
    const last = await near.usage()
    expect([last.open, last.finished, last.oldestOpenAt]).toEqual([1, 2, 4000])
  })
}

export function limiting({ it, expect, entry, driver }: Suite): void {
  const within = (limits: Partial<TaskLimits>): TaskWriteOptions => ({ limits: { ...noLimits, ...limits } })
  const ids = async (store: TaskStore, listedFor: string) =>
    (await store.list(listedFor, { limit: 100 })).map(({ id }) => id)
  const isOverloaded = async (creating: Promise<void>) => {
    const error = await creating.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    return error instanceof McpError && error.code === 'overloaded'
  }

  it('rejects a task when its owner has too many open tasks, without effect on others', async (near, far) => {
    const limits = within({ maxOpenPerOwner: 2 })
    await near.create(entry('a1', { owner: 'a' }), limits)
    await far.create(entry('a2', { owner: 'a' }), limits)
    expect(await isOverloaded(near.create(entry('a3', { owner: 'a' }), limits))).toBe(true)
    expect(await far.get('a3')).toBe(undefined)
    await near.create(entry('b1', { owner: 'b' }), limits)
    await far.replace(entry('a1', { owner: 'a', version: 2, isOpen: false }))
    await near.create(entry('a4', { owner: 'a' }), limits)
    expect([await far.countOpen('a'), await far.countOpen('b'), await far.countOpen()]).toEqual([2, 1, 3])
  })

  it('rejects a task when all owners together have too many open tasks', async (near, far) => {
    const limits = within({ maxOpen: 2 })
    await near.create(entry('a', { owner: 'a' }), limits)
    await far.create(entry('b', { owner: 'b' }), limits)
    expect(await isOverloaded(far.create(entry('c', { owner: 'c' }), limits))).toBe(true)
    expect(await near.countOpen()).toBe(2)
  })

  it('admits exactly as many of several concurrent tasks as the limit allows', async (near, far) => {
    const limits = within({ maxOpenPerOwner: 10 })
    const tries = Array.from({ length: 30 }, (_, index) =>
      isOverloaded((index % 2 ? near : far).create(entry(`t${index}`), limits)),
    )
    const refused = (await Promise.all(tries)).filter(Boolean)
    expect(refused.length).toBe(20)
    expect(await near.countOpen('somebody')).toBe(10)
    expect((await ids(far, 'somebody')).length).toBe(10)
  })

  it('does not count expired tasks against the limit', async (near, far) => {
    const limits = within({ maxOpenPerOwner: 2 })
    const expiresAt = (driver.now?.() ?? clock.now()) + 1000
    for (const id of ['one', 'two']) await near.create(entry(id, { expiresAt }), limits)
    expect(await isOverloaded(far.create(entry('three'), limits))).toBe(true)
    await driver.advance(1100)
    await far.create(entry('three'), limits)
    expect([await near.countOpen('somebody'), await near.countOpen()]).toEqual([1, 1])
  })

  it('removes the oldest finished tasks of an owner when there are too many', async (near, far) => {
    const limits = within({ maxFinishedPerOwner: 2 })
    for (const id of ['a', 'b', 'c', 'open']) await near.create(entry(id), limits)
    await near.create(entry('other', { owner: 'other', isOpen: false }), limits)
    for (const id of ['c', 'a', 'b']) {
      await far.replace(entry(id, { version: 2, isOpen: false }), limits)
      await driver.advance(2)
    }
    expect(await ids(near, 'somebody')).toEqual(['a', 'b', 'open'])
    expect(await far.get('c')).toBe(undefined)
    expect(await near.replace(entry('c', { version: 3 }))).toBe(false)
    expect(await ids(near, 'other')).toEqual(['other'])
  })

  it('removes the oldest finished tasks of all owners when there are too many', async (near, far) => {
    const limits = within({ maxFinished: 2 })
    for (const id of ['a', 'b', 'c']) {
      await near.create(entry(id, { owner: id }), limits)
      await far.replace(entry(id, { owner: id, version: 2, isOpen: false }), limits)
      await driver.advance(2)
    }
    expect(await Promise.all(['a', 'b', 'c'].map(async (id) => (await near.get(id))?.id))).toEqual([
      undefined,
      'b',
      'c',
    ])
  })

  it('removes finished tasks that use too many bytes, and rejects what still does not fit', async (near, far) => {
    const limits = within({ maxBytesPerOwner: 10_000 })
    const large = JSON.stringify('x'.repeat(4_000))
    for (const id of ['a', 'b', 'c']) {
      await near.create(entry(id), limits)
      await far.replace(entry(id, { version: 2, isOpen: false, body: large }), limits)
      await driver.advance(2)
    }
    expect(await ids(near, 'somebody')).toEqual(['b', 'c'])
    await near.create(entry('noted'), { ...limits, notes: [large, large] })
    expect(await ids(near, 'somebody')).toEqual(['noted'])
    expect(await isOverloaded(far.create(entry('more', { body: large }), limits))).toBe(true)
    await far.create(entry('other', { owner: 'other', body: large }), limits)
    await far.replace(entry('noted', { version: 2, isOpen: false }), limits)
    await far.create(entry('more', { body: large }), limits)
    expect(await ids(near, 'somebody')).toEqual(['more'])
  })

  it('keeps the task that has just finished, however large it is', async (near, far) => {
    const limits = within({ maxBytesPerOwner: 1_000, maxBytes: 1_000, maxFinished: 1, maxFinishedPerOwner: 1 })
    await near.create(entry('small'), limits)
    const body = JSON.stringify('x'.repeat(4_000))
    expect(await far.replace(entry('small', { version: 2, isOpen: false, body }), limits)).toBe(true)
    expect((await near.get('small'))?.body).toBe(body)
    await near.create(entry('next'), limits)
    expect(await ids(far, 'somebody')).toEqual(['next'])
  })

  it('has correct counters after concurrent creates, changes, transfers, reopens and removals', async (near, far) => {
    const limits = within({ maxFinishedPerOwner: 5 })
    const owners = ['a', 'b', '']
    const at = (list: readonly string[], index: number) => list[index % list.length]!
    await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const [here, there] = index % 2 ? [near, far] : [far, near]
        const id = `t${index}`
        const owner = at(owners, index)
        await here.create(entry(id, { owner }), limits)
        if (index % 3 === 0) await there.replace(entry(id, { owner: at(owners, index + 1), version: 2 }), limits)
        else if (index % 4 === 0) await there.replace(entry(id, { owner, version: 2, isOpen: false }), limits)
        else if (index % 5 === 0) {
          await there.replace(entry(id, { owner, version: 2, isOpen: false }), limits)
          await here.replace(entry(id, { owner, version: 3, isOpen: true }), limits)
        }
      }),
    )
    const kept = (await Promise.all(Array.from({ length: 60 }, (_, index) => near.get(`t${index}`)))).flatMap(
      (one) => one ?? [],
    )
    for (const owner of owners) {
      const own = kept.filter((one) => one.owner === owner)
      expect(await far.countOpen(owner)).toBe(own.filter(({ isOpen }) => isOpen).length)
      expect(own.filter(({ isOpen }) => !isOpen).length <= 5).toBe(true)
    }
    expect(await near.countOpen()).toBe(kept.filter(({ isOpen }) => isOpen).length)
  })
}

export function expiring({ it, expect, entry, driver }: Suite): void {
  const soon = () => (driver.now?.() ?? clock.now()) + 1000

  it('returns undefined for an expired task, and keeps the others', async (near, far) => {
    const expiresAt = soon()
    await near.create(entry('short', { expiresAt }), { notes: ['1'] })
    await near.create(entry('long', { expiresAt: expiresAt + 60_000 }), { notes: ['2'] })
    expect((await far.get('short'))?.id).toBe('short')
    expect(await far.countOpen('somebody')).toBe(2)
    await driver.advance(1100)
    for (const store of [near, far]) {
      expect(await store.get('short')).toBe(undefined)
      expect(await store.notes('short')).toEqual([])
      expect((await store.list('somebody', { limit: 10 })).map(({ id }) => id)).toEqual(['long'])
      expect(await store.countOpen('somebody')).toBe(1)
      expect(await store.replace(entry('short', { version: 2 }))).toBe(false)
      expect(await store.notes('long')).toEqual(['2'])
    }
  })

  it('uses the expiry time of the last change', async (near, far) => {
    const expiresAt = soon()
    for (const id of ['longer', 'forever', 'shorter']) await near.create(entry(id, { expiresAt }))
    await far.replace(entry('longer', { version: 2, expiresAt: expiresAt + 60_000 }))
    await far.replace(entry('forever', { version: 2, expiresAt: null }))
    await near.create(entry('sooner', { expiresAt: expiresAt + 60_000 }))
    await far.replace(entry('sooner', { version: 2, expiresAt }))
    await driver.advance(1100)
    expect((await near.get('longer'))?.version).toBe(2)
    expect((await near.get('forever'))?.version).toBe(2)
    expect(await near.get('shorter')).toBe(undefined)
    expect(await near.get('sooner')).toBe(undefined)
  })

  it('accepts the id of an expired task for a new one, without the old notes', async (near, far) => {
    await near.create(entry('one', { expiresAt: soon() }), { notes: ['old'] })
    await driver.advance(1100)
    const again = entry('one', { owner: 'somebody else' })
    await far.create(again, { notes: ['new'] })
    expect(await near.get('one')).toEqual(again)
    expect(await near.notes('one')).toEqual(['new'])
    expect(await near.countOpen('somebody')).toBe(0)
  })

  it('does not run an expired task', async (near, far) => {
    await near.create(entry('short', { expiresAt: soon() }), ready)
    await driver.advance(1100)
    const runs = new Runs()
    const worker = await far.work(runs.run, options({ concurrency: 1 }))
    await near.create(entry('after'), ready)
    await runs.over('after')
    expect(runs.order).toEqual(['after'])
    await worker.stop()
  })
}
