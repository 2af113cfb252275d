import type { ValueStore } from '../../store/ports.ts'
import { type Driver, type TestRunner, testsOf } from './suite.ts'

export interface ValueStoreDriver extends Driver<ValueStore> {
  /** Advances the time of the store: moves the clock that it uses, or waits. */
  advance(ms: number): void | Promise<void>
}

/** The test suite that every value store must pass. It advances the time by about three seconds. */
export function valueStoreContract(runner: TestRunner, name: string, driver: ValueStoreDriver): void {
  const { expect } = runner
  const it = testsOf(runner, driver)

  runner.describe(`${name}, a value store`, () => {
    it('returns what was set, as often as it is read', async (store) => {
      const values = [
        ['one', 'text'],
        ['broker/token/a-Z_0', 'ü\r\n "\u2028 😀'],
        ['__proto__', ''],
        ['long', 'x'.repeat(20_000)],
      ] as const
      for (const [key, value] of values) await store.set(key, value, 60_000)
      for (const [key, value] of [...values, ...values]) expect(await store.get(key)).toBe(value)
    })

    it('returns undefined for an unknown key', async (store) => {
      await store.set('one', 'x', 60_000)
      for (const key of ['', 'on', 'one1', 'ONE', 'one/', 'constructor']) {
        expect(await store.get(key)).toBe(undefined)
        expect(await store.take(key)).toBe(undefined)
        await store.delete(key)
      }
      expect(await store.get('one')).toBe('x')
    })

    it('replaces a value and its TTL', async (store) => {
      await store.set('one', 'old', 60_000)
      await store.set('one', 'new', 1_000)
      expect(await store.get('one')).toBe('new')
      await driver.advance(1_100)
      expect(await store.get('one')).toBe(undefined)
    })

    it('drops a value after its TTL, read or not, and only that one', async (store) => {
      await store.set('long', 'x', 60_000)
      await store.set('short', 'y', 1_000)
      expect(await store.get('short')).toBe('y')
      await driver.advance(1_100)
      expect(await store.get('short')).toBe(undefined)
      expect(await store.take('short')).toBe(undefined)
      expect(await store.get('long')).toBe('x')
    })

    it('returns a value once when it is taken', async (store) => {
      await store.set('one', 'x', 60_000)
      expect(await store.take('one')).toBe('x')
      expect(await store.take('one')).toBe(undefined)
      expect(await store.get('one')).toBe(undefined)
      await store.set('one', 'again', 60_000)
      expect(await store.take('one')).toBe('again')
    })

    it('gives a value to exactly one of many concurrent takers', async (store) => {
      await store.set('one', 'x', 60_000)
      const taken = await Promise.all(Array.from({ length: 50 }, async () => store.take('one')))
      expect(taken.filter((value) => value !== undefined)).toEqual(['x'])
    })

    it('deletes a value, and no other', async (store) => {
      await store.set('one', 'x', 60_000)
      await store.set('one1', 'y', 60_000)
      await store.delete('one')
      await store.delete('one')
      expect(await store.get('one')).toBe(undefined)
      expect(await store.get('one1')).toBe('y')
    })

    it('stores many values concurrently', async (store) => {
      const keys = Array.from({ length: 100 }, (_, index) => `k${index}`)
      await Promise.all(keys.map(async (key) => store.set(key, `value of ${key}`, 60_000)))
      expect(await Promise.all(keys.map(async (key) => store.get(key)))).toEqual(keys.map((key) => `value of ${key}`))
    })
  })
}
