import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { sqliteStore } from 'tenon/stores/sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TaskEntry } from '../../src/store/ports.ts'
import { openDatabase } from '../../src/store/sqlite/database.ts'
import { exited, killed } from '../kit/child-process.ts'
import { Children, Sayings } from './fixtures/sqlite-children.ts'

/** Root can write anywhere, so the test runs as another user. */
const nobody = process.getuid?.() === 0 ? 65_534 : undefined
const hasSqlite = process.getBuiltinModule?.('node:sqlite') !== undefined

const children = new Children()
beforeAll(() => children.build())
afterAll(() => children.end())

const entry = (id: string): TaskEntry => ({
  id,
  owner: 'parent',
  listedFor: 'parent',
  version: 1,
  createdAt: Date.now(),
  expiresAt: null,
  isOpen: true,
  summary: 'null',
  body: 'null',
})
const ready = { isReady: true }

/** Computes the expected values of the counters. */
const countTasks = `
  SELECT owner, sum(is_open) AS open, sum(1 - is_open) AS finished,
    sum(length(CAST(summary AS BLOB)) + length(CAST(body AS BLOB))
      + coalesce((SELECT sum(length(CAST(text AS BLOB))) FROM note WHERE note.task = task.key), 0)) AS bytes
  FROM task GROUP BY owner ORDER BY owner`
const taskIds = (count: number) => Array.from({ length: count }, (_, index) => `task ${index}`)

