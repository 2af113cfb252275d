import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from 'tenon/stores/sqlite'
import { eventStoreContract, sessionStoreContract, taskStoreContract, valueStoreContract } from 'tenon/testing'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { McpError } from '../../src/errors.ts'
import { type TaskEntry, UnknownEventError } from '../../src/store/ports.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { retryDelayMs } from '../../src/store/sqlite/jobs.ts'

let folder = ''
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'tenon-sqlite-'))
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newFile = () => join(folder, `${++files}.db`)

let movedMs = 0
const now = () => Date.now() + movedMs
const advance = (ms: number) => {
  movedMs += ms
}

const runner = { describe, it, expect }

/** Opens a store and returns one part of it, which is what the suites test. */
function driverOf<T extends object>(part: (store: SqliteStore) => T, pathOf: () => string = newFile) {
  const opened = new Map<T, { store: SqliteStore; path: string }>()
  const open = (path: string) => {
    const store = sqliteStore(path, { now })
    opened.set(part(store), { store, path })
    return part(store)
  }
  return {
    open: () => open(pathOf()),
    join: (near: T) => open(opened.get(near)!.path),
    close: (closing: T) => opened.get(closing)!.store.close(),
    now,
    advance,
  }
}

taskStoreContract(
  runner,
  'sqliteStore(file).tasks',
  driverOf(({ tasks }) => tasks),
)
const { join: _, ...inMemory } = driverOf(
  ({ tasks }) => tasks,
  () => ':memory:',
)
taskStoreContract(runner, "sqliteStore(':memory:').tasks", inMemory)
sessionStoreContract(
  runner,
  'sqliteStore(file).sessions',
  driverOf(({ sessions }) => sessions),
)
eventStoreContract(
  runner,
  'sqliteStore(file).events',
  driverOf(({ events }) => events),
)
valueStoreContract(
  runner,
  'sqliteStore(file).values',
  driverOf(({ values }) => values),
)

const entry = (id: string, other: Partial<TaskEntry> = {}): TaskEntry => ({
  id,
  owner: 'somebody',
  listedFor: 'somebody',
  version: 1,
  createdAt: now(),
  expiresAt: null,
  isOpen: true,
  summary: 'null',
  body: 'null',
  ...other,
})

describe('writes of sqliteStore', () => {
  it('are committed after a few milliseconds, even if readers keep the event loop in one turn', async () => {
    await using store = opened(newFile())
    let isKept = false
    const kept = store.tasks.create(entry('one')).then(() => {
      isKept = true
    })
    const giveUpAt = performance.now() + 5_000
    // Microtasks only: neither timers nor setImmediate callbacks run.
    while (!isKept && performance.now() < giveUpAt) await store.tasks.get('other')
    expect(isKept).toBe(true)
    await kept
  })
})

describe('sqliteStore, when the clock is set back', () => {
  it('runs tasks that became ready before, and removes what has expired since', async () => {
    let time = 10_000_000_000
    const path = newFile()
    const store = sqliteStore(path, { now: () => time })
    await store.tasks.create(entry('one'), { isReady: true })
    time -= 3_600_000
    const ran = await new Promise<string>((resolve) => {
      void store.tasks.work(async (id) => resolve(id), { concurrency: 1, leaseMs: 10_000, onError: () => {} })
    })
    expect(ran).toBe('one')
    for (let index = 0; index < 5; index++) await store.tasks.create(entry(`short ${index}`, { expiresAt: time + 10 }))
    time += 5_000
    await store.tasks.create(entry('last'))
    await store.close()
    const database = openDatabase(path)
    const left = database.prepare('SELECT id FROM task ORDER BY id').all()
    database.close()
    expect(left.map(({ id }) => id)).toEqual(['last', 'one'])
  })
})

