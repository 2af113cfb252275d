import { McpError } from '../errors.ts'
import type {
  RunTask,
  TaskChange,
  TaskEntry,
  TaskLimits,
  TaskPlace,
  TaskStore,
  TaskSummary,
  WorkOptions,
} from '../store/ports.ts'
import { noLimits } from '../store/task-limits.ts'
import { clock } from '../util/clock.ts'
import { deferred } from '../util/deferred.ts'
import type { Driver, TestRunner } from './store-contract.ts'

export interface TaskStoreDriver extends Driver<TaskStore> {
  /** Lets time pass for the store: moves the clock it was given, or waits. */
  advance(ms: number): void | Promise<void>
  /** The clock of the store, in milliseconds. Default `Date.now`. */
  now?(): number
  /**
   * The same store once more, as another process has it; given to `close` like the first one. Closing it while it works
   * stands for the death of its process. Default: the tests use one end, and leave out what needs two.
   */
  join?(store: TaskStore): TaskStore | Promise<TaskStore>
}

/** The suite that every task store passes. It lets about four seconds pass, where that means to wait. */
export function taskStoreContract(runner: TestRunner, name: string, driver: TaskStoreDriver): void {
  const suite: Suite = { it: testsOf(runner, driver), expect: runner.expect, driver, entry: entriesOf(driver) }

  runner.describe(`${name}, a task store`, () => {
    keeping(suite)
    listing(suite)
    expiring(suite)
    limiting(suite)
    working(suite)
    takingTurns(suite)
    workingAgain(suite)
    stopping(suite)
    watching(suite)
    if (driver.join) dying(suite)
  })
}

interface Suite {
  /** @param far Another end of the store, or the same one where the driver knows no other. */
  it(title: string, body: (near: TaskStore, far: TaskStore) => Promise<void>): void
  readonly expect: TestRunner['expect']
  readonly driver: TaskStoreDriver
  /** A task of the owner `somebody`. A new one is made a second after the one before it, unless told otherwise. */
  entry(id: string, other?: Partial<TaskEntry>): TaskEntry
}

const ready: TaskChange = { isReady: true }