describe('a SQLite file shared by several processes', () => {
  it('gives each of 1,000 tasks to one of two workers exactly once', async () => {
    const path = children.newFile()
    const store = sqliteStore(path)
    const says = new Sayings()
    const workers = [1, 2].map(() => says.hear(children.start(path, 'work', '1')))
    const ids = taskIds(1000)
    await Promise.all(ids.map((id) => store.tasks.create(entry(id), ready)))
    await says.until((all) => all.filter(({ ended }) => ended).length === ids.length)
    for (const worker of workers) {
      worker.send('stop')
      expect(await exited(worker)).toBe(0)
    }
    const began = says.all.flatMap(({ began }) => began ?? [])
    expect(began.toSorted()).toEqual(ids.toSorted())
    expect(await store.tasks.countOpen('parent')).toBe(0)
    await store.close()
  }, 60_000)

  it('loses no task when one of the workers is killed while running', async () => {
    const path = children.newFile()
    const store = sqliteStore(path)
    const [lastWords, says] = [new Sayings(), new Sayings()]
    const [victim, survivor] = [lastWords, says].map((hears) => hears.hear(children.start(path, 'work', '10')))
    const ids: string[] = []
    // Wait until both are working: on a busy machine one may start much later than the other.
    while (lastWords.all.length === 0 || says.all.length <= 50) {
      const more = Array.from({ length: 20 }, (_, index) => `task ${ids.length + index}`)
      ids.push(...more)
      await Promise.all(more.map((id) => store.tasks.create(entry(id), ready)))
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await killed(victim!)
    const open = async () => (await store.tasks.countOpen('parent')) > 0
    while (await open()) await once(survivor!, 'message')
    survivor!.send('stop')
    expect(await exited(survivor!)).toBe(0)
    const versions = (await store.tasks.list('parent', { limit: 100_000 })).map(({ version }) => version)
    expect(versions.length).toBe(ids.length)
    // Only the tasks that the killed worker was running are run twice, eight at most.
    expect(versions.every((version) => version === 2 || version === 3)).toBe(true)
    expect(versions.filter((version) => version === 3).length).toBeLessThanOrEqual(8)
    await store.close()
  }, 60_000)

  it('takes the task from a suspended process, and aborts it there when the process continues', async () => {
    const path = children.newFile()
    const store = sqliteStore(path)
    const says = new Sayings()
    const child = says.hear(children.start(path, 'hold'))
    await store.tasks.create(entry('one'), ready)
    await says.until((all) => all.some(({ began }) => began === 'one'))
    child.kill('SIGSTOP')
    const ran = await new Promise<string>((resolve) => {
      void store.tasks.work(async (id) => resolve(id), { concurrency: 1, leaseMs: 300, onError: () => {} })
    })
    expect(ran).toBe('one')
    child.kill('SIGCONT')
    await says.until((all) => all.some(({ aborted }) => aborted === 'one'))
    await killed(child)
    await store.close()
  }, 60_000)

  it('keeps everything that was confirmed before a process was killed', async () => {
    const path = children.newFile()
    const child = children.start(path, 'create', 'mine')
    const printed: string[] = []
    const lines = createInterface({ input: child.stdout! })
    const ended = once(lines, 'close')
    lines.on('line', (line) => {
      printed.push(line)
      if (printed.length === 500) child.kill('SIGKILL')
    })
    await ended
    const store = sqliteStore(path)
    for (const [index, id] of printed.entries()) {
      expect((await store.tasks.get(id))?.version).toBe(1)
      expect(await store.tasks.notes(id)).toEqual([`${index}`])
    }
    const ran = new Set<string>()
    await new Promise<void>((resolve) => {
      const run = async (id: string) => {
        ran.add(id)
        if (printed.every((one) => ran.has(one))) resolve()
      }
      void store.tasks.work(run, { concurrency: 8, leaseMs: 500, onError: () => {} })
    })
    await store.close()
  }, 60_000)

  it('has correct counters after concurrent processes were killed during their commits', async () => {
    for (let round = 0; round < 5; round++) {
      const path = children.newFile()
      const lines = await Promise.all(
        ['a', 'b', 'c'].map((name) => linesOf(children.start(path, 'churn', name + round), 200)),
      )
      const database = openDatabase(path)
      const isSound = database.prepare('PRAGMA integrity_check').get()
      const counted = database.prepare(countTasks).all()
      const kept = database.prepare('SELECT owner, open, finished, bytes FROM usage ORDER BY owner').all()
      const total = database.prepare('SELECT open, finished, bytes FROM total').get()
      database.close()
      expect(lines.flat().length).toBeGreaterThanOrEqual(600)
      expect(isSound).toMatchObject({ integrity_check: 'ok' })
      expect(kept).toEqual(counted)
      const sum = (name: string) => kept.reduce((all, row) => all + Number(row[name]), 0)
      expect(total).toMatchObject({ open: sum('open'), finished: sum('finished'), bytes: sum('bytes') })
      expect(total!.open).toBeLessThanOrEqual(60)
      expect(total!.finished).toBeLessThanOrEqual(30)
    }
  }, 60_000)

  it('can be created by many processes at the same time', async () => {
    const path = children.newFile()
    const starters = Array.from({ length: 6 }, (_, index) => children.start(path, 'burst', `p${index}`))
    expect(await Promise.all(starters.map(exited))).toEqual([0, 0, 0, 0, 0, 0])
    const store = sqliteStore(path)
    expect(await store.tasks.countOpen('child')).toBe(120)
    await store.close()
  }, 60_000)

  it('is rejected when it is not writable', async () => {
    const closed = join(children.folder, 'closed')
    mkdirSync(closed)
    await sqliteStore(join(closed, 'old.db')).close()
    chmodSync(join(closed, 'old.db'), 0o444)
    chmodSync(closed, 0o555)
    const says = new Sayings()
    for (const file of ['new.db', 'old.db']) {
      await exited(says.hear(children.start(join(closed, file), 'burst', 'p', { uid: nobody })))
    }
    chmodSync(closed, 0o755)
    expect(says.all.map(({ refused }) => refused)).toEqual([
      expect.stringMatching(/^Cannot open the store .*new\.db": EACCES: permission denied/),
      expect.stringMatching(/^Cannot use the store .*old\.db": .*\. The file and its folder must be writable/),
    ])
  }, 60_000)

  it.skipIf(hasSqlite)(
    `names the package to install on a runtime without SQLite${hasSqlite ? ' (skipped: this one has)' : ''}`,
    async () => {
      await children.build('alone', new URL('file:///nowhere/store.js').href)
      const says = new Sayings()
      await exited(says.hear(children.start(children.newFile(), 'burst', 'p', { name: 'alone' })))
      expect(says.all[0]?.refused).toMatch(/requires the package "libsql" on this runtime\. Run "npm install libsql"/)
    },
    60_000,
  )

  it('notifies every process of changes and messages of the others', async () => {
    const path = children.newFile()
    const store = sqliteStore(path)
    const says = new Sayings()
    const heard = new Promise<void>((resolve) => {
      void store.tasks.watch((id, said) => id === 'child' && said === 'listens' && resolve())
    })
    const child = says.hear(children.start(path, 'watch'))
    await heard
    await store.tasks.create(entry('one'))
    await store.tasks.publish('one', 'halfway')
    await store.tasks.replace({ ...entry('one'), version: 2 })
    await says.until((all) => all.filter(({ id }) => id === 'one').length === 3)
    expect(says.all.filter(({ id }) => id === 'one').map(({ said }) => said)).toEqual([undefined, 'halfway', undefined])
    await killed(child)
    await store.close()
  }, 60_000)
})

/** Returns the lines that a child prints until it is killed, which happens after `count` lines. */
async function linesOf(child: ChildProcess, count: number): Promise<string[]> {
  const printed: string[] = []
  const lines = createInterface({ input: child.stdout! })
  const ended = once(lines, 'close')
  lines.on('line', (line) => {
    printed.push(line)
    if (printed.length === count) child.kill('SIGKILL')
  })
  await ended
  return printed
}