describe('the file of sqliteStore', () => {
  it('is readable only by its owner, including the files beside it', async () => {
    const path = newFile()
    await using store = opened(path)
    await store.tasks.create(entry('one'))
    for (const end of ['', '-wal', '-shm']) expect((statSync(path + end).mode & 0o777).toString(8)).toBe('600')
  })

  it('still contains everything when it is opened again', async () => {
    const path = newFile()
    const before = opened(path)
    await before.tasks.create(entry('one', { createdAt: 5 }), { notes: ['1'], isReady: true })
    await before.sessions.set({ id: 's', state: { a: 1 }, createdAt: 1 }, 60_000)
    await before.values.set('v', 'value', 60_000)
    const event = await before.events.storeEvent('a', '"1"')
    await before.events.storeEvent('a', '"2"')
    await before.close()

    await using after = opened(path)
    expect(await after.tasks.get('one')).toEqual(entry('one', { createdAt: 5 }))
    expect(await after.tasks.notes('one')).toEqual(['1'])
    expect((await after.sessions.get('s'))?.state).toEqual({ a: 1 })
    expect(await after.values.get('v')).toBe('value')
    const replayed: unknown[] = []
    await after.events.replayEventsAfter(event, { send: (_id, message) => void replayed.push(message) })
    expect(replayed).toEqual(['"2"'])
    const ran = await new Promise((resolve) => {
      void after.tasks.work(async (id) => resolve(id), { concurrency: 1, leaseMs: 1000, onError: () => {} })
    })
    expect(ran).toBe('one')
  })

  it('flushes pending writes on close, rejects later calls, and can be closed twice', async () => {
    const path = newFile()
    const store = opened(path)
    const creating = store.tasks.create(entry('one'))
    await store.close()
    await creating
    await store.close()
    const closed = { code: 'closed', message: 'The store is closed' }
    await expect(store.tasks.get('one')).rejects.toMatchObject(closed)
    await expect(store.tasks.create(entry('two'))).rejects.toMatchObject(closed)
    await expect(store.tasks.work(async () => {}, workOptions)).rejects.toMatchObject(closed)
    await expect(store.tasks.watch(() => {})).rejects.toMatchObject(closed)
    await expect(store.sessions.get('one')).rejects.toMatchObject(closed)
    await expect(store.values.take('one')).rejects.toMatchObject(closed)
    await expect(store.events.storeEvent('a', '')).rejects.toMatchObject(closed)
    await using again = opened(path)
    expect((await again.tasks.get('one'))?.id).toBe('one')
  })

  it('is rejected and left unchanged if it is not a database', () => {
    const path = newFile()
    const text = 'This is a diary.\n'.repeat(1000)
    writeFileSync(path, text)
    expect(refusal(path)).toMatch(/file is not a database\. Use a separate file for the store\.$/)
    expect(readFileSync(path, 'utf8')).toBe(text)
  })

  it('is rejected if it is damaged', async () => {
    const path = newFile()
    const store = opened(path)
    await store.tasks.create(entry('one'))
    await store.close()
    const bytes = readFileSync(path)
    bytes.fill(0xaa, 100, 4096)
    writeFileSync(path, bytes)
    expect(refusal(path)).toMatch(/restore a backup, or delete it to start with an empty store\.$/)
  })

  it('is rejected and left unchanged if it belongs to another program', () => {
    const path = newFile()
    const other = openDatabase(path)
    other.exec('CREATE TABLE diary (day TEXT); PRAGMA user_version = 1')
    other.close()
    expect(refusal(path)).toBe(`"${path}" is a database of another program. Use a separate file for the store.`)
    const again = openDatabase(path)
    const names = again
      .prepare('SELECT name FROM sqlite_master')
      .all()
      .map(({ name }) => name)
    again.close()
    expect(names).toEqual(['diary'])
  })

  it('is rejected if a newer version created it', async () => {
    const path = newFile()
    await opened(path).close()
    const newer = openDatabase(path)
    newer.exec('PRAGMA user_version = 1000')
    newer.close()
    expect(refusal(path)).toMatch(/was created by a newer version of this library/)
  })

  it('is rejected if its path is a folder, or its folder is a file or does not exist', () => {
    const place = join(folder, 'place')
    mkdirSync(place)
    expect(refusal(place)).toMatch(/^Cannot (open|use) the store .*place": /)
    const file = newFile()
    writeFileSync(file, '')
    expect(refusal(join(file, 'store.db'))).toMatch(/^Cannot open the store .*: ENOTDIR/)
    expect(refusal(join(folder, 'nowhere', 'store.db'))).toMatch(/^Cannot open the store .*: ENOENT/)
  })

  it('does not grow with expired data', async () => {
    const path = newFile()
    await using store = opened(path, { maxEventAgeMs: 1000 })
    for (let round = 0; round < 5; round++) {
      const ids = Array.from({ length: 100 }, (_, index) => `${round}-${index}`)
      for (const id of ids) {
        void store.tasks.create(entry(id, { expiresAt: now() + 1000 }), { notes: ['1', '2'], isReady: true })
        void store.sessions.set({ id, state: id, createdAt: now() }, 1000)
        void store.values.set(id, id, 1000)
        void store.events.storeEvent(id, '""')
      }
      await store.tasks.publish('x', 'all of it is written')
      advance(60_000)
      // Expired data is removed with later changes, some at a time.
      for (let times = 0; times < 5; times++) await store.tasks.publish('x', 'later')
    }
    const left = openDatabase(path)
    const count = (table: string) => left.prepare(`SELECT count(*) AS number FROM ${table}`).get()?.number
    expect(['task', 'note', 'job', 'session', 'value'].map(count)).toEqual([0, 0, 0, 0, 0])
    expect(Number(count('event')) <= 1).toBe(true)
    expect(Number(count('change')) < 50).toBe(true)
    left.close()
  })

  it('drops events after maxEventAgeMs', async () => {
    await using store = opened(newFile(), { maxEventAgeMs: 1000 })
    const old = await store.events.storeEvent('a', '1')
    advance(600)
    const young = await store.events.storeEvent('a', '2')
    advance(600)
    await expect(store.events.replayEventsAfter(old, { send: () => {} })).rejects.toBeInstanceOf(UnknownEventError)
    expect(await store.events.replayEventsAfter(young, { send: () => {} })).toBe('a')
  })

  it('commits the other changes of a batch when one of them is invalid', async () => {
    await using store = opened(newFile())
    const bad = entry('bad', { body: undefined as unknown as string })
    const results = await Promise.allSettled([
      store.tasks.create(entry('one'), { notes: ['1'] }),
      store.tasks.create(bad),
      store.tasks.create(entry('two'), { notes: ['2'] }),
    ])
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(await store.tasks.notes('one')).toEqual(['1'])
    expect(await store.tasks.notes('two')).toEqual(['2'])
    expect(await store.tasks.countOpen('somebody')).toBe(2)
  })

  it('aborts the run of a task that expires', async () => {
    await using store = opened(newFile())
    const aborted = new Promise<string>((resolve) => {
      const run = (id: string, signal: AbortSignal) =>
        new Promise<void>((end) => {
          signal.addEventListener('abort', () => {
            resolve(id)
            end()
          })
          advance(10_000)
        })
      void store.tasks.work(run, { ...workOptions, leaseMs: 90 })
    })
    await store.tasks.create(entry('one', { expiresAt: now() + 5000 }), { isReady: true })
    expect(await aborted).toBe('one')
  })
})

describe('the retry delay after a failure', () => {
  it('grows with every consecutive failure, up to 30 seconds', () => {
    expect([1, 2, 3, 4, 9, 10, 500].map(retryDelayMs)).toEqual([100, 200, 400, 800, 25_600, 30_000, 30_000])
  })
})

const workOptions = { concurrency: 1, leaseMs: 1000, onError: () => {} }

function opened(path: string, options: SqliteStoreOptions = {}): SqliteStore & AsyncDisposable {
  const store = sqliteStore(path, { now, ...options })
  return { ...store, [Symbol.asyncDispose]: () => store.close() }
}

function refusal(path: string): string {
  try {
    sqliteStore(path)
  } catch (error) {
    expect(error).toBeInstanceOf(McpError)
    expect(error).toMatchObject({ code: 'invalid-argument' })
    return (error as Error).message
  }
  return 'It was taken'
}