function keeping({ it, expect, entry }: Suite): void {
  it('gives back what was created', async (near, far) => {
    const entries = [
      entry('one'),
      entry('two', { owner: 'user ü "\n', isOpen: false, body: '{"list":[1,null,"ü\\n\u2028"]}' }),
      entry('three', { owner: '', expiresAt: 253_402_300_799_999, body: JSON.stringify('x'.repeat(100_000)) }),
      entry('__proto__'),
    ]
    for (const one of entries) await near.create(one)
    for (const one of entries) expect(await far.get(one.id)).toEqual(one)
  })

  it('does not know a task that was never created', async (near, far) => {
    await near.create(entry('one'), { notes: ['1'] })
    for (const id of ['', 'on', 'one1', 'ONE', 'one ', '%', 'constructor']) {
      expect(await far.get(id)).toBe(undefined)
      expect(await far.notes(id)).toEqual([])
      expect(await far.replace(entry(id, { version: 2 }))).toBe(false)
      expect(await far.get(id)).toBe(undefined)
    }
  })

  it('refuses a second task of the same id, and leaves the first as it is', async (near, far) => {
    const first = entry('one')
    await near.create(first, { notes: ['1'] })
    expect(await isRefused(far.create(entry('one', { owner: 'somebody else' }), { notes: ['2'] }))).toBe(true)
    expect(await near.get('one')).toEqual(first)
    expect(await near.notes('one')).toEqual(['1'])
  })

  it('replaces the whole entry when its version follows', async (near, far) => {
    await near.create(entry('one'))
    const second = entry('one', { version: 2, isOpen: false, body: '"second"', expiresAt: 253_402_300_799_999 })
    expect(await far.replace(second)).toBe(true)
    expect(await near.get('one')).toEqual(second)
    const third = { ...second, version: 3, expiresAt: null }
    expect(await near.replace(third)).toBe(true)
    expect(await far.get('one')).toEqual(third)
  })

  it('does nothing when the version does not follow', async (near, far) => {
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

  it('lets exactly one of many replace a version, with its notes', async (near, far) => {
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

  it('gives all notes in order, each task its own', async (near, far) => {
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

  it('takes many tasks at the same time', async (near, far) => {
    const entries = Array.from({ length: 200 }, (_, index) => entry(`task ${index}`))
    await Promise.all(entries.map((one, index) => (index % 2 ? near : far).create(one, { notes: [one.id] })))
    expect(await Promise.all(entries.map(({ id }) => near.get(id)))).toEqual(entries)
    expect(await Promise.all(entries.map(({ id }) => far.notes(id)))).toEqual(entries.map(({ id }) => [id]))
  })
}

function listing({ it, expect, entry }: Suite): void {
  const ids = async (store: TaskStore, owner: string, limit = 100) =>
    (await store.list(owner, { limit })).map(({ id }) => id)

  it('lists the tasks of an owner, the oldest first, and by id where they are of one age', async (near, far) => {
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

  it('goes on after any task, also one that is gone', async (near, far) => {
    for (let index = 0; index < 7; index++) {
      await near.create(entry(`t${index}`, { createdAt: 1000 * Math.floor(index / 2) }))
    }
    const seen: string[] = []
    for (let after: TaskPlace | undefined, page: TaskSummary[] = []; ; ) {
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

  it('lists no task that is in no list, and each under the name it was given', async (near, far) => {
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
}

function limiting({ it, expect, entry, driver }: Suite): void {
  const within = (limits: Partial<TaskLimits>): TaskChange => ({ limits: { ...noLimits, ...limits } })
  const ids = async (store: TaskStore, listedFor: string) =>
    (await store.list(listedFor, { limit: 100 })).map(({ id }) => id)
  const isOverloaded = async (creating: Promise<void>) => {
    const error = await creating.then(
      () => undefined,
      (reason: unknown) => reason,
    )
    return error instanceof McpError && error.code === 'overloaded'
  }

  it('refuses a task when its owner has too many open, and keeps those of others', async (near, far) => {
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

  it('refuses a task when too many of all owners are open', async (near, far) => {
    const limits = within({ maxOpen: 2 })
    await near.create(entry('a', { owner: 'a' }), limits)
    await far.create(entry('b', { owner: 'b' }), limits)
    expect(await isOverloaded(far.create(entry('c', { owner: 'c' }), limits))).toBe(true)
    expect(await near.countOpen()).toBe(2)
  })

  it('lets exactly as many of those who race be created as there is room for', async (near, far) => {
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

  it('removes the tasks of an owner that finished first when there are too many', async (near, far) => {
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

  it('removes the tasks that finished first when there are too many in all', async (near, far) => {
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

  it('removes finished tasks that take too many bytes, and refuses what still does not fit', async (near, far) => {
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

  it('keeps the task that just finished, however large it is', async (near, far) => {
    const limits = within({ maxBytesPerOwner: 1_000, maxBytes: 1_000, maxFinished: 1, maxFinishedPerOwner: 1 })
    await near.create(entry('small'), limits)
    const body = JSON.stringify('x'.repeat(4_000))
    expect(await far.replace(entry('small', { version: 2, isOpen: false, body }), limits)).toBe(true)
    expect((await near.get('small'))?.body).toBe(body)
    await near.create(entry('next'), limits)
    expect(await ids(far, 'somebody')).toEqual(['next'])
  })

  it('counts right whoever creates, changes, gives away, reopens and removes at the same time', async (near, far) => {
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

function expiring({ it, expect, entry, driver }: Suite): void {
  const soon = () => (driver.now?.() ?? clock.now()) + 1000

  it('knows no task after its time, and keeps the others', async (near, far) => {
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

  it('goes by the time that the last change set', async (near, far) => {
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

  it('takes the id of an expired task for a new one, and none of its notes', async (near, far) => {
    await near.create(entry('one', { expiresAt: soon() }), { notes: ['old'] })
    await driver.advance(1100)
    const again = entry('one', { owner: 'somebody else' })
    await far.create(again, { notes: ['new'] })
    expect(await near.get('one')).toEqual(again)
    expect(await near.notes('one')).toEqual(['new'])
    expect(await near.countOpen('somebody')).toBe(0)
  })

  it('does not run a task after its time', async (near, far) => {
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

function working({ it, expect, entry }: Suite): void {
  it('runs what is ready, once, and nothing else', async (near, far) => {
    await near.create(entry('before'), ready)
    await near.create(entry('waiting'))
    await near.create(entry('not'), { isReady: false, notes: ['1'] })
    const runs = new Runs()
    const worker = await near.work(runs.run, options())
    await runs.over('before')
    await near.create(entry('near'), ready)
    await runs.over('near')
    await far.create(entry('far'), ready)
    await runs.over('far')
    await far.replace(entry('waiting', { version: 2 }), ready)
    await runs.over('waiting')
    await far.replace(entry('before', { version: 2 }))
    await far.create(entry('last'), ready)
    await runs.over('last')
    expect(runs.order).toEqual(['before', 'near', 'far', 'waiting', 'last'])
    await worker.stop()
  })

  it('runs a task that has ended when it is made ready all the same', async (near, far) => {
    const runs = new Runs()
    const worker = await near.work(runs.run, options())
    await far.create(entry('one', { isOpen: false }), ready)
    await runs.over('one')
    await worker.stop()
  })

  it('shows a run what was changed before it', async (near, far) => {
    const seen: unknown[] = []
    const runs = new Runs(async (id) => {
      seen.push((await near.get(id))?.version, await near.notes(id))
    })
    const worker = await near.work(runs.run, options())
    await far.create(entry('one'), { notes: ['1'] })
    await far.replace(entry('one', { version: 2 }), { notes: ['2'], isReady: true })
    await runs.over('one')
    expect(seen).toEqual([2, ['1', '2']])
    await worker.stop()
  })

  it('runs as many at a time as it may, and no more', async (near, far) => {
    const gate = deferred<void>()
    const full = deferred<void>()
    const runs = new Runs(() => {
      if (runs.running === 3) full.resolve()
      return gate.promise
    })
    const worker = await near.work(runs.run, options({ concurrency: 3 }))
    const ids = Array.from({ length: 20 }, (_, index) => `t${index}`)
    await Promise.all(ids.map((id) => far.create(entry(id), ready)))
    await full.promise
    gate.resolve()
    await Promise.all(ids.map((id) => runs.over(id)))
    expect(runs.most).toBe(3)
    await worker.stop()
  })

  it('begins with the oldest, about', async (near, far) => {
    const ids = Array.from({ length: 200 }, (_, index) => `t${index}`)
    for (const id of ids) await near.create(entry(id), ready)
    const runs = new Runs()
    const worker = await far.work(runs.run, options({ concurrency: 1 }))
    await Promise.all(ids.map((id) => runs.over(id)))
    const half = new Set(ids.slice(0, 100))
    const early = runs.order.slice(0, 100).filter((id) => half.has(id)).length
    expect(early > 80).toBe(true)
    await worker.stop()
  })

  it('gives each of many tasks to one of two workers, once', async (near, far) => {
    const runs = new Runs(() => new Promise((resolve) => setTimeout(resolve)))
    const workers = [await near.work(runs.run, options()), await far.work(runs.run, options())]
    const ids = Array.from({ length: 300 }, (_, index) => `t${index}`)
    await Promise.all(ids.map((id, index) => (index % 2 ? near : far).create(entry(id), ready)))
    await Promise.all(ids.map((id) => runs.over(id)))
    for (const worker of workers) await worker.stop()
    expect(runs.order.toSorted()).toEqual(ids.toSorted())
  })

  it('keeps a task that takes longer than the lease with the worker that runs it', async (near, far) => {
    const runs = new Runs((_id, signal) => {
      signals.push(signal)
      return new Promise((resolve) => setTimeout(resolve, 1000))
    })
    const signals: AbortSignal[] = []
    const workers = []
    for (const store of [near, far]) workers.push(await store.work(runs.run, options({ leaseMs: 300 })))
    await near.create(entry('long'), ready)
    await runs.over('long')
    await near.create(entry('after'), ready)
    await runs.over('after')
    expect(runs.order).toEqual(['long', 'after'])
    expect(signals.map(({ aborted }) => aborted)).toEqual([false, false])
    for (const worker of workers) await worker.stop()
  })
}

function takingTurns({ it, expect, entry }: Suite): void {
  it('takes turns between owners, however many tasks one of them has', async (near, far) => {
    const many = Array.from({ length: 30 }, (_, index) => `many ${index}`)
    const few = Array.from({ length: 3 }, (_, index) => `few ${index}`)
    for (const id of many) await near.create(entry(id, { owner: 'many' }), ready)
    for (const id of few) await far.create(entry(id, { owner: 'few' }), ready)
    const runs = new Runs()
    const worker = await near.work(runs.run, options({ concurrency: 1 }))
    await Promise.all([...many, ...few].map((id) => runs.over(id)))
    expect(few.every((id) => runs.order.indexOf(id) < 12)).toBe(true)
    await worker.stop()
  })

  it('leaves room for others beside the long tasks of one owner', async (near, far) => {
    const gate = deferred<void>()
    let most = 0
    let running = 0
    const runs = new Runs(async (id) => {
      if (id.startsWith('short')) return
      most = Math.max(most, ++running)
      await gate.promise
      running--
    })
    const worker = await near.work(runs.run, options({ concurrency: 3, maxPerOwner: 2 }))
    const long = Array.from({ length: 8 }, (_, index) => `long ${index}`)
    await Promise.all(long.map((id, index) => (index % 2 ? near : far).create(entry(id, { owner: 'greedy' }), ready)))
    for (let index = 0; index < 3; index++) {
      await far.create(entry(`short ${index}`, { owner: `modest ${index}` }), ready)
      await runs.over(`short ${index}`)
    }
    gate.resolve()
    await Promise.all(long.map((id) => runs.over(id)))
    expect(most).toBe(2)
    await worker.stop()
  })
}

function workingAgain({ it, expect, entry }: Suite): void {
  it('runs a task again that was made ready while it ran, and not before that run is over', async (near, far) => {
    const begun = deferred<void>()
    const gate = deferred<void>()
    const runs = new Runs(() => {
      begun.resolve()
      return gate.promise
    })
    const workers = [await near.work(runs.run, options()), await far.work(runs.run, options())]
    await near.create(entry('one'), ready)
    await begun.promise
    for (let version = 2; version < 10; version++) {
      await (version % 2 ? near : far).replace(entry('one', { version }), ready)
    }
    // Another task, made ready later, shows that the first could have been run by now.
    await near.create(entry('other'), ready)
    await runs.begun('other')
    expect(runs.order).toEqual(['one', 'other'])
    gate.resolve()
    await runs.over('one', 2)
    await near.create(entry('last'), ready)
    await runs.over('last')
    for (const worker of workers) await worker.stop()
    expect(runs.order).toEqual(['one', 'other', 'one', 'last'])
    expect(runs.overlaps).toEqual([])
  })

  it('never runs a task twice at a time, however often it is made ready', async (near, far) => {
    const runs = new Runs(() => new Promise((resolve) => setTimeout(resolve)))
    const workers = [await near.work(runs.run, options()), await far.work(runs.run, options())]
    await near.create(entry('one'), ready)
    for (let version = 2; version < 60; version++) {
      await (version % 2 ? near : far).replace(entry('one', { version }), ready)
      if (version % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 5))
    }
    const before = runs.count('one')
    await near.replace(entry('one', { version: 60 }), ready)
    await runs.over('one', before + 1)
    for (const worker of workers) await worker.stop()
    expect(runs.overlaps).toEqual([])
  })

  it('runs a task again when it failed, and others meanwhile', async (near, far) => {
    const errors: unknown[] = []
    const failure = new Error('no luck')
    const runs = new Runs(async (id) => {
      if (id === 'unlucky' && (runs.count('other') === 0 || runs.count(id) < 3)) throw failure
    })
    const onError = (error: unknown) => void errors.push(error)
    const worker = await near.work(runs.run, options({ concurrency: 1, onError }))
    await far.create(entry('unlucky'), ready)
    await runs.over('unlucky')
    await far.create(entry('other'), ready)
    await runs.over('other')
    await runs.over('unlucky', 3)
    await worker.stop()
    expect(errors.length > 0 && errors.every((error) => error === failure)).toBe(true)
  })

  it('does not run a task once more because it had failed before it went well', async (near, far) => {
    const runs = new Runs(async (id) => {
      const count = runs.count(id)
      if ((id === 'one' && count < 2) || (id === 'slow' && count < 4)) throw new Error('no luck')
    })
    const worker = await near.work(runs.run, options())
    await near.create(entry('one'), ready)
    await runs.over('one')
    await far.replace(entry('one', { version: 2 }), ready)
    await runs.over('one', 2)
    // By its fourth run any pause that the first task had is long over.
    await near.create(entry('slow'), ready)
    await runs.over('slow', 4)
    expect(runs.count('one')).toBe(2)
    await worker.stop()
  })
}

function stopping({ it, expect, entry }: Suite): void {
  it('stops when what runs is over, takes no more, and leaves the rest to others', async (near, far) => {
    const gate = deferred<void>()
    const first = new Runs(() => gate.promise)
    const worker = await near.work(first.run, options({ concurrency: 1 }))
    await near.create(entry('one'), ready)
    await first.begun('one')
    await near.create(entry('two'), ready)
    let isStopped = false
    const stopped = worker.stop().then(() => {
      isStopped = true
    })
    const again = worker.stop()
    await far.replace(entry('one', { version: 2 }), ready)
    const second = new Runs()
    const other = await far.work(second.run, options())
    await second.over('two')
    expect(isStopped).toBe(false)
    gate.resolve()
    await Promise.all([stopped, again])
    expect(first.order).toEqual(['one'])
    await second.over('one')
    expect(second.order).toEqual(['two', 'one'])
    await other.stop()
  })

  it('works for several workers of one process, each for itself', async (near) => {
    const [one, other] = [new Runs(), new Runs()]
    const first = await near.work(one.run, options())
    const second = await near.work(other.run, options())
    await first.stop()
    await near.create(entry('one'), ready)
    await other.over('one')
    expect(one.order).toEqual([])
    await second.stop()
  })
}

function watching({ it, expect, entry }: Suite): void {
  it('hears of every change, here and there', async (near, far) => {
    const ears = [new TaskEar(), new TaskEar()]
    await near.watch(ears[0]!.listener)
    await far.watch(ears[1]!.listener)
    await near.create(entry('one'))
    for (const ear of ears) await ear.hearing('one')
    await far.replace(entry('one', { version: 2 }))
    for (const ear of ears) await ear.hearing('one')
    await far.create(entry('__proto__'))
    for (const ear of ears) await ear.hearing('__proto__')
  })

  it('hears nothing of a change that was not made', async (near, far) => {
    const ear = new TaskEar()
    await near.create(entry('one'))
    await far.watch(ear.listener)
    await near.replace(entry('one', { version: 7 }))
    await near.replace(entry('nothing', { version: 2 }))
    await near.create(entry('two'))
    await ear.hearing('two')
    expect(ear.heard.filter(({ id }) => id === 'nothing')).toEqual([])
  })

  it('shows a change to who heard of it', async (near, far) => {
    const versions: Array<Promise<number | undefined>> = []
    const done = deferred<void>()
    await far.watch((id) => {
      const version = far.get(id).then((found) => found?.version)
      versions.push(version)
      void version.then((seen) => seen === 20 && done.resolve())
    })
    await near.create(entry('one'))
    for (let version = 2; version <= 20; version++) await near.replace(entry('one', { version }))
    await done.promise
    const seen = await Promise.all(versions)
    expect(seen).toEqual(seen.toSorted((one, other) => one! - other!))
  })

  it('carries what is said, in order and unchanged', async (near, far) => {
    const ears = [new TaskEar(), new TaskEar()]
    await near.watch(ears[0]!.listener)
    await far.watch(ears[1]!.listener)
    const texts = ['', 'ü\r\n "', '{"a":1}', ...Array.from({ length: 200 }, (_, index) => `${index}`)]
    for (const text of texts) await near.say('one', text)
    await near.say('last', 'end')
    for (const ear of ears) {
      await ear.hearing('last')
      expect(ear.heard.filter(({ id }) => id === 'one').map(({ said }) => said)).toEqual(texts)
    }
  })

  it('tells each listener until it stops', async (near, far) => {
    const [leaving, staying] = [new TaskEar(), new TaskEar()]
    const stop = await far.watch(leaving.listener)
    await far.watch(staying.listener)
    await near.say('one', '1')
    for (const ear of [leaving, staying]) await ear.hearing('one')
    stop()
    stop()
    await near.say('one', '2')
    await staying.hearing('one')
    expect(leaving.heard.map(({ said }) => said)).toEqual(['1'])
    expect(staying.heard.map(({ said }) => said)).toEqual(['1', '2'])
  })

  it('keeps nothing of what is said', async (near, far) => {
    const one = entry('one')
    await near.create(one)
    await near.say('one', 'early')
    const ear = new TaskEar()
    await far.watch(ear.listener)
    await near.say('one', 'late')
    await ear.hearing('one')
    expect(ear.heard).toEqual([{ id: 'one', said: 'late' }])
    expect(await far.get('one')).toEqual(one)
    expect(await far.notes('one')).toEqual([])
  })
}

function dying({ it, expect, entry, driver }: Suite): void {
  it('gives what a worker ran to another when it is not heard of any more', async (near) => {
    const far = await driver.join!(near)
    const lost = new Runs(() => new Promise(() => {}))
    await far.work(lost.run, options({ leaseMs: 300 }))
    await near.create(entry('one'), ready)
    await near.create(entry('two'), ready)
    await lost.begun('one')
    await lost.begun('two')
    const runs = new Runs()
    const worker = await near.work(runs.run, options({ leaseMs: 300 }))
    await driver.close?.(far)
    await runs.over('one')
    await runs.over('two')
    await near.create(entry('last'), ready)
    await runs.over('last')
    expect(runs.order.toSorted()).toEqual(['last', 'one', 'two'])
    await worker.stop()
  })

  it('has everything still when it is opened again', async (near) => {
    const far = await driver.join!(near)
    const [one, two] = [entry('one'), entry('two')]
    await far.create(one, { notes: ['1'] })
    await far.create(two, { notes: ['2'], isReady: true })
    await driver.close?.(far)
    const again = await driver.join!(near)
    expect(await again.get('one')).toEqual(one)
    expect(await again.notes('one')).toEqual(['1'])
    const listed = [one, two].map(({ body: _body, ...summary }) => summary)
    expect(await again.list('somebody', { limit: 10 })).toEqual(listed)
    expect([await again.countOpen('somebody'), await again.countOpen()]).toEqual([2, 2])
    const runs = new Runs()
    const worker = await again.work(runs.run, options())
    await runs.over('two')
    await worker.stop()
    await driver.close?.(again)
  })
}

function options(other: Partial<WorkOptions> = {}): WorkOptions {
  return { concurrency: 4, leaseMs: 10_000, onError: () => {}, ...other }
}

function testsOf(runner: TestRunner, driver: TaskStoreDriver): Suite['it'] {
  return (title, body) => {
    runner.it(title, async () => {
      const near = await driver.open()
      const far = driver.join ? await driver.join(near) : near
      try {
        await body(near, far)
      } finally {
        if (far !== near) await driver.close?.(far)
        await driver.close?.(near)
      }
    })
  }
}

function entriesOf(driver: TaskStoreDriver): Suite['entry'] {
  const createdAt = new Map<string, number>()
  let latest = driver.now?.() ?? clock.now()
  return (id, other = {}) => {
    const { version = 1 } = other
    if (version === 1 || !createdAt.has(id)) {
      latest += 1000
      createdAt.set(id, other.createdAt ?? latest)
    }
    return {
      id,
      owner: 'somebody',
      version,
      createdAt: createdAt.get(id) ?? 0,
      expiresAt: null,
      isOpen: true,
      listedFor: other.owner ?? 'somebody',
      summary: `{"summary":${JSON.stringify(id)}}`,
      body: `{"id":${JSON.stringify(id)}}`,
      ...other,
    }
  }
}

async function isRefused(promise: Promise<unknown>): Promise<boolean> {
  return promise.then(
    () => false,
    () => true,
  )
}

/** A `run` that remembers what was run and can be waited for. */
class Runs {
  /** In which they began. */
  readonly order: string[] = []
  /** Tasks that were begun while they ran. */
  readonly overlaps: string[] = []
  running = 0
  /** The most that ran at a time. */
  most = 0
  readonly #work: RunTask
  readonly #runningIds = new Set<string>()
  readonly #ended = new Map<string, number>()
  readonly #waiting = new Set<() => void>()

  constructor(work: RunTask = async () => {}) {
    this.#work = work
  }

  readonly run: RunTask = async (id, signal) => {
    this.order.push(id)
    if (this.#runningIds.has(id)) this.overlaps.push(id)
    this.#runningIds.add(id)
    this.most = Math.max(this.most, ++this.running)
    this.#look()
    try {
      await this.#work(id, signal)
    } finally {
      this.running--
      this.#runningIds.delete(id)
      this.#ended.set(id, (this.#ended.get(id) ?? 0) + 1)
      this.#look()
    }
  }

  /** How often a task was begun. */
  count(id: string): number {
    return this.order.filter((one) => one === id).length
  }

  begun(id: string): Promise<void> {
    return this.#until(() => this.order.includes(id))
  }

  /** Until so many runs of a task have ended, well or not. */
  over(id: string, times = 1): Promise<void> {
    return this.#until(() => (this.#ended.get(id) ?? 0) >= times)
  }

  async #until(isSo: () => boolean): Promise<void> {
    while (!isSo()) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve)
      })
    }
  }

  #look(): void {
    for (const resolve of this.#waiting) resolve()
    this.#waiting.clear()
  }
}

/** A listener that can be waited for. */
class TaskEar {
  readonly heard: Array<{ id: string; said: string | undefined }> = []
  #next = 0
  #wake: (() => void) | undefined

  readonly listener = (id: string, said?: string): void => {
    this.heard.push({ id, said })
    this.#wake?.()
  }

  /** Until the task is heard of, after everything that was waited for before. */
  async hearing(id: string): Promise<void> {
    for (;;) {
      for (; this.#next < this.heard.length; ) if (this.heard[this.#next++]?.id === id) return
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}
