import type { SessionRecord, SessionStore } from '../../store/ports.ts'
import { type Driver, type TestRunner, testsOf } from './suite.ts'

export interface SessionStoreDriver extends Driver<SessionStore> {
  /** Advances the time of the store: moves the clock that it uses, or waits. */
  advance(ms: number): void | Promise<void>
}

/** The test suite that every session store must pass. It advances the time by about six seconds. */
export function sessionStoreContract(runner: TestRunner, name: string, driver: SessionStoreDriver): void {
  const { expect } = runner
  const it = testsOf(runner, driver)

  runner.describe(`${name}, a session store`, () => {
    it('returns what was set', async (store) => {
      const records = [sessionRecord('one'), { id: 'two', state: null, createdAt: 0 }, sessionRecord('__proto__')]
      for (const record of records) await store.set(record, 60_000)
      for (const record of records) expect(await store.get(record.id)).toEqual(record)
    })

    it('returns undefined for an unknown session', async (store) => {
      await store.set(sessionRecord('one'), 60_000)
      for (const id of ['', 'on', 'one1', 'ONE', 'one/', 'constructor']) {
        expect(await store.get(id)).toBe(undefined)
        expect(await store.touch(id, 60_000)).toBe(false)
        expect(await store.delete(id)).toBe(false)
      }
    })

    it('replaces the whole record', async (store) => {
      await store.set(sessionRecord('one'), 60_000)
      const next = { id: 'one', state: { other: 1 }, createdAt: 2 }
      await store.set(next, 60_000)
      expect(await store.get('one')).toEqual(next)
    })

    it('replaces a record only if it is unchanged', async (store) => {
      if (!store.replace) return
      const first = sessionRecord('one')
      await store.set(first, 60_000)
      const given = (await store.get('one')) ?? first
      const second = { ...given, state: { number: 2 } }
      expect(await store.replace(second, 60_000, given)).toBe(true)
      expect(await store.replace({ ...given, state: { number: 3 } }, 60_000, given)).toBe(false)
      expect(await store.get('one')).toEqual(second)
      await store.delete('one')
      expect(await store.replace(first, 60_000, second)).toBe(false)
      expect(await store.get('one')).toBe(undefined)
    })

    it('stores and returns copies', async (store) => {
      const record = sessionRecord('one')
      await store.set(record, 60_000)
      record.principal = 'somebody else'
      record.state.list.push('changed')
      const given = await store.get('one')
      expect(given).toEqual(sessionRecord('one'))
      Object.assign(given ?? {}, { principal: 'somebody else' })
      ;(given as typeof record).state.list.push('changed')
      expect(await store.get('one')).toEqual(sessionRecord('one'))
    })

    it('drops a session after its TTL, and only that one', async (store) => {
      await store.set(sessionRecord('long'), 60_000)
      await store.set(sessionRecord('short'), 1000)
      await driver.advance(1100)
      expect(await store.get('short')).toBe(undefined)
      expect(await store.touch('short', 60_000)).toBe(false)
      expect(await store.delete('short')).toBe(false)
      expect(await store.get('long')).toEqual(sessionRecord('long'))
    })

    it('keeps a session unchanged that is touched or set in time', async (store) => {
      await store.set(sessionRecord('touched'), 1000)
      await store.set(sessionRecord('set'), 1000)
      await driver.advance(600)
      expect(await store.touch('touched', 1000)).toBe(true)
      await store.set(sessionRecord('set'), 1000)
      await driver.advance(600)
      expect(await store.get('touched')).toEqual(sessionRecord('touched'))
      expect(await store.get('set')).toEqual(sessionRecord('set'))
      await driver.advance(500)
      expect(await store.get('touched')).toBe(undefined)
      expect(await store.get('set')).toBe(undefined)
    })

    it('does not extend the TTL when a session is read', async (store) => {
      await store.set(sessionRecord('one'), 1000)
      await driver.advance(600)
      await store.get('one')
      await driver.advance(500)
      expect(await store.get('one')).toBe(undefined)
    })

    it('accepts the id of an expired session for a new one', async (store) => {
      await store.set(sessionRecord('one'), 1000)
      await driver.advance(1100)
      await store.set({ id: 'one', state: 'new', createdAt: 5 }, 60_000)
      expect(await store.get('one')).toEqual({ id: 'one', state: 'new', createdAt: 5 })
    })

    it('deletes a session once, and no other', async (store) => {
      await store.set(sessionRecord('one'), 60_000)
      await store.set(sessionRecord('one1'), 60_000)
      expect(await store.delete('one')).toBe(true)
      expect(await store.delete('one')).toBe(false)
      expect(await store.get('one')).toBe(undefined)
      expect(await store.touch('one', 60_000)).toBe(false)
      expect(await store.get('one1')).toEqual(sessionRecord('one1'))
    })

    it('stores many sessions concurrently', async (store) => {
      const records = Array.from({ length: 100 }, (_, index) => sessionRecord(`s${index}`))
      await Promise.all(records.map(async (record) => store.set(record, 60_000)))
      expect(await Promise.all(records.map(async ({ id }) => store.get(id)))).toEqual(records)
    })
  })
}

export function sessionRecord(id: string): SessionRecord & { state: { list: string[] } } {
  return { id, principal: 'user ü', state: { list: ['x'] }, createdAt: 1_700_000_000_000 }
}
